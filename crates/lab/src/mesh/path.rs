//! The paths from gateway to replicas that are compared.

use anyhow::bail;

use crate::record::Failure;

/// What stands at both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// `corewire nf`, over this transport.
    Corewire(&'static str),
    /// The C++ programs of `peers/mesh`, of this kind.
    Peer(&'static str),
    /// The Rust program of `peers/reference`, of this kind.
    Reference(&'static str),
}

/// What lies between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Nothing: the gateway has the list of replicas and takes them in turn.
    Direct,
    /// The stages of the mesh inside the gateway, over the list of replicas; nobody is asked.
    Stages,
    /// A mesh inside the gateway: it asks the control plane by name.
    Inline,
    /// Envoys on both sides of a hop, or on the client's side only; the number.
    Envoys(u32),
}

/// One path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Path {
    /// The subject of its records.
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) ends: Ends,
    pub(crate) way: Way,
}

const fn corewire(
    name: &'static str,
    transport: &'static str,
    way: Way,
    description: &'static str,
) -> Path {
    Path {
        name,
        description,
        ends: Ends::Corewire(transport),
        way,
    }
}

const fn peer(name: &'static str, kind: &'static str, way: Way, description: &'static str) -> Path {
    Path {
        name,
        description,
        ends: Ends::Peer(kind),
        way,
    }
}

const fn reference(name: &'static str, kind: &'static str, description: &'static str) -> Path {
    Path {
        name,
        description,
        ends: Ends::Reference(kind),
        way: Way::Direct,
    }
}

/// Every path, in the order in which they are shown.
pub(crate) const PATHS: [Path; 21] = [
    corewire(
        "direct-rest",
        "rest",
        Way::Direct,
        "Corewire, REST, no mesh",
    ),
    corewire(
        "direct-grpc",
        "grpc",
        Way::Direct,
        "Corewire, gRPC, no mesh",
    ),
    corewire(
        "direct-native",
        "native",
        Way::Direct,
        "Corewire, native, no mesh",
    ),
    corewire(
        "direct-shm",
        "shm",
        Way::Direct,
        "Corewire, shared memory, no mesh",
    ),
    corewire(
        "stages-rest",
        "rest",
        Way::Stages,
        "Corewire, REST, the mesh's stages without a control plane",
    ),
    corewire(
        "stages-native",
        "native",
        Way::Stages,
        "Corewire, native, the mesh's stages without a control plane",
    ),
    corewire(
        "inline-rest",
        "rest",
        Way::Inline,
        "Corewire, REST, inline mesh",
    ),
    corewire(
        "inline-grpc",
        "grpc",
        Way::Inline,
        "Corewire, gRPC, inline mesh",
    ),
    corewire(
        "inline-native",
        "native",
        Way::Inline,
        "Corewire, native, inline mesh",
    ),
    corewire(
        "inline-shm",
        "shm",
        Way::Inline,
        "Corewire, shared memory, inline mesh",
    ),
    peer(
        "shim-grpc",
        "shim",
        Way::Inline,
        "the paper's shim: gRPC C++ under an HTTP/2-shaped call, xds:///",
    ),
    corewire(
        "envoy-1-rest",
        "rest",
        Way::Envoys(1),
        "Corewire, REST, a sidecar at the gateway only",
    ),
    corewire(
        "envoy-1-grpc",
        "grpc",
        Way::Envoys(1),
        "Corewire, gRPC, a sidecar at the gateway only",
    ),
    corewire(
        "envoy-2-rest",
        "rest",
        Way::Envoys(2),
        "Corewire, REST, sidecars on both sides",
    ),
    corewire(
        "envoy-2-grpc",
        "grpc",
        Way::Envoys(2),
        "Corewire, gRPC, sidecars on both sides",
    ),
    peer(
        "grpc-xds",
        "grpc",
        Way::Inline,
        "gRPC C++, proxyless, xds:///",
    ),
    peer(
        "ref-grpc",
        "grpc",
        Way::Direct,
        "gRPC C++, no mesh: the reference of gRPC",
    ),
    peer(
        "ref-nghttp2",
        "nghttp2",
        Way::Direct,
        "nghttp2 C++, no mesh: the reference of HTTP/2",
    ),
    reference(
        "ref-hyper",
        "hyper",
        "hyper, no mesh; by name and in `lab run http2` only",
    ),
    reference("ref-tonic", "tonic", "tonic (gRPC), no mesh; as ref-hyper"),
    reference(
        "ref-h2load",
        "nghttp2",
        "h2load asks nghttpd, no mesh, saturated only; as ref-hyper",
    ),
];

/// Those that `lab run http2` compares.
pub(crate) const OF_HTTP2: [&str; 7] = [
    "direct-rest",
    "direct-grpc",
    "ref-nghttp2",
    "ref-hyper",
    "ref-tonic",
    "ref-grpc",
    "ref-h2load",
];

impl Path {
    /// The path of this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        PATHS.iter().find(|path| path.name == name)
    }

    /// Whether a control plane takes part.
    pub(crate) const fn has_control(&self) -> bool {
        matches!(self.way, Way::Inline | Way::Envoys(_))
    }

    pub(crate) const fn envoys(&self) -> u32 {
        match self.way {
            Way::Envoys(envoys) => envoys,
            Way::Direct | Way::Stages | Way::Inline => 0,
        }
    }

    /// Why it cannot be secured; `None` when it can.
    pub(crate) fn lacks_tls(&self) -> Option<Failure> {
        let what = match self.ends {
            Ends::Corewire("shm") => {
                "octets in shared memory leave no process that could listen: TLS is not spoken there"
            }
            Ends::Peer("nghttp2") | Ends::Reference(_) => {
                "the references of HTTP/2 speak clear text only"
            }
            _ => return None,
        };
        Some(Failure {
            what: format!("{}: {what}", self.name),
            place: "--mtls on".to_owned(),
            next: "leave --mtls out to measure in clear text".to_owned(),
        })
    }

    /// What carries messages, as control plane and programs name it.
    pub(crate) fn transport(&self) -> &'static str {
        match self.ends {
            Ends::Corewire(transport) => transport,
            Ends::Peer("nghttp2") | Ends::Reference("hyper" | "nghttp2") => "rest",
            Ends::Peer(_) | Ends::Reference(_) => "grpc",
        }
    }
}

/// The paths of these names (any case, each once), or every one when there are none but those that
/// say something of HTTP/2 alone.
///
/// # Errors
/// When a name is no path; says which there are.
pub(crate) fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Path>> {
    if names.is_empty() {
        let is_of_mesh = |path: &&Path| !matches!(path.ends, Ends::Reference(_));
        return Ok(PATHS.iter().filter(is_of_mesh).collect());
    }
    let mut paths: Vec<&Path> = Vec::new();
    for name in names {
        let lower = name.trim().to_ascii_lowercase();
        let Some(path) = Path::named(&lower) else {
            let all: Vec<&str> = PATHS.iter().map(|path| path.name).collect();
            bail!("there is no path {name:?}; there are {}", all.join(", "));
        };
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_by_name_once_each() {
        let names = ["Inline-REST".to_owned(), "inline-rest".to_owned()];
        let paths = chosen(&names).expect("known");
        assert_eq!(paths.len(), 1);
        // The references of HTTP/2 are run by name.
        assert_eq!(chosen(&[]).expect("all").len(), PATHS.len() - 3);
        assert_eq!(
            chosen(&OF_HTTP2.map(str::to_owned)).expect("known").len(),
            7
        );
        let error = chosen(&["envoy-3-rest".to_owned()]).expect_err("unknown");
        assert!(error.to_string().contains("envoy-2-rest"), "{error}");
    }

    #[test]
    fn names_are_unique() {
        for (at, path) in PATHS.iter().enumerate() {
            assert!(PATHS[at + 1..].iter().all(|other| other.name != path.name));
        }
    }
}
