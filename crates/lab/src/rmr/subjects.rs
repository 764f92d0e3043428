//! Who is measured: a library for each end, with what its environment needs.

use std::path::{Path, PathBuf};

use anyhow::bail;

use super::plan::Request;
use super::programs::{self, Programs};
use crate::record::Failure;

/// A library as one end uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct End {
    pub(super) library: PathBuf,
    pub(super) environment: Vec<(&'static str, String)>,
}

/// A subject, as in the records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) name: String,
    /// Or why there is none, and what to do about it.
    pub(super) ends: Result<(End, End), Failure>,
}

/// Our own transports, by the name that `COREWIRE_RMR_TRANSPORT` takes.
const OWN: [&str; 4] = ["si95", "native", "shm", "nng"];

/// SI95 whose messages wait in the program while they come in a rush (`COREWIRE_RMR_GATHER`).
const GATHERING: &str = "si95-gather";

/// An RMR library among the other peers of this repository.
struct Peer {
    name: &'static str,
    file: &'static str,
    variable: Option<(&'static str, &'static str)>,
}

const PEERS: [Peer; 3] = [
    Peer {
        name: "nng-raw",
        file: "librmr_nngraw.so",
        variable: None,
    },
    Peer {
        name: "grpc",
        file: "librmr_grpc.so",
        variable: None,
    },
    Peer {
        name: "grpc-hint",
        file: "librmr_grpc.so",
        variable: Some(("RMR_GRPC_BUFFER_HINT", "1")),
    },
];

/// All of them in words, for `lab list`.
pub(crate) const DESCRIPTIONS: [(&str, &str); 10] = [
    ("si95", "our library, the real one's own framing over TCP"),
    (
        "si95-gather",
        "the same; messages of a rush gather in the program (COREWIRE_RMR_GATHER=1)",
    ),
    ("native", "our library, Corewire's native protocol"),
    ("shm", "our library, shared memory"),
    ("nng", "our library, RMR's header over NNG"),
    ("nng-raw", "NNG alone"),
    (
        "grpc",
        "gRPC bidirectional streams, as the brief designs it",
    ),
    ("grpc-hint", "the same with set_buffer_hint"),
    ("rmr", "a library of yours: --rmr-lib"),
    ("A-to-B", "A sends, B receives: rmr-to-si95, si95-to-rmr"),
];
/// A library of the user's, unless it is given another name.
const GIVEN: &str = "rmr";
/// Between the two ends of a mixed subject.
const TO: &str = "-to-";

/// Finds the library of each name.
#[derive(Debug)]
pub(super) struct Catalog {
    own: Result<PathBuf, Failure>,
    peers: PathBuf,
    /// Name and library.
    given: Vec<(String, PathBuf)>,
    sender: Option<PathBuf>,
    receiver: Option<PathBuf>,
}

impl Catalog {
    /// Of what the command line names and what is built.
    ///
    /// # Errors
    /// When a path that the command line names is no library.
    pub(super) fn new(
        request: &Request,
        own: Option<&Path>,
        programs: &Programs,
    ) -> anyhow::Result<Self> {
        let mut given = Vec::new();
        for text in &request.libraries {
            let (name, path) = text.split_once('=').unwrap_or((GIVEN, text));
            if name.is_empty() || known(name) || name.contains(TO) {
                bail!("--rmr-lib {text}: {name:?} cannot be the name of a library of yours");
            }
            given.push((
                name.to_owned(),
                programs::library(Path::new(path), "--rmr-lib")?,
            ));
        }
        let end = |path: &Option<PathBuf>, option| {
            path.as_deref()
                .map(|path| programs::library(path, option))
                .transpose()
        };
        Ok(Self {
            own: programs::own_library(own)?,
            peers: programs.directory.clone(),
            given,
            sender: end(&request.sender_library, "--rmr-sender-lib")?,
            receiver: end(&request.receiver_library, "--rmr-receiver-lib")?,
        })
    }

    /// The subjects of the names given, each once; of all when there are none.
    ///
    /// # Errors
    /// When a name is none.
    pub(super) fn subjects(&self, names: &[String]) -> anyhow::Result<Vec<Subject>> {
        let names = if names.is_empty() {
            self.all()
        } else {
            names.to_vec()
        };
        let mut subjects: Vec<Subject> = Vec::new();
        for name in names {
            let name = name.trim().to_ascii_lowercase();
            let subject = self.subject(&name)?;
            if !subjects.contains(&subject) {
                subjects.push(subject);
            }
        }
        Ok(subjects)
    }

    fn all(&self) -> Vec<String> {
        let mut names: Vec<String> = own().map(str::to_owned).collect();
        names.extend(PEERS.iter().map(|peer| peer.name.to_owned()));
        if self.given.is_empty() {
            names.push(GIVEN.to_owned());
        }
        names.extend(self.given.iter().map(|(name, _)| name.clone()));
        if self.given.iter().any(|(name, _)| name == GIVEN) {
            names.push(format!("{GIVEN}{TO}si95"));
            names.push(format!("si95{TO}{GIVEN}"));
        }
        names
    }

    fn subject(&self, name: &str) -> anyhow::Result<Subject> {
        let (sender, receiver) = name.split_once(TO).unwrap_or((name, name));
        let (mut sending, mut receiving) = (self.end(sender)?, self.end(receiver)?);
        let mut shown = name.to_owned();
        if let Some(library) = &self.sender {
            sending = Ok(given_end(library));
            shown = format!("{GIVEN}{TO}{receiver}");
        }
        if let Some(library) = &self.receiver {
            receiving = Ok(given_end(library));
            shown = match &self.sender {
                Some(_) => GIVEN.to_owned(),
                None => format!("{sender}{TO}{GIVEN}"),
            };
        }
        let ends = sending.and_then(|sending| Ok((sending, receiving?)));
        Ok(Subject { name: shown, ends })
    }

    /// The library of one end, or why there is none.
    fn end(&self, name: &str) -> anyhow::Result<Result<End, Failure>> {
        if own().any(|own| own == name) {
            let transport = if name == GATHERING { OWN[0] } else { name };
            let mut environment = vec![("COREWIRE_RMR_TRANSPORT", transport.to_owned())];
            if name == GATHERING {
                environment.push(("COREWIRE_RMR_GATHER", "1".to_owned()));
            }
            return Ok(self.own.clone().map(|library| End {
                library,
                environment,
            }));
        }
        if let Some(peer) = PEERS.iter().find(|peer| peer.name == name) {
            return Ok(self.peer(peer.file).map(|library| End {
                library,
                environment: peer
                    .variable
                    .iter()
                    .map(|&(name, value)| (name, value.to_owned()))
                    .collect(),
            }));
        }
        if let Some((_, library)) = self.given.iter().find(|(given, _)| given == name) {
            return Ok(Ok(given_end(library)));
        }
        if name == GIVEN {
            return Ok(Err(Failure {
                what: "no RMR library was given to compare with".to_owned(),
                place: "command line".to_owned(),
                next: "name one with --rmr-lib, for example /usr/local/lib/librmr_si.so".to_owned(),
            }));
        }
        let mut known: Vec<&str> = own().collect();
        known.extend(PEERS.iter().map(|peer| peer.name));
        known.extend(self.given.iter().map(|(name, _)| name.as_str()));
        known.push(GIVEN);
        known.dedup();
        bail!(
            "there is no transport {name:?}; there are {}, and A{TO}B for two of them",
            known.join(", ")
        );
    }

    fn peer(&self, file: &str) -> Result<PathBuf, Failure> {
        let library = self.peers.join(file);
        if library.is_file() {
            Ok(library)
        } else {
            Err(Failure {
                what: format!("{file} is not built"),
                place: self.peers.display().to_string(),
                next: "`make peers` builds it where its library is installed".to_owned(),
            })
        }
    }
}

fn given_end(library: &Path) -> End {
    End {
        library: library.to_owned(),
        environment: Vec::new(),
    }
}

/// The subjects that are our library on both ends.
fn own() -> impl Iterator<Item = &'static str> {
    OWN[..1]
        .iter()
        .copied()
        .chain([GATHERING])
        .chain(OWN[1..].iter().copied())
}

fn known(name: &str) -> bool {
    own().any(|own| own == name) || PEERS.iter().any(|peer| peer.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog(given: &[&str]) -> Catalog {
        Catalog {
            own: Ok("/own.so".into()),
            peers: "/nowhere".into(),
            given: given
                .iter()
                .map(|&name| (name.to_owned(), PathBuf::from("/given.so")))
                .collect(),
            sender: None,
            receiver: None,
        }
    }

    #[test]
    fn everything_that_is_known_is_shown_with_the_reason_when_it_cannot_run() {
        let subjects = catalog(&[]).subjects(&[]).expect("known names");
        let names: Vec<&str> = subjects.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "si95",
                "si95-gather",
                "native",
                "shm",
                "nng",
                "nng-raw",
                "grpc",
                "grpc-hint",
                "rmr"
            ]
        );
        let why = |name: &str| {
            let subject = subjects.iter().find(|s| s.name == name).expect(name);
            subject.ends.as_ref().expect_err(name).to_string()
        };
        assert!(why("grpc").contains("make peers"), "{}", why("grpc"));
        assert!(why("rmr").contains("--rmr-lib"), "{}", why("rmr"));
    }

    #[test]
    fn a_given_library_is_measured_in_both_directions_with_ours() {
        let subjects = catalog(&["rmr"]).subjects(&[]).expect("known names");
        let mixed = subjects
            .iter()
            .find(|subject| subject.name == "rmr-to-si95")
            .expect("there");
        let (sender, receiver) = mixed.ends.as_ref().expect("both there");
        assert_eq!(sender.library, PathBuf::from("/given.so"));
        assert!(sender.environment.is_empty());
        assert_eq!(receiver.library, PathBuf::from("/own.so"));
        assert_eq!(
            receiver.environment,
            [("COREWIRE_RMR_TRANSPORT", "si95".to_owned())]
        );
    }

    #[test]
    fn one_end_can_be_replaced() {
        let mut catalog = catalog(&[]);
        catalog.receiver = Some("/theirs.so".into());
        let subjects = catalog.subjects(&["native".to_owned()]).expect("known");
        assert_eq!(subjects[0].name, "native-to-rmr");
        let (sender, receiver) = subjects[0].ends.as_ref().expect("both there");
        assert_eq!(sender.library, PathBuf::from("/own.so"));
        assert_eq!(receiver.library, PathBuf::from("/theirs.so"));
    }

    #[test]
    fn unknown_names_are_refused_with_those_that_are_known() {
        let error = catalog(&["mine"])
            .subjects(&["si59".to_owned()])
            .expect_err("no such transport")
            .to_string();
        assert!(error.contains("si95") && error.contains("mine"), "{error}");
        assert!(catalog(&[]).subjects(&["si95-to-x".to_owned()]).is_err());
    }
}
