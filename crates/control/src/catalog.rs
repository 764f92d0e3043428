//! Joins configuration and registry into what is served, and changes of it in the right order.
//!
//! Endpoints are made anew only for services whose instances changed. A cluster that the
//! configuration no longer has stays for a moment, so that no client loses it before it has learnt
//! of the routes that no longer use it; a registered service that is not in the file stays for a
//! while without instances, so that its restart is no change of listeners and routes.

use crate::config::{Config, Service};
use crate::registry::Registry;
use crate::resources::{Digest, Resource, TypeSet, View, ViewSet, endpoints_of};
use crate::snapshot::Snapshot;
use corewire_xds::ResourceType;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a cluster is served that the configuration no longer has.
pub(crate) const LINGER: Duration = Duration::from_secs(2);
/// How long a service without instances is served that was only ever registered.
pub(crate) const FORGET_AFTER: Duration = Duration::from_secs(600);

/// A resource that is served a little longer.
struct Leaving {
    until: Instant,
    /// `None`: endpoints.
    view: Option<View>,
    resource: Arc<Resource>,
}

/// What is served, and how it came about.
pub(crate) struct Catalog {
    config: Arc<Config>,
    /// Services that are not in the file, and since when they have no instances.
    registered: BTreeMap<Arc<str>, (Arc<Service>, Option<Instant>)>,
    endpoints: Arc<TypeSet>,
    views: HashMap<View, Arc<ViewSet>>,
    leaving: Vec<Leaving>,
    generation: u64,
}

impl Catalog {
    pub(crate) fn new(generation: u64) -> Self {
        Self {
            config: Arc::default(),
            registered: BTreeMap::new(),
            endpoints: Arc::default(),
            views: HashMap::new(),
            leaving: Vec::new(),
            generation,
        }
    }

    /// What is served now.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::new(Snapshot {
            generation: self.generation,
            endpoints: Arc::clone(&self.endpoints),
            views: self.views.clone(),
            sidecars: self.config.sidecars.clone().into(),
            limits: self.config.limits.clone(),
        })
    }

    pub(crate) const fn generation(&self) -> u64 {
        self.generation
    }

    pub(crate) const fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// Every service, of the file or registered.
    pub(crate) fn services(&self) -> impl Iterator<Item = &Arc<Service>> {
        let registered = self.registered.values().map(|(service, _)| service);
        self.config.services.values().chain(registered)
    }

    pub(crate) fn endpoints(&self) -> &TypeSet {
        &self.endpoints
    }

    /// Serves another configuration.
    pub(crate) fn set_config(&mut self, now: Instant, config: Arc<Config>, registry: &Registry) {
        let before = self.digest();
        self.config = config;
        let config = Arc::clone(&self.config);
        self.registered
            .retain(|name, _| !config.services.contains_key(name));
        for name in registry.services() {
            self.note(name, now, true);
        }
        let mut views: HashMap<View, ViewSet> = HashMap::new();
        for view in View::OF_APIS {
            let mut set = ViewSet::default();
            for service in self.services() {
                set.add_service(&view, &config, service);
            }
            views.insert(view, set);
        }
        for sidecar in &config.sidecars {
            let view = View::Envoy(Some(Arc::clone(&sidecar.name)));
            let set = ViewSet::of_sidecar(&view, &config, sidecar);
            views.insert(view, set);
        }
        let mut endpoints = TypeSet::default();
        for service in self.services() {
            for made in endpoints_of(service, registry.of_service(&service.name)) {
                endpoints.put(Arc::new(Resource::new(&made.cluster_name, &made)));
            }
        }
        self.linger(now, &endpoints, &views);
        for leaving in &self.leaving {
            let resource = Arc::clone(&leaving.resource);
            match &leaving.view {
                None => endpoints.put(resource),
                Some(view) => {
                    if let Some(set) = views.get_mut(view) {
                        Arc::make_mut(&mut set.clusters).put(resource);
                    }
                }
            }
        }
        self.endpoints = Arc::new(endpoints);
        let views = views.into_iter();
        self.views = views.map(|(view, set)| (view, Arc::new(set))).collect();
        self.generation += u64::from(self.digest() != before);
    }

    /// What is served, all together.
    fn digest(&self) -> Digest {
        let sets = self.views.values();
        let sets = sets.flat_map(|set| [&set.listeners, &set.routes, &set.clusters]);
        let digests = sets.map(|set| set.digest());
        digests.fold(self.endpoints.digest(), Digest::add)
    }

    /// Notes clusters and endpoints that are served but no longer made.
    fn linger(&mut self, now: Instant, endpoints: &TypeSet, views: &HashMap<View, ViewSet>) {
        let until = now + LINGER;
        // What was leaving already keeps its time, unless it came back.
        self.leaving.retain(|leaving| {
            let made = match &leaving.view {
                None => Some(endpoints),
                Some(view) => views.get(view).map(|set| &*set.clusters),
            };
            made.is_none_or(|made| made.get(&leaving.resource.name).is_none())
        });
        let already: HashSet<(Option<View>, Arc<str>)> = self
            .leaving
            .iter()
            .map(|leaving| (leaving.view.clone(), Arc::clone(&leaving.resource.name)))
            .collect();
        let is_new = |view: Option<&View>, name: &Arc<str>| {
            !already.contains(&(view.cloned(), Arc::clone(name)))
        };
        let mut leaving = Vec::new();
        for resource in self.endpoints.iter() {
            if endpoints.get(&resource.name).is_none() && is_new(None, &resource.name) {
                leaving.push((None, Arc::clone(resource)));
            }
        }
        for (view, before) in &self.views {
            let made = views.get(view);
            for resource in before.clusters.iter() {
                let gone = made.is_none_or(|made| made.clusters.get(&resource.name).is_none());
                if gone && is_new(Some(view), &resource.name) {
                    leaving.push((Some(view.clone()), Arc::clone(resource)));
                }
            }
        }
        let leaving = leaving.into_iter().map(|(view, resource)| Leaving {
            until,
            view,
            resource,
        });
        self.leaving.extend(leaving);
    }

    /// Serves what these services have become; says whether anything changed.
    pub(crate) fn refresh<'a>(
        &mut self,
        now: Instant,
        services: impl IntoIterator<Item = &'a Arc<str>>,
        registry: &Registry,
    ) -> bool {
        let before = self.endpoints.digest();
        let mut changed = false;
        for name in services {
            let present = registry.of_service(name).next().is_some();
            changed |= self.note(name, now, present);
            let known = self.config.services.get(name);
            let known = known.or_else(|| self.registered.get(name).map(|(service, _)| service));
            let Some(service) = known.map(Arc::clone) else {
                continue;
            };
            let endpoints = Arc::make_mut(&mut self.endpoints);
            for made in endpoints_of(&service, registry.of_service(name)) {
                endpoints.put(Arc::new(Resource::new(&made.cluster_name, &made)));
            }
        }
        changed |= self.endpoints.digest() != before;
        self.generation += u64::from(changed);
        changed
    }

    /// Notes that a service has instances, or none; says whether it is a new one.
    fn note(&mut self, name: &Arc<str>, now: Instant, present: bool) -> bool {
        if self.config.services.contains_key(name) {
            return false;
        }
        if let Some((_, empty_since)) = self.registered.get_mut(name) {
            *empty_since = if present {
                None
            } else {
                empty_since.or(Some(now))
            };
            return false;
        }
        if !present {
            return false;
        }
        if self.config.services.len() + self.registered.len() >= self.config.limits.services {
            self.forget(|since| since.is_some());
        }
        let service = Arc::new(Service::named(name));
        for (view, set) in &mut self.views {
            if !matches!(view, View::Envoy(_)) {
                Arc::make_mut(set).add_service(view, &self.config, &service);
            }
        }
        self.registered.insert(Arc::clone(name), (service, None));
        true
    }

    /// When to call [`handle_timeout`](Self::handle_timeout).
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let leaving = self.leaving.iter().map(|leaving| leaving.until);
        let empty = self.registered.values();
        let empty = empty.filter_map(|(_, since)| since.map(|since| since + FORGET_AFTER));
        leaving.chain(empty).min()
    }

    /// Lets go of what has stayed long enough; says whether anything changed.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> bool {
        let mut changed = false;
        let leaving = std::mem::take(&mut self.leaving);
        for leaving in leaving {
            if leaving.until > now {
                self.leaving.push(leaving);
                continue;
            }
            changed = true;
            let name = &leaving.resource.name;
            match &leaving.view {
                None => drop(Arc::make_mut(&mut self.endpoints).remove(name)),
                Some(view) => self.remove(view, ResourceType::Cluster, name),
            }
        }
        let over = |since: Option<Instant>| since.is_some_and(|since| since + FORGET_AFTER <= now);
        changed |= self.forget(over);
        self.generation += u64::from(changed);
        changed
    }

    /// Lets go of services without instances that are like this; says whether there were any.
    fn forget(&mut self, goes: impl Fn(Option<Instant>) -> bool) -> bool {
        let registered = self.registered.iter();
        let goes = registered.filter(|(_, (_, empty_since))| goes(*empty_since));
        let forgotten: Vec<Arc<str>> = goes.map(|(name, _)| Arc::clone(name)).collect();
        for name in &forgotten {
            self.registered.remove(name);
            Arc::make_mut(&mut self.endpoints).remove(name);
            for view in View::OF_APIS {
                for kind in [
                    ResourceType::Listener,
                    ResourceType::Route,
                    ResourceType::Cluster,
                ] {
                    self.remove(&view, kind, name);
                }
            }
        }
        !forgotten.is_empty()
    }

    fn remove(&mut self, view: &View, kind: ResourceType, name: &str) {
        if let Some(set) = self.views.get_mut(view) {
            Arc::make_mut(set).remove(kind, name);
        }
    }
}

#[cfg(test)]
mod tests;
