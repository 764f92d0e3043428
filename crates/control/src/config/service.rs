//! `[[service]]`: a service, its static instances, and how its clients balance and protect.

use super::endpoint::{EndpointConfig, Metadata, Transport, labels};
use super::reader::{Table, Value};
use super::secure::ServiceTls;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const LONGEST: Duration = Duration::from_secs(24 * 3600);
const SHORTEST: Duration = Duration::from_millis(1);
/// The largest ring that gRPC takes.
const MAX_RING: u64 = 8 * 1024 * 1024;

/// How a client picks an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Balance {
    /// One after the other.
    RoundRobin,
    /// The least busy of some.
    LeastRequest {
        /// Of how many.
        choices: u32,
    },
    /// The same for equal keys (a route's `hash`).
    RingHash {
        /// Points on the ring, at least.
        min: u64,
        /// Points on the ring, at most.
        max: u64,
    },
    /// Any.
    Random,
    /// The one that answers soonest; only our own client knows it, others take turns.
    LatencyAware,
}

/// What may be in flight to a service, from one client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Circuit {
    /// Requests.
    pub requests: Option<u32>,
    /// Requests that wait for a connection.
    pub pending: Option<u32>,
    /// Connections.
    pub connections: Option<u32>,
    /// Retries.
    pub retries: Option<u32>,
    /// Retries as a share of requests.
    pub retry_budget: Option<RetryBudget>,
}

/// Retries as a share of requests in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryBudget {
    /// The share, millionths.
    pub share: u32,
    /// How many are always allowed.
    pub min_concurrency: u32,
}

/// When an instance is left out for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Outlier {
    /// Failures in a row (5xx and what gRPC maps to it).
    pub consecutive_5xx: Option<u32>,
    /// Gateway failures in a row (502, 503, 504).
    pub consecutive_gateway: Option<u32>,
    /// How often rates are looked at.
    pub interval: Option<Duration>,
    /// How long the first time; the second twice that, and so on.
    pub base_ejection: Option<Duration>,
    /// How long at most.
    pub max_ejection: Option<Duration>,
    /// The share of instances that may be left out, percent.
    pub max_ejection_percent: Option<u32>,
    /// Left out when its share of failures is at least this, percent.
    pub failure_percentage: Option<u32>,
    /// Left out when its success rate is so many thousandths of a standard deviation below the
    /// mean.
    pub success_rate_stdev: Option<u32>,
    /// Instances that must have enough requests before rates count.
    pub min_hosts: Option<u32>,
    /// How many requests are enough.
    pub request_volume: Option<u32>,
}

/// What one client sends to a service before it refuses calls itself: those of low priority from
/// the soft limit on, all of them from the hard limit on. Only our own client knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Admission {
    /// Calls in flight from which on the less urgent are refused.
    pub soft_limit: u32,
    /// Calls in flight from which on all are.
    pub hard_limit: u32,
}

/// Instances of a service with certain labels: a canary, a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Subset {
    /// Its name within the service.
    pub name: Arc<str>,
    /// Labels an instance must have.
    pub labels: Metadata,
}

/// One service.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Service {
    /// What clients ask for.
    pub name: Arc<str>,
    /// How they pick an instance.
    pub balance: Balance,
    /// How they speak to it, when they can choose.
    pub transport: Option<Transport>,
    /// Instances beside the registered ones.
    pub endpoints: Vec<EndpointConfig>,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// What may be in flight.
    pub circuit: Circuit,
    /// When an instance is left out.
    pub outlier: Option<Outlier>,
    /// When calls are refused by priority.
    pub admission: Option<Admission>,
    /// Groups of instances that routes can choose.
    pub subsets: Vec<Subset>,
    /// The share of calls that clients drop unsent, millionths.
    pub drop: u32,
    /// What clients must do to be let in; `None`: clear text.
    pub tls: Option<ServiceTls>,
    /// How clients ask instances whether they want calls; `None`: they do not.
    pub health: Option<HealthCheck>,
}

/// How clients ask instances whether they want calls (gRPC's health service).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HealthCheck {
    /// The service that is asked for; empty: the server as a whole.
    pub service: Arc<str>,
    /// The time from one check to the next.
    pub interval: Duration,
    /// At random up to so much more.
    pub jitter: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// After so many checks without an answer it gets no calls.
    pub unhealthy: u32,
    /// After so many good answers it gets calls again.
    pub healthy: u32,
}

impl HealthCheck {
    fn read(service: &mut Table<'_, '_>) -> Option<Self> {
        let mut table = service.take("health")?.table()?;
        let mut span = |name, default: Duration| {
            let value = table.take(name);
            value
                .and_then(|v| v.duration(SHORTEST..=LONGEST))
                .unwrap_or(default)
        };
        let interval = span("interval", Duration::from_secs(5));
        let jitter = span("jitter", interval / 10);
        let timeout = span("timeout", Duration::from_secs(1));
        let mut count = |name, default| {
            let value = table.take(name);
            value.and_then(|v| v.integer32(1..=1000)).unwrap_or(default)
        };
        let (unhealthy, healthy) = (count("unhealthy", 2), count("healthy", 1));
        let service = table.take("service").and_then(|v| v.string());
        table.finish();
        Some(Self {
            service: service.unwrap_or_default().into(),
            interval,
            jitter,
            timeout,
            unhealthy,
            healthy,
        })
    }
}

impl Service {
    /// A service with defaults throughout: what a registered name gets that no file knows.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: name.into(),
            balance: Balance::RoundRobin,
            transport: None,
            endpoints: Vec::new(),
            connect_timeout: Duration::from_secs(1),
            circuit: Circuit::default(),
            outlier: None,
            admission: None,
            subsets: Vec::new(),
            drop: 0,
            tls: None,
            health: None,
        }
    }
}

pub(super) fn read_all(root: &mut Table<'_, '_>) -> BTreeMap<Arc<str>, Arc<Service>> {
    let mut services = BTreeMap::new();
    for table in root.take("service").map_or_else(Vec::new, |v| v.tables()) {
        let Some((service, name)) = read(table) else {
            continue;
        };
        if services.contains_key(&service.name) {
            name.fault(
                format!("service {:?} is defined twice", service.name),
                "put both into one [[service]]",
            );
        }
        services.insert(Arc::clone(&service.name), Arc::new(service));
    }
    services
}

fn read<'r, 't>(mut table: Table<'r, 't>) -> Option<(Service, Value<'r, 't>)> {
    let name = table.need("name", "write name = \"…\": what clients ask for");
    let read_name = name.as_ref().and_then(Value::name);
    let mut service = Service::named(read_name.as_deref().unwrap_or_default());
    if let Some(balance) = balance(&mut table) {
        service.balance = balance;
    }
    service.transport = table
        .take("transport")
        .and_then(|v| v.one_of(&Transport::WORDS));
    service.endpoints = endpoints(&mut table);
    if let Some(timeout) = table
        .take("connect-timeout")
        .and_then(|v| v.duration(SHORTEST..=LONGEST))
    {
        service.connect_timeout = timeout;
    }
    service.circuit = circuit(&mut table);
    service.outlier = outlier(&mut table);
    service.admission = admission(&mut table);
    service.subsets = subsets(&mut table);
    service.drop = table.take("drop").and_then(|v| v.percent()).unwrap_or(0);
    service.tls = ServiceTls::read(&mut table);
    service.health = HealthCheck::read(&mut table);
    table.finish();
    read_name?;
    Some((service, name?))
}

fn balance(table: &mut Table<'_, '_>) -> Option<Balance> {
    let words = [
        ("round-robin", Balance::RoundRobin),
        ("least-request", Balance::LeastRequest { choices: 2 }),
        (
            "ring-hash",
            Balance::RingHash {
                min: 1024,
                max: MAX_RING,
            },
        ),
        ("random", Balance::Random),
        ("latency-aware", Balance::LatencyAware),
    ];
    let balance = table.take("balance").and_then(|v| v.one_of(&words));
    let ring = table.take("ring-hash");
    let least = table.take("least-request");
    match balance {
        Some(Balance::RingHash { min, max }) => {
            if let Some(value) = least {
                value.fault(
                    "this service is not balanced so",
                    "set balance = \"least-request\"",
                );
            }
            let Some(mut ring) = ring.and_then(|value| value.table()) else {
                return balance;
            };
            let mut size = |name| {
                ring.take(name)
                    .and_then(|v: Value<'_, '_>| v.integer(1..=MAX_RING))
            };
            let (min, max) = (size("min").unwrap_or(min), size("max").unwrap_or(max));
            if min > max {
                ring.fault(format!("min ({min}) is above max ({max})"), "swap them");
            }
            ring.finish();
            Some(Balance::RingHash { min, max })
        }
        Some(Balance::LeastRequest { choices }) => {
            if let Some(value) = ring {
                value.fault(
                    "this service is not balanced so",
                    "set balance = \"ring-hash\"",
                );
            }
            let Some(mut least) = least.and_then(|value| value.table()) else {
                return balance;
            };
            let read = least.take("choices").and_then(|v| v.integer32(2..=10));
            least.finish();
            Some(Balance::LeastRequest {
                choices: read.unwrap_or(choices),
            })
        }
        _ => {
            for (value, name) in [(ring, "ring-hash"), (least, "least-request")] {
                if let Some(value) = value {
                    value.fault(
                        "this service is not balanced so",
                        format!("set balance = {name:?}, or remove this"),
                    );
                }
            }
            balance
        }
    }
}

fn endpoints(table: &mut Table<'_, '_>) -> Vec<EndpointConfig> {
    let mut endpoints: Vec<EndpointConfig> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let values = table.take("endpoints").and_then(|value| value.array());
    for value in values.unwrap_or_default() {
        let Some(endpoint) = EndpointConfig::read(&value) else {
            continue;
        };
        if !seen.insert(endpoint.address) {
            value.fault(
                format!("{} is listed twice", endpoint.address),
                "give one of them more weight instead",
            );
        }
        endpoints.push(endpoint);
    }
    endpoints
}

fn circuit(table: &mut Table<'_, '_>) -> Circuit {
    let mut circuit = Circuit::default();
    let Some(mut table) = table.take("circuit").and_then(|value| value.table()) else {
        return circuit;
    };
    for (name, place) in [
        ("requests", &mut circuit.requests),
        ("pending", &mut circuit.pending),
        ("connections", &mut circuit.connections),
        ("retries", &mut circuit.retries),
    ] {
        *place = table.take(name).and_then(|v| v.integer32(0..=u32::MAX));
    }
    if let Some(mut budget) = table.take("retry-budget").and_then(|v| v.table()) {
        let share = budget.take("percent").and_then(|v| v.percent());
        let least = budget
            .take("min-concurrency")
            .and_then(|v| v.integer32(0..=u32::MAX));
        budget.finish();
        circuit.retry_budget = Some(RetryBudget {
            share: share.unwrap_or(200_000),
            min_concurrency: least.unwrap_or(3),
        });
    }
    table.finish();
    circuit
}

fn outlier(table: &mut Table<'_, '_>) -> Option<Outlier> {
    let mut table = table.take("outlier")?.table()?;
    let mut outlier = Outlier::default();
    for (name, place, range) in [
        (
            "consecutive-5xx",
            &mut outlier.consecutive_5xx,
            1..=u32::MAX,
        ),
        (
            "consecutive-gateway",
            &mut outlier.consecutive_gateway,
            1..=u32::MAX,
        ),
        (
            "max-ejection-percent",
            &mut outlier.max_ejection_percent,
            0..=100,
        ),
        (
            "failure-percentage",
            &mut outlier.failure_percentage,
            1..=100,
        ),
        (
            "success-rate-stdev",
            &mut outlier.success_rate_stdev,
            1..=100_000,
        ),
        ("min-hosts", &mut outlier.min_hosts, 1..=u32::MAX),
        ("request-volume", &mut outlier.request_volume, 1..=u32::MAX),
    ] {
        *place = table.take(name).and_then(|v| v.integer32(range));
    }
    for (name, place) in [
        ("interval", &mut outlier.interval),
        ("base-ejection", &mut outlier.base_ejection),
        ("max-ejection", &mut outlier.max_ejection),
    ] {
        *place = table
            .take(name)
            .and_then(|v| v.duration(SHORTEST..=LONGEST));
    }
    table.finish();
    Some(outlier)
}

fn admission(table: &mut Table<'_, '_>) -> Option<Admission> {
    let mut table = table.take("admission")?.table()?;
    let mut limit = |name| {
        let next = "write admission = { soft-limit = 800, hard-limit = 1000 }";
        table.need(name, next)?.integer32(1..=u32::MAX)
    };
    let (soft_limit, hard_limit) = (limit("soft-limit"), limit("hard-limit"));
    if soft_limit > hard_limit && hard_limit.is_some() {
        table.fault("soft-limit is above hard-limit", "swap them");
    }
    table.finish();
    Some(Admission {
        soft_limit: soft_limit?,
        hard_limit: hard_limit?,
    })
}

fn subsets(table: &mut Table<'_, '_>) -> Vec<Subset> {
    let mut subsets: Vec<Subset> = Vec::new();
    for mut table in table.take("subsets").map_or_else(Vec::new, |v| v.tables()) {
        let name = table.need("name", "write name = \"…\"");
        let read = name.as_ref().and_then(Value::name);
        let labels = labels(&mut table, "match");
        if labels.is_empty() {
            table.fault(
                "match says no label",
                "write match = { version = \"v2\" }: what an instance must have",
            );
        }
        table.finish();
        let (Some(value), Some(name)) = (name, read) else {
            continue;
        };
        if subsets.iter().any(|subset| *subset.name == *name) {
            value.fault(format!("subset {name:?} is defined twice"), "rename one");
        }
        subsets.push(Subset {
            name: name.into(),
            labels,
        });
    }
    subsets
}
