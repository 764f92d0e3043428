//! Everything that holds for calls at one moment.

use super::cluster::Cluster;
use super::endpoints::Endpoints;
use super::notice::{Fault, Notice};
use super::route::{Route, RouteConfig, VirtualHost};
use corewire_transport::Address;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything that holds for calls at one moment. Never changes; the next one shares what stayed
/// the same, so that whoever compares pointers sees what did not.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Grows with each snapshot of a source.
    pub version: u64,
    /// By target name, as in `xds:///NAME`: what was asked for, whether it is known or not.
    pub targets: BTreeMap<Arc<str>, Resolution<Arc<Target>>>,
    /// By name: every cluster that a known target leads to.
    pub clusters: BTreeMap<Arc<str>, ClusterEntry>,
    /// By target name: what a target that is not known yet waits for, for people.
    pub waits_for: BTreeMap<Arc<str>, Arc<str>>,
    /// What the control plane asked for and is not carried out; sorted, each once.
    pub notices: Arc<[Notice]>,
    /// Resources whose newest version was refused; the last good one holds, if there is one.
    pub refused: Arc<[Fault]>,
}

impl Snapshot {
    /// A snapshot in which `target` leads to endpoints at these addresses: one cluster with the
    /// target's name and the defaults of xDS.
    #[must_use]
    pub fn single(target: &str, addresses: impl IntoIterator<Item = Address>) -> Self {
        let mut snapshot = Self::default();
        snapshot.add_target(target, RouteConfig::to_cluster(target));
        snapshot.add_cluster(Cluster::new(target), Endpoints::at(addresses));
        snapshot
    }

    /// Adds or replaces a target.
    pub fn add_target(&mut self, name: &str, routes: RouteConfig) {
        let target = Target {
            name: name.into(),
            routes: Arc::new(routes),
        };
        let known = Resolution::Ready(Arc::new(target));
        self.targets.insert(name.into(), known);
    }

    /// Adds or replaces a cluster.
    pub fn add_cluster(&mut self, cluster: Cluster, endpoints: Endpoints) {
        let entry = ClusterEntry {
            cluster: Resolution::Ready(Arc::new(cluster.clone())),
            endpoints: Resolution::Ready(Arc::new(endpoints)),
        };
        self.clusters.insert(cluster.name, entry);
    }

    /// What is known of this target; `None` when nobody asked for it.
    #[must_use]
    pub fn target(&self, name: &str) -> Option<&Resolution<Arc<Target>>> {
        self.targets.get(name)
    }

    /// What is known of this cluster.
    #[must_use]
    pub fn cluster(&self, name: &str) -> Option<&ClusterEntry> {
        self.clusters.get(name)
    }
}

/// What is known of something that was asked for.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "it is known, known to be missing, or not known yet"
)]
pub enum Resolution<T> {
    /// Nothing yet: calls wait.
    Pending,
    /// This.
    Ready(T),
    /// It is not there, or was never there in a form that can be used: calls fail at once, with
    /// this reason.
    Missing(Arc<str>),
}

impl<T> Resolution<T> {
    /// The value, if it is known.
    pub const fn ready(&self) -> Option<&T> {
        match self {
            Self::Ready(value) => Some(value),
            Self::Pending | Self::Missing(_) => None,
        }
    }

    /// Whether nothing is known yet.
    pub const fn is_pending(&self) -> bool {
        matches!(self, Self::Pending)
    }
}

/// What a target name stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The name.
    pub name: Arc<str>,
    /// Which request goes where; what the listener's filters ask for is already in its routes.
    pub routes: Arc<RouteConfig>,
}

/// A cluster and where its instances are.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterEntry {
    /// What holds for calls to it.
    pub cluster: Resolution<Arc<Cluster>>,
    /// Where its instances are.
    pub endpoints: Resolution<Arc<Endpoints>>,
}

impl Default for ClusterEntry {
    fn default() -> Self {
        Self {
            cluster: Resolution::Pending,
            endpoints: Resolution::Pending,
        }
    }
}

impl RouteConfig {
    /// Routes that send everything to one cluster.
    #[must_use]
    pub fn to_cluster(cluster: &str) -> Self {
        Self {
            name: cluster.into(),
            virtual_hosts: vec![VirtualHost {
                name: "any".into(),
                domains: vec!["*".into()],
                routes: vec![Route::to_cluster(cluster)],
            }],
        }
    }
}
