//! CDS: how a service is balanced and protected.

use super::endpoints::socket_address;
use super::secure;
use super::view::View;
use crate::config::{Balance, HealthCheck, Inbound, Outlier, Service, TlsFiles};
use corewire_message::health::question;
use corewire_xds::envoy::config::cluster::v3::circuit_breakers::{Thresholds, thresholds};
use corewire_xds::envoy::config::cluster::v3::cluster::{
    ClusterDiscoveryType, CommonLbConfig, DiscoveryType, EdsClusterConfig, LbConfig, LbPolicy,
    LeastRequestLbConfig, RingHashLbConfig, common_lb_config,
};
use corewire_xds::envoy::config::cluster::v3::{CircuitBreakers, Cluster, OutlierDetection};
use corewire_xds::envoy::config::core::v3 as core;
use corewire_xds::envoy::config::core::v3::config_source::ConfigSourceSpecifier;
use corewire_xds::envoy::config::core::v3::{
    AggregatedConfigSource, ApiVersion, ConfigSource, Http2ProtocolOptions, Metadata,
};
use corewire_xds::envoy::config::endpoint::v3::{
    ClusterLoadAssignment, Endpoint, LbEndpoint, LocalityLbEndpoints, lb_endpoint,
};
use corewire_xds::envoy::extensions::upstreams::http::v3::HttpProtocolOptions;
use corewire_xds::envoy::extensions::upstreams::http::v3::http_protocol_options::{
    ExplicitHttpConfig, UpstreamProtocolOptions, explicit_http_config::ProtocolConfig,
};
use corewire_xds::envoy::r#type::v3::Percent;
use corewire_xds::{Any, Duration, Struct, Value, value};
use std::collections::BTreeSet;
use std::net::SocketAddr;

/// The namespace of our own words in metadata.
pub(super) const WORD: &str = "corewire";
const HTTP: &str = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";

/// The name of a service's cluster, and of its endpoints, or of one of its subsets.
pub(crate) fn cluster_name(service: &str, subset: Option<&str>) -> String {
    match subset {
        Some(subset) => format!("{service}|{subset}"),
        None => service.to_owned(),
    }
}

/// The clusters of a service and its subsets.
pub(super) fn of_service(
    view: &View,
    service: &Service,
    files: Option<&TlsFiles>,
    notices: &mut BTreeSet<String>,
) -> Vec<Cluster> {
    let subsets = service.subsets.iter().map(|subset| Some(&*subset.name));
    let names = std::iter::once(None).chain(subsets);
    let checks: Vec<_> = service.health.iter().map(health_check).collect();
    if view.is_grpc() && !checks.is_empty() {
        notices.insert(format!(
            "{}: this client makes no health checks",
            service.name
        ));
    }
    let socket = service
        .tls
        .as_ref()
        .and_then(|tls| secure::upstream(view, tls, files));
    if service.tls.is_some() && socket.is_none() {
        notices.insert(format!(
            "{}: wants TLS, but the sidecar has no certificate (tls of [[sidecar]])",
            service.name
        ));
    }
    let mut clusters: Vec<_> = names
        .map(|subset| cluster(view, service, subset, notices))
        .collect();
    for cluster in &mut clusters {
        cluster.transport_socket.clone_from(&socket);
        cluster.health_checks.clone_from(&checks);
    }
    clusters
}

fn cluster(
    view: &View,
    service: &Service,
    subset: Option<&str>,
    notices: &mut BTreeSet<String>,
) -> Cluster {
    let name = cluster_name(&service.name, subset);
    let (lb_policy, lb_config) = balance(view, service, notices);
    let mut own = Vec::new();
    if let Some(transport) = service.transport {
        own.push(("transport", transport.name().into()));
    }
    if service.balance == Balance::LatencyAware {
        own.push(("balance", "latency-aware".into()));
    }
    if let Some(admission) = service.admission {
        let limits = [
            ("soft_limit", f64::from(admission.soft_limit).into()),
            ("hard_limit", f64::from(admission.hard_limit).into()),
        ];
        own.push(("admission", structure(words(limits))));
        if !matches!(view, View::Corewire) {
            notices.insert(format!(
                "{}: admission is for our own client only",
                service.name
            ));
        }
    }
    Cluster {
        cluster_discovery_type: Some(ClusterDiscoveryType::Type(DiscoveryType::Eds.into())),
        eds_cluster_config: Some(EdsClusterConfig {
            eds_config: Some(ads()),
            service_name: name.clone(),
        }),
        name,
        connect_timeout: Some(duration(service.connect_timeout)),
        lb_policy: lb_policy.into(),
        lb_config,
        // Without this Envoy does not look at the weights of localities; the others always do.
        common_lb_config: view.is_envoy().then(locality_weights),
        circuit_breakers: circuit_breakers(service),
        outlier_detection: service.outlier.as_ref().map(outlier_detection),
        typed_extension_protocol_options: if view.is_envoy() { http2() } else { [].into() },
        metadata: (!own.is_empty()).then(|| metadata(own)),
        ..Cluster::default()
    }
}

/// The cluster of the network function beside a sidecar.
pub(super) fn inbound(inbound: &Inbound) -> Cluster {
    let name = inbound_name(inbound.to);
    let endpoint = Endpoint {
        address: Some(socket_address(inbound.to)),
        ..Endpoint::default()
    };
    let endpoint = LbEndpoint {
        host_identifier: Some(lb_endpoint::HostIdentifier::Endpoint(endpoint)),
        ..LbEndpoint::default()
    };
    let threshold = Thresholds {
        // The network function protects itself; the sidecar in front of it must not be narrower.
        max_connections: Some(u32::MAX),
        max_pending_requests: Some(u32::MAX),
        max_requests: Some(u32::MAX),
        ..Thresholds::default()
    };
    Cluster {
        name: name.clone(),
        cluster_discovery_type: Some(ClusterDiscoveryType::Type(DiscoveryType::Static.into())),
        connect_timeout: Some(Duration {
            seconds: 1,
            nanos: 0,
        }),
        load_assignment: Some(ClusterLoadAssignment {
            cluster_name: name,
            endpoints: vec![LocalityLbEndpoints {
                lb_endpoints: vec![endpoint],
                ..LocalityLbEndpoints::default()
            }],
            ..ClusterLoadAssignment::default()
        }),
        circuit_breakers: Some(CircuitBreakers {
            thresholds: vec![threshold],
            ..CircuitBreakers::default()
        }),
        typed_extension_protocol_options: http2(),
        ..Cluster::default()
    }
}

pub(super) fn inbound_name(to: SocketAddr) -> String {
    format!("inbound|{to}")
}

fn balance(
    view: &View,
    service: &Service,
    notices: &mut BTreeSet<String>,
) -> (LbPolicy, Option<LbConfig>) {
    let turns = |notices: &mut BTreeSet<String>, word: &str| {
        notices.insert(format!(
            "{}: this client does not balance {word}: it takes turns (round-robin)",
            service.name
        ));
        (LbPolicy::RoundRobin, None)
    };
    match service.balance {
        Balance::RoundRobin => (LbPolicy::RoundRobin, None),
        Balance::RingHash { min, max } => {
            let ring = RingHashLbConfig {
                minimum_ring_size: Some(min),
                maximum_ring_size: Some(max),
                ..RingHashLbConfig::default()
            };
            (LbPolicy::RingHash, Some(LbConfig::RingHashLbConfig(ring)))
        }
        // gRPC refuses the whole cluster for a policy it does not know.
        Balance::LeastRequest { .. } if view.is_grpc() => turns(notices, "by least-request"),
        Balance::Random if view.is_grpc() => turns(notices, "at random"),
        Balance::LatencyAware if view.is_grpc() => turns(notices, "by latency"),
        Balance::LeastRequest { choices } => {
            let least = LeastRequestLbConfig {
                choice_count: Some(choices),
                ..LeastRequestLbConfig::default()
            };
            let least = LbConfig::LeastRequestLbConfig(least);
            (LbPolicy::LeastRequest, Some(least))
        }
        Balance::Random => (LbPolicy::Random, None),
        Balance::LatencyAware => {
            if view.is_envoy() {
                notices.insert(format!(
                    "{}: Envoy does not balance by latency: it uses least-request",
                    service.name
                ));
            }
            (LbPolicy::LeastRequest, None)
        }
    }
}

fn circuit_breakers(service: &Service) -> Option<CircuitBreakers> {
    let circuit = service.circuit;
    let thresholds = Thresholds {
        max_connections: circuit.connections,
        max_pending_requests: circuit.pending,
        max_requests: circuit.requests,
        max_retries: circuit.retries,
        retry_budget: circuit.retry_budget.map(|budget| thresholds::RetryBudget {
            budget_percent: Some(Percent {
                value: f64::from(budget.share) / 10_000.0,
            }),
            min_retry_concurrency: Some(budget.min_concurrency),
        }),
        ..Thresholds::default()
    };
    (thresholds != Thresholds::default()).then(|| CircuitBreakers {
        thresholds: vec![thresholds],
        ..CircuitBreakers::default()
    })
}

fn health_check(check: &HealthCheck) -> core::HealthCheck {
    // A `HealthCheckRequest` has the service's name in the same field as a `GrpcHealthCheck`.
    let grpc = question(&check.service).into_bytes().to_vec();
    core::HealthCheck {
        timeout: Some(duration(check.timeout)),
        interval: Some(duration(check.interval)),
        interval_jitter: Some(duration(check.jitter)),
        unhealthy_threshold: Some(check.unhealthy),
        healthy_threshold: Some(check.healthy),
        health_checker: Some(core::health_check::HealthChecker::GrpcHealthCheck(grpc)),
        ..core::HealthCheck::default()
    }
}

/// xDS switches most of it on unless it is told not to; here only what is named is on.
fn outlier_detection(outlier: &Outlier) -> OutlierDetection {
    let enforced = |on: bool| Some(if on { 100 } else { 0 });
    OutlierDetection {
        consecutive_5xx: outlier.consecutive_5xx,
        enforcing_consecutive_5xx: enforced(outlier.consecutive_5xx.is_some()),
        consecutive_gateway_failure: outlier.consecutive_gateway,
        enforcing_consecutive_gateway_failure: enforced(outlier.consecutive_gateway.is_some()),
        interval: outlier.interval.map(duration),
        base_ejection_time: outlier.base_ejection.map(duration),
        max_ejection_time: outlier.max_ejection.map(duration),
        max_ejection_percent: outlier.max_ejection_percent,
        success_rate_stdev_factor: outlier.success_rate_stdev,
        enforcing_success_rate: enforced(outlier.success_rate_stdev.is_some()),
        success_rate_minimum_hosts: outlier.min_hosts,
        success_rate_request_volume: outlier.request_volume,
        failure_percentage_threshold: outlier.failure_percentage,
        enforcing_failure_percentage: enforced(outlier.failure_percentage.is_some()),
        failure_percentage_minimum_hosts: outlier.min_hosts,
        failure_percentage_request_volume: outlier.request_volume,
        ..OutlierDetection::default()
    }
}

const fn locality_weights() -> CommonLbConfig {
    let weighted = common_lb_config::LocalityWeightedLbConfig {};
    CommonLbConfig {
        healthy_panic_threshold: None,
        update_merge_window: None,
        ignore_new_hosts_until_first_hc: false,
        close_connections_on_host_set_change: false,
        consistent_hashing_lb_config: None,
        override_host_status: None,
        locality_config_specifier: Some(
            common_lb_config::LocalityConfigSpecifier::LocalityWeightedLbConfig(weighted),
        ),
    }
}

fn http2() -> std::collections::BTreeMap<String, Any> {
    let http2 = ProtocolConfig::Http2ProtocolOptions(Http2ProtocolOptions::default());
    let explicit = ExplicitHttpConfig {
        protocol_config: Some(http2),
    };
    let options = HttpProtocolOptions {
        upstream_protocol_options: Some(UpstreamProtocolOptions::ExplicitHttpConfig(explicit)),
        ..HttpProtocolOptions::default()
    };
    [(HTTP.into(), Any::pack(&options))].into()
}

/// "Ask this same stream."
pub(super) fn ads() -> ConfigSource {
    ConfigSource {
        config_source_specifier: Some(ConfigSourceSpecifier::Ads(AggregatedConfigSource {})),
        resource_api_version: ApiVersion::V3.into(),
        ..ConfigSource::default()
    }
}

pub(super) fn duration(duration: std::time::Duration) -> Duration {
    Duration {
        seconds: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(duration.subsec_nanos()).unwrap_or(0),
    }
}

pub(super) fn words<const N: usize>(words: [(&str, Value); N]) -> Struct {
    Struct {
        fields: words
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    }
}

const fn structure(fields: Struct) -> Value {
    Value {
        kind: Some(value::Kind::StructValue(fields)),
    }
}

pub(super) fn metadata(own: Vec<(&str, Value)>) -> Metadata {
    let fields = own.into_iter();
    let own = Struct {
        fields: fields
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    };
    Metadata {
        filter_metadata: [(WORD.to_owned(), own)].into(),
        ..Metadata::default()
    }
}
