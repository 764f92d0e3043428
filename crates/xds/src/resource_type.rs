//! The four kinds of resources and their names.

use std::fmt;

/// What a resource describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a fifth kind would be a new subsystem"
)]
pub enum ResourceType {
    /// What a target name stands for (LDS).
    Listener,
    /// Which request goes to which cluster (RDS).
    Route,
    /// How a cluster is balanced and protected (CDS).
    Cluster,
    /// Where the instances of a cluster are (EDS).
    Endpoints,
}

impl ResourceType {
    /// Every kind, in the order in which one leads to the next.
    pub const ALL: [Self; 4] = [Self::Listener, Self::Route, Self::Cluster, Self::Endpoints];

    /// The type URL in requests and responses.
    #[must_use]
    pub const fn type_url(self) -> &'static str {
        match self {
            Self::Listener => "type.googleapis.com/envoy.config.listener.v3.Listener",
            Self::Route => "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
            Self::Cluster => "type.googleapis.com/envoy.config.cluster.v3.Cluster",
            Self::Endpoints => "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
        }
    }

    /// The kind with this type URL.
    #[must_use]
    pub fn from_type_url(url: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.type_url() == url)
    }

    /// The abbreviation of the field: `lds`, `rds`, `cds`, `eds`.
    #[must_use]
    pub const fn short_name(self) -> &'static str {
        match self {
            Self::Listener => "lds",
            Self::Route => "rds",
            Self::Cluster => "cds",
            Self::Endpoints => "eds",
        }
    }

    /// The name of the resource's message, without its package.
    #[must_use]
    pub const fn message_name(self) -> &'static str {
        match self {
            Self::Listener => "Listener",
            Self::Route => "RouteConfiguration",
            Self::Cluster => "Cluster",
            Self::Endpoints => "ClusterLoadAssignment",
        }
    }
}

impl fmt::Display for ResourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short_name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envoy::config::{cluster, endpoint, listener, route};
    use prost::Name;

    #[test]
    fn urls_are_those_of_the_messages() {
        let urls = [
            listener::v3::Listener::type_url(),
            route::v3::RouteConfiguration::type_url(),
            cluster::v3::Cluster::type_url(),
            endpoint::v3::ClusterLoadAssignment::type_url(),
        ];
        for (kind, url) in ResourceType::ALL.into_iter().zip(urls) {
            assert_eq!(kind.type_url(), url);
            assert_eq!(ResourceType::from_type_url(&url), Some(kind));
        }
        assert_eq!(ResourceType::from_type_url(""), None);
    }
}
