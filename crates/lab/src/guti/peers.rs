//! Where the programs under test are.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::bail;

/// Names the directory that holds the programs.
const VARIABLE: &str = "COREWIRE_PEERS";
const SERVER: &str = "corewire-peer-server";
const CLIENT: &str = "corewire-peer-client";

/// The two programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Peers {
    pub(crate) server: PathBuf,
    pub(crate) client: PathBuf,
}

impl Peers {
    /// Finds them: in the directory given, else in that of `COREWIRE_PEERS`, else beside this
    /// program, else where `make peers` puts them in the source tree that this program lies in or
    /// was started in.
    ///
    /// # Errors
    /// When they are not there; says where was looked and what makes them.
    pub(crate) fn find(given: Option<&Path>) -> anyhow::Result<Self> {
        let source = if given.is_some() {
            "--peers-dir"
        } else if named_by_variable().is_some() {
            VARIABLE
        } else {
            "the usual places"
        };
        Self::among(&Self::directories(given), source)
    }

    /// Where programs under test are looked for, in this order.
    pub(crate) fn directories(given: Option<&Path>) -> Vec<PathBuf> {
        if let Some(dir) = given {
            return vec![dir.to_owned()];
        }
        if let Some(dir) = named_by_variable() {
            return vec![dir];
        }
        let mut dirs = Vec::new();
        let program = env::current_exe().ok();
        if let Some(dir) = program.as_deref().and_then(Path::parent) {
            dirs.push(dir.to_owned());
            dirs.extend(
                dir.ancestors()
                    .skip(1)
                    .take(3)
                    .map(|dir| dir.join("peers/build")),
            );
        }
        if let Ok(dir) = env::current_dir() {
            dirs.extend(dir.ancestors().take(4).map(|dir| dir.join("peers/build")));
        }
        dirs
    }

    fn among(dirs: &[PathBuf], source: &str) -> anyhow::Result<Self> {
        for dir in dirs {
            let peers = Self {
                server: dir.join(SERVER),
                client: dir.join(CLIENT),
            };
            if peers.server.is_file() && peers.client.is_file() {
                return Ok(peers);
            }
        }
        let looked: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
        bail!(
            "{SERVER} and {CLIENT} are not in {source} ({}); build them with `make peers`, or name \
             their directory with --peers-dir or {VARIABLE}",
            looked.join(", ")
        )
    }
}

fn named_by_variable() -> Option<PathBuf> {
    let dir = env::var_os(VARIABLE).filter(|dir| !dir.is_empty())?;
    Some(PathBuf::from(dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_programs_are_explained() {
        let dir = tempfile::tempdir().expect("a directory");
        let error = Peers::find(Some(dir.path()))
            .expect_err("empty")
            .to_string();
        assert!(
            error.contains("make peers") && error.contains("--peers-dir"),
            "{error}"
        );
    }

    #[test]
    fn both_must_be_there() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join(SERVER), "").expect("room");
        assert!(Peers::find(Some(dir.path())).is_err());
        std::fs::write(dir.path().join(CLIENT), "").expect("room");
        let peers = Peers::find(Some(dir.path())).expect("both");
        assert_eq!(peers.client, dir.path().join(CLIENT));
    }
}
