//! Where a store is, and what `check` finds there.

use crate::file_system::{Access, FileSystem, OsFileSystem};
use crate::log::OpenError;
use crate::scan::{Damage, ScanError, scan};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Copies that one store can have beside it; at the next damage it does not start.
const MAX_KEPT: u32 = 10_000;

/// A store's folder, and its name there.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) folder: PathBuf,
    pub(crate) name: String,
}

impl Place {
    /// The log.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join(format!("{}.log", self.name))
    }

    /// The log that is being written anew.
    pub(crate) fn new_log(&self) -> PathBuf {
        self.folder.join(format!("{}.new", self.name))
    }

    /// Held by the process that has the store.
    pub(crate) fn lock(&self) -> PathBuf {
        self.folder.join(format!("{}.lock", self.name))
    }

    /// A name for a copy: free, or the log's second name already.
    pub(crate) fn kept(&self, file_system: &dyn FileSystem) -> io::Result<PathBuf> {
        let log = file_system.state(&self.log())?.map(|log| log.identity);
        for number in 1..=MAX_KEPT {
            let path = self.folder.join(format!("{}.kept-{number}.log", self.name));
            match file_system.state(&path)? {
                Some(found) if Some(found.identity) != log => {}
                _ => return Ok(path),
            }
        }
        let what = format!("{MAX_KEPT} copies are kept already: move them away");
        Err(io::Error::other(what))
    }
}

/// What a log holds, and what of it is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Check {
    /// The file.
    pub path: PathBuf,
    /// Bytes that were written to it.
    pub length: u64,
    /// Changes that were read: values and removals.
    pub records: u64,
    /// Names that have a value.
    pub values: u64,
    /// Places that are damaged, the first thousand of them.
    pub damage: Vec<Damage>,
    /// How many there are.
    pub damaged: u64,
    /// Changes that are known to be lost. Where the end of the log is damaged, at least so many.
    pub lost: u64,
    /// Bytes at the end of a record that was not written to its end.
    pub torn: u64,
    /// A process has the store: what is torn may be a record that it is writing.
    pub in_use: bool,
    /// It is a log of an earlier version, which the next start writes anew.
    pub is_earlier_version: bool,
    /// Copies that were kept because of former damage.
    pub kept: Vec<PathBuf>,
}

impl Check {
    /// Whether all that was ever written is there.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.damaged == 0 && (self.torn == 0 || self.in_use)
    }
}

/// Reads the log `NAME.log` in a folder, or the log at this path, and changes nothing. `is_usable` says
/// whether the store's owner can use a value.
///
/// # Errors
/// When it cannot be read, or is no log.
pub fn check(
    path: &Path,
    name: &str,
    mut is_usable: impl FnMut(&[u8], &[u8]) -> bool,
) -> Result<Check, OpenError> {
    let log = if path.is_dir() {
        path.join(format!("{name}.log"))
    } else {
        path.to_owned()
    };
    let failed = |error: io::Error| OpenError::Io {
        path: log.clone(),
        error,
    };
    let file: Arc<_> = OsFileSystem.open(&log, Access::Read).map_err(failed)?;
    let in_use = !file.lock().map_err(failed)?;
    let mut values = std::collections::HashSet::new();
    let found = scan(&*file, &mut |name, value| match value {
        None => {
            values.remove(name);
            true
        }
        Some(value) => {
            let usable = is_usable(name, value);
            if usable {
                values.insert(name.to_vec());
            }
            usable
        }
    });
    let found = found.map_err(|error| match error {
        ScanError::Io(error) => failed(error),
        ScanError::NotALog => OpenError::NotALog(log.clone()),
    })?;
    let kept = kept_beside(&log);
    Ok(Check {
        length: found.end + found.torn,
        records: found.records,
        values: values.len() as u64,
        lost: found.lost(),
        damaged: found.damaged,
        torn: found.torn,
        in_use,
        is_earlier_version: found.is_version_1,
        damage: found.damage,
        kept,
        path: log,
    })
}

fn kept_beside(log: &Path) -> Vec<PathBuf> {
    let Some((folder, name)) = log.parent().zip(log.file_stem()) else {
        return Vec::new();
    };
    let begin = format!("{}.kept-", name.to_string_lossy());
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut kept: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default();
            name.to_string_lossy().starts_with(&begin)
        })
        .collect();
    kept.sort();
    kept
}

#[cfg(test)]
mod tests;
