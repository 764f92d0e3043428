//! How a cluster is balanced and protected.

use super::transport::Transport;
use std::sync::Arc;
use std::time::Duration;

/// A group of endpoints that answer the same requests, and what holds for calls to them.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Its name.
    pub name: Arc<str>,
    /// Which endpoint a request goes to.
    pub lb: LbPolicy,
    /// How much may be on its way at a time.
    pub circuit: CircuitLimits,
    /// When an endpoint is left out for a while. `None`: never.
    pub outlier: Option<OutlierPolicy>,
    /// How long connecting to an endpoint may take.
    pub connect_timeout: Duration,
    /// When fewer than this many percent of a priority's endpoints are healthy, all of them are
    /// used. Zero: never.
    pub panic_threshold: u8,
    /// The transport that the cluster asks for.
    pub transport: Option<Transport>,
    /// Who is let in when there is too much. `None`: whoever the circuit limits let in.
    pub admission: Option<Admission>,
    /// How endpoints are asked whether they want calls. `None`: they are not.
    pub health_check: Option<Arc<HealthCheck>>,
    /// The control plane demands TLS to this cluster: requests must not go in clear text.
    pub tls: Option<Arc<TlsPolicy>>,
}

impl Cluster {
    /// A cluster with this name and the defaults of xDS.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            lb: LbPolicy::RoundRobin,
            circuit: CircuitLimits::default(),
            outlier: None,
            connect_timeout: Duration::from_secs(5),
            panic_threshold: 50,
            transport: None,
            admission: None,
            health_check: None,
            tls: None,
        }
    }
}

/// Which endpoint a request goes to. Endpoints have weights in all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LbPolicy {
    /// One after the other.
    RoundRobin,
    /// The one with the fewest requests in flight, of some chosen at random.
    LeastRequest {
        /// How many are looked at; at least 2.
        choices: u32,
    },
    /// By the request's hash, so that an endpoint that comes or goes moves few requests.
    RingHash {
        /// The smallest number of places on the ring.
        min_size: u32,
        /// The largest.
        max_size: u32,
    },
    /// Any.
    Random,
    /// The first that can be connected to; the next only when it is lost.
    PickFirst,
    /// The one with the lowest expected latency (peak EWMA times requests in flight), of two.
    LatencyAware,
}

/// How much may be on its way to a cluster at a time, for requests of default priority.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CircuitLimits {
    /// Connections.
    pub max_connections: u32,
    /// Requests that wait for a connection.
    pub max_pending: u32,
    /// Requests.
    pub max_requests: u32,
    /// Repeated tries, when there is no budget.
    pub max_retries: u32,
    /// Repeated tries as a share of the requests, instead of `max_retries`.
    pub retry_budget: Option<RetryBudget>,
}

impl Default for CircuitLimits {
    /// The defaults of xDS.
    fn default() -> Self {
        Self {
            max_connections: 1024,
            max_pending: 1024,
            max_requests: 1024,
            max_retries: 3,
            retry_budget: None,
        }
    }
}

/// How many repeated tries may be on their way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryBudget {
    /// Of the requests on their way, in percent.
    pub percent: f64,
    /// So many may always be.
    pub min_concurrency: u32,
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self {
            percent: 20.0,
            min_concurrency: 3,
        }
    }
}

/// When an endpoint is left out for a while. Defaults are those of xDS; `None` and zero switch a
/// way of finding outliers off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutlierPolicy {
    /// How often rates are judged and endpoints may come back.
    pub interval: Duration,
    /// How long the first time; n times as long the n-th time.
    pub base_ejection: Duration,
    /// At most this long.
    pub max_ejection: Duration,
    /// At random up to so much longer.
    pub ejection_jitter: Duration,
    /// At most this many percent of the endpoints at a time, but at least one.
    pub max_ejection_percent: u8,
    /// After so many 5xx or missing answers in a row.
    pub consecutive_5xx: Option<u32>,
    /// After so many 502, 503, 504 or missing answers in a row.
    pub consecutive_gateway: Option<u32>,
    /// After so many failures to connect or lost connections in a row; those count for nothing
    /// else then.
    pub consecutive_local_origin: Option<u32>,
    /// When its rate of success is far below the others'.
    pub success_rate: Option<OutlierByRate>,
    /// When more than `threshold` percent of its requests fail.
    pub failure_percentage: Option<OutlierByRate>,
}

impl Default for OutlierPolicy {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(10),
            base_ejection: Duration::from_secs(30),
            max_ejection: Duration::from_secs(300),
            ejection_jitter: Duration::ZERO,
            max_ejection_percent: 10,
            consecutive_5xx: Some(5),
            consecutive_gateway: None,
            consecutive_local_origin: None,
            success_rate: None,
            failure_percentage: None,
        }
    }
}

/// A judgement that compares rates, made once an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutlierByRate {
    /// For the success rate: how many thousandths of a standard deviation below the mean are too
    /// far. For the failure percentage: how many percent are too many.
    pub threshold: u32,
    /// How many percent of the outliers found are left out.
    pub enforcing: u8,
    /// At least so many endpoints must have had enough requests.
    pub minimum_hosts: u32,
    /// So many requests in the interval are enough.
    pub request_volume: u32,
}

/// Who is let in when there is too much: the higher a request's priority, the longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Requests on their way at which the lowest priorities are no longer let in.
    pub soft_limit: u32,
    /// Requests on their way at which nobody is let in.
    pub hard_limit: u32,
}

/// How endpoints are asked whether they want calls: gRPC's health service, over the endpoint's own
/// connection, in its own protocol. One that knows no such service counts as healthy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "as the other policies of a cluster"
)]
pub struct HealthCheck {
    /// The service that is asked for; empty: the server as a whole.
    pub service: Arc<str>,
    /// The time from one check to the next. Default 5 s.
    pub interval: Duration,
    /// At random up to so much is added to it, so that not all clients ask at once. Default 500 ms.
    pub jitter: Duration,
    /// How long an answer may take. Default 1 s.
    pub timeout: Duration,
    /// After so many checks in a row that brought no answer it gets no calls. One that says itself
    /// that it does not serve gets none at once. Default 2.
    pub unhealthy: u32,
    /// After so many good answers in a row it gets calls again. Default 1.
    pub healthy: u32,
}

impl Default for HealthCheck {
    fn default() -> Self {
        Self {
            service: Arc::from(""),
            interval: Duration::from_secs(5),
            jitter: Duration::from_millis(500),
            timeout: Duration::from_secs(1),
            unhealthy: 2,
            healthy: 1,
        }
    }
}

/// The TLS that a cluster demands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsPolicy {
    /// The name that is asked for in the handshake.
    pub sni: Arc<str>,
    /// The certificate provider of the bootstrap that knows whom to trust.
    pub root_provider: Option<Arc<str>>,
    /// The certificate provider of the bootstrap with our own certificate: mutual TLS.
    pub identity_provider: Option<Arc<str>>,
    /// The peer's certificate must have one of these names; empty: any.
    pub subject_alt_names: Vec<super::matcher::StringMatch>,
}
