//! The state folder: who runs where, and their logs.

use anyhow::Context as _;
use clap::Args;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

const FILE: &str = "core.json";

/// Where a core keeps what it knows of its processes.
#[derive(Clone, Debug, Args)]
pub(super) struct Folder {
    /// The core's folder: pids, addresses, logs, stored contexts [default: corewire-core in
    /// XDG_RUNTIME_DIR, else in the temporary folder]
    #[arg(long = "state", value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

impl Folder {
    pub(super) fn path(&self) -> PathBuf {
        if let Some(folder) = &self.folder {
            return folder.clone();
        }
        match std::env::var_os("XDG_RUNTIME_DIR") {
            Some(folder) if !folder.is_empty() => PathBuf::from(folder).join("corewire-core"),
            _ => {
                let user = rustix::process::getuid().as_raw();
                std::env::temp_dir().join(format!("corewire-core-{user}"))
            }
        }
    }
}

/// A core that was started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Core {
    pub(super) transport: String,
    pub(super) flow: String,
    pub(super) threads: usize,
    pub(super) n2: String,
    pub(super) n2_address: String,
    pub(super) nfs: Vec<Nf>,
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

    pub(super) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let path = folder.join(FILE);
        fs::write(&path, serde_json::to_vec_pretty(self)?)
            .with_context(|| format!("{}", path.display()))
    }

    pub(super) fn forget(folder: &Path) -> anyhow::Result<()> {
        let path = folder.join(FILE);
        fs::remove_file(&path).with_context(|| format!("{}", path.display()))
    }
}
