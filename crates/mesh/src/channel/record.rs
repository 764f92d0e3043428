//! Records how attempts ended: counters, latency, outliers, silence.

use super::cluster::ClusterRuntime;
use super::endpoint::Endpoint;
use super::env::Env;
use crate::observe::Counter;
use crate::observe::counters::add;
use crate::policy::outcome::{Outcome, Verdict};
use crate::policy::protect::{outlier, silence};
use crate::policy::random::Random;
use std::time::{Duration, Instant};

/// Records how an attempt at an endpoint ended; `began` where its duration says something about the
/// endpoint.
pub(crate) fn attempt(
    env: &Env,
    cluster: &ClusterRuntime,
    endpoint: &Endpoint,
    began: Option<Instant>,
    now: Instant,
    outcome: Outcome,
    random: &mut impl Random,
) {
    endpoint.counters.count(Counter::of(outcome));
    if let Some(began) = began {
        let took = now.saturating_duration_since(began);
        match outcome.verdict() {
            Some(Verdict::Success) => endpoint.latency.observe(now, took),
            Some(_) => endpoint.latency.observe_failure(now, took),
            None => {}
        }
    }
    let had = began.map_or(Duration::ZERO, |began| now.saturating_duration_since(began));
    let changed = match outcome {
        Outcome::Answered(_) | Outcome::Refused | Outcome::Overloaded => {
            endpoint.silence.answered()
        }
        Outcome::TimedOut => endpoint
            .silence
            .timed_out(now, had, || may_leave_out(env, cluster)),
        _ => false,
    };
    if changed {
        cluster.rebalance(now, env, random);
        env.signal.raise();
    }
    let (Some(policy), Some(verdict)) = (&cluster.config.outlier, outcome.verdict()) else {
        return;
    };
    if endpoint.record.note(policy, verdict).is_none() || endpoint.record.is_ejected() {
        return;
    }
    let _ejections = env.ejections();
    let (mut ejected, mut all) = (0, 0);
    for endpoint in cluster.endpoints() {
        ejected += usize::from(endpoint.record.is_ejected());
        all += 1;
    }
    if !endpoint.record.is_ejected() && outlier::may_eject(policy, ejected, all) {
        endpoint.record.eject(policy, now, random);
        add(&cluster.live.counters.ejections);
        cluster.rebalance(now, env, random);
        env.signal.raise();
    }
}

/// Whether enough endpoints remain when another one is left out for its silence.
pub(crate) fn may_leave_out(env: &Env, cluster: &ClusterRuntime) -> bool {
    let _ejections = env.ejections();
    let endpoints = cluster.endpoints();
    let silent = endpoints.filter(|it| it.silence.is_silent()).count();
    silence::may_leave_out(silent, cluster.endpoints().count())
}
