//! `--peer NAME=PROGRAM`: a peer that the user has built, which speaks the harness protocol of
//! `peers/README.md`.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

use super::adapters::MIXED;

/// What stands before names that mean something to the report.
const TAKEN: [&str; 3] = ["CW-", "FLOOR-", "BASELINE-"];

/// A program that is server and client of one adapter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnPeer {
    /// In capitals, as every adapter's.
    pub(crate) name: String,
    pub(crate) program: PathBuf,
}

impl FromStr for OwnPeer {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let Some((name, program)) = text.split_once('=') else {
            bail!("it is written NAME=PROGRAM");
        };
        let name = name.trim().to_ascii_uppercase();
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        if name.is_empty() || !name.chars().all(is_plain) {
            bail!("a name is of letters, digits and hyphens");
        }
        if let Some(taken) = TAKEN.iter().find(|taken| name.starts_with(**taken)) {
            bail!("names that begin with {taken} are the lab's own");
        }
        if name.contains(&MIXED.to_ascii_uppercase()) {
            bail!("{MIXED:?} in a name means the ends of two adapters");
        }
        if program.is_empty() {
            bail!("there is no program behind the =");
        }
        Ok(Self {
            name,
            program: PathBuf::from(program),
        })
    }
}

impl OwnPeer {
    /// With the whole path of its program, so that a resumed session finds it from anywhere.
    ///
    /// # Errors
    /// When there is no such program.
    pub(super) fn found(self) -> anyhow::Result<Self> {
        let program = self
            .program
            .canonicalize()
            .with_context(|| format!("--peer {}={}", self.name, self.program.display()))?;
        if !program.is_file() {
            bail!(
                "--peer {}={}: that is no file",
                self.name,
                program.display()
            );
        }
        Ok(Self { program, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_program() {
        let peer: OwnPeer = "brpc-2=./a=b".parse().expect("well formed");
        assert_eq!(peer.name, "BRPC-2");
        assert_eq!(peer.program, PathBuf::from("./a=b"));
        for wrong in [
            "brpc",
            "=x",
            "a b=x",
            "a+b=x",
            "CW-X=x",
            "floor-x=x",
            "a-to-b=x",
            "a=",
        ] {
            assert!(wrong.parse::<OwnPeer>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let peer: OwnPeer = "brpc=/no/such/program".parse().expect("well formed");
        let error = format!("{:#}", peer.found().expect_err("absent"));
        assert!(error.contains("BRPC=/no/such/program"), "{error}");
        let folder: OwnPeer = "brpc=/".parse().expect("well formed");
        assert!(folder.found().is_err());
    }
}
