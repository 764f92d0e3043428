//! Services, routes and sidecars as xDS resources, made for each kind of client.
//!
//! Everything here is a pure function of the configuration and the registered instances, with one
//! outcome: equal input has equal octets, also in another process. That is why a version is a hash
//! of the octets and needs no store: a client that comes back after a restart of the control plane
//! names a version that is still the current one.

mod cluster;
mod digest;
mod endpoints;
mod listener;
mod route;
mod secure;
mod set;
mod view;

pub(crate) use digest::Digest;
pub(crate) use endpoints::endpoints_of;
pub(crate) use set::{Resource, TypeSet};
pub(crate) use view::View;

use crate::config::{Config, Service, Sidecar};
use corewire_xds::ResourceType;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The resources of one kind of client, but for the endpoints, which are the same for all.
#[derive(Clone, Debug, Default)]
pub(crate) struct ViewSet {
    pub(crate) listeners: Arc<TypeSet>,
    pub(crate) routes: Arc<TypeSet>,
    pub(crate) clusters: Arc<TypeSet>,
    /// What this kind of client cannot be told or does not know, each once.
    pub(crate) notices: Arc<BTreeSet<String>>,
}

impl ViewSet {
    pub(crate) const fn of_type(&self, kind: ResourceType) -> Option<&Arc<TypeSet>> {
        match kind {
            ResourceType::Listener => Some(&self.listeners),
            ResourceType::Route => Some(&self.routes),
            ResourceType::Cluster => Some(&self.clusters),
            ResourceType::Endpoints => None,
        }
    }

    fn of_type_mut(&mut self, kind: ResourceType) -> Option<&mut TypeSet> {
        let set = match kind {
            ResourceType::Listener => &mut self.listeners,
            ResourceType::Route => &mut self.routes,
            ResourceType::Cluster => &mut self.clusters,
            ResourceType::Endpoints => return None,
        };
        Some(Arc::make_mut(set))
    }

    /// Adds what clients without a sidecar need of a service.
    pub(crate) fn add_service(&mut self, view: &View, config: &Config, service: &Service) {
        let mut notices = BTreeSet::new();
        let routes = config.routes.get(&service.name).map_or(&[][..], |r| r);
        let api = listener::api(&service.name, routes);
        let route = route::of_service(view, &service.name, routes, &mut notices);
        let clusters = cluster::of_service(view, service, None, &mut notices);
        self.put(ResourceType::Listener, Resource::new(&service.name, &api));
        self.put(ResourceType::Route, Resource::new(&service.name, &route));
        for made in clusters {
            self.put(ResourceType::Cluster, Resource::new(&made.name, &made));
        }
        if !notices.is_empty() {
            Arc::make_mut(&mut self.notices).extend(notices);
        }
    }

    /// Everything an Envoy with this sidecar's listeners needs.
    pub(crate) fn of_sidecar(view: &View, config: &Config, sidecar: &Sidecar) -> Self {
        let mut set = Self::default();
        let mut notices = BTreeSet::new();
        let mut reached: BTreeSet<Arc<str>> = BTreeSet::new();
        for outbound in &sidecar.outbound {
            let made = listener::outbound(sidecar, outbound, config);
            set.put(ResourceType::Listener, Resource::new(&made.name, &made));
            let made = route::of_outbound(view, outbound, config, &mut notices);
            set.put(ResourceType::Route, Resource::new(&made.name, &made));
            for service in &outbound.services {
                reached.insert(Arc::clone(service));
                let routes = config.routes.get(service).map_or(&[][..], |r| r);
                for route in routes {
                    reached.extend(route.to.iter().map(|to| Arc::clone(&to.service)));
                    reached.extend(route.mirror.iter().map(|to| Arc::clone(&to.service)));
                }
            }
        }
        for service in reached.iter().filter_map(|name| config.services.get(name)) {
            for made in cluster::of_service(view, service, sidecar.tls.as_ref(), &mut notices) {
                set.put(ResourceType::Cluster, Resource::new(&made.name, &made));
            }
        }
        for inbound in &sidecar.inbound {
            let made = listener::inbound(inbound, sidecar.tls.as_ref());
            set.put(ResourceType::Listener, Resource::new(&made.name, &made));
            let made = cluster::inbound(inbound);
            set.put(ResourceType::Cluster, Resource::new(&made.name, &made));
        }
        set.notices = Arc::new(notices);
        set
    }

    pub(crate) fn remove(&mut self, kind: ResourceType, name: &str) {
        if let Some(set) = self.of_type_mut(kind) {
            set.remove(name);
        }
    }

    fn put(&mut self, kind: ResourceType, resource: Resource) {
        if let Some(set) = self.of_type_mut(kind) {
            set.put(Arc::new(resource));
        }
    }
}

#[cfg(test)]
mod tests;
