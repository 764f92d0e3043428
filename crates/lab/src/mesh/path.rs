//! The paths from gateway to replicas that are compared.

use anyhow::bail;

use crate::record::Failure;

/// What stands at an end.
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
    /// What asks.
    pub(crate) gateway: Ends,
    /// What answers.
    pub(crate) replica: Ends,
    /// Requests have no field that changes from one to the next.
    pub(crate) alike: bool,
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
        gateway: Ends::Corewire(transport),
        replica: Ends::Corewire(transport),
        alike: false,
        way,
    }
}

const fn peer(name: &'static str, kind: &'static str, way: Way, description: &'static str) -> Path {
    Path {
        name,
        description,
        gateway: Ends::Peer(kind),
        replica: Ends::Peer(kind),
        alike: false,
        way,
    }
}

const fn reference(name: &'static str, kind: &'static str, description: &'static str) -> Path {
    Path {
        name,
        description,
        gateway: Ends::Reference(kind),
        replica: Ends::Reference(kind),
        alike: false,
        way: Way::Direct,
    }
}

/// Our REST and nghttp2's tools, which ask and answer with requests that are all alike.
const fn beside_tools(
    name: &'static str,
    gateway: Ends,
    replica: Ends,
    description: &'static str,
) -> Path {
    Path {
        name,
        description,
        gateway,
        replica,
        alike: true,
        way: Way::Direct,
    }
}

const OURS: Ends = Ends::Corewire("rest");
const TOOLS: Ends = Ends::Reference("nghttp2");

/// Every path, in the order in which they are shown.
pub(crate) const PATHS: [Path; 24] = [
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
    beside_tools(
        "ref-h2load",
        TOOLS,
        TOOLS,
        "h2load asks nghttpd, no mesh, saturated only; as ref-hyper",
    ),
    beside_tools(
        "h2load-rest",
        TOOLS,
        OURS,
        "h2load asks Corewire; as ref-h2load",
    ),
    beside_tools(
        "rest-nghttpd",
        OURS,
        TOOLS,
        "Corewire asks nghttpd, requests alike; as ref-h2load",
    ),
    beside_tools(
        "alike-rest",
        OURS,
        OURS,
        "Corewire asks Corewire, requests alike; as ref-h2load",
    ),
];

/// Those that `lab run http2` compares.
pub(crate) const OF_HTTP2: [&str; 10] = [
    "direct-rest",
    "direct-grpc",
    "ref-nghttp2",
    "ref-hyper",
    "ref-tonic",
    "ref-grpc",
    "ref-h2load",
    "h2load-rest",
    "rest-nghttpd",
    "alike-rest",
];

impl Path {
    /// The path of this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        PATHS.iter().find(|path| path.name == name)
    }

    /// Whether nghttp2's own tools take part.
    pub(crate) fn has_tools(&self) -> bool {
        self.gateway == TOOLS || self.replica == TOOLS
    }

    /// Whether it is a part of `lab run http2` alone.
    fn is_of_http2(&self) -> bool {
        self.alike || matches!(self.gateway, Ends::Reference(_))
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
        let what = match (self.gateway, self.replica) {
            (Ends::Corewire("shm"), _) => {
                "octets in shared memory leave no process that could listen: TLS is not spoken there"
            }
            (Ends::Peer("nghttp2") | Ends::Reference(_), _) | (_, Ends::Reference(_)) => {
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
        match self.gateway {
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
        return Ok(PATHS.iter().filter(|path| !path.is_of_http2()).collect());
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
        assert_eq!(chosen(&[]).expect("all").len(), PATHS.len() - 6);
        assert_eq!(
            chosen(&OF_HTTP2.map(str::to_owned)).expect("known").len(),
            10
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
