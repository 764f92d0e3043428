//! RDS: which calls go where.

use super::cluster::{cluster_name, duration, metadata};
use super::endpoints::fraction;
use super::view::View;
use crate::config::{
    Config, Destination, FaultInjection, HashKey, HeaderMatch, HeaderTest, Mirror, Outbound,
    PathMatch, RateLimit, Retry, Route,
};
use corewire_xds::envoy::config::core::v3::RuntimeFractionalPercent;
use corewire_xds::envoy::config::route::v3::header_matcher::HeaderMatchSpecifier;
use corewire_xds::envoy::config::route::v3::retry_policy::RetryBackOff;
use corewire_xds::envoy::config::route::v3::route::Action;
use corewire_xds::envoy::config::route::v3::route_action::{
    ClusterSpecifier, HashPolicy, MaxStreamDuration, RequestMirrorPolicy, hash_policy,
};
use corewire_xds::envoy::config::route::v3::route_match::PathSpecifier;
use corewire_xds::envoy::config::route::v3::weighted_cluster::ClusterWeight;
use corewire_xds::envoy::config::route::v3::{
    self as xds, HeaderMatcher, RetryPolicy, RouteAction, RouteConfiguration, RouteMatch,
    VirtualHost, WeightedCluster,
};
use corewire_xds::envoy::extensions::filters::common::fault::v3::{FaultDelay, fault_delay};
use corewire_xds::envoy::extensions::filters::http::fault::v3::{
    FaultAbort, HttpFault, fault_abort,
};
use corewire_xds::envoy::extensions::filters::http::local_ratelimit::v3::LocalRateLimit;
use corewire_xds::envoy::r#type::matcher::v3::string_matcher::MatchPattern;
use corewire_xds::envoy::r#type::matcher::v3::{RegexMatcher, StringMatcher};
use corewire_xds::envoy::r#type::v3::{Int64Range, TokenBucket};
use corewire_xds::{Any, Duration};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const FAULT: &str = "envoy.filters.http.fault";
pub(super) const RATE_LIMIT: &str = "envoy.filters.http.local_ratelimit";

/// gRPC C++ (1.51 and 1.85 were tried) counts such a limit from a time that is one to two seconds
/// before the call began, differently in each process; a limit of its service config does the same
/// without any xDS. Shorter ones than this would end every call before it is sent.
const SHORTEST_FOR_GRPC_CORE: std::time::Duration = std::time::Duration::from_secs(3);

/// Failures after which it is certain that a call was not executed.
const NEVER_EXECUTED: [&str; 3] = ["connect-failure", "refused-stream", "reset-before-request"];

/// Failures that gRPC knows a retry for.
const GRPC_RETRY: [&str; 5] = [
    "cancelled",
    "deadline-exceeded",
    "internal",
    "resource-exhausted",
    "unavailable",
];

/// The routes of a service, whatever authority is asked for.
pub(super) fn of_service(
    view: &View,
    service: &str,
    routes: &[Route],
    notices: &mut BTreeSet<String>,
) -> RouteConfiguration {
    RouteConfiguration {
        name: service.into(),
        virtual_hosts: vec![virtual_host(
            view,
            service,
            vec!["*".into()],
            routes,
            notices,
        )],
        ..RouteConfiguration::default()
    }
}

/// The name of a sidecar's outbound listener and its routes.
pub(super) fn outbound_name(outbound: &Outbound) -> String {
    format!("outbound|{}", outbound.listen)
}

/// The routes behind a sidecar's port: of one service, or of several by authority.
pub(super) fn of_outbound(
    view: &View,
    outbound: &Outbound,
    config: &Config,
    notices: &mut BTreeSet<String>,
) -> RouteConfiguration {
    let alone = outbound.services.len() == 1;
    let hosts = outbound.services.iter().map(|service| {
        let domains = if alone {
            vec!["*".to_owned()]
        } else {
            vec![service.to_string(), format!("{service}:*")]
        };
        let routes = config.routes.get(service).map_or(&[][..], |r| r);
        virtual_host(view, service, domains, routes, notices)
    });
    RouteConfiguration {
        virtual_hosts: hosts.collect(),
        name: outbound_name(outbound),
        ..RouteConfiguration::default()
    }
}

/// Everything to this cluster: what stands behind an inbound port.
pub(super) fn to_cluster(name: &str, cluster: &str) -> RouteConfiguration {
    RouteConfiguration {
        name: name.into(),
        virtual_hosts: vec![VirtualHost {
            name: name.into(),
            domains: vec!["*".into()],
            routes: vec![xds::Route {
                r#match: Some(everything()),
                action: Some(Action::Route(RouteAction {
                    cluster_specifier: Some(ClusterSpecifier::Cluster(cluster.into())),
                    timeout: Some(Duration::default()),
                    ..RouteAction::default()
                })),
                ..xds::Route::default()
            }],
            ..VirtualHost::default()
        }],
        ..RouteConfiguration::default()
    }
}

fn virtual_host(
    view: &View,
    service: &str,
    domains: Vec<String>,
    routes: &[Route],
    notices: &mut BTreeSet<String>,
) -> VirtualHost {
    let made = routes.iter().enumerate();
    let mut made: Vec<xds::Route> = made
        .map(|(index, route)| {
            let place = match &*route.name {
                "" => format!("{service}: route {}", index + 1),
                name => format!("{service}: route {name:?}"),
            };
            let mut notice = |text: &str| {
                notices.insert(format!("{place}: {text}"));
            };
            self::route(view, route, &mut notice)
        })
        .collect();
    // Behind all others: everything to the service itself.
    let last = RouteAction {
        cluster_specifier: Some(ClusterSpecifier::Cluster(service.into())),
        timeout: timeout(view, None),
        ..RouteAction::default()
    };
    made.push(xds::Route {
        r#match: Some(everything()),
        action: Some(Action::Route(last)),
        ..xds::Route::default()
    });
    VirtualHost {
        name: service.into(),
        domains,
        routes: made,
        ..VirtualHost::default()
    }
}

fn everything() -> RouteMatch {
    RouteMatch {
        path_specifier: Some(PathSpecifier::Prefix("/".into())),
        ..RouteMatch::default()
    }
}

fn route(view: &View, route: &Route, notice: &mut dyn FnMut(&str)) -> xds::Route {
    let mut per_filter: BTreeMap<String, Any> = BTreeMap::new();
    if let Some(fault) = &route.fault {
        per_filter.insert(FAULT.into(), Any::pack(&http_fault(fault)));
    }
    if let Some(limit) = &route.rate_limit {
        if view.is_grpc() {
            notice("gRPC has no rate limit: it is not applied by this client");
        } else {
            per_filter.insert(RATE_LIMIT.into(), Any::pack(&rate_limit(limit)));
        }
    }
    let mut own = Vec::new();
    if let Some(transport) = route.transport {
        own.push(("transport", corewire_xds::Value::from(transport.name())));
    }
    if route.retry.as_ref().is_some_and(|retry| retry.repeat_all) {
        own.push(("repeatable", corewire_xds::Value::from(true)));
    }
    let own = (!own.is_empty()).then(|| metadata(own));
    xds::Route {
        name: route.name.clone(),
        r#match: Some(route_match(view, route)),
        action: Some(Action::Route(action(view, route, notice))),
        metadata: own,
        typed_per_filter_config: per_filter,
        ..xds::Route::default()
    }
}

fn route_match(view: &View, route: &Route) -> RouteMatch {
    RouteMatch {
        path_specifier: Some(match &route.path {
            PathMatch::Prefix(prefix) => PathSpecifier::Prefix(prefix.clone()),
            PathMatch::Exact(path) => PathSpecifier::Path(path.clone()),
            PathMatch::Regex(regex) => PathSpecifier::SafeRegex(self::regex(regex)),
        }),
        headers: route.headers.iter().map(|m| header(view, m)).collect(),
        runtime_fraction: route.share.map(runtime_fraction),
        ..RouteMatch::default()
    }
}

fn runtime_fraction(share: u32) -> RuntimeFractionalPercent {
    RuntimeFractionalPercent {
        default_value: Some(fraction(share)),
        ..RuntimeFractionalPercent::default()
    }
}

fn header(view: &View, matcher: &HeaderMatch) -> HeaderMatcher {
    let newer = view.knows_string_match();
    let text = |pattern: MatchPattern| {
        HeaderMatchSpecifier::StringMatch(StringMatcher {
            match_pattern: Some(pattern),
            ignore_case: matcher.ignore_case,
        })
    };
    // The older forms have no `ignore_case`: a regular expression says it.
    let folded = |before: &str, text: &str, after: &str| {
        let pattern = format!("(?i){before}{}{after}", quoted(text));
        HeaderMatchSpecifier::SafeRegexMatch(regex(&pattern))
    };
    let specifier = match (&matcher.test, newer, matcher.ignore_case) {
        (HeaderTest::Exact(value), true, _) => text(MatchPattern::Exact(value.clone())),
        (HeaderTest::Prefix(value), true, _) => text(MatchPattern::Prefix(value.clone())),
        (HeaderTest::Suffix(value), true, _) => text(MatchPattern::Suffix(value.clone())),
        (HeaderTest::Contains(value), true, _) => text(MatchPattern::Contains(value.clone())),
        (HeaderTest::Regex(value), true, _) => text(MatchPattern::SafeRegex(regex(value))),
        (HeaderTest::Exact(value), false, true) => folded("", value, ""),
        (HeaderTest::Prefix(value), false, true) => folded("", value, ".*"),
        (HeaderTest::Suffix(value), false, true) => folded(".*", value, ""),
        (HeaderTest::Contains(value), false, true) => folded(".*", value, ".*"),
        (HeaderTest::Exact(value), false, false) => HeaderMatchSpecifier::ExactMatch(value.clone()),
        (HeaderTest::Prefix(value), false, false) => {
            HeaderMatchSpecifier::PrefixMatch(value.clone())
        }
        (HeaderTest::Suffix(value), false, false) => {
            HeaderMatchSpecifier::SuffixMatch(value.clone())
        }
        (HeaderTest::Contains(value), false, false) => {
            HeaderMatchSpecifier::ContainsMatch(value.clone())
        }
        (HeaderTest::Regex(value), false, _) => HeaderMatchSpecifier::SafeRegexMatch(regex(value)),
        (HeaderTest::Present(present), ..) => HeaderMatchSpecifier::PresentMatch(*present),
        (HeaderTest::Range(start, end), ..) => HeaderMatchSpecifier::RangeMatch(Int64Range {
            start: *start,
            end: *end,
        }),
    };
    HeaderMatcher {
        name: matcher.name.clone(),
        header_match_specifier: Some(specifier),
        invert_match: matcher.invert,
        ..HeaderMatcher::default()
    }
}

fn regex(pattern: &str) -> RegexMatcher {
    RegexMatcher {
        regex: pattern.into(),
        ..RegexMatcher::default()
    }
}

/// A text as a regular expression that is this text.
fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for letter in text.chars() {
        if letter.is_ascii_punctuation() {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted
}

fn action(view: &View, route: &Route, notice: &mut dyn FnMut(&str)) -> RouteAction {
    if view.is_grpc() {
        let unknown = [
            (!route.mirror.is_empty(), "gRPC does not mirror"),
            (
                route
                    .retry
                    .as_ref()
                    .is_some_and(|r| r.per_try_timeout.is_some()),
                "gRPC has no timeout of one try",
            ),
        ];
        for (_, text) in unknown.iter().filter(|(there, _)| *there) {
            notice(text);
        }
    }
    RouteAction {
        cluster_specifier: Some(clusters(&route.to)),
        timeout: timeout(view, route.timeout),
        max_stream_duration: max_duration(view, route, notice),
        retry_policy: route
            .retry
            .as_ref()
            .and_then(|retry| retry_policy(view, retry, notice)),
        hash_policy: route.hash.iter().map(hash_policy).collect(),
        request_mirror_policies: route.mirror.iter().map(mirror).collect(),
        ..RouteAction::default()
    }
}

fn clusters(to: &[Destination]) -> ClusterSpecifier {
    let name = |to: &Destination| cluster_name(&to.service, to.subset.as_deref());
    if let [one] = to {
        return ClusterSpecifier::Cluster(name(one));
    }
    let clusters = to.iter().map(|to| ClusterWeight {
        name: name(to),
        weight: Some(to.weight),
        ..ClusterWeight::default()
    });
    ClusterSpecifier::WeightedClusters(WeightedCluster {
        clusters: clusters.collect(),
        ..WeightedCluster::default()
    })
}

/// Without a word Envoy cuts a call after 15 s, where others wait for its deadline.
fn timeout(view: &View, timeout: Option<std::time::Duration>) -> Option<Duration> {
    match timeout {
        Some(timeout) => Some(duration(timeout)),
        None if view.is_envoy() => Some(Duration::default()),
        None => None,
    }
}

/// gRPC knows one limit for calls and streams alike, so it gets the shorter of the two.
fn max_duration(
    view: &View,
    route: &Route,
    notice: &mut dyn FnMut(&str),
) -> Option<MaxStreamDuration> {
    let limit = if view.is_grpc() {
        let limits = [route.timeout, route.max_duration].into_iter().flatten();
        limits.filter(|limit| !limit.is_zero()).min()
    } else {
        route.max_duration
    };
    if view.is_grpc_core() && limit.is_some_and(|limit| limit < SHORTEST_FOR_GRPC_CORE) {
        notice("gRPC C++ ends calls at once for a limit this short: it is not told of it");
        return None;
    }
    limit.map(|limit| MaxStreamDuration {
        max_stream_duration: Some(duration(limit)),
        ..MaxStreamDuration::default()
    })
}

fn retry_policy(view: &View, retry: &Retry, notice: &mut dyn FnMut(&str)) -> Option<RetryPolicy> {
    let known = |on: &&String| !view.is_grpc() || GRPC_RETRY.contains(&on.as_str());
    let on: Vec<&str> = retry.on.iter().filter(known).map(String::as_str).collect();
    if on.len() < retry.on.len() {
        notice("gRPC retries only after its own status codes, not after those of HTTP");
    }
    if on.is_empty() {
        return None;
    }
    let executes = |on: &&str| !NEVER_EXECUTED.contains(on);
    if !retry.repeat_all && !view.is_ours() && on.iter().any(executes) {
        notice("this client repeats calls whatever their method: one may be executed twice");
    }
    let pause = retry.backoff.map(|base| RetryBackOff {
        base_interval: Some(duration(base)),
        max_interval: retry.max_backoff.map(duration),
    });
    Some(RetryPolicy {
        retry_on: on.join(","),
        num_retries: Some(retry.attempts),
        per_try_timeout: retry.per_try_timeout.map(duration),
        retriable_status_codes: retry.status_codes.clone(),
        retry_back_off: pause,
        ..RetryPolicy::default()
    })
}

fn hash_policy(key: &HashKey) -> HashPolicy {
    let header = hash_policy::Header {
        header_name: key.header.clone(),
        ..hash_policy::Header::default()
    };
    HashPolicy {
        policy_specifier: Some(hash_policy::PolicySpecifier::Header(header)),
        terminal: key.terminal,
    }
}

fn mirror(mirror: &Mirror) -> RequestMirrorPolicy {
    RequestMirrorPolicy {
        cluster: cluster_name(&mirror.service, mirror.subset.as_deref()),
        runtime_fraction: Some(runtime_fraction(mirror.share)),
        ..RequestMirrorPolicy::default()
    }
}

fn http_fault(fault: &FaultInjection) -> HttpFault {
    let abort = |error, share| FaultAbort {
        percentage: Some(fraction(share)),
        error_type: Some(error),
    };
    let http = fault
        .abort_http
        .map(|(status, share)| abort(fault_abort::ErrorType::HttpStatus(status), share));
    let grpc = fault
        .abort_grpc
        .map(|(status, share)| abort(fault_abort::ErrorType::GrpcStatus(status), share));
    HttpFault {
        delay: fault.delay.map(|(delay, share)| FaultDelay {
            percentage: Some(fraction(share)),
            fault_delay_secifier: Some(fault_delay::FaultDelaySecifier::FixedDelay(duration(
                delay,
            ))),
        }),
        abort: http.or(grpc),
        ..HttpFault::default()
    }
}

fn rate_limit(limit: &RateLimit) -> LocalRateLimit {
    // As smooth as Envoy allows: it fills at most twenty times a second.
    let fills = [20, 10, 5, 2]
        .into_iter()
        .find(|fills| limit.per_second.is_multiple_of(*fills));
    let fills = fills.unwrap_or(1);
    let bucket = TokenBucket {
        max_tokens: limit.burst.max(limit.per_second / fills),
        tokens_per_fill: Some(limit.per_second / fills),
        fill_interval: Some(duration(std::time::Duration::from_secs(1) / fills)),
    };
    LocalRateLimit {
        stat_prefix: "corewire".into(),
        token_bucket: Some(bucket),
        filter_enabled: Some(runtime_fraction(1_000_000)),
        filter_enforced: Some(runtime_fraction(1_000_000)),
        ..LocalRateLimit::default()
    }
}
