//! EDS: where the instances of a service are.

use super::cluster::{WORD, cluster_name, words};
use crate::config::{EndpointConfig, Metadata, Service, Subset, Transport};
use crate::registry::Instance;
use corewire_xds::envoy::config::core::v3::{self as core, Locality, SocketAddress};
use corewire_xds::envoy::config::endpoint::v3::cluster_load_assignment::{Policy, policy};
use corewire_xds::envoy::config::endpoint::v3::{
    ClusterLoadAssignment, Endpoint, LbEndpoint, LocalityLbEndpoints, lb_endpoint,
};
use corewire_xds::envoy::r#type::v3::{FractionalPercent, fractional_percent};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// What an instance is to its clients, wherever we know it from.
#[derive(Clone, Copy)]
struct Known<'a> {
    weight: u32,
    priority: u32,
    region: &'a str,
    zone: &'a str,
    transport: Option<Transport>,
    metadata: &'a Metadata,
}

/// The assignments of a service and of each of its subsets. An address that is both listed and
/// registered is one instance, as it registered.
pub(crate) fn endpoints_of<'a>(
    service: &'a Service,
    registered: impl Iterator<Item = &'a Arc<Instance>>,
) -> Vec<ClusterLoadAssignment> {
    let listed = service.endpoints.iter().map(|endpoint: &EndpointConfig| {
        let known = Known {
            weight: endpoint.weight,
            priority: endpoint.priority,
            region: &endpoint.region,
            zone: &endpoint.zone,
            transport: endpoint.transport,
            metadata: &endpoint.metadata,
        };
        (endpoint.address, known)
    });
    let registered = registered.map(|instance| {
        let known = Known {
            weight: instance.weight,
            priority: instance.priority,
            region: &instance.region,
            zone: &instance.zone,
            transport: instance.transport,
            metadata: &instance.metadata,
        };
        (instance.address, known)
    });
    // Sorted by address: the same instances give the same octets, whoever came first.
    let all: BTreeMap<SocketAddr, Known<'_>> = listed.chain(registered).collect();
    let mut made = vec![assignment(service, None, &all)];
    for subset in &service.subsets {
        made.push(assignment(service, Some(subset), &all));
    }
    made
}

fn assignment(
    service: &Service,
    subset: Option<&Subset>,
    all: &BTreeMap<SocketAddr, Known<'_>>,
) -> ClusterLoadAssignment {
    let has_labels = |known: &Known<'_>| {
        subset.is_none_or(|subset| {
            let mut labels = subset.labels.iter();
            labels.all(|(name, value)| known.metadata.get(name) == Some(value))
        })
    };
    let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (address, known) in all.iter().filter(|(_, known)| has_labels(known)) {
        let group: (u32, &str, &str) = (known.priority, known.region, known.zone);
        groups.entry(group).or_default().push((*address, known));
    }
    // Clients want priorities without gaps; which ones are there changes with the instances.
    let mut priorities: Vec<u32> = groups.keys().map(|(priority, ..)| *priority).collect();
    priorities.dedup();
    let endpoints = groups
        .into_iter()
        .map(|((priority, region, zone), members)| {
            let place = priorities.partition_point(|other| *other < priority);
            LocalityLbEndpoints {
                locality: Some(Locality {
                    region: region.into(),
                    zone: zone.into(),
                    sub_zone: String::new(),
                }),
                // gRPC leaves out localities without a weight.
                load_balancing_weight: Some(total(&members)),
                lb_endpoints: members.into_iter().map(lb_endpoint).collect(),
                priority: u32::try_from(place).unwrap_or(u32::MAX),
                ..LocalityLbEndpoints::default()
            }
        });
    let drop = policy::DropOverload {
        category: "corewire".into(),
        drop_percentage: Some(fraction(service.drop)),
    };
    ClusterLoadAssignment {
        cluster_name: cluster_name(&service.name, subset.map(|subset| &*subset.name)),
        endpoints: endpoints.collect(),
        policy: (service.drop > 0).then(|| Policy {
            drop_overloads: vec![drop],
            ..Policy::default()
        }),
        ..ClusterLoadAssignment::default()
    }
}

fn total(members: &[(SocketAddr, &Known<'_>)]) -> u32 {
    let sum: u64 = members
        .iter()
        .map(|(_, known)| u64::from(known.weight))
        .sum();
    // Clients refuse what does not fit 32 bits, all localities of a priority together.
    u32::try_from(sum).unwrap_or(u32::MAX).clamp(1, 1 << 24)
}

fn lb_endpoint((address, known): (SocketAddr, &Known<'_>)) -> LbEndpoint {
    let metadata = known.transport.map(|transport| {
        let word = (WORD.into(), words([("transport", transport.name().into())]));
        core::Metadata {
            filter_metadata: [word].into(),
            ..core::Metadata::default()
        }
    });
    LbEndpoint {
        host_identifier: Some(lb_endpoint::HostIdentifier::Endpoint(Endpoint {
            address: Some(socket_address(address)),
            ..Endpoint::default()
        })),
        health_status: core::HealthStatus::Healthy.into(),
        metadata,
        load_balancing_weight: Some(known.weight),
    }
}

pub(super) fn socket_address(address: SocketAddr) -> core::Address {
    let port = core::socket_address::PortSpecifier::PortValue(u32::from(address.port()));
    core::Address {
        address: Some(core::address::Address::SocketAddress(SocketAddress {
            address: address.ip().to_string(),
            port_specifier: Some(port),
            ..SocketAddress::default()
        })),
    }
}

/// A share in millionths.
pub(super) fn fraction(millionths: u32) -> FractionalPercent {
    FractionalPercent {
        numerator: millionths,
        denominator: fractional_percent::DenominatorType::Million.into(),
    }
}
