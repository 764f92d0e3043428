//! What a route does with a request: where it goes, how long that may take, how often it is tried.

use super::filters::{Overrides, http_status, overrides};
use super::report::{Path, Report};
use super::retry::retry_policy;
use super::scalar::{duration, not_empty, rewrite, runtime_fraction};
use crate::config::{
    ClusterChoice, ClusterWeight, Forward, Fraction, HashPolicy, HashSource, Mirror, RetryPolicy,
    RouteAction,
};
use corewire_xds::envoy::config::core::v3::{DataSource, data_source};
use corewire_xds::envoy::config::route::v3 as route;
use std::sync::Arc;
use std::time::Duration;

/// What a route says in place of a listener's settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RouteOverrides {
    pub(crate) filters: Overrides,
    /// By cluster, in the order of a weighted choice.
    pub(crate) clusters: Vec<Overrides>,
    /// The route says how long a stream may last, be it for ever.
    pub(crate) says_stream_duration: bool,
}

/// Settings that routes take from what is around them.
pub(super) struct Around {
    pub(super) retry: Option<Arc<RetryPolicy>>,
    pub(super) mirrors: Vec<Mirror>,
}

pub(super) fn route_action(
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
        timeout,
        retry_policy: retry,
        request_mirror_policies,
        hash_policy,
        max_grpc_timeout,
        max_stream_duration,
        ..
    } = message;
    // Zero: the caller's deadline holds, as it always does here.
    if max_grpc_timeout.is_some_and(|it| it.seconds != 0 || it.nanos != 0) {
        report.notice(&path.field("max_grpc_timeout"), "is not carried out");
    }
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
        // Refused by the table of fields.
        Some(
            ClusterSpecifier::ClusterSpecifierPlugin(_)
            | ClusterSpecifier::InlineClusterSpecifierPlugin(_),
        ) => None,
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
    let messages = message.clusters;
    let mut clusters = Vec::with_capacity(messages.len());
    let mut total: u32 = 0;
    for (at, message) in messages.into_iter().enumerate() {
        let path = path.index("clusters", at);
        let route::weighted_cluster::ClusterWeight {
            name,
            weight,
            typed_per_filter_config,
            ..
        } = message;
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

pub(super) fn mirrors(
    messages: Vec<route::route_action::RequestMirrorPolicy>,
    path: &Path<'_>,
    report: &mut Report,
) -> Vec<Mirror> {
    let mut mirrors = Vec::with_capacity(messages.len());
    for (at, message) in messages.into_iter().enumerate() {
        let path = path.index("request_mirror_policies", at);
        if !message.cluster_header.is_empty() {
            report.notice(&path.field("cluster_header"), "is not carried out");
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
                report.notice(&path.field(field), "is not carried out");
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
