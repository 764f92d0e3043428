//! Resources of xDS, written in a line each.
//!
//! ```text
//! listener smf rds smf
//! listener smf rds smf filter fault abort 503 50
//! listener smf inline cluster a
//! route smf cluster a
//! route smf header x-canary exact yes cluster b | cluster a
//! route smf weighted a=90 b=10
//! cluster a eds a
//! cluster a eds a lb least_request
//! cluster all aggregate a b
//! endpoints a 10.0.0.1:80 10.0.0.2:80
//! endpoints a p0 10.0.0.1:80 p1 10.0.0.2:80
//! ```

#![allow(dead_code, reason = "each test uses a part")]

use corewire_xds::envoy::config::cluster::v3 as cluster;
use corewire_xds::envoy::config::core::v3 as core;
use corewire_xds::envoy::config::endpoint::v3 as endpoint;
use corewire_xds::envoy::config::listener::v3 as listener;
use corewire_xds::envoy::config::route::v3 as route;
use corewire_xds::envoy::extensions::clusters::aggregate::v3::ClusterConfig;
use corewire_xds::envoy::extensions::filters::http::fault::v3 as fault;
use corewire_xds::envoy::extensions::filters::http::router::v3::Router;
use corewire_xds::envoy::extensions::filters::network::http_connection_manager::v3 as manager;
use corewire_xds::envoy::r#type::matcher::v3 as matcher;
use corewire_xds::envoy::r#type::v3::{FractionalPercent, Int64Range, fractional_percent};
use corewire_xds::{Any, Bytes};

/// The resource that a line describes, and its name.
pub(crate) fn resource(line: &str) -> (String, Any) {
    let mut words = line.split_whitespace();
    let kind = words.next().expect("a kind");
    let name = words.next().expect("a name").to_owned();
    let rest: Vec<&str> = words.collect();
    let any = match kind {
        "listener" => Any::pack(&make_listener(&name, &rest)),
        "route" => Any::pack(&make_route(&name, &rest)),
        "cluster" => Any::pack(&make_cluster(&name, &rest)),
        "endpoints" => Any::pack(&make_endpoints(&name, &rest)),
        // Octets that are no message, under the type of one.
        "garbage" => Any {
            type_url: format!("type.googleapis.com/{name}"),
            value: Bytes::from_static(b"\x0a\xff\xff\xff\xff\x0f"),
        },
        _ => panic!("{line:?}: no such resource"),
    };
    (name, any)
}

fn ads() -> core::ConfigSource {
    core::ConfigSource {
        config_source_specifier: Some(core::config_source::ConfigSourceSpecifier::Ads(
            core::AggregatedConfigSource {},
        )),
        ..core::ConfigSource::default()
    }
}

fn make_listener(name: &str, words: &[&str]) -> listener::Listener {
    use manager::http_connection_manager::RouteSpecifier;
    let filter = |name: &str, config| manager::HttpFilter {
        name: name.into(),
        config_type: Some(manager::http_filter::ConfigType::TypedConfig(config)),
        ..manager::HttpFilter::default()
    };
    let mut filters = Vec::new();
    let routes = match words {
        ["rds", routes, rest @ ..] => {
            filters.extend(match rest {
                [] => None,
                ["filter", "fault", config @ ..] => {
                    Some(filter("fault", Any::pack(&make_fault(config))))
                }
                ["filter", "unknown"] => {
                    let config = Any {
                        type_url: "type.googleapis.com/example.Unknown".into(),
                        ..Any::default()
                    };
                    Some(filter("unknown", config))
                }
                other => panic!("{other:?}"),
            });
            RouteSpecifier::Rds(manager::Rds {
                config_source: Some(ads()),
                route_config_name: (*routes).into(),
            })
        }
        ["inline", rest @ ..] => RouteSpecifier::RouteConfig(make_route(name, rest)),
        other => panic!("{other:?}"),
    };
    filters.push(filter("router", Any::pack(&Router::default())));
    let manager = manager::HttpConnectionManager {
        http_filters: filters,
        route_specifier: Some(routes),
        ..manager::HttpConnectionManager::default()
    };
    listener::Listener {
        name: name.into(),
        api_listener: Some(listener::ApiListener {
            api_listener: Some(Any::pack(&manager)),
        }),
        ..listener::Listener::default()
    }
}

fn percent(text: &str) -> FractionalPercent {
    FractionalPercent {
        numerator: text.parse().unwrap(),
        denominator: fractional_percent::DenominatorType::Hundred as i32,
    }
}

fn make_fault(words: &[&str]) -> fault::HttpFault {
    let ["abort", status, share] = words else {
        panic!("{words:?}")
    };
    fault::HttpFault {
        abort: Some(fault::FaultAbort {
            percentage: Some(percent(share)),
            error_type: Some(fault::fault_abort::ErrorType::HttpStatus(
                status.parse().unwrap(),
            )),
        }),
        ..fault::HttpFault::default()
    }
}

fn make_route(name: &str, words: &[&str]) -> route::RouteConfiguration {
    let mut domains = vec!["*".to_owned()];
    let mut words = words;
    if let ["domain", domain, rest @ ..] = words {
        domains = domain.split(',').map(Into::into).collect();
        words = rest;
    }
    route::RouteConfiguration {
        name: name.into(),
        virtual_hosts: vec![route::VirtualHost {
            name: "host".into(),
            domains,
            routes: words.split(|word| *word == "|").map(one_route).collect(),
            ..route::VirtualHost::default()
        }],
        ..route::RouteConfiguration::default()
    }
}

fn one_route(words: &[&str]) -> route::Route {
    let mut matched = route::RouteMatch {
        path_specifier: Some(route::route_match::PathSpecifier::Prefix("/".into())),
        ..route::RouteMatch::default()
    };
    let mut action = route::RouteAction::default();
    let mut metadata = None;
    let mut words = words;
    while !words.is_empty() {
        words = match words {
            ["prefix", prefix, rest @ ..] => {
                let prefix = (*prefix).into();
                matched.path_specifier = Some(route::route_match::PathSpecifier::Prefix(prefix));
                rest
            }
            ["regex", regex, rest @ ..] => {
                let regex = pattern(regex);
                matched.path_specifier = Some(route::route_match::PathSpecifier::SafeRegex(regex));
                rest
            }
            ["header", name, form, value, rest @ ..] => {
                matched.headers.push(header(name, form, value));
                rest
            }
            ["cluster", cluster, rest @ ..] => {
                let cluster = (*cluster).into();
                action.cluster_specifier =
                    Some(route::route_action::ClusterSpecifier::Cluster(cluster));
                rest
            }
            ["mirror", cluster, rest @ ..] => {
                let mirror = route::route_action::RequestMirrorPolicy {
                    cluster: (*cluster).into(),
                    ..Default::default()
                };
                action.request_mirror_policies.push(mirror);
                rest
            }
            ["timeout", seconds, rest @ ..] => {
                action.timeout = Some(corewire_xds::Duration {
                    seconds: seconds.parse().unwrap(),
                    nanos: 0,
                });
                rest
            }
            ["retry", on, rest @ ..] => {
                action.retry_policy = Some(route::RetryPolicy {
                    retry_on: (*on).into(),
                    ..Default::default()
                });
                rest
            }
            ["cors", rest @ ..] => {
                action.cors = Some(Vec::new());
                rest
            }
            ["transport", name, rest @ ..] => {
                metadata = Some(corewire("transport", name));
                rest
            }
            ["weighted", rest @ ..] => {
                let split = rest.iter().take_while(|word| word.contains('='));
                let clusters = split.clone().map(|word| {
                    let (name, weight) = word.split_once('=').unwrap();
                    route::weighted_cluster::ClusterWeight {
                        name: name.into(),
                        weight: Some(weight.parse().unwrap()),
                        ..Default::default()
                    }
                });
                let weighted = route::WeightedCluster {
                    clusters: clusters.collect(),
                    ..Default::default()
                };
                action.cluster_specifier = Some(
                    route::route_action::ClusterSpecifier::WeightedClusters(weighted),
                );
                &rest[split.count()..]
            }
            other => panic!("{other:?}"),
        };
    }
    route::Route {
        r#match: Some(matched),
        action: Some(route::route::Action::Route(action)),
        metadata,
        ..route::Route::default()
    }
}

fn corewire(name: &str, value: &str) -> core::Metadata {
    let kind = corewire_xds::value::Kind::StringValue(value.into());
    let value = corewire_xds::Value { kind: Some(kind) };
    let fields = corewire_xds::Struct {
        fields: [(name.to_owned(), value)].into(),
    };
    core::Metadata {
        filter_metadata: [("corewire".to_owned(), fields)].into(),
        ..core::Metadata::default()
    }
}

fn pattern(regex: &str) -> matcher::RegexMatcher {
    matcher::RegexMatcher {
        regex: regex.into(),
        ..Default::default()
    }
}

fn header(name: &str, form: &str, value: &str) -> route::HeaderMatcher {
    use matcher::string_matcher::MatchPattern;
    use route::header_matcher::HeaderMatchSpecifier as Specifier;
    let value = value.to_owned();
    let string = |pattern| {
        Specifier::StringMatch(matcher::StringMatcher {
            match_pattern: Some(pattern),
            ignore_case: false,
        })
    };
    let specifier = match form {
        "exact" => Specifier::ExactMatch(value),
        "prefix" => Specifier::PrefixMatch(value),
        "suffix" => Specifier::SuffixMatch(value),
        "contains" => Specifier::ContainsMatch(value),
        "regex" => Specifier::SafeRegexMatch(pattern(&value)),
        "present" => Specifier::PresentMatch(value == "true"),
        "range" => {
            let (start, end) = value.split_once("..").unwrap();
            let (start, end) = (start.parse().unwrap(), end.parse().unwrap());
            Specifier::RangeMatch(Int64Range { start, end })
        }
        "string_match.exact" => string(MatchPattern::Exact(value)),
        "string_match.prefix" => string(MatchPattern::Prefix(value)),
        "string_match.suffix" => string(MatchPattern::Suffix(value)),
        "string_match.contains" => string(MatchPattern::Contains(value)),
        "string_match.regex" => string(MatchPattern::SafeRegex(pattern(&value))),
        other => panic!("{other:?}"),
    };
    route::HeaderMatcher {
        name: name.into(),
        header_match_specifier: Some(specifier),
        ..Default::default()
    }
}

fn make_cluster(name: &str, words: &[&str]) -> cluster::Cluster {
    use cluster::cluster::{ClusterDiscoveryType, DiscoveryType, LbPolicy};
    let mut made = cluster::Cluster {
        name: name.into(),
        ..cluster::Cluster::default()
    };
    let kind = |kind: DiscoveryType| Some(ClusterDiscoveryType::Type(kind as i32));
    let mut words = words;
    while !words.is_empty() {
        words = match words {
            ["eds", service, rest @ ..] => {
                made.cluster_discovery_type = kind(DiscoveryType::Eds);
                made.eds_cluster_config = Some(cluster::cluster::EdsClusterConfig {
                    eds_config: Some(ads()),
                    service_name: (*service).into(),
                });
                rest
            }
            ["static", addresses @ ..] => {
                made.cluster_discovery_type = kind(DiscoveryType::Static);
                made.load_assignment = Some(make_endpoints(name, addresses));
                &[]
            }
            ["dns", host] => {
                made.cluster_discovery_type = kind(DiscoveryType::LogicalDns);
                made.load_assignment = Some(make_endpoints(name, &[host]));
                &[]
            }
            ["aggregate", names @ ..] => {
                let config = ClusterConfig {
                    clusters: names.iter().map(ToString::to_string).collect(),
                };
                let custom = cluster::cluster::CustomClusterType {
                    name: "envoy.clusters.aggregate".into(),
                    typed_config: Some(Any::pack(&config)),
                };
                made.cluster_discovery_type = Some(ClusterDiscoveryType::ClusterType(custom));
                made.lb_policy = LbPolicy::ClusterProvided as i32;
                &[]
            }
            ["lb", policy, rest @ ..] => {
                made.lb_policy = match *policy {
                    "least_request" => LbPolicy::LeastRequest as i32,
                    "ring_hash" => LbPolicy::RingHash as i32,
                    "maglev" => LbPolicy::Maglev as i32,
                    number => number.parse().unwrap(),
                };
                rest
            }
            ["max_requests", count, rest @ ..] => {
                let thresholds = cluster::circuit_breakers::Thresholds {
                    max_requests: Some(count.parse().unwrap()),
                    ..Default::default()
                };
                made.circuit_breakers = Some(cluster::CircuitBreakers {
                    thresholds: vec![thresholds],
                    ..Default::default()
                });
                rest
            }
            other => panic!("{other:?}"),
        };
    }
    made
}

fn make_endpoints(name: &str, words: &[&str]) -> endpoint::ClusterLoadAssignment {
    let mut localities: Vec<endpoint::LocalityLbEndpoints> = Vec::new();
    for word in words {
        if let Some(priority) = word.strip_prefix('p') {
            localities.push(endpoint::LocalityLbEndpoints {
                priority: priority.parse().unwrap(),
                ..Default::default()
            });
            continue;
        }
        if localities.is_empty() {
            localities.push(endpoint::LocalityLbEndpoints::default());
        }
        let endpoint = one_endpoint(word);
        localities.last_mut().unwrap().lb_endpoints.push(endpoint);
    }
    endpoint::ClusterLoadAssignment {
        cluster_name: name.into(),
        endpoints: localities,
        ..Default::default()
    }
}

/// An endpoint at `HOST:PORT`, with `*WEIGHT` or `!` for an unhealthy one behind it.
pub(crate) fn one_endpoint(word: &str) -> endpoint::LbEndpoint {
    let (word, health) = match word.strip_suffix('!') {
        Some(word) => (word, core::HealthStatus::Unhealthy),
        None => (word, core::HealthStatus::Unknown),
    };
    let (word, weight) = match word.split_once('*') {
        Some((word, weight)) => (word, Some(weight.parse().unwrap())),
        None => (word, None),
    };
    let (host, port) = word.rsplit_once(':').expect("HOST:PORT");
    let socket = core::SocketAddress {
        address: host.into(),
        port_specifier: Some(core::socket_address::PortSpecifier::PortValue(
            port.parse().unwrap(),
        )),
        ..Default::default()
    };
    let address = core::Address {
        address: Some(core::address::Address::SocketAddress(socket)),
    };
    endpoint::LbEndpoint {
        host_identifier: Some(endpoint::lb_endpoint::HostIdentifier::Endpoint(
            endpoint::Endpoint {
                address: Some(address),
                ..Default::default()
            },
        )),
        health_status: health as i32,
        load_balancing_weight: weight,
        ..Default::default()
    }
}
