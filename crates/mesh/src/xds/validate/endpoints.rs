//! Cluster load assignments: where the instances are.

use super::metadata;
use super::report::{Path, Report};
use super::scalar::fraction;
use crate::config::{Address, DropOverload, EndpointInfo, Endpoints, Health, Locality};
use corewire_xds::envoy::config::core::v3 as core;
use corewire_xds::envoy::config::core::v3::{HealthStatus, address, socket_address};
use corewire_xds::envoy::config::endpoint::v3 as proto;
use std::collections::{BTreeMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The most endpoints of one cluster.
pub(crate) const MAX_ENDPOINTS: usize = 100_000;
/// The lowest priority.
const MAX_PRIORITY: u32 = 128;

pub(super) fn endpoints(
    message: proto::ClusterLoadAssignment,
    path: &Path<'_>,
    report: &mut Report,
) -> Endpoints {
    let proto::ClusterLoadAssignment {
        cluster_name: _,
        endpoints: messages,
        named_endpoints,
        policy,
    } = message;
    let mut found = Endpoints::default();
    if let Some(policy) = policy {
        of_policy(policy, &mut found, &path.field("policy"), report);
    }
    let count: usize = messages.iter().map(|it| it.lb_endpoints.len()).sum();
    if count > MAX_ENDPOINTS {
        let reason = format!("{count} endpoints are more than {MAX_ENDPOINTS}");
        report.fault(&path.field("endpoints"), reason);
        return found;
    }
    let mut seen = Seen {
        localities: HashSet::new(),
        addresses: HashSet::with_capacity(count),
    };
    for (at, message) in messages.into_iter().enumerate() {
        let path = path.index("endpoints", at);
        found.localities.extend(locality(
            message,
            &named_endpoints,
            &mut seen,
            &path,
            report,
        ));
    }
    check_priorities(&found, path, report);
    found.localities.sort_by_key(|locality| locality.priority);
    found
}

/// A locality of a priority: region, zone, part of the zone.
type LocalityKey = (u32, Arc<str>, Arc<str>, Arc<str>);

/// What came before in the same assignment.
struct Seen {
    localities: HashSet<LocalityKey>,
    addresses: HashSet<(u32, Address)>,
}

fn of_policy(
    policy: proto::cluster_load_assignment::Policy,
    found: &mut Endpoints,
    path: &Path<'_>,
    report: &mut Report,
) {
    match policy.overprovisioning_factor {
        Some(0) => report.fault(&path.field("overprovisioning_factor"), "must not be zero"),
        Some(factor) => found.overprovisioning = factor,
        None => {}
    }
    for (at, drop) in policy.drop_overloads.into_iter().enumerate() {
        let path = path.index("drop_overloads", at);
        let share = fraction(drop.drop_percentage, &path.field("drop_percentage"), report);
        found.drops.push(DropOverload {
            category: drop.category.into(),
            fraction: share,
        });
    }
}

/// A locality; `None` when it takes no traffic.
fn locality(
    message: proto::LocalityLbEndpoints,
    named: &BTreeMap<String, proto::Endpoint>,
    seen: &mut Seen,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<Locality> {
    use proto::locality_lb_endpoints::LbConfig;
    let proto::LocalityLbEndpoints {
        locality,
        metadata: _,
        lb_endpoints,
        lb_config,
        load_balancing_weight,
        priority,
        proximity: _,
    } = message;
    let messages = match lb_config {
        Some(LbConfig::LoadBalancerEndpoints(list)) => list.lb_endpoints,
        Some(LbConfig::LedsClusterLocalityConfig(_)) => {
            let reason = "endpoints are not discovered one by one here";
            report.fault(&path.field("leds_cluster_locality_config"), reason);
            return None;
        }
        None => lb_endpoints,
    };
    if priority > MAX_PRIORITY {
        let reason = format!("{priority} is more than {MAX_PRIORITY}");
        report.fault(&path.field("priority"), reason);
        return None;
    }
    let name = locality.unwrap_or_default();
    let mut found = Locality {
        region: name.region.into(),
        zone: name.zone.into(),
        sub_zone: name.sub_zone.into(),
        priority,
        weight: 0,
        endpoints: Vec::with_capacity(messages.len()),
    };
    let key = (
        priority,
        Arc::clone(&found.region),
        Arc::clone(&found.zone),
        Arc::clone(&found.sub_zone),
    );
    if !seen.localities.insert(key) {
        let reason = format!("was already given for priority {priority}");
        report.fault(&path.field("locality"), reason);
    }
    let mut sum: u32 = 0;
    for (at, message) in messages.into_iter().enumerate() {
        let path = path.index("lb_endpoints", at);
        let Some(endpoint) = endpoint(message, named, &path, report) else {
            continue;
        };
        if !seen.addresses.insert((priority, endpoint.address.clone())) {
            let reason = format!(
                "{} was already given: only the first counts",
                endpoint.address
            );
            report.notice(&path.field("endpoint"), reason);
            continue;
        }
        match sum.checked_add(endpoint.weight) {
            Some(total) => sum = total,
            None => {
                let reason = "makes the sum of the weights too large";
                report.fault(&path.field("load_balancing_weight"), reason);
            }
        }
        found.endpoints.push(endpoint);
    }
    found.weight = load_balancing_weight.unwrap_or(sum);
    // A locality of weight zero takes no traffic (gRFC A27); it does count for the priorities.
    (found.weight > 0).then_some(found)
}

fn endpoint(
    message: proto::LbEndpoint,
    named: &BTreeMap<String, proto::Endpoint>,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<EndpointInfo> {
    use proto::lb_endpoint::HostIdentifier;
    let proto::LbEndpoint {
        host_identifier,
        health_status,
        metadata,
        load_balancing_weight,
    } = message;
    let endpoint = match host_identifier {
        Some(HostIdentifier::Endpoint(endpoint)) => endpoint,
        Some(HostIdentifier::EndpointName(name)) => match named.get(&name) {
            Some(endpoint) => endpoint.clone(),
            None => {
                let reason = format!("{name:?} is not among named_endpoints");
                report.fault(&path.field("endpoint_name"), reason);
                return None;
            }
        },
        None => {
            report.fault(&path.field("endpoint"), "is missing");
            return None;
        }
    };
    let endpoint_path = path.field("endpoint");
    let weight = load_balancing_weight.unwrap_or(1);
    if weight == 0 {
        report.fault(&path.field("load_balancing_weight"), "must be at least 1");
    }
    let transport =
        metadata.and_then(|it| metadata::transport(Some(it), &path.field("metadata"), report));
    Some(EndpointInfo {
        address: socket(endpoint.address, &endpoint_path.field("address"), report)?,
        weight,
        health: health(health_status),
        hostname: (!endpoint.hostname.is_empty()).then(|| endpoint.hostname.into()),
        transport,
    })
}

fn health(status: i32) -> Health {
    match HealthStatus::try_from(status) {
        Ok(HealthStatus::Healthy) => Health::Healthy,
        Ok(HealthStatus::Unhealthy | HealthStatus::Timeout) => Health::Unhealthy,
        Ok(HealthStatus::Draining) => Health::Draining,
        Ok(HealthStatus::Degraded) => Health::Degraded,
        Ok(HealthStatus::Unknown) | Err(_) => Health::Unknown,
    }
}

fn socket(address: Option<core::Address>, path: &Path<'_>, report: &mut Report) -> Option<Address> {
    let socket = match address.and_then(|it| it.address) {
        Some(address::Address::SocketAddress(socket)) => socket,
        Some(address::Address::Pipe(pipe)) => {
            if pipe.path.is_empty() {
                report.fault(&path.field("pipe"), "has no path");
                return None;
            }
            return Some(Address::Unix(pipe.path.into()));
        }
        Some(address::Address::EnvoyInternalAddress(_)) => {
            let reason = "is an address within Envoy";
            report.fault(&path.field("envoy_internal_address"), reason);
            return None;
        }
        None => {
            report.fault(path, "is missing");
            return None;
        }
    };
    let path = path.field("socket_address");
    if socket.protocol != socket_address::Protocol::Tcp as i32 {
        report.fault(&path.field("protocol"), "only TCP is known here");
    }
    let port = match socket.port_specifier {
        Some(socket_address::PortSpecifier::PortValue(port)) => match u16::try_from(port) {
            Ok(port) if port > 0 => port,
            _ => {
                report.fault(&path.field("port_value"), format!("{port} is no port"));
                return None;
            }
        },
        Some(socket_address::PortSpecifier::NamedPort(_)) => {
            report.fault(&path.field("named_port"), "is not looked up: port_value");
            return None;
        }
        None => {
            report.fault(&path.field("port_value"), "is missing");
            return None;
        }
    };
    match socket.address.parse::<IpAddr>() {
        Ok(ip) => Some(Address::Tcp(SocketAddr::new(ip, port))),
        Err(_) => {
            let reason = format!("{:?} is no IP address", socket.address);
            report.fault(&path.field("address"), reason);
            None
        }
    }
}

/// Priorities have no gaps, and the weights of each add up (gRFC A27).
fn check_priorities(found: &Endpoints, path: &Path<'_>, report: &mut Report) {
    let mut sums: Vec<Option<u64>> = Vec::new();
    for locality in &found.localities {
        let at = locality.priority as usize;
        if sums.len() <= at {
            sums.resize(at + 1, None);
        }
        *sums[at].get_or_insert(0) += u64::from(locality.weight);
    }
    for (priority, sum) in sums.iter().enumerate() {
        match sum {
            None => {
                let reason = format!("priority {priority} is missing below {}", sums.len() - 1);
                report.fault(&path.field("endpoints"), reason);
            }
            Some(sum) if *sum > u64::from(u32::MAX) => {
                let reason = format!("the weights of priority {priority} are too large in sum");
                report.fault(&path.field("endpoints"), reason);
            }
            Some(_) => {}
        }
    }
}
