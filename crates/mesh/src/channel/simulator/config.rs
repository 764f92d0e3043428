//! The configuration of a transcript.
//!
//! ```text
//!   cluster smf e1 e2 [requests=N] [pending=N] [retries=N] [budget=PERCENT,MINIMUM]
//!                     [ejects_after=N] [ejects_at_most=PERCENT] [soft=N] [hard=N] [drops=PERCENT]
//!   cluster smf pending
//!   route [cluster=smf] [timeout=T] [stream=T] [retry=CONDITION,..] [retries=N] [backoff=BASE,MAX]
//!         [per_try=T] [repeatable=yes] [delay=T] [abort=STATUS] [faults=N] [mirror=CLUSTER]
//!         [limit=TOKENS,T] [answer=STATUS]
//! ```

use super::duration;
use crate::config::{
    Address, Admission, Backoff, Cluster, ClusterEntry, DropOverload, EndpointInfo, Endpoints,
    FaultAbort, FaultAbortKind, FaultDelay, FaultDelayKind, FaultPolicy, Forward, Fraction, Mirror,
    OutlierPolicy, RateLimit, Resolution, RetryBudget, RetryOn, RetryPolicy, Route, RouteAction,
    RouteConfig, Snapshot,
};
use std::sync::Arc;
use std::time::Duration;

pub(super) fn snapshot(target: &str, lines: &[&str]) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let mut routes = RouteConfig::to_cluster(target);
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[0] {
            "cluster" if words.get(2) == Some(&"pending") => {
                let entry = ClusterEntry {
                    cluster: Resolution::Pending,
                    endpoints: Resolution::Pending,
                };
                snapshot.clusters.insert(words[1].into(), entry);
            }
            "cluster" => cluster(&mut snapshot, words[1], &words[2..]),
            "route" => routes.virtual_hosts[0].routes = vec![route(target, &words[1..])],
            other => panic!("no such line of a configuration: {other}"),
        }
    }
    snapshot.add_target(target, routes);
    snapshot
}

fn cluster(snapshot: &mut Snapshot, name: &str, words: &[&str]) {
    let mut cluster = Cluster::new(name);
    let mut endpoints = Endpoints::at([]);
    let mut all: Vec<EndpointInfo> = Vec::new();
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            let host = word.strip_prefix('e').expect("an endpoint");
            let address = format!("10.0.0.{host}:80").parse().expect("an address");
            all.push(EndpointInfo::at(Address::Tcp(address)));
            continue;
        };
        let circuit = &mut cluster.circuit;
        match key {
            "requests" => circuit.max_requests = number(value),
            "pending" => circuit.max_pending = number(value),
            "retries" => circuit.max_retries = number(value),
            "budget" => {
                let (percent, least) = value.split_once(',').expect("two numbers");
                circuit.retry_budget = Some(RetryBudget {
                    percent: f64::from(number(percent)),
                    min_concurrency: number(least),
                });
            }
            "ejects_after" => {
                let outlier = cluster.outlier.get_or_insert_default();
                outlier.consecutive_5xx = Some(number(value));
            }
            "ejects_at_most" => {
                let outlier: &mut OutlierPolicy = cluster.outlier.get_or_insert_default();
                outlier.max_ejection_percent = u8::try_from(number(value)).expect("a percentage");
            }
            "soft" | "hard" => {
                let admission = cluster.admission.get_or_insert(Admission {
                    soft_limit: u32::MAX,
                    hard_limit: u32::MAX,
                });
                match key {
                    "soft" => admission.soft_limit = number(value),
                    _ => admission.hard_limit = number(value),
                }
            }
            "drops" => endpoints.drops.push(DropOverload {
                category: "test".into(),
                fraction: Fraction::percent(number(value)),
            }),
            other => panic!("no such setting of a cluster: {other}"),
        }
    }
    endpoints.localities = Endpoints::at(all.iter().map(|info| info.address.clone())).localities;
    snapshot.add_cluster(cluster, endpoints);
}

fn route(target: &str, words: &[&str]) -> Route {
    let mut route = Route::to_cluster(target);
    let mut forward = Forward::to_cluster(target);
    let mut retry: Option<RetryPolicy> = None;
    let mut fault: Option<FaultPolicy> = None;
    let mut answer = None;
    for word in words {
        let (key, value) = word.split_once('=').expect("a setting");
        match key {
            "timeout" => forward.timeout = Some(duration(value)),
            "stream" => forward.max_stream_duration = Some(duration(value)),
            "retry" => {
                let names = value.split(',').map(|name| RetryOn::by_name(name).unwrap());
                retry.get_or_insert_default().on = names.fold(RetryOn::NONE, |on, it| on | it);
            }
            "retries" => retry.get_or_insert_default().num_retries = number(value),
            "per_try" => {
                retry.get_or_insert_default().per_try_timeout = Some(duration(value));
            }
            "repeatable" => retry.get_or_insert_default().repeatable = true,
            "backoff" => {
                let (base, max) = pair(value);
                retry.get_or_insert_default().backoff = Backoff { base, max };
            }
            "delay" => {
                fault.get_or_insert_default().delay = Some(FaultDelay {
                    kind: FaultDelayKind::Fixed(duration(value)),
                    fraction: Fraction::ALWAYS,
                });
            }
            "faults" => fault.get_or_insert_default().max_active = Some(number(value)),
            "abort" => {
                let status = value.parse().expect("a status");
                fault.get_or_insert_default().abort = Some(FaultAbort {
                    kind: FaultAbortKind::Http(status),
                    fraction: Fraction::ALWAYS,
                });
            }
            "mirror" => forward.mirrors.push(Mirror {
                cluster: value.into(),
                fraction: Fraction::ALWAYS,
            }),
            "limit" => {
                let (tokens, interval) = value.split_once(',').expect("tokens and a time");
                route.rate_limit = Some(Arc::new(RateLimit {
                    max_tokens: number(tokens),
                    tokens_per_fill: number(tokens),
                    fill_interval: duration(interval),
                    status: 429,
                    enforced: Fraction::ALWAYS,
                }));
            }
            "answer" => answer = Some(value.parse().expect("a status")),
            other => panic!("no such setting of a route: {other}"),
        }
    }
    forward.retry = retry.map(Arc::new);
    route.fault = fault.map(Arc::new);
    route.action = match answer {
        Some(status) => RouteAction::Answer {
            status,
            body: Arc::default(),
        },
        None => RouteAction::Forward(Box::new(forward)),
    };
    route
}

fn number(text: &str) -> u32 {
    text.parse().expect("a number")
}

fn pair(text: &str) -> (Duration, Duration) {
    let (first, second) = text.split_once(',').expect("two times");
    (duration(first), duration(second))
}
