//! From watched names to everything they lead to, and the snapshot of it.
//!
//! What is published goes on until what follows it is complete: routes to a new cluster take effect
//! when its endpoints are known, or known to be missing.

use super::dns::{Host, Hosts};
use super::store::Store;
use super::target::target;
use crate::config::{Cluster, ClusterEntry, Endpoints, Locality, Resolution, Target};
use crate::xds::validate::{Discovery, ListenerData, RouteData, RouteSource, Value};
use corewire_xds::ResourceType;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// How deep aggregates may be within each other (gRFC A37).
const MAX_DEPTH: usize = 16;
/// The most clusters that one aggregate may lead to, directly or not.
const MAX_LEAVES: usize = 256;

/// What is published, and what it was made from.
#[derive(Debug, Default)]
pub(super) struct Graph {
    targets: BTreeMap<Arc<str>, Watched>,
    pub(super) clusters: BTreeMap<Arc<str>, ClusterEntry>,
    /// What targets that are not known yet wait for.
    pub(super) waits_for: BTreeMap<Arc<str>, Arc<str>>,
    /// For each name of endpoints, the clusters that use them.
    users: HashMap<Arc<str>, Vec<Arc<str>>>,
}

/// A watched target.
#[derive(Debug)]
struct Watched {
    /// The name of its listener.
    listener: Arc<str>,
    view: Resolution<Arc<Target>>,
    /// The clusters that the view leads to.
    clusters: Arc<HashSet<Arc<str>>>,
    /// What would follow.
    candidate: Option<Candidate>,
}

/// A target as the newest resources have it.
#[derive(Debug)]
struct Candidate {
    from: (Arc<ListenerData>, Arc<RouteData>),
    target: Arc<Target>,
    clusters: Arc<HashSet<Arc<str>>>,
}

/// Limits that a graph keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) max_resources: usize,
    pub(super) now: Instant,
}

impl Graph {
    /// Watches a target.
    pub(super) fn watch(&mut self, name: &Arc<str>, listener: Arc<str>) {
        self.targets
            .entry(Arc::clone(name))
            .or_insert_with(|| Watched {
                listener,
                view: Resolution::Pending,
                clusters: Arc::default(),
                candidate: None,
            });
    }

    /// No longer watches a target.
    pub(super) fn unwatch(&mut self, name: &str) {
        self.targets.remove(name);
    }

    /// Every target.
    pub(super) fn targets(&self) -> impl Iterator<Item = (&Arc<str>, &Resolution<Arc<Target>>)> {
        let targets = self.targets.iter();
        targets.map(|(name, watched)| (name, &watched.view))
    }

    /// Looks at all resources again: asks for what is led to, drops what is not, and publishes what
    /// is complete. Whether anything that is published changed.
    pub(super) fn refresh(&mut self, store: &mut Store, hosts: &mut Hosts, bounds: Bounds) -> bool {
        self.ask_for_listeners_and_routes(store, bounds);
        self.make_candidates(store);
        // Once to ask for what candidates lead to, once more to drop what only their predecessors
        // led to.
        self.ask_for_clusters(store, hosts, bounds);
        let mut changed = self.publish_targets(store, hosts);
        self.ask_for_clusters(store, hosts, bounds);
        changed |= self.publish_clusters(store, hosts);
        let waits_for = self.what_is_waited_for(store, hosts);
        // At first everything waits for its listener, which is said without that.
        let news = waits_for.iter().any(|(name, what)| {
            let before = self.waits_for.get(name);
            before.is_some_and(|before| before != what)
        });
        self.waits_for = waits_for;
        changed | news
    }

    /// For each target that is not known yet, the first resource that is missing.
    fn what_is_waited_for(&self, store: &Store, hosts: &Hosts) -> BTreeMap<Arc<str>, Arc<str>> {
        let pending = self.targets.iter().filter(|(_, it)| it.view.is_pending());
        let waits = pending.map(|(name, watched)| {
            let what = match (missing(&watched.listener, store), &watched.candidate) {
                (Some(missing), _) => missing,
                (None, None) => "its routes".into(),
                (None, Some(candidate)) => {
                    let mut clusters: Vec<_> = candidate.clusters.iter().collect();
                    clusters.sort();
                    let leaves = clusters.into_iter().flat_map(|name| leaves(name, store));
                    let mut waiting = leaves.filter_map(|cluster| {
                        let entry = leaf_entry(&cluster, store, hosts);
                        if entry.cluster.is_pending() {
                            return Some(format!("Cluster {cluster:?}"));
                        }
                        let waits = entry.endpoints.is_pending();
                        waits.then(|| match discovery(&cluster, store) {
                            Some(Discovery::Eds(name)) => {
                                format!("ClusterLoadAssignment {name:?}")
                            }
                            _ => format!("the endpoints of Cluster {cluster:?}"),
                        })
                    });
                    waiting.next().unwrap_or_else(|| "its clusters".into())
                }
            };
            (Arc::clone(name), Arc::from(what))
        });
        waits.collect()
    }

    /// Only these endpoints changed: if nothing else can follow from that, publishes them and says
    /// whether anything changed; `None` when everything must be looked at.
    pub(super) fn refresh_endpoints(
        &mut self,
        store: &Store,
        hosts: &Hosts,
        name: &Arc<str>,
    ) -> Option<bool> {
        let users = self.users.get(name)?;
        let mut changed = false;
        for user in users {
            let entry = self.clusters.get_mut(user)?;
            entry.endpoints.ready()?;
            let found = cluster_entry(user, store, hosts);
            if found.cluster != entry.cluster || found.endpoints.is_pending() {
                return None;
            }
            changed |= replace(&mut entry.endpoints, found.endpoints);
        }
        Some(changed)
    }

    fn ask_for_listeners_and_routes(&self, store: &mut Store, bounds: Bounds) {
        let most = bounds.max_resources;
        let watched = self.targets.values();
        let listeners = watched.map(|it| Arc::clone(&it.listener)).collect();
        store.want_exactly(ResourceType::Listener, &listeners, most, bounds.now);
        let mut routes = BTreeSet::new();
        for entry in store.of(ResourceType::Listener).values() {
            if let Some(Value::Listener(listener)) = &entry.value
                && let RouteSource::Named(name) = &listener.routes
            {
                routes.insert(Arc::clone(name));
            }
        }
        store.want_exactly(ResourceType::Route, &routes, most, bounds.now);
    }

    fn make_candidates(&mut self, store: &Store) {
        for (name, watched) in &mut self.targets {
            let Newest::Ready(listener, routes) = newest(&watched.listener, store) else {
                watched.candidate = None;
                continue;
            };
            if let Some(candidate) = &watched.candidate
                && Arc::ptr_eq(&candidate.from.0, &listener)
                && Arc::ptr_eq(&candidate.from.1, &routes)
            {
                continue;
            }
            let target = Arc::new(target(name, &listener, &routes));
            watched.candidate = Some(Candidate {
                clusters: Arc::new(RouteData::cluster_names(&target.routes)),
                target,
                from: (listener, routes),
            });
        }
    }

    /// Every cluster that something leads to, now or soon.
    fn cluster_names(&self) -> BTreeSet<Arc<str>> {
        let mut names = BTreeSet::new();
        for watched in self.targets.values() {
            names.extend(watched.clusters.iter().cloned());
            if let Some(candidate) = &watched.candidate {
                names.extend(candidate.clusters.iter().cloned());
            }
        }
        names
    }

    fn ask_for_clusters(&self, store: &mut Store, hosts: &mut Hosts, bounds: Bounds) {
        let mut names = self.cluster_names();
        // Aggregates lead to more; what they lead to is known when they are.
        let mut next: Vec<Arc<str>> = names.iter().cloned().collect();
        for _ in 0..MAX_DEPTH {
            let mut deeper = Vec::new();
            for name in &next {
                if let Some(Discovery::Aggregate(children)) = discovery(name, store) {
                    let new = children.iter().filter(|child| !names.contains(*child));
                    deeper.extend(new.cloned());
                }
            }
            if deeper.is_empty() {
                break;
            }
            names.extend(deeper.iter().cloned());
            next = deeper;
        }
        let most = bounds.max_resources;
        store.want_exactly(ResourceType::Cluster, &names, most, bounds.now);
        let mut endpoints = BTreeSet::new();
        let mut looked_up = BTreeSet::new();
        for name in &names {
            match discovery(name, store) {
                Some(Discovery::Eds(name)) => {
                    endpoints.insert(Arc::clone(name));
                }
                Some(Discovery::Dns { host, port }) => {
                    looked_up.insert((Arc::clone(host), *port));
                }
                Some(Discovery::Static(_) | Discovery::Aggregate(_)) | None => {}
            }
        }
        // A cluster that is about to get its endpoints elsewhere keeps those it has until then.
        for (name, users) in &self.users {
            let still = users.iter().any(|user| {
                let published = self.clusters.get(user);
                let waits = || cluster_entry(user, store, hosts).endpoints.is_pending();
                names.contains(user)
                    && published.is_some_and(|it| it.endpoints.ready().is_some())
                    && waits()
            });
            if still && store.get(ResourceType::Endpoints, name).is_some() {
                endpoints.insert(Arc::clone(name));
            }
        }
        store.want_exactly(ResourceType::Endpoints, &endpoints, most, bounds.now);
        hosts.want_exactly(&looked_up, bounds.now);
    }

    fn publish_targets(&mut self, store: &Store, hosts: &Hosts) -> bool {
        let mut changed = false;
        for watched in self.targets.values_mut() {
            let view = match (newest(&watched.listener, store), &watched.candidate) {
                (Newest::Missing(why), _) => {
                    watched.clusters = Arc::default();
                    Resolution::Missing(why)
                }
                (Newest::Ready(..), Some(candidate)) => {
                    let complete = candidate.clusters.iter().all(|name| {
                        let entry = cluster_entry(name, store, hosts);
                        !entry.cluster.is_pending() && !entry.endpoints.is_pending()
                    });
                    if !complete {
                        continue;
                    }
                    watched.clusters = Arc::clone(&candidate.clusters);
                    Resolution::Ready(Arc::clone(&candidate.target))
                }
                // Something is on its way: what holds goes on holding.
                _ if watched.view.ready().is_some() => continue,
                _ => Resolution::Pending,
            };
            changed |= replace(&mut watched.view, view);
        }
        changed
    }

    fn publish_clusters(&mut self, store: &Store, hosts: &Hosts) -> bool {
        let mut names = BTreeSet::new();
        for watched in self.targets.values() {
            names.extend(watched.clusters.iter().cloned());
        }
        let before = self.clusters.len();
        self.clusters.retain(|name, _| names.contains(name));
        let mut changed = self.clusters.len() != before;
        self.users.clear();
        for name in names {
            for used in leaves(&name, store) {
                if let Some(Discovery::Eds(endpoints)) = discovery(&used, store) {
                    let users = self.users.entry(Arc::clone(endpoints)).or_default();
                    users.push(Arc::clone(&name));
                }
            }
            let found = cluster_entry(&name, store, hosts);
            let known = self.clusters.entry(name).or_default();
            let waits = found.cluster.is_pending() || found.endpoints.is_pending();
            if waits && !known.cluster.is_pending() && !known.endpoints.is_pending() {
                continue;
            }
            changed |= replace(&mut known.cluster, found.cluster);
            changed |= replace(&mut known.endpoints, found.endpoints);
        }
        changed
    }
}

/// Puts another value in the place of one, unless they are equal: then the old one stays, so that
/// whoever compares pointers sees it.
fn replace<T: PartialEq>(old: &mut Resolution<T>, new: Resolution<T>) -> bool {
    let changed = *old != new;
    if changed {
        *old = new;
    }
    changed
}

/// What the newest resources make of a target.
enum Newest {
    Pending,
    Ready(Arc<ListenerData>, Arc<RouteData>),
    Missing(Arc<str>),
}

fn newest(listener: &str, store: &Store) -> Newest {
    let listener = match found(ResourceType::Listener, listener, store) {
        Resolution::Ready(Value::Listener(listener)) => listener,
        Resolution::Missing(why) => return Newest::Missing(why),
        _ => return Newest::Pending,
    };
    match &listener.routes {
        RouteSource::Inline(routes) => Newest::Ready(Arc::clone(listener), Arc::clone(routes)),
        RouteSource::Named(name) => match found(ResourceType::Route, name, store) {
            Resolution::Ready(Value::Routes(routes)) => {
                Newest::Ready(Arc::clone(listener), Arc::clone(routes))
            }
            Resolution::Missing(why) => Newest::Missing(why),
            _ => Newest::Pending,
        },
    }
}

/// The listener or the route configuration that has not come yet.
fn missing(listener: &str, store: &Store) -> Option<String> {
    match found(ResourceType::Listener, listener, store) {
        Resolution::Pending => Some(format!("Listener {listener:?}")),
        Resolution::Ready(Value::Listener(data)) => match &data.routes {
            RouteSource::Named(name) => found(ResourceType::Route, name, store)
                .is_pending()
                .then(|| format!("RouteConfiguration {name:?}")),
            RouteSource::Inline(_) => None,
        },
        _ => None,
    }
}

/// A resource, or why there is none.
fn found<'a>(kind: ResourceType, name: &str, store: &'a Store) -> Resolution<&'a Value> {
    let Some(entry) = store.get(kind, name) else {
        if store.is_one_too_many(kind, name) {
            let kind = kind.message_name();
            let why = format!("{kind} {name:?}: too many resources are asked for already");
            return Resolution::Missing(why.into());
        }
        return Resolution::Pending;
    };
    match (&entry.value, &entry.missing) {
        (Some(value), _) => Resolution::Ready(value),
        (None, Some(why)) => {
            let mut text = format!("{} {name:?}: {why}", kind.message_name());
            for fault in entry.refused.iter().take(3) {
                text.push_str(&format!("; {fault}"));
            }
            Resolution::Missing(text.into())
        }
        (None, None) => Resolution::Pending,
    }
}

fn discovery<'a>(name: &str, store: &'a Store) -> Option<&'a Discovery> {
    match &store.get(ResourceType::Cluster, name)?.value {
        Some(Value::Cluster(data)) => Some(&data.discovery),
        _ => None,
    }
}

/// The clusters that a cluster leads to: itself, or those of an aggregate, in their order.
fn leaves(name: &Arc<str>, store: &Store) -> Vec<Arc<str>> {
    let mut leaves = Vec::new();
    let mut seen = HashSet::new();
    collect_leaves(name, store, MAX_DEPTH, &mut seen, &mut leaves);
    leaves
}

fn collect_leaves(
    name: &Arc<str>,
    store: &Store,
    depth: usize,
    seen: &mut HashSet<Arc<str>>,
    leaves: &mut Vec<Arc<str>>,
) {
    // One that was there already has its place: the first counts (gRFC A37).
    if leaves.len() >= MAX_LEAVES || !seen.insert(Arc::clone(name)) {
        return;
    }
    match (discovery(name, store), depth.checked_sub(1)) {
        (Some(Discovery::Aggregate(children)), Some(depth)) => {
            for child in &**children {
                collect_leaves(child, store, depth, seen, leaves);
            }
        }
        (Some(Discovery::Aggregate(_)), None) => {}
        _ => leaves.push(Arc::clone(name)),
    }
}

/// A cluster as the newest resources have it.
fn cluster_entry(name: &Arc<str>, store: &Store, hosts: &Hosts) -> ClusterEntry {
    match discovery(name, store) {
        Some(Discovery::Aggregate(_)) => aggregate_entry(name, store, hosts),
        _ => leaf_entry(name, store, hosts),
    }
}

fn leaf_entry(name: &str, store: &Store, hosts: &Hosts) -> ClusterEntry {
    let data = match found(ResourceType::Cluster, name, store) {
        Resolution::Ready(Value::Cluster(data)) => data,
        Resolution::Missing(why) => {
            return ClusterEntry {
                cluster: Resolution::Missing(Arc::clone(&why)),
                endpoints: Resolution::Missing(why),
            };
        }
        _ => return ClusterEntry::default(),
    };
    let endpoints = match &data.discovery {
        Discovery::Eds(name) => match found(ResourceType::Endpoints, name, store) {
            Resolution::Ready(Value::Endpoints(endpoints)) => {
                Resolution::Ready(Arc::clone(endpoints))
            }
            Resolution::Missing(why) => Resolution::Missing(why),
            _ => Resolution::Pending,
        },
        Discovery::Static(endpoints) => Resolution::Ready(Arc::clone(endpoints)),
        Discovery::Dns { host, port } => {
            let host: Host = (Arc::clone(host), *port);
            hosts.endpoints(&host)
        }
        Discovery::Aggregate(_) => Resolution::Missing("is nested too deeply".into()),
    };
    ClusterEntry {
        cluster: Resolution::Ready(Arc::clone(&data.cluster)),
        endpoints,
    }
}

/// An aggregate as one cluster: the priorities of its leaves one after the other, and the settings
/// of the first leaf that there is.
fn aggregate_entry(name: &Arc<str>, store: &Store, hosts: &Hosts) -> ClusterEntry {
    let mut settings: Option<Cluster> = None;
    let mut joined = Endpoints::default();
    let mut base = 0;
    let mut missing = Vec::new();
    for leaf in leaves(name, store) {
        let entry = leaf_entry(&leaf, store, hosts);
        match (entry.cluster, entry.endpoints) {
            (Resolution::Pending, _) | (_, Resolution::Pending) => return ClusterEntry::default(),
            (Resolution::Ready(cluster), Resolution::Ready(endpoints)) => {
                match &mut settings {
                    None => {
                        let name = Arc::clone(name);
                        settings = Some(Cluster {
                            name,
                            ..(*cluster).clone()
                        });
                        joined.overprovisioning = endpoints.overprovisioning;
                        joined.drops.clone_from(&endpoints.drops);
                    }
                    // One that demands TLS demands it for all: clear text is never the answer.
                    Some(first) if first.tls.is_none() => first.tls.clone_from(&cluster.tls),
                    Some(_) => {}
                }
                let last = endpoints.localities.iter().map(|it| it.priority).max();
                let localities = endpoints.localities.iter();
                joined
                    .localities
                    .extend(localities.map(|locality| Locality {
                        priority: base + locality.priority,
                        ..locality.clone()
                    }));
                base += last.map_or(0, |last| last + 1);
            }
            (_, Resolution::Missing(why)) | (Resolution::Missing(why), _) => missing.push(why),
        }
    }
    match settings {
        Some(cluster) => ClusterEntry {
            cluster: Resolution::Ready(Arc::new(cluster)),
            endpoints: Resolution::Ready(Arc::new(joined)),
        },
        None => {
            let why: Arc<str> = if missing.is_empty() {
                format!("Cluster {name:?}: leads to no cluster").into()
            } else {
                format!("Cluster {name:?}: {}", missing.join("; ")).into()
            };
            ClusterEntry {
                cluster: Resolution::Missing(Arc::clone(&why)),
                endpoints: Resolution::Missing(why),
            }
        }
    }
}
