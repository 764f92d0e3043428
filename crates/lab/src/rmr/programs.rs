//! Where the programs and the libraries are.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::guti::Peers;
use crate::record::Failure;

const SENDER: &str = "rmr-sender";
const RECEIVER: &str = "rmr-receiver";
const MANAGER: &str = "rmr-route-manager";

/// Names our own library.
const VARIABLE: &str = "COREWIRE_RMR_LIB";
/// The file that an RMR library is, by its first and its usual name.
const LIBRARY: &str = "librmr_si.so";

/// The three programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Programs {
    pub(super) directory: PathBuf,
    pub(super) sender: PathBuf,
    pub(super) receiver: PathBuf,
    pub(super) manager: PathBuf,
}

impl Programs {
    /// Finds them where the peers' programs are.
    ///
    /// # Errors
    /// When they are not there; says where was looked and what makes them.
    pub(super) fn find(given: Option<&Path>) -> anyhow::Result<Self> {
        let directories = Peers::directories(given);
        for directory in &directories {
            let programs = Self {
                directory: directory.clone(),
                sender: directory.join(SENDER),
                receiver: directory.join(RECEIVER),
                manager: directory.join(MANAGER),
            };
            let all = [&programs.sender, &programs.receiver, &programs.manager];
            if all.iter().all(|program| program.is_file()) {
                return Ok(programs);
            }
        }
        let looked: Vec<String> = directories
            .iter()
            .map(|directory| directory.display().to_string())
            .collect();
        bail!(
            "{SENDER}, {RECEIVER} and {MANAGER} are not in the usual places ({}); build them with `make \
             peers`, or name their directory with --peers-dir or COREWIRE_PEERS",
            looked.join(", ")
        )
    }
}

/// The library that a path of the command line names: the file, or what a directory holds.
///
/// # Errors
/// When there is none.
pub(super) fn library(path: &Path, option: &str) -> anyhow::Result<PathBuf> {
    if path.is_file() {
        return absolute(path);
    }
    if !path.is_dir() {
        bail!("{option} {}: there is no such file", path.display());
    }
    for folder in [path.to_owned(), path.join("lib")] {
        let usual = folder.join(LIBRARY);
        if usual.is_file() {
            return absolute(&usual);
        }
        let mut found: Vec<PathBuf> = std::fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|file| {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with("librmr") && name.ends_with(".so")
            })
            .collect();
        found.sort();
        if let [only] = found.as_slice() {
            return absolute(only);
        }
    }
    bail!(
        "{option} {}: the directory holds no {LIBRARY}, nor one other librmr*.so",
        path.display()
    )
}

/// The loader looks for a name without a slash elsewhere.
fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    path.canonicalize()
        .with_context(|| format!("cannot find {}", path.display()))
}

/// Our library, or why there is none.
///
/// # Errors
/// When the command line or the environment names one that is not there.
pub(super) fn own_library(given: Option<&Path>) -> anyhow::Result<Result<PathBuf, Failure>> {
    if let Some(path) = given {
        return library(path, "--own-lib").map(Ok);
    }
    if let Some(path) = env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        return library(Path::new(&path), VARIABLE).map(Ok);
    }
    // The build that is meant for use first: a debug build beside the program is for tests.
    let mut places = Vec::new();
    let program = env::current_exe().ok();
    let around = || {
        program
            .iter()
            .flat_map(|program| program.ancestors().skip(1).take(3))
    };
    places.extend(around().map(|directory| directory.join("release")));
    if let Some(target) = env::var_os("CARGO_TARGET_DIR") {
        places.push(PathBuf::from(target).join("release"));
    }
    if let Ok(directory) = env::current_dir() {
        places.extend(
            directory
                .ancestors()
                .take(4)
                .map(|up| up.join("target/release")),
        );
    }
    places.extend(around().map(Path::to_owned));
    let found = places
        .iter()
        .map(|place| place.join(LIBRARY))
        .find(|library| library.is_file());
    Ok(match found {
        Some(library) => Ok(absolute(&library)?),
        None => Err(Failure {
            what: format!("our {LIBRARY} is not built"),
            place: "the usual places".to_owned(),
            next: format!("build it with `make rmr`, or name it with --own-lib or {VARIABLE}"),
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_a_file_or_what_a_directory_holds() {
        let dir = tempfile::tempdir().expect("a directory");
        let lib = dir.path().join("lib");
        std::fs::create_dir(&lib).expect("room");
        assert!(library(dir.path(), "--rmr-lib").is_err());
        std::fs::write(lib.join("librmr_nng.so"), "").expect("room");
        let found = library(dir.path(), "--rmr-lib").expect("the only one");
        assert!(found.ends_with("lib/librmr_nng.so"), "{}", found.display());
        std::fs::write(lib.join(LIBRARY), "").expect("room");
        let found = library(dir.path(), "--rmr-lib").expect("the usual one");
        assert!(found.ends_with("lib/librmr_si.so"), "{}", found.display());
        let error = library(Path::new("/no/where.so"), "--rmr-lib").expect_err("not there");
        assert!(error.to_string().contains("--rmr-lib /no/where.so"));
    }
}
