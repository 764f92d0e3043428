//! Clusters: how they are balanced and protected, and where their endpoints come from.

use super::endpoints::endpoints;
use super::filters::unpacked;
use super::health_check::health_check;
use super::lb_policy::lb_policy;
use super::listener::from_the_same_stream;
use super::metadata::words;
use super::report::{Path, Report};
use super::scalar::{duration, not_empty, percent, positive_duration, rounded_percent};
use super::tls::transport_socket;
use crate::config::{CircuitLimits, Cluster, Endpoints, OutlierByRate, OutlierPolicy, RetryBudget};
use corewire_xds::envoy::config::cluster::v3 as proto;
use corewire_xds::envoy::config::core::v3::{RoutingPriority, address, socket_address};
use corewire_xds::envoy::config::endpoint::v3::{ClusterLoadAssignment, lb_endpoint};
use corewire_xds::envoy::extensions::clusters::aggregate::v3::ClusterConfig as Aggregate;
use std::sync::Arc;
use std::time::Duration;

/// The most clusters an aggregate may name.
const MAX_AGGREGATED: usize = 64;

/// A cluster and where its endpoints come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClusterData {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) discovery: Discovery,
}

/// Where a cluster's endpoints come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Discovery {
    /// From a resource of this name.
    Eds(Arc<str>),
    /// From the cluster itself.
    Static(Arc<Endpoints>),
    /// From the domain name system.
    Dns { host: Arc<str>, port: u16 },
    /// From these clusters, one priority after the other.
    Aggregate(Arc<[Arc<str>]>),
}

pub(super) fn cluster(
    mut message: proto::Cluster,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<ClusterData> {
    let lb = lb_policy(&message, path, report);
    let discovery = discovery(&mut message, path, report);
    let health_check = health_check(message.health_checks, path, report);
    let words = words(message.metadata, &path.field("metadata"), report);
    if words.repeatable.is_some() {
        let path = path.field("metadata");
        report.notice(&path.field("repeatable"), "belongs to a route's metadata");
    }
    let defaults = Cluster::new("");
    let timeout_path = path.field("connect_timeout");
    let connect_timeout = positive_duration(message.connect_timeout, &timeout_path, report);
    let common = message.common_lb_config.unwrap_or_default();
    let common_path = path.field("common_lb_config");
    let cluster = Cluster {
        name: not_empty(message.name, "name", path, report).unwrap_or_default(),
        lb: words.balance.unwrap_or(lb),
        circuit: circuit_limits(
            message.circuit_breakers,
            &path.field("circuit_breakers"),
            report,
        ),
        outlier: message
            .outlier_detection
            .map(|it| outlier_policy(it, &path.field("outlier_detection"), report)),
        connect_timeout: connect_timeout.unwrap_or(defaults.connect_timeout),
        panic_threshold: rounded_percent(
            common.healthy_panic_threshold,
            defaults.panic_threshold,
            &common_path.field("healthy_panic_threshold"),
            report,
        ),
        transport: words.transport,
        admission: words.admission,
        health_check,
        tls: transport_socket(message.transport_socket, path, report),
    };
    Some(ClusterData {
        cluster: Arc::new(cluster),
        discovery: discovery?,
    })
}

fn discovery(
    message: &mut proto::Cluster,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<Discovery> {
    use proto::cluster::{ClusterDiscoveryType, DiscoveryType};
    let kind = match message.cluster_discovery_type.take() {
        Some(ClusterDiscoveryType::ClusterType(custom)) => {
            return aggregate(custom, &path.field("cluster_type"), report);
        }
        Some(ClusterDiscoveryType::Type(kind)) => kind,
        None => 0,
    };
    let assignment = message.load_assignment.take();
    let assignment_path = path.field("load_assignment");
    match DiscoveryType::try_from(kind) {
        Ok(DiscoveryType::Eds) => {
            let path = path.field("eds_cluster_config");
            let Some(config) = message.eds_cluster_config.take() else {
                report.fault(&path, "is missing");
                return None;
            };
            let source = config.eds_config.as_ref();
            from_the_same_stream(source, &path.field("eds_config"), report);
            let name = if config.service_name.is_empty() {
                &message.name
            } else {
                &config.service_name
            };
            Some(Discovery::Eds(name.as_str().into()))
        }
        Ok(DiscoveryType::Static) => {
            let Some(assignment) = assignment else {
                report.fault(&assignment_path, "is missing");
                return None;
            };
            let endpoints = endpoints(assignment, &assignment_path, report);
            Some(Discovery::Static(Arc::new(endpoints)))
        }
        Ok(DiscoveryType::LogicalDns | DiscoveryType::StrictDns) => {
            dns_host(assignment.unwrap_or_default(), &assignment_path, report)
        }
        Ok(DiscoveryType::OriginalDst) => {
            report.fault(&path.field("type"), "ORIGINAL_DST is for sidecars only");
            None
        }
        Err(_) => {
            report.fault(&path.field("type"), format!("{kind} is no type known here"));
            None
        }
    }
}

fn aggregate(
    custom: proto::cluster::CustomClusterType,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<Discovery> {
    let path = path.field("typed_config");
    let Some(config) = custom.typed_config else {
        report.fault(&path, "is missing");
        return None;
    };
    let config: Aggregate = unpacked(&config, &path, report)?;
    let path = path.field("clusters");
    if config.clusters.is_empty() || config.clusters.len() > MAX_AGGREGATED {
        let (found, most) = (config.clusters.len(), MAX_AGGREGATED);
        report.fault(&path, format!("names {found} clusters: 1 to {most}"));
        return None;
    }
    let names = config.clusters.into_iter().map(Arc::from);
    Some(Discovery::Aggregate(names.collect()))
}

/// A cluster of one host whose addresses are looked up (gRFC A37).
fn dns_host(
    assignment: ClusterLoadAssignment,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<Discovery> {
    let mut localities = assignment.endpoints.into_iter();
    let (Some(locality), None) = (localities.next(), localities.next()) else {
        report.fault(&path.field("endpoints"), "must be one locality");
        return None;
    };
    let path = path.index("endpoints", 0);
    let mut endpoints = locality.lb_endpoints.into_iter();
    let (Some(endpoint), None) = (endpoints.next(), endpoints.next()) else {
        report.fault(&path.field("lb_endpoints"), "must be one endpoint");
        return None;
    };
    let path = path.index("lb_endpoints", 0);
    let path = path.field("endpoint");
    let path = path.field("address");
    let address = match endpoint.host_identifier {
        Some(lb_endpoint::HostIdentifier::Endpoint(endpoint)) => endpoint.address,
        _ => None,
    };
    let Some(address::Address::SocketAddress(socket)) = address.and_then(|it| it.address) else {
        report.fault(&path.field("socket_address"), "is missing");
        return None;
    };
    let path = path.field("socket_address");
    let port = match socket.port_specifier {
        Some(socket_address::PortSpecifier::PortValue(port)) => u16::try_from(port).ok(),
        _ => None,
    };
    let Some(port) = port.filter(|port| *port != 0) else {
        report.fault(&path.field("port_value"), "must be a port");
        return None;
    };
    let host = not_empty(socket.address, "address", &path, report)?;
    Some(Discovery::Dns { host, port })
}

fn circuit_limits(
    message: Option<proto::CircuitBreakers>,
    path: &Path<'_>,
    report: &mut Report,
) -> CircuitLimits {
    let mut limits = CircuitLimits::default();
    let Some(message) = message else {
        return limits;
    };
    let mut seen = false;
    for (at, thresholds) in message.thresholds.into_iter().enumerate() {
        let path = path.index("thresholds", at);
        if thresholds.priority != RoutingPriority::Default as i32 {
            let reason = "only those of the default priority are carried out";
            report.notice(&path.field("priority"), reason);
            continue;
        }
        // "The first entry for a priority holds" (circuit_breaker.proto).
        if std::mem::replace(&mut seen, true) {
            continue;
        }
        let set = |limit: &mut u32, value: Option<u32>| *limit = value.unwrap_or(*limit);
        set(&mut limits.max_connections, thresholds.max_connections);
        set(&mut limits.max_pending, thresholds.max_pending_requests);
        set(&mut limits.max_requests, thresholds.max_requests);
        set(&mut limits.max_retries, thresholds.max_retries);
        limits.retry_budget = thresholds.retry_budget.map(|budget| {
            let defaults = RetryBudget::default();
            let share = budget
                .budget_percent
                .map_or(defaults.percent, |it| it.value);
            if !(0.0..=100.0).contains(&share) {
                let path = path.field("retry_budget");
                let reason = format!("{share} is no percentage from 0 to 100");
                report.fault(&path.field("budget_percent"), reason);
            }
            RetryBudget {
                percent: share,
                min_concurrency: budget
                    .min_retry_concurrency
                    .unwrap_or(defaults.min_concurrency),
            }
        });
    }
    limits
}

fn outlier_policy(
    message: proto::OutlierDetection,
    path: &Path<'_>,
    report: &mut Report,
) -> OutlierPolicy {
    for (field, share) in [
        (
            "enforcing_failure_percentage_local_origin",
            message.enforcing_failure_percentage_local_origin,
        ),
        (
            "enforcing_local_origin_success_rate",
            message.enforcing_local_origin_success_rate,
        ),
    ] {
        if share.unwrap_or(0) > 0 {
            report.notice(&path.field(field), "is not carried out");
        }
    }
    let defaults = OutlierPolicy::default();
    let base = positive_duration(
        message.base_ejection_time,
        &path.field("base_ejection_time"),
        report,
    )
    .unwrap_or(defaults.base_ejection);
    let mut enforced = |value: Option<u32>, default: u8, field: &str| {
        percent(value, default, &path.field(field), report)
    };
    let on_5xx = enforced(
        message.enforcing_consecutive_5xx,
        100,
        "enforcing_consecutive_5xx",
    );
    let gateway_field = "enforcing_consecutive_gateway_failure";
    let on_gateway = enforced(
        message.enforcing_consecutive_gateway_failure,
        0,
        gateway_field,
    );
    let local_field = "enforcing_consecutive_local_origin_failure";
    let on_local = enforced(
        message.enforcing_consecutive_local_origin_failure,
        100,
        local_field,
    );
    let on_rate = enforced(
        message.enforcing_success_rate,
        100,
        "enforcing_success_rate",
    );
    let failure_field = "enforcing_failure_percentage";
    let on_failures = enforced(message.enforcing_failure_percentage, 0, failure_field);
    let most = enforced(
        message.max_ejection_percent,
        defaults.max_ejection_percent,
        "max_ejection_percent",
    );
    let threshold_field = "failure_percentage_threshold";
    let threshold = enforced(message.failure_percentage_threshold, 85, threshold_field);
    for (share, field) in [
        (on_5xx, "enforcing_consecutive_5xx"),
        (on_gateway, gateway_field),
        (on_local, local_field),
    ] {
        if !matches!(share, 0 | 100) {
            let reason = format!("{share} percent: all are left out");
            report.notice(&path.field(field), reason);
        }
    }
    OutlierPolicy {
        interval: positive_duration(message.interval, &path.field("interval"), report)
            .unwrap_or(defaults.interval),
        base_ejection: base,
        max_ejection: positive_duration(
            message.max_ejection_time,
            &path.field("max_ejection_time"),
            report,
        )
        .unwrap_or(defaults.max_ejection)
        .max(base),
        ejection_jitter: duration(
            message.max_ejection_time_jitter,
            &path.field("max_ejection_time_jitter"),
            report,
        )
        .unwrap_or(Duration::ZERO),
        max_ejection_percent: most,
        consecutive_5xx: consecutive(on_5xx, message.consecutive_5xx),
        consecutive_gateway: consecutive(on_gateway, message.consecutive_gateway_failure),
        // Told apart even when nobody is left out for them.
        consecutive_local_origin: message.split_external_local_origin_errors.then(|| {
            let count = consecutive(on_local, message.consecutive_local_origin_failure);
            count.unwrap_or(u32::MAX)
        }),
        success_rate: (on_rate > 0).then(|| OutlierByRate {
            threshold: message.success_rate_stdev_factor.unwrap_or(1900),
            enforcing: on_rate,
            minimum_hosts: message.success_rate_minimum_hosts.unwrap_or(5),
            request_volume: message.success_rate_request_volume.unwrap_or(100),
        }),
        failure_percentage: (on_failures > 0).then(|| OutlierByRate {
            threshold: threshold.into(),
            enforcing: on_failures,
            minimum_hosts: message.failure_percentage_minimum_hosts.unwrap_or(5),
            request_volume: message.failure_percentage_request_volume.unwrap_or(50),
        }),
    }
}

fn consecutive(enforcing: u8, count: Option<u32>) -> Option<u32> {
    let count = count.unwrap_or(5);
    (enforcing > 0 && count > 0).then_some(count)
}
