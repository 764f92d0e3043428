//! A core that runs for one run: up, its processes, down.

use corewire_observe::errln;
use std::ffi::OsStr;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use super::plan::Case;
use crate::record::Failure;

/// A core. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Core {
    program: PathBuf,
    folder: PathBuf,
    pub(super) n2: String,
    pub(super) nfs: Vec<Nf>,
}

/// One of its processes, as `corewire core up --json` says.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Nf {
    pub(super) name: String,
    pub(super) pid: u32,
}

#[derive(Deserialize)]
struct Up {
    nfs: Vec<Nf>,
}

/// What a core writes down.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Trace {
    Off,
    /// Begin and end of every hop.
    EveryHop,
}

impl Core {
    /// Starts a core in an empty folder.
    pub(super) fn up(
        program: &Path,
        folder: &Path,
        case: &Case,
        trace: Trace,
    ) -> Result<Self, Failure> {
        let n2 = free_address()?;
        let mut core = Self {
            program: program.to_owned(),
            folder: folder.to_owned(),
            n2,
            nfs: Vec::new(),
        };
        let loops = case.loops().to_string();
        let mut options = vec![
            "--json",
            "--transport",
            &case.transport,
            "--threads",
            &loops,
            "--flow",
            &case.flow,
            "--n2",
            "tcp",
            "--n2-listen",
            &core.n2,
        ];
        options.extend((trace == Trace::EveryHop).then_some("--trace"));
        let out = core.corewire("up", options)?;
        let up: Up = serde_json::from_slice(&out).map_err(|error| {
            failure(format!("it says what is not expected: {error}"), "core up")
        })?;
        core.nfs = up.nfs;
        Ok(core)
    }

    /// The file of subscribers that it was started with.
    pub(super) fn subscribers(&self) -> PathBuf {
        self.folder.join("subscribers.toml")
    }

    fn corewire<'a>(
        &self,
        what: &'static str,
        options: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<u8>, Failure> {
        let state = [OsStr::new("--state"), self.folder.as_os_str()];
        let output = Command::new(&self.program)
            .args(["core", what])
            .args(options)
            .args(state)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| failure(error.to_string(), what))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let words = String::from_utf8_lossy(&output.stderr);
        Err(failure(words.trim().to_owned(), what))
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        if let Err(failure) = self.corewire("down", []) {
            errln!("{failure}");
        }
    }
}

/// An address that is free, and stays so until it is listened at: connections of others begin at 127.0.0.1
/// and may take any port of that, but none of this process's own address.
fn free_address() -> Result<String, Failure> {
    let [_, _, high, low] = std::process::id().to_be_bytes();
    TcpListener::bind((Ipv4Addr::new(127, 97, high, low), 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.to_string())
        .map_err(|error| failure(error.to_string(), "a port for N2"))
}

pub(super) fn failure(what: String, place: &str) -> Failure {
    Failure {
        what,
        place: place.to_owned(),
        next: String::new(),
    }
}
