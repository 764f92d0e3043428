//! What a mesh knows and has counted, as one value: for people who look for a fault, and for tests.

use super::cluster::{ClusterRuntime, Standing};
use super::connection::LineState;
use super::env::Side;
use super::shared::Shared;
use crate::config::{Fault, Health, Notice, Transport};
use crate::observe::{ClusterCounts, Counts};
use std::fmt::Write as _;
use std::sync::{PoisonError, Weak};
use std::time::{Duration, Instant};

/// A mesh at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MeshState {
    /// Of the snapshot that holds.
    pub version: u64,
    /// Targets that have channels.
    pub targets: Vec<TargetSummary>,
    /// Clusters that they lead to.
    pub clusters: Vec<ClusterState>,
    /// What was asked for and is not carried out.
    pub notices: Vec<Notice>,
    /// Resources whose newest version is refused, with all that is wrong with it; what held before
    /// goes on.
    pub refused: Vec<Fault>,
}

/// A target.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TargetSummary {
    /// Its name.
    pub name: String,
    /// What is known of it.
    pub standing: String,
    /// Of the snapshot that its plan was made from.
    pub version: u64,
}

/// A cluster.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClusterState {
    /// Its name.
    pub name: String,
    /// The transport that a route chose for it.
    pub route_transport: Option<Transport>,
    /// `ready`, or why not.
    pub standing: String,
    /// Requests on their way.
    pub requests: u32,
    /// Requests that wait for a connection.
    pub pending: u32,
    /// Repeated tries on their way.
    pub retries: u32,
    /// What happened before and between tries.
    pub counts: ClusterCounts,
    /// Tries at all of its endpoints, those that are gone included.
    pub tries: Counts,
    /// Its endpoints.
    pub endpoints: Vec<EndpointState>,
    /// What was asked for and is left out here, and why.
    pub left_out: Vec<String>,
}

/// An endpoint.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EndpointState {
    /// Where it is.
    pub address: String,
    /// How it is spoken to.
    pub transport: Transport,
    /// How the control plane says it is.
    pub health: Health,
    /// Its weight.
    pub weight: u32,
    /// Its connections, one for each loop, and how each ended last.
    pub lines: Vec<(LineState, String)>,
    /// Whether it is left out for a while.
    pub ejected: bool,
    /// Whether it is left out because it answered nothing.
    pub silent: bool,
    /// Whether it gets no calls because health checks found it ill.
    pub ill: bool,
    /// Requests in flight.
    pub in_flight: u32,
    /// What its answers have taken lately.
    pub latency: Option<Duration>,
    /// How its tries ended.
    pub counts: Counts,
}

pub(super) fn of(shared: &Shared, now: Instant) -> MeshState {
    let registry = shared.registry();
    let targets = registry.targets.iter().filter_map(Weak::upgrade);
    let targets = targets.map(|target| {
        let plan = target.plan.load();
        TargetSummary {
            name: target.name.to_string(),
            standing: plan.describe(),
            version: plan.version,
        }
    });
    let targets = targets.collect();
    let mut clusters: Vec<_> = registry
        .clusters
        .values()
        .map(|it| cluster(shared, it, now))
        .collect();
    drop(registry);
    clusters.sort_by(|a, b| a.name.cmp(&b.name));
    let snapshot = shared.discovery.source().load_full();
    MeshState {
        version: snapshot.version,
        targets,
        clusters,
        notices: snapshot.notices.to_vec(),
        refused: snapshot.refused.to_vec(),
    }
}

fn cluster(shared: &Shared, cluster: &ClusterRuntime, now: Instant) -> ClusterState {
    let breaker = &cluster.live.breaker;
    let mut tries = *cluster
        .live
        .retired
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    for endpoint in cluster.endpoints() {
        tries.add(&endpoint.counters.counts());
    }
    let endpoints: Vec<_> = cluster
        .slots
        .iter()
        .map(|slot| {
            let endpoint = &slot.endpoint;
            let counts = endpoint.counters.counts();
            let loops = 0..shared.env.loop_count();
            let lines = loops.filter_map(|index| endpoint.connection(index));
            let micros = endpoint.latency.micros(now);
            EndpointState {
                address: endpoint.key.to_string(),
                transport: endpoint.transport,
                health: slot.health,
                weight: slot.weight,
                lines: lines.map(|line| line.state()).collect(),
                ejected: endpoint.record.is_ejected(),
                silent: endpoint.silence.is_silent(),
                ill: cluster.config.health_check.is_some() && endpoint.checked().is_ill(),
                in_flight: endpoint.in_flight.count(),
                latency: micros.map(|micros| Duration::from_nanos((micros * 1000.0) as u64)),
                counts,
            }
        })
        .collect();
    ClusterState {
        name: cluster.name.to_string(),
        route_transport: cluster.route_transport,
        standing: match &cluster.standing {
            Standing::Ready if cluster.slots.is_empty() => cluster.why_no_endpoint(Side::Thread),
            Standing::Ready => "ready".into(),
            Standing::Pending => "not known yet".into(),
            Standing::Missing(why) => format!("missing: {why}"),
            Standing::Refused(why) => format!("refused: {why}"),
        },
        requests: breaker.requests.count(),
        pending: breaker.pending.count(),
        retries: breaker.retries.count(),
        counts: cluster.live.counters.counts(),
        tries,
        endpoints,
        left_out: cluster.left_out.clone(),
    }
}

impl MeshState {
    /// The cluster with this name.
    #[must_use]
    pub fn cluster(&self, name: &str) -> Option<&ClusterState> {
        self.clusters.iter().find(|cluster| cluster.name == name)
    }

    /// As text for people; what was never counted is left out.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("mesh: snapshot {}\n", self.version);
        for target in &self.targets {
            // Writing to memory does not fail.
            let _ = writeln!(text, "target {}: {}", target.name, target.standing);
        }
        for cluster in &self.clusters {
            cluster.write(&mut text);
        }
        for notice in &self.notices {
            let _ = writeln!(text, "not carried out: {notice}");
        }
        for fault in &self.refused {
            let _ = writeln!(text, "refused: {fault}");
        }
        text
    }

    /// As JSON for programs.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let targets = self.targets.iter().map(|target| {
            serde_json::json!({
                "name": target.name, "standing": target.standing, "version": target.version,
            })
        });
        let clusters = self.clusters.iter().map(ClusterState::to_json);
        let notices = self.notices.iter().map(ToString::to_string);
        let refused = self.refused.iter().map(ToString::to_string);
        serde_json::json!({
            "version": self.version,
            "targets": targets.collect::<Vec<_>>(),
            "clusters": clusters.collect::<Vec<_>>(),
            "notices": notices.collect::<Vec<_>>(),
            "refused": refused.collect::<Vec<_>>(),
        })
    }
}

impl ClusterState {
    fn write(&self, text: &mut String) {
        // Writing to memory does not fail.
        let _ = write!(text, "cluster {}", self.name);
        if let Some(transport) = self.route_transport {
            let _ = write!(text, " by {transport}");
        }
        let _ = writeln!(
            text,
            ": {}; {} on their way, {} waiting, {} repeated",
            self.standing, self.requests, self.pending, self.retries
        );
        for (name, count) in self.counts.iter().filter(|(_, count)| *count > 0) {
            let _ = writeln!(text, "  {name} {count}");
        }
        for endpoint in &self.endpoints {
            endpoint.write(text);
        }
        for why in &self.left_out {
            let _ = writeln!(text, "  left out: {why}");
        }
    }

    fn to_json(&self) -> serde_json::Value {
        let endpoints = self.endpoints.iter().map(EndpointState::to_json);
        serde_json::json!({
            "name": self.name,
            "route_transport": self.route_transport.map(Transport::name),
            "standing": self.standing,
            "requests": self.requests,
            "pending": self.pending,
            "retries": self.retries,
            "counts": map(self.counts.iter()),
            "tries": map(self.tries.iter()),
            "endpoints": endpoints.collect::<Vec<_>>(),
            "left_out": self.left_out,
        })
    }
}

impl EndpointState {
    fn write(&self, text: &mut String) {
        // Writing to memory does not fail.
        let _ = write!(text, "  {}://{}", self.transport, self.address);
        if self.ejected {
            text.push_str(" ejected");
        }
        if self.silent {
            text.push_str(" silent");
        }
        if self.ill {
            text.push_str(" ill");
        }
        if !matches!(self.health, Health::Unknown | Health::Healthy) {
            let _ = write!(text, " {:?}", self.health);
        }
        for (state, why) in &self.lines {
            let _ = write!(text, " {state:?}");
            if *state == LineState::Waiting {
                let _ = write!(text, " ({why})");
            }
        }
        if let Some(latency) = self.latency {
            let _ = write!(text, " {latency:?}");
        }
        for (name, count) in self.counts.iter().filter(|(_, count)| *count > 0) {
            let _ = write!(text, " {name} {count}");
        }
        text.push('\n');
    }

    fn to_json(&self) -> serde_json::Value {
        let lines = self
            .lines
            .iter()
            .map(|(state, why)| serde_json::json!({ "state": format!("{state:?}"), "last": why }));
        serde_json::json!({
            "address": self.address,
            "transport": self.transport.name(),
            "health": format!("{:?}", self.health),
            "weight": self.weight,
            "lines": lines.collect::<Vec<_>>(),
            "ejected": self.ejected,
            "silent": self.silent,
            "ill": self.ill,
            "in_flight": self.in_flight,
            "latency_us": self.latency.map(|latency| latency.as_secs_f64() * 1e6),
            "counts": map(self.counts.iter()),
        })
    }
}

fn map(counts: impl Iterator<Item = (&'static str, u64)>) -> serde_json::Value {
    let entries = counts.map(|(name, count)| (name.to_owned(), count.into()));
    serde_json::Value::Object(entries.collect())
}
