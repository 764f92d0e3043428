//! Who a client says it is, as far as it is kept.

use corewire_xds::envoy::config::core::v3::Node;
use corewire_xds::envoy::config::core::v3::node::UserAgentVersionType;

/// The longest part of what a client wrote that is kept.
const KEPT_TEXT: usize = 1000;

/// What of a node is looked at later, each part of it short: it is kept as long as the stream.
pub(super) fn kept(node: &Node) -> Node {
    Node {
        id: shortened(&node.id),
        cluster: shortened(&node.cluster),
        user_agent_name: shortened(&node.user_agent_name),
        user_agent_version_type: Some(UserAgentVersionType::UserAgentVersion(version(node))),
        ..Node::default()
    }
}

/// The version of a client's program; empty when it does not say.
pub(super) fn version(node: &Node) -> String {
    match &node.user_agent_version_type {
        Some(UserAgentVersionType::UserAgentVersion(version)) => shortened(version),
        Some(UserAgentVersionType::UserAgentBuildVersion(build)) => {
            let version = build.version.unwrap_or_default();
            let (major, minor) = (version.major_number, version.minor_number);
            format!("{major}.{minor}.{}", version.patch)
        }
        None => String::new(),
    }
}

/// The beginning of what a client wrote.
pub(super) fn shortened(text: &str) -> String {
    let mut end = text.len().min(KEPT_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewire_xds::Message;
    use corewire_xds::envoy::config::core::v3::{BuildVersion, Locality};
    use corewire_xds::{Struct, Value};

    #[test]
    fn little_is_kept_of_a_node_that_says_much() {
        let long = "é".repeat(1 << 20);
        let mut node = Node {
            id: long.clone(),
            cluster: long.clone(),
            user_agent_name: long.clone(),
            locality: Some(Locality {
                region: long.clone(),
                ..Locality::default()
            }),
            client_features: vec![long.clone()],
            ..Node::default()
        };
        let metadata = Struct {
            fields: [(long.clone(), Value::default())].into(),
        };
        for version in [
            UserAgentVersionType::UserAgentVersion(long),
            UserAgentVersionType::UserAgentBuildVersion(BuildVersion {
                version: None,
                metadata: Some(metadata),
            }),
        ] {
            node.user_agent_version_type = Some(version);
            let kept = kept(&node);
            assert!(kept.encoded_len() < 5 * KEPT_TEXT, "{}", kept.encoded_len());
            assert_eq!(kept.id.len(), KEPT_TEXT);
        }
        assert_eq!(version(&node), "0.0.0");
    }
}
