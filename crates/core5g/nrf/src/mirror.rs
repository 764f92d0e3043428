//! Profiles as instances of the control plane's registry: the mesh finds what 3GPP registers.
//!
//! Each service of a network function is an instance of the service of its name (`nudm-ueau`); it
//! stays for as long as the network function does.

use super::profile_store::{Profile, key};
use corewire_control::RegistryHandle;
use corewire_control::registry::Instance;
use corewire_core5g_runtime::selection::weight;
use corewire_core5g_sbi::model::nrf::NfService;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};

/// Services of one network function that are mirrored.
const MAX_SERVICES: usize = 64;

/// The registry, and what stands in it for whom.
pub(super) struct Mirror {
    registry: Option<RegistryHandle>,
    /// Registered instances, by the [`key`] of the network function they belong to.
    of: Mutex<HashMap<String, Vec<String>>>,
}

impl Mirror {
    /// Into this registry; none in tests of one function.
    pub(super) fn into(registry: Option<RegistryHandle>) -> Self {
        Self {
            registry,
            of: Mutex::default(),
        }
    }

    /// Registers the services of a network function, and ends those that it has no more.
    pub(super) fn set(&self, profile: &Profile) {
        let Some(registry) = &self.registry else {
            return;
        };
        let is_there = profile.view.nf_status == "REGISTERED";
        let services = profile.view.services().take(MAX_SERVICES);
        let instances: Vec<Instance> = services
            .filter(|service| is_there && service.nf_service_status == "REGISTERED")
            .filter_map(|service| instance(profile, service))
            .collect();
        let mut now = Vec::new();
        for instance in instances {
            let id = instance.id.to_string();
            match registry.register(instance) {
                Ok(_) => now.push(id),
                Err(refusal) => {
                    tracing::warn!(name: "mirror-refused", "{id} is not in the mesh: {refusal}")
                }
            }
        }
        let mut of = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        let before = of.insert(key(&profile.view.nf_instance_id), now.clone());
        for id in before.unwrap_or_default() {
            if !now.contains(&id) {
                // It may have lapsed by itself.
                let _gone = registry.leave(&id);
            }
        }
    }

    /// Says that the services of a network function are there.
    pub(super) fn heartbeat(&self, nf: &str) {
        let Some(registry) = &self.registry else {
            return;
        };
        let of = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        for id in of.get(nf).into_iter().flatten() {
            let _gone = registry.heartbeat(id);
        }
    }

    /// Ends the services of a network function.
    pub(super) fn remove(&self, nf: &str) {
        let Some(registry) = &self.registry else {
            return;
        };
        let mut of = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        for id in of.remove(&key(nf)).unwrap_or_default() {
            let _gone = registry.leave(&id);
        }
    }
}

/// Where a service is: its own end point, else the network function's address. Names are not looked
/// up: a service that has only one is not mirrored.
fn instance(profile: &Profile, service: &NfService) -> Option<Instance> {
    let view = &profile.view;
    let end_point = service.ip_end_points.first();
    let of_end_point =
        end_point.and_then(|one| one.ipv4_address.as_ref().or(one.ipv6_address.as_ref()));
    let mut of_profile = view.ipv4_addresses.iter().chain(&view.ipv6_addresses);
    let ip: IpAddr = of_end_point.or_else(|| of_profile.next())?.parse().ok()?;
    let default = if service.scheme == "https" { 443 } else { 80 };
    let port = end_point.and_then(|one| one.port).unwrap_or(default);
    let id = format!("{}.{}", view.nf_instance_id, service.service_instance_id);
    let mut instance = Instance::new(&service.service_name, &id, SocketAddr::new(ip, port));
    instance.weight = weight(
        service.capacity.or(view.capacity),
        service.load.or(view.load),
    );
    let priority = service.priority.or(view.priority).unwrap_or_default();
    instance.priority = u32::from(priority.min(127));
    instance.zone = view.locality.clone().unwrap_or_default();
    instance
        .metadata
        .insert("nfType".to_owned(), view.nf_type.clone());
    instance
        .metadata
        .insert("nfInstanceId".to_owned(), view.nf_instance_id.clone());
    // The book ends it before.
    instance.ttl = 2 * profile.lease();
    Some(instance)
}
