//! Route configurations: which request goes where.

use super::filters::{Overrides, http_status, overrides};
use super::matchers::route_match;
use super::metadata;
use super::report::{Path, Report};
use super::retry::retry_policy;
use super::scalar::{duration, not_empty, rewrite, runtime_fraction};
use crate::config::{
    ClusterChoice, ClusterWeight, Forward, Fraction, HashPolicy, HashSource, Mirror, RetryPolicy,
    Route, RouteAction, RouteConfig, VirtualHost,
};
use corewire_xds::envoy::config::core::v3::{DataSource, data_source};
use corewire_xds::envoy::config::route::v3 as route;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// Routes as they came: what filters do is decided with the listener that asks for them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RouteData {
    pub(crate) config: Arc<RouteConfig>,
    /// What is said in place of filters' settings, and of the listener's longest stream.
    pub(crate) own: ConfigOverrides,
}

/// What a route configuration says in place of a listener's settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ConfigOverrides {
    pub(crate) filters: Overrides,
    pub(crate) hosts: Vec<HostOverrides>,
}

/// The same for a virtual host.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HostOverrides {
    pub(crate) filters: Overrides,
    pub(crate) routes: Vec<RouteOverrides>,
}

/// The same for a route.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RouteOverrides {
    pub(crate) filters: Overrides,
    /// By cluster, in the order of a weighted choice.
    pub(crate) clusters: Vec<Overrides>,
    /// The route says how long a stream may last, be it for ever.
    pub(crate) says_stream_duration: bool,
}

/// Settings that routes take from what is around them.
struct Around {
    retry: Option<Arc<RetryPolicy>>,
    mirrors: Vec<Mirror>,
}

pub(super) fn route_config(
    message: route::RouteConfiguration,
    path: &Path<'_>,
    report: &mut Report,
) -> RouteData {
    let route::RouteConfiguration {
        name,
        virtual_hosts,
        vhds,
        internal_only_headers: _,
        response_headers_to_add,
        response_headers_to_remove,
        request_headers_to_add,
        request_headers_to_remove,
        most_specific_header_mutations_wins: _,
        validate_clusters: _,
        max_direct_response_body_size_bytes: _,
        cluster_specifier_plugins,
        request_mirror_policies,
        ignore_port_in_host_matching,
        ignore_path_parameters_in_path_matching,
        typed_per_filter_config,
        metadata: _,
    } = message;
    report.not_done(
        path,
        &[
            ("vhds", vhds.is_some()),
            (
                "cluster_specifier_plugins",
                !cluster_specifier_plugins.is_empty(),
            ),
            ("ignore_port_in_host_matching", ignore_port_in_host_matching),
            (
                "ignore_path_parameters_in_path_matching",
                ignore_path_parameters_in_path_matching,
            ),
        ],
    );
    header_changes(
        [
            !request_headers_to_add.is_empty(),
            !request_headers_to_remove.is_empty(),
            !response_headers_to_add.is_empty(),
            !response_headers_to_remove.is_empty(),
        ],
        path,
        report,
    );
    let mut own = ConfigOverrides {
        filters: overrides(typed_per_filter_config, path, report),
        hosts: Vec::with_capacity(virtual_hosts.len()),
    };
    let mirrors = mirrors(request_mirror_policies, path, report);
    let mut domains = HashMap::new();
    let mut hosts = Vec::with_capacity(virtual_hosts.len());
    for (at, message) in virtual_hosts.into_iter().enumerate() {
        let path = path.index("virtual_hosts", at);
        let (host, overrides) = virtual_host(message, &mirrors, &path, report);
        for (number, domain) in host.domains.iter().enumerate() {
            if let Some(first) = domains.insert(Arc::clone(domain), at) {
                let reason = format!("{domain:?} belongs to virtual_hosts[{first}] already");
                report.fault(&path.index("domains", number), reason);
            }
        }
        hosts.push(host);
        own.hosts.push(overrides);
    }
    let config = RouteConfig {
        name: name.into(),
        virtual_hosts: hosts,
    };
    RouteData {
        config: Arc::new(config),
        own,
    }
}

fn virtual_host(
    message: route::VirtualHost,
    mirrors_around: &[Mirror],
    path: &Path<'_>,
    report: &mut Report,
) -> (VirtualHost, HostOverrides) {
    let route::VirtualHost {
        name,
        domains,
        routes,
        matcher,
        require_tls,
        virtual_clusters: _,
        rate_limits,
        request_headers_to_add,
        request_headers_to_remove,
        response_headers_to_add,
        response_headers_to_remove,
        cors,
        typed_per_filter_config,
        include_request_attempt_count: _,
        include_attempt_count_in_response: _,
        retry_policy: retry,
        retry_policy_typed_config,
        hedge_policy,
        include_is_timeout_retry_header: _,
        per_request_buffer_limit_bytes: _,
        request_mirror_policies,
        metadata: _,
    } = message;
    report.not_done(
        path,
        &[
            ("matcher", matcher.is_some()),
            ("require_tls", require_tls != 0),
            ("rate_limits", !rate_limits.is_empty()),
            ("cors", cors.is_some()),
            (
                "retry_policy_typed_config",
                retry_policy_typed_config.is_some(),
            ),
            ("hedge_policy", hedge_policy.is_some()),
        ],
    );
    header_changes(
        [
            !request_headers_to_add.is_empty(),
            !request_headers_to_remove.is_empty(),
            !response_headers_to_add.is_empty(),
            !response_headers_to_remove.is_empty(),
        ],
        path,
        report,
    );
    let mut own = HostOverrides {
        filters: overrides(typed_per_filter_config, path, report),
        routes: Vec::with_capacity(routes.len()),
    };
    let mirrors = mirrors(request_mirror_policies, path, report);
    let around = Around {
        retry: retry.and_then(|it| retry_policy(it, &path.field("retry_policy"), report)),
        mirrors: if mirrors.is_empty() {
            mirrors_around.to_vec()
        } else {
            mirrors
        },
    };
    let domains = host_domains(domains, path, report);
    let mut found = Vec::with_capacity(routes.len());
    for (at, message) in routes.into_iter().enumerate() {
        let path = path.index("routes", at);
        if let Some((route, overrides)) = one_route(message, &around, &path, report) {
            found.push(route);
            own.routes.push(overrides);
        }
    }
    let host = VirtualHost {
        name: name.into(),
        domains,
        routes: found,
    };
    (host, own)
}

fn host_domains(domains: Vec<String>, path: &Path<'_>, report: &mut Report) -> Vec<Arc<str>> {
    if domains.is_empty() {
        report.fault(&path.field("domains"), "is empty");
    }
    let mut found = Vec::with_capacity(domains.len());
    for (at, mut domain) in domains.into_iter().enumerate() {
        domain.make_ascii_lowercase();
        let wildcards = domain.matches('*').count();
        let at_an_end = domain.starts_with('*') || domain.ends_with('*');
        if domain.is_empty() || wildcards > 1 || (wildcards == 1 && !at_an_end) {
            let reason = format!("{domain:?} is no domain: a.b, *.b, a.* or *");
            report.fault(&path.index("domains", at), reason);
        } else {
            found.push(domain.into());
        }
    }
    found
}

fn one_route(
    message: route::Route,
    around: &Around,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<(Route, RouteOverrides)> {
    let route::Route {
        name,
        r#match,
        action,
        metadata,
        decorator: _,
        typed_per_filter_config,
        request_headers_to_add,
        request_headers_to_remove,
        response_headers_to_add,
        response_headers_to_remove,
        tracing: _,
        per_request_buffer_limit_bytes: _,
        stat_prefix: _,
    } = message;
    header_changes(
        [
            !request_headers_to_add.is_empty(),
            !request_headers_to_remove.is_empty(),
            !response_headers_to_add.is_empty(),
            !response_headers_to_remove.is_empty(),
        ],
        path,
        report,
    );
    let mut own = RouteOverrides {
        filters: overrides(typed_per_filter_config, path, report),
        ..RouteOverrides::default()
    };
    let transport = metadata::transport(metadata, &path.field("metadata"), report);
    let match_path = path.field("match");
    let matcher = match r#match {
        Some(message) => route_match(message, &match_path, report),
        None => {
            report.fault(&match_path, "is missing");
            None
        }
    };
    let mut action = route_action(action, around, &mut own, path, report)?;
    if let RouteAction::Forward(forward) = &mut action {
        forward.transport = transport;
    }
    let route = Route {
        name: name.into(),
        matcher: matcher?,
        action,
        fault: None,
        rate_limit: None,
    };
    Some((route, own))
}

fn route_action(
    action: Option<route::route::Action>,
    around: &Around,
    own: &mut RouteOverrides,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<RouteAction> {
    use route::route::Action;
    let mut unsupported = |field: &str, reason: &str| {
        report.notice(&path.field(field), format!("{reason}: its requests fail"));
        let reason = format!("the route's {field} {reason}").into();
        Some(RouteAction::Unsupported { reason })
    };
    match action {
        Some(Action::Route(message)) => forward(message, around, own, &path.field("route"), report)
            .map(|forward| RouteAction::Forward(Box::new(forward))),
        Some(Action::DirectResponse(message)) => {
            answer(message, &path.field("direct_response"), report)
        }
        Some(Action::Redirect(_)) => unsupported("redirect", "is not followed by a caller"),
        Some(Action::FilterAction(_)) => unsupported("filter_action", "is not carried out"),
        Some(Action::NonForwardingAction(_)) => {
            unsupported("non_forwarding_action", "is for servers, not for callers")
        }
        None => {
            report.fault(path, "says nothing to do: route or direct_response");
            None
        }
    }
}

fn answer(
    message: route::DirectResponseAction,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<RouteAction> {
    use data_source::Specifier;
    let body: Arc<[u8]> = match message.body {
        None => Arc::default(),
        Some(DataSource { specifier, .. }) => match specifier {
            Some(Specifier::InlineBytes(body)) => body.into(),
            Some(Specifier::InlineString(body)) => body.into_bytes().into(),
            Some(Specifier::Filename(_) | Specifier::EnvironmentVariable(_)) => {
                let reason = "is not read from files or the environment: the body is empty";
                report.notice(&path.field("body"), reason);
                Arc::default()
            }
            None => Arc::default(),
        },
    };
    let status = http_status(message.status, &path.field("status"), report)?;
    Some(RouteAction::Answer { status, body })
}

fn forward(
    message: route::RouteAction,
    around: &Around,
    own: &mut RouteOverrides,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<Forward> {
    let route::RouteAction {
        cluster_specifier,
        cluster_not_found_response_code: _,
        metadata_match,
        prefix_rewrite,
        regex_rewrite,
        path_rewrite_policy,
        host_rewrite_specifier,
        append_x_forwarded_host: _,
        timeout,
        idle_timeout,
        early_data_policy: _,
        retry_policy: retry,
        retry_policy_typed_config,
        request_mirror_policies,
        priority,
        rate_limits,
        include_vh_rate_limits: _,
        hash_policy,
        cors,
        max_grpc_timeout,
        grpc_timeout_offset,
        upgrade_configs: _,
        internal_redirect_policy: _,
        internal_redirect_action: _,
        max_internal_redirects: _,
        hedge_policy,
        max_stream_duration,
    } = message;
    report.not_done(
        path,
        &[
            ("metadata_match", metadata_match.is_some()),
            ("prefix_rewrite", !prefix_rewrite.is_empty()),
            ("regex_rewrite", regex_rewrite.is_some()),
            ("path_rewrite_policy", path_rewrite_policy.is_some()),
            ("host_rewrite_specifier", host_rewrite_specifier.is_some()),
            ("idle_timeout", idle_timeout.is_some()),
            (
                "retry_policy_typed_config",
                retry_policy_typed_config.is_some(),
            ),
            ("priority", priority != 0),
            ("rate_limits", !rate_limits.is_empty()),
            ("cors", cors.is_some()),
            ("max_grpc_timeout", max_grpc_timeout.is_some()),
            ("grpc_timeout_offset", grpc_timeout_offset.is_some()),
            ("hedge_policy", hedge_policy.is_some()),
        ],
    );
    let clusters = clusters(cluster_specifier, own, path, report);
    let longest = stream_duration(
        max_stream_duration,
        own,
        &path.field("max_stream_duration"),
        report,
    );
    let retry = match retry {
        Some(message) => retry_policy(message, &path.field("retry_policy"), report),
        None => around.retry.clone(),
    };
    let own_mirrors = mirrors(request_mirror_policies, path, report);
    let forward = Forward {
        clusters: clusters?,
        timeout: limit(duration(timeout, &path.field("timeout"), report)),
        max_stream_duration: longest,
        retry,
        hash: hash_policies(hash_policy, path, report),
        mirrors: if own_mirrors.is_empty() {
            around.mirrors.clone()
        } else {
            own_mirrors
        },
        transport: None,
    };
    Some(forward)
}

/// Zero means that there is no limit.
fn limit(duration: Option<Duration>) -> Option<Duration> {
    duration.filter(|it| !it.is_zero())
}

/// How long a call may last: `grpc_timeout_header_max` goes before `max_stream_duration` (gRFC
/// A31).
fn stream_duration(
    message: Option<route::route_action::MaxStreamDuration>,
    own: &mut RouteOverrides,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<Duration> {
    let message = message?;
    report.not_done(
        path,
        &[(
            "grpc_timeout_header_offset",
            message.grpc_timeout_header_offset.is_some(),
        )],
    );
    let max_path = path.field("max_stream_duration");
    let longest = duration(message.max_stream_duration, &max_path, report);
    let header_path = path.field("grpc_timeout_header_max");
    let header_max = duration(message.grpc_timeout_header_max, &header_path, report);
    let said = header_max.or(longest);
    own.says_stream_duration = said.is_some();
    limit(said)
}

fn clusters(
    specifier: Option<route::route_action::ClusterSpecifier>,
    own: &mut RouteOverrides,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<ClusterChoice> {
    use route::route_action::ClusterSpecifier;
    match specifier {
        Some(ClusterSpecifier::Cluster(name)) => {
            not_empty(name, "cluster", path, report).map(ClusterChoice::One)
        }
        Some(ClusterSpecifier::WeightedClusters(message)) => {
            weighted(message, own, &path.field("weighted_clusters"), report)
        }
        Some(ClusterSpecifier::ClusterHeader(mut name)) => {
            let reason = "finds only clusters that other routes name too";
            report.notice(&path.field("cluster_header"), reason);
            name.make_ascii_lowercase();
            not_empty(name, "cluster_header", path, report).map(ClusterChoice::Header)
        }
        Some(
            ClusterSpecifier::ClusterSpecifierPlugin(_)
            | ClusterSpecifier::InlineClusterSpecifierPlugin(_),
        ) => {
            let reason = "is not known here: the route is left out";
            report.notice(&path.field("cluster_specifier_plugin"), reason);
            None
        }
        None => {
            report.fault(path, "says no cluster: cluster or weighted_clusters");
            None
        }
    }
}

fn weighted(
    message: route::WeightedCluster,
    own: &mut RouteOverrides,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<ClusterChoice> {
    let route::WeightedCluster {
        clusters: messages,
        total_weight: _,
        runtime_key_prefix: _,
        random_value_specifier,
    } = message;
    report.not_done(path, &[("header_name", random_value_specifier.is_some())]);
    let mut clusters = Vec::with_capacity(messages.len());
    let mut total: u32 = 0;
    for (at, message) in messages.into_iter().enumerate() {
        let path = path.index("clusters", at);
        let route::weighted_cluster::ClusterWeight {
            name,
            cluster_header,
            weight,
            metadata_match,
            request_headers_to_add,
            request_headers_to_remove,
            response_headers_to_add,
            response_headers_to_remove,
            typed_per_filter_config,
            host_rewrite_specifier,
        } = message;
        report.not_done(
            &path,
            &[
                ("cluster_header", !cluster_header.is_empty()),
                ("metadata_match", metadata_match.is_some()),
                ("host_rewrite_literal", host_rewrite_specifier.is_some()),
            ],
        );
        header_changes(
            [
                !request_headers_to_add.is_empty(),
                !request_headers_to_remove.is_empty(),
                !response_headers_to_add.is_empty(),
                !response_headers_to_remove.is_empty(),
            ],
            &path,
            report,
        );
        let overrides = overrides(typed_per_filter_config, &path, report);
        let name = not_empty(name, "name", &path, report);
        let Some(weight) = weight else {
            report.fault(&path.field("weight"), "is missing");
            continue;
        };
        let Some(sum) = total.checked_add(weight) else {
            report.fault(&path.field("weight"), "makes the sum too large");
            continue;
        };
        total = sum;
        if let Some(name) = name
            && weight > 0
        {
            clusters.push(ClusterWeight {
                name,
                weight,
                fault: None,
                rate_limit: None,
            });
            own.clusters.push(overrides);
        }
    }
    if total == 0 {
        report.fault(
            &path.field("clusters"),
            "no cluster has a weight above zero",
        );
        return None;
    }
    Some(ClusterChoice::Weighted { clusters, total })
}

fn mirrors(
    messages: Vec<route::route_action::RequestMirrorPolicy>,
    path: &Path<'_>,
    report: &mut Report,
) -> Vec<Mirror> {
    let mut mirrors = Vec::with_capacity(messages.len());
    for (at, message) in messages.into_iter().enumerate() {
        let path = path.index("request_mirror_policies", at);
        if !message.cluster_header.is_empty() {
            report.not_done(&path, &[("cluster_header", true)]);
            continue;
        }
        let fraction_path = path.field("runtime_fraction");
        let fraction = runtime_fraction(message.runtime_fraction, &fraction_path, report);
        if let Some(cluster) = not_empty(message.cluster, "cluster", &path, report) {
            mirrors.push(Mirror {
                cluster,
                fraction: fraction.unwrap_or(Fraction::ALWAYS),
            });
        }
    }
    mirrors
}

/// The key of filter state that stands for a channel (gRFC A42).
const CHANNEL_ID: &str = "io.grpc.channel_id";

fn hash_policies(
    messages: Vec<route::route_action::HashPolicy>,
    path: &Path<'_>,
    report: &mut Report,
) -> Vec<HashPolicy> {
    use route::route_action::hash_policy::PolicySpecifier;
    let mut policies = Vec::with_capacity(messages.len());
    for (at, message) in messages.into_iter().enumerate() {
        let path = path.index("hash_policy", at);
        let source = match message.policy_specifier {
            Some(PolicySpecifier::Header(mut header)) => {
                let path = path.field("header");
                header.header_name.make_ascii_lowercase();
                let replaced = header.regex_rewrite;
                let rewrite_path = path.field("regex_rewrite");
                let replaced = replaced.and_then(|it| rewrite(it, &rewrite_path, report));
                not_empty(header.header_name, "header_name", &path, report).map(|name| {
                    HashSource::Header {
                        name,
                        rewrite: replaced,
                    }
                })
            }
            Some(PolicySpecifier::FilterState(state)) if state.key == CHANNEL_ID => {
                Some(HashSource::Channel)
            }
            Some(other) => {
                let field = match other {
                    PolicySpecifier::Cookie(_) => "cookie",
                    PolicySpecifier::ConnectionProperties(_) => "connection_properties",
                    PolicySpecifier::QueryParameter(_) => "query_parameter",
                    _ => "filter_state",
                };
                report.not_done(&path, &[(field, true)]);
                None
            }
            None => {
                report.fault(&path, "says nothing to hash: header or filter_state");
                None
            }
        };
        policies.extend(source.map(|source| HashPolicy {
            source,
            terminal: message.terminal,
        }));
    }
    policies
}

/// Headers are neither added nor removed by a route here.
fn header_changes(present: [bool; 4], path: &Path<'_>, report: &mut Report) {
    let names = [
        "request_headers_to_add",
        "request_headers_to_remove",
        "response_headers_to_add",
        "response_headers_to_remove",
    ];
    for (name, present) in names.into_iter().zip(present) {
        report.not_done(path, &[(name, present)]);
    }
}

impl RouteData {
    /// Every cluster that a request may go to, or a copy of it.
    pub(crate) fn cluster_names(config: &RouteConfig) -> HashSet<Arc<str>> {
        let routes = config.virtual_hosts.iter().flat_map(|host| &host.routes);
        let mut names = HashSet::new();
        for route in routes {
            if let RouteAction::Forward(forward) = &route.action {
                names.extend(forward.clusters.names().cloned());
                names.extend(
                    forward
                        .mirrors
                        .iter()
                        .map(|mirror| Arc::clone(&mirror.cluster)),
                );
            }
        }
        names
    }
}
