//! The state folder: who runs where, and their logs.

use anyhow::{Context as _, bail};
use clap::Args;
use corewire_core5g_runtime::tls::TlsArgs;
use rustix::fs::Mode;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

const FILE: &str = "core.json";
/// Held by who changes the file according to what is in it.
const LOCK: &str = "core.lock";

/// Where a core keeps what it knows of its processes.
#[derive(Clone, Debug, Args)]
pub(super) struct Folder {
    /// The core's folder: pids, addresses, logs, stored contexts [default: corewire-core in
    /// XDG_RUNTIME_DIR, else in the temporary folder]
    #[arg(long = "state", value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

impl Folder {
    /// Where it is.
    ///
    /// # Errors
    /// When it is in the temporary folder, where everybody may make one of its name, and somebody has.
    pub(super) fn path(&self) -> anyhow::Result<PathBuf> {
        if let Some(folder) = &self.folder {
            return Ok(folder.clone());
        }
        match std::env::var_os("XDG_RUNTIME_DIR") {
            Some(folder) if !folder.is_empty() => Ok(PathBuf::from(folder).join("corewire-core")),
            _ => {
                let user = rustix::process::getuid().as_raw();
                let folder = std::env::temp_dir().join(format!("corewire-core-{user}"));
                is_of(&folder, user)?;
                Ok(folder)
            }
        }
    }
}

/// A core's keys are in its folder, and what is started and ended for it: who can write there does it
/// as its user.
fn is_of(folder: &Path, user: u32) -> anyhow::Result<()> {
    let found = match fs::symlink_metadata(folder) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| folder.display().to_string()),
    };
    let others_write = found.mode() & 0o022 != 0;
    if !found.is_dir() || found.uid() != user || others_write {
        bail!(
            "{}: not a folder that this user alone can write to; name another with --state",
            folder.display()
        );
    }
    Ok(())
}

/// Files that this process and those that it starts create are their user's alone, 0600 and folders 0700:
/// logs, traces and stores hold the names and keys of subscribers.
pub(super) fn only_own_files() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

/// A core that was started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Core {
    pub(super) transport: String,
    pub(super) flow: String,
    pub(super) threads: usize,
    pub(super) n2: String,
    pub(super) n2_address: String,
    /// What the operator shows the NFs where they speak TLS.
    #[serde(default)]
    pub(super) tls: TlsArgs,
    pub(super) nfs: Vec<Nf>,
    /// It is being ended: nothing is started again.
    #[serde(default)]
    pub(super) ending: bool,
}

/// One of its processes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Nf {
    pub(super) name: String,
    pub(super) pid: u32,
    /// When the process began, in the kernel's ticks: a pid alone is used again.
    pub(super) started: u64,
    pub(super) address: String,
    pub(super) instance: String,
    pub(super) log: PathBuf,
    /// How it was started, to start it again.
    pub(super) command: Vec<String>,
}

impl Core {
    /// The core of this folder, if one was started.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn read(folder: &Path) -> anyhow::Result<Option<Self>> {
        let path = folder.join(FILE);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("{}", path.display())),
        };
        let core = serde_json::from_slice(&text)
            .with_context(|| format!("{}: not what `corewire core up` writes", path.display()))?;
        Ok(Some(core))
    }

    /// Writes it in one: who reads it meanwhile reads the one or the other.
    pub(super) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let (path, beside) = (folder.join(FILE), folder.join("core.new"));
        fs::write(&beside, serde_json::to_vec_pretty(self)?)
            .and_then(|()| fs::rename(&beside, &path))
            .with_context(|| format!("{}", path.display()))
    }

    /// Reads it, changes it and writes it, while nobody else does so; `None` when there is none.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub(super) fn change(
        folder: &Path,
        change: impl FnOnce(&mut Self),
    ) -> anyhow::Result<Option<Self>> {
        if Self::read(folder)?.is_none() {
            return Ok(None);
        }
        let path = folder.join(LOCK);
        let lock = File::create(&path).with_context(|| path.display().to_string())?;
        lock.lock().with_context(|| path.display().to_string())?;
        let Some(mut core) = Self::read(folder)? else {
            return Ok(None);
        };
        change(&mut core);
        core.write(folder)?;
        Ok(Some(core))
    }

    pub(super) fn forget(folder: &Path) -> anyhow::Result<()> {
        let path = folder.join(FILE);
        fs::remove_file(&path).with_context(|| format!("{}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn a_folder_that_somebody_else_may_have_made_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let (folder, link) = (root.path().join("core"), root.path().join("link"));
        let user = rustix::process::getuid().as_raw();
        assert!(is_of(&folder, user).is_ok(), "there is none yet");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        assert!(is_of(&folder, user).is_ok());
        assert!(is_of(&folder, user + 1).is_err());
        symlink(&folder, &link).unwrap();
        assert!(is_of(&link, user).is_err());
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        assert!(is_of(&folder, user).is_err());
    }
}
