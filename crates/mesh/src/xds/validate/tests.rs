//! Fields that transcripts do not reach, each with what becomes of it.

use super::*;
use crate::config::{
    Admission, ClusterChoice, HashSource, LbPolicy, PathMatch, RetryOn, RouteAction, Transport,
};
use corewire_xds::envoy::config::cluster::v3 as cluster;
use corewire_xds::envoy::config::core::v3 as core;
use corewire_xds::envoy::config::endpoint::v3 as endpoint;
use corewire_xds::envoy::config::route::v3 as route;
use corewire_xds::envoy::extensions::load_balancing_policies as policies;
use corewire_xds::envoy::extensions::transport_sockets::tls::v3 as tls;
use corewire_xds::{Any, Name, Struct, value::Kind};
use std::time::Duration;

fn decoded<M: Name>(kind: ResourceType, message: &M) -> Decoded {
    decode(kind, &message.encode_to_vec().into())
}

fn faults(decoded: Decoded) -> Vec<String> {
    let faults = decoded.value.expect_err("there are faults");
    faults.iter().map(ToString::to_string).collect()
}

fn notices(decoded: &Decoded) -> Vec<String> {
    decoded.notices.iter().map(ToString::to_string).collect()
}

fn static_cluster() -> cluster::Cluster {
    cluster::Cluster {
        name: "smf".into(),
        load_assignment: Some(endpoint::ClusterLoadAssignment::default()),
        ..cluster::Cluster::default()
    }
}

fn cluster_of(message: &cluster::Cluster) -> (ClusterData, Vec<String>) {
    let decoded = decoded(ResourceType::Cluster, message);
    let notices = notices(&decoded);
    let Value::Cluster(data) = decoded.value.expect("a good cluster") else {
        panic!("a cluster")
    };
    (data, notices)
}

fn seconds(seconds: i64) -> Option<corewire_xds::Duration> {
    Some(corewire_xds::Duration { seconds, nanos: 0 })
}

fn corewire(fields: &[(&str, Kind)]) -> Option<core::Metadata> {
    let fields = fields.iter().map(|(name, kind)| {
        let kind = Some(kind.clone());
        ((*name).to_owned(), corewire_xds::Value { kind })
    });
    let words = Struct {
        fields: fields.collect(),
    };
    Some(core::Metadata {
        filter_metadata: [("corewire".to_owned(), words)].into(),
        ..core::Metadata::default()
    })
}

#[test]
fn outlier_detection_takes_the_defaults_of_xds() {
    let mut message = static_cluster();
    message.outlier_detection = Some(cluster::OutlierDetection {
        consecutive_5xx: Some(7),
        interval: seconds(2),
        enforcing_success_rate: Some(0),
        enforcing_consecutive_gateway_failure: Some(50),
        ..Default::default()
    });
    let (data, notices) = cluster_of(&message);
    let outlier = data.cluster.outlier.unwrap();
    assert_eq!(outlier.consecutive_5xx, Some(7));
    assert_eq!(outlier.consecutive_gateway, Some(5));
    assert_eq!(outlier.consecutive_local_origin, None);
    assert_eq!(outlier.interval, Duration::from_secs(2));
    assert_eq!(outlier.base_ejection, Duration::from_secs(30));
    assert_eq!(outlier.success_rate, None);
    assert_eq!(outlier.failure_percentage, None);
    assert_eq!(notices.len(), 1);
    assert!(notices[0].contains("enforcing_consecutive_gateway_failure"));

    // Told apart, yet nobody is left out for them: they must not count as answers with 5xx.
    message.outlier_detection = Some(cluster::OutlierDetection {
        split_external_local_origin_errors: true,
        enforcing_consecutive_local_origin_failure: Some(0),
        ..Default::default()
    });
    let policy = cluster_of(&message).0.cluster.outlier.unwrap();
    let timeline = crate::policy::timeline::Timeline::new(std::time::Instant::now());
    let record = crate::policy::protect::outlier::Record::new(timeline);
    let lost = crate::policy::outcome::Verdict::LocalOrigin;
    assert!((0..100).all(|_| record.note(&policy, lost).is_none()));

    message.outlier_detection = Some(cluster::OutlierDetection {
        max_ejection_percent: Some(101),
        interval: seconds(0),
        ..Default::default()
    });
    let found = faults(decoded(ResourceType::Cluster, &message));
    assert_eq!(
        found,
        [
            "outlier_detection.max_ejection_percent: 101 is more than 100 percent",
            "outlier_detection.interval: must be longer than zero",
        ]
    );
}

#[test]
fn the_first_known_policy_of_a_list_is_taken() {
    let policy = |config| cluster::load_balancing_policy::Policy {
        typed_extension_config: Some(core::TypedExtensionConfig {
            name: "any".into(),
            typed_config: Some(config),
        }),
    };
    let unknown = Any {
        type_url: "type.googleapis.com/example.Policy".into(),
        ..Any::default()
    };
    let ring = policies::ring_hash::v3::RingHash {
        minimum_ring_size: Some(10),
        maximum_ring_size: Some(100),
        ..Default::default()
    };
    let wrapped = policies::wrr_locality::v3::WrrLocality {
        endpoint_picking_policy: Some(cluster::LoadBalancingPolicy {
            policies: vec![policy(unknown.clone()), policy(Any::pack(&ring))],
        }),
    };
    let mut message = static_cluster();
    message.load_balancing_policy = Some(cluster::LoadBalancingPolicy {
        policies: vec![policy(Any::pack(&wrapped))],
    });
    let (min_size, max_size) = (10, 100);
    let expected = LbPolicy::RingHash { min_size, max_size };
    assert_eq!(cluster_of(&message).0.cluster.lb, expected);

    message.load_balancing_policy = Some(cluster::LoadBalancingPolicy {
        policies: vec![policy(unknown)],
    });
    let found = faults(decoded(ResourceType::Cluster, &message));
    assert_eq!(
        found,
        ["load_balancing_policy: no policy of [example.Policy] is known here"]
    );

    // Policies within policies end somewhere.
    let mut deep = Any::pack(&ring);
    for _ in 0..1000 {
        deep = Any::pack(&policies::wrr_locality::v3::WrrLocality {
            endpoint_picking_policy: Some(cluster::LoadBalancingPolicy {
                policies: vec![policy(deep)],
            }),
        });
    }
    message.load_balancing_policy = Some(cluster::LoadBalancingPolicy {
        policies: vec![policy(deep)],
    });
    let found = faults(decoded(ResourceType::Cluster, &message));
    assert!(found[0].ends_with("is nested too deeply"), "{found:?}");
}

#[test]
fn our_own_words_are_read_from_metadata() {
    let limits = Struct {
        fields: [("hard_limit", 20.0), ("soft_limit", 10.0)]
            .map(|(name, limit)| {
                let kind = Some(Kind::NumberValue(limit));
                (name.to_owned(), corewire_xds::Value { kind })
            })
            .into(),
    };
    let mut message = static_cluster();
    message.metadata = corewire(&[
        ("transport", Kind::StringValue("native".into())),
        ("balance", Kind::StringValue("latency-aware".into())),
        ("admission", Kind::StructValue(limits)),
        ("colour", Kind::BoolValue(true)),
    ]);
    let (data, notices) = cluster_of(&message);
    assert_eq!(data.cluster.transport, Some(Transport::Native));
    assert_eq!(data.cluster.lb, LbPolicy::LatencyAware);
    let expected = Admission {
        soft_limit: 10,
        hard_limit: 20,
    };
    assert_eq!(data.cluster.admission, Some(expected));
    assert_eq!(
        notices,
        [r#"metadata.filter_metadata["corewire"].colour: is not known here"#]
    );

    message.metadata = corewire(&[("transport", Kind::StringValue("soap".into()))]);
    let found = faults(decoded(ResourceType::Cluster, &message));
    assert!(
        found[0].contains("no transport is called \"soap\""),
        "{found:?}"
    );
}

#[test]
fn a_demand_for_tls_is_kept_and_a_check_that_cannot_be_made_is_a_fault() {
    let instance = |name: &str| tls::CertificateProviderPluginInstance {
        instance_name: name.into(),
        ..Default::default()
    };
    let context = |crl| tls::UpstreamTlsContext {
        sni: "smf".into(),
        common_tls_context: Some(tls::CommonTlsContext {
            tls_certificate_provider_instance: Some(instance("own")),
            validation_context_type: Some(
                tls::common_tls_context::ValidationContextType::ValidationContext(
                    tls::CertificateValidationContext {
                        ca_certificate_provider_instance: Some(instance("roots")),
                        crl,
                        ..Default::default()
                    },
                ),
            ),
            ..Default::default()
        }),
        ..Default::default()
    };
    let socket = |config| core::TransportSocket {
        name: "tls".into(),
        config_type: Some(core::transport_socket::ConfigType::TypedConfig(config)),
    };
    let mut message = static_cluster();
    message.transport_socket = Some(socket(Any::pack(&context(None))));
    let (data, _) = cluster_of(&message);
    let policy = data.cluster.tls.clone().expect("TLS is demanded");
    assert_eq!(&*policy.sni, "smf");
    assert_eq!(policy.root_provider.as_deref(), Some("roots"));
    assert_eq!(policy.identity_provider.as_deref(), Some("own"));

    message.transport_socket = Some(socket(Any::pack(&context(Some(Default::default())))));
    let found = faults(decoded(ResourceType::Cluster, &message));
    assert!(found[0].ends_with("validation_context.crl: cannot be checked here"));
    // Another kind of socket is not taken for clear text.
    message.transport_socket = Some(socket(Any {
        type_url: "type.googleapis.com/example.Socket".into(),
        ..Any::default()
    }));
    assert!(faults(decoded(ResourceType::Cluster, &message))[0].contains("example.Socket"));
}

#[test]
fn health_checks_are_carried_out_or_reported() {
    use core::health_check::HealthChecker;
    let check = |checker| core::HealthCheck {
        interval: seconds(4),
        interval_jitter_percent: 50,
        timeout: seconds(2),
        unhealthy_threshold: Some(3),
        healthy_threshold: Some(2),
        health_checker: Some(checker),
        ..Default::default()
    };
    let mut message = static_cluster();
    let grpc = corewire_message::health::question("smf")
        .into_bytes()
        .to_vec();
    message.health_checks = vec![
        check(HealthChecker::HttpHealthCheck(Vec::new())),
        check(HealthChecker::GrpcHealthCheck(grpc)),
    ];
    let (data, notices) = cluster_of(&message);
    let found = data.cluster.health_check.clone().expect("one of them");
    assert_eq!(&*found.service, "smf");
    let second = std::time::Duration::from_secs(1);
    assert_eq!((found.interval, found.jitter), (4 * second, 2 * second));
    assert_eq!(
        (found.timeout, found.unhealthy, found.healthy),
        (2 * second, 3, 2)
    );
    assert!(
        notices.iter().any(|it| it.contains("health_checks[0]")),
        "{notices:?}"
    );
    message.health_checks = vec![check(HealthChecker::GrpcHealthCheck(vec![0xff]))];
    assert!(faults(decoded(ResourceType::Cluster, &message))[0].contains("cannot be read"));
}

#[test]
fn a_route_with_everything() {
    let header = route::route_action::hash_policy::Header {
        header_name: "X-Supi".into(),
        ..Default::default()
    };
    let action = route::RouteAction {
        cluster_specifier: Some(route::route_action::ClusterSpecifier::Cluster("smf".into())),
        timeout: seconds(0),
        max_stream_duration: Some(route::route_action::MaxStreamDuration {
            grpc_timeout_header_max: seconds(7),
            max_stream_duration: seconds(9),
            ..Default::default()
        }),
        retry_policy: Some(route::RetryPolicy {
            retry_on: "5xx, unavailable,retriable-headers".into(),
            num_retries: Some(3),
            per_try_timeout: seconds(1),
            retry_back_off: Some(route::retry_policy::RetryBackOff {
                base_interval: seconds(1),
                max_interval: None,
            }),
            ..Default::default()
        }),
        hash_policy: vec![route::route_action::HashPolicy {
            policy_specifier: Some(route::route_action::hash_policy::PolicySpecifier::Header(
                header,
            )),
            terminal: true,
        }],
        idle_timeout: seconds(5),
        max_grpc_timeout: seconds(0),
        ..Default::default()
    };
    let one = |path, action| route::Route {
        r#match: Some(route::RouteMatch {
            path_specifier: Some(path),
            ..Default::default()
        }),
        action: Some(action),
        ..Default::default()
    };
    use route::route_match::PathSpecifier;
    let message = route::RouteConfiguration {
        name: "r".into(),
        virtual_hosts: vec![route::VirtualHost {
            name: "v".into(),
            domains: vec!["*.CORE".into()],
            routes: vec![
                one(
                    PathSpecifier::PathSeparatedPrefix("/nsmf".into()),
                    route::route::Action::Route(action),
                ),
                one(
                    PathSpecifier::Path("/old".into()),
                    route::route::Action::Redirect(Default::default()),
                ),
            ],
            ..Default::default()
        }],
        ..Default::default()
    };
    let decoded = decoded(ResourceType::Route, &message);
    let found = notices(&decoded);
    for part in [
        "routes[0].route.idle_timeout: is not carried out",
        "routes[0].route.retry_policy.retry_on: \"retriable-headers\" is no condition",
        "routes[1].redirect: is not followed by a caller: its requests fail",
    ] {
        assert!(
            found.iter().any(|it| it.contains(part)),
            "{part}: {found:#?}"
        );
    }
    // Zero says what holds anyway.
    assert!(!found.iter().any(|it| it.contains("max_grpc_timeout")));
    let Value::Routes(routes) = decoded.value.expect("good routes") else {
        panic!("routes")
    };
    let host = &routes.config.virtual_hosts[0];
    assert_eq!(&*host.domains[0], "*.core");
    assert_eq!(host.routes.len(), 2);
    assert!(matches!(
        host.routes[1].action,
        RouteAction::Unsupported { .. }
    ));
    assert!(matches!(
        host.routes[0].matcher.path,
        PathMatch::SegmentPrefix { .. }
    ));
    let RouteAction::Forward(forward) = &host.routes[0].action else {
        panic!("it goes somewhere")
    };
    assert_eq!(forward.clusters, ClusterChoice::One("smf".into()));
    // Zero: no limit.
    assert_eq!(forward.timeout, None);
    assert_eq!(forward.max_stream_duration, Some(Duration::from_secs(7)));
    let retry = forward.retry.as_ref().unwrap();
    assert_eq!(retry.on, RetryOn::SERVER_ERROR | RetryOn::UNAVAILABLE);
    assert_eq!(retry.num_retries, 3);
    assert_eq!(retry.backoff.max, Duration::from_secs(10));
    let HashSource::Header { name, .. } = &forward.hash[0].source else {
        panic!("a header")
    };
    assert_eq!(&**name, "x-supi");
}

#[test]
fn endpoints_with_faults_tell_all_of_them() {
    let locality = |zone: &str, priority| endpoint::LocalityLbEndpoints {
        locality: Some(core::Locality {
            zone: zone.into(),
            ..Default::default()
        }),
        priority,
        lb_endpoints: vec![endpoint::LbEndpoint::default()],
        ..Default::default()
    };
    let message = endpoint::ClusterLoadAssignment {
        cluster_name: "smf".into(),
        endpoints: vec![locality("a", 0), locality("a", 0), locality("b", 2)],
        ..Default::default()
    };
    let found = faults(decoded(ResourceType::Endpoints, &message));
    // The three have no endpoint that can be used, so their weights are zero and their priorities
    // are not looked at.
    assert_eq!(
        found,
        [
            "endpoints[0].lb_endpoints[0].endpoint: is missing",
            "endpoints[1].locality: was already given for priority 0",
            "endpoints[1].lb_endpoints[0].endpoint: is missing",
            "endpoints[2].lb_endpoints[0].endpoint: is missing",
        ]
    );
}

#[test]
fn fields_that_are_not_known_are_noticed_by_their_numbers() {
    let mut octets = static_cluster().encode_to_vec();
    // Field 1000, a number.
    octets.extend([0xc0, 0x3e, 0x01]);
    let decoded = decode(ResourceType::Cluster, &octets.into());
    assert!(decoded.value.is_ok());
    let found = notices(&decoded);
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("has field 1000, which is not known here"));
}

/// What would send a call to the wrong place or version is refused, not only reported.
#[test]
fn routes_that_would_send_calls_to_a_wrong_place_are_refused() {
    use route::route_action::ClusterSpecifier;
    let weights = || route::WeightedCluster {
        clusters: vec![route::weighted_cluster::ClusterWeight {
            name: "smf".into(),
            weight: Some(1),
            metadata_match: Some(Default::default()),
            ..Default::default()
        }],
        random_value_specifier: Some(route::weighted_cluster::RandomValueSpecifier::HeaderName(
            "x".into(),
        )),
        ..Default::default()
    };
    type Change = fn(&mut route::RouteAction, &mut route::RouteMatch);
    let changes: [(&str, Change); 8] = [
        ("route.metadata_match", |action, _| {
            action.metadata_match = Some(Default::default());
        }),
        ("route.prefix_rewrite", |action, _| {
            action.prefix_rewrite = "/x".into();
        }),
        ("route.regex_rewrite", |action, _| {
            action.regex_rewrite = Some(Default::default());
        }),
        ("match.query_parameters", |_, matcher| {
            matcher.query_parameters.push(Default::default());
        }),
        ("match.grpc", |_, matcher| {
            matcher.grpc = Some(Default::default())
        }),
        ("match.dynamic_metadata", |_, matcher| {
            matcher.dynamic_metadata.push(Default::default());
        }),
        ("match.tls_context", |_, matcher| {
            matcher.tls_context = Some(Default::default());
        }),
        ("", |_, _| {}),
    ];
    let of = |action: route::RouteAction, matcher: route::RouteMatch| {
        let message = route::RouteConfiguration {
            virtual_hosts: vec![route::VirtualHost {
                domains: vec!["*".into()],
                routes: vec![route::Route {
                    r#match: Some(matcher),
                    action: Some(route::route::Action::Route(action)),
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        };
        decoded(ResourceType::Route, &message)
    };
    let plain = || route::RouteMatch {
        path_specifier: Some(route::route_match::PathSpecifier::Prefix("/".into())),
        ..Default::default()
    };
    for (field, change) in changes {
        let (mut action, mut matcher) = (route::RouteAction::default(), plain());
        action.cluster_specifier = Some(ClusterSpecifier::Cluster("smf".into()));
        change(&mut action, &mut matcher);
        let decoded = of(action, matcher);
        if field.is_empty() {
            assert!(decoded.value.is_ok());
            continue;
        }
        let found = faults(decoded);
        let path = format!("virtual_hosts[0].routes[0].{field}: ");
        assert!(found[0].starts_with(&path), "{field}: {found:?}");
        assert_eq!(found.len(), 1, "{found:?}");
    }
    let action = route::RouteAction {
        cluster_specifier: Some(ClusterSpecifier::WeightedClusters(weights())),
        ..Default::default()
    };
    let found = faults(of(action, plain()));
    assert!(found[0].contains("weighted_clusters.clusters[0].metadata_match"));
    assert!(found[1].contains("weighted_clusters.header_name"));
}

#[test]
fn a_cluster_whose_endpoints_would_be_mixed_is_refused() {
    let mut message = static_cluster();
    message.lb_subset_config = Some(Default::default());
    message.transport_socket_matches.push(Default::default());
    let found = faults(decoded(ResourceType::Cluster, &message));
    let paths: Vec<_> = found
        .iter()
        .map(|it| it.split(':').next().unwrap())
        .collect();
    assert_eq!(paths, ["lb_subset_config", "transport_socket_matches"]);
}

/// Istio up to 1.28 names certificate providers in fields that were replaced since.
#[test]
fn older_provider_fields_are_obeyed() {
    let instance = |name: &str| {
        tls::CertificateProviderPluginInstance {
            instance_name: name.into(),
            certificate_name: "ROOTCA".into(),
        }
        .encode_to_vec()
    };
    use tls::common_tls_context::{CombinedCertificateValidationContext, ValidationContextType};
    let context = tls::UpstreamTlsContext {
        common_tls_context: Some(tls::CommonTlsContext {
            tls_certificate_certificate_provider_instance: Some(instance("own")),
            validation_context_type: Some(ValidationContextType::CombinedValidationContext(
                CombinedCertificateValidationContext {
                    default_validation_context: Some(tls::CertificateValidationContext::default()),
                    validation_context_certificate_provider_instance: Some(instance("roots")),
                    ..Default::default()
                },
            )),
            ..Default::default()
        }),
        ..Default::default()
    };
    let mut message = static_cluster();
    message.transport_socket = Some(core::TransportSocket {
        name: "tls".into(),
        config_type: Some(core::transport_socket::ConfigType::TypedConfig(Any::pack(
            &context,
        ))),
    });
    let (data, notices) = cluster_of(&message);
    let policy = data.cluster.tls.clone().expect("TLS is demanded");
    assert_eq!(policy.root_provider.as_deref(), Some("roots"));
    assert_eq!(policy.identity_provider.as_deref(), Some("own"));
    assert!(notices.is_empty(), "{notices:?}");
}

#[test]
fn names_are_found_without_decoding() {
    let long = "x".repeat(200);
    for name in ["smf", long.as_str()] {
        let message = cluster::Cluster {
            name: name.into(),
            ..Default::default()
        };
        assert_eq!(peek_name(&message.encode_to_vec()), Some(name));
    }
    for octets in [
        &b""[..],
        b"\x0a",
        b"\x0a\x05ab",
        b"\x12\x01a",
        b"\x0a\x01\xff",
    ] {
        assert_eq!(peek_name(octets), None);
    }
}
