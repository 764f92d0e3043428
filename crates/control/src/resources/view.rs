//! The kinds of clients: each gets what it understands.

use crate::config::Sidecar;
use corewire_xds::envoy::config::core::v3::Node;
use std::fmt;
use std::sync::Arc;

/// What a client is, as far as its resources are made for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum View {
    /// Our own client, and whoever speaks the whole of xDS without being told otherwise.
    Corewire,
    /// gRPC in any language: listeners for its API, older forms of header matches (gRPC C++ refuses
    /// the newer one before 1.56, all understand the older), only policies that it does not refuse.
    Grpc,
    /// gRPC C++ and the languages built on it: the same, without limits of time that it would take
    /// for passed (see `route::SHORTEST_FOR_GRPC_CORE`).
    GrpcCore,
    /// Envoy with the listeners of this sidecar; without one it gets none.
    Envoy(Option<Arc<str>>),
}

impl View {
    /// Those that are not tied to a sidecar: they see every service.
    pub(crate) const OF_APIS: [Self; 3] = [Self::Corewire, Self::Grpc, Self::GrpcCore];

    /// The view of a node, told by its user agent.
    pub(crate) fn of(node: &Node, sidecars: &[Arc<Sidecar>]) -> Self {
        let agent = node.user_agent_name.to_ascii_lowercase();
        if agent == "envoy" {
            let found = sidecars.iter().find(|sidecar| {
                sidecar.node.matches(&node.id) && sidecar.cluster.matches(&node.cluster)
            });
            Self::Envoy(found.map(|sidecar| Arc::clone(&sidecar.name)))
        } else if agent.starts_with("grpc") && agent.contains("c-core") {
            Self::GrpcCore
        } else if agent.starts_with("grpc") {
            Self::Grpc
        } else {
            Self::Corewire
        }
    }

    /// Whether header matches have the form of gRFC A63.
    pub(super) const fn knows_string_match(&self) -> bool {
        !self.is_grpc()
    }

    pub(super) const fn is_grpc(&self) -> bool {
        matches!(self, Self::Grpc | Self::GrpcCore)
    }

    pub(super) const fn is_grpc_core(&self) -> bool {
        matches!(self, Self::GrpcCore)
    }

    pub(super) const fn is_ours(&self) -> bool {
        matches!(self, Self::Corewire)
    }

    pub(super) const fn is_envoy(&self) -> bool {
        matches!(self, Self::Envoy(_))
    }

    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Corewire => "corewire",
            Self::Grpc => "grpc",
            Self::GrpcCore => "grpc-core",
            Self::Envoy(_) => "envoy",
        }
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn nodes_are_told_apart_by_user_agent_and_name() {
        let text = r#"
[[sidecar]]
name = "gateway"
node = "gateway-*"
[[sidecar]]
name = "others"
cluster = "*-others"
"#;
        let sidecars = Config::parse(text).unwrap().sidecars;
        let view = |agent: &str, id: &str, cluster: &str| {
            let node = Node {
                id: id.into(),
                cluster: cluster.into(),
                user_agent_name: agent.into(),
                ..Node::default()
            };
            View::of(&node, &sidecars)
        };
        assert_eq!(
            view("envoy", "gateway-1", ""),
            View::Envoy(Some("gateway".into()))
        );
        assert_eq!(
            view("envoy", "x", "the-others"),
            View::Envoy(Some("others".into()))
        );
        assert_eq!(view("envoy", "x", "y"), View::Envoy(None));
        assert_eq!(view("gRPC C-core linux", "gateway-1", ""), View::GrpcCore);
        assert_eq!(view("gRPC Go", "gateway-1", ""), View::Grpc);
        assert_eq!(view("grpc-node-js", "", ""), View::Grpc);
        assert_eq!(view("corewire", "", ""), View::Corewire);
        assert_eq!(view("", "", ""), View::Corewire);
    }
}
