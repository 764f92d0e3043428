//! Where a request goes, how long it may take and how often it is tried.

use super::fault::{FaultPolicy, RateLimit};
use super::matcher::{Fraction, Regex, RouteMatch};
use super::transport::Transport;
use std::fmt;
use std::ops::BitOr;
use std::sync::Arc;
use std::time::Duration;

/// Which request goes where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteConfig {
    /// The name it was asked for by.
    pub name: Arc<str>,
    /// Chosen by the target's authority: exact domains first, then `*.suffix` (longest first),
    /// `prefix.*` (longest first), `*`.
    pub virtual_hosts: Vec<VirtualHost>,
}

/// Routes for some authorities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VirtualHost {
    /// Its name, for people.
    pub name: Arc<str>,
    /// The authorities: `a.b`, `*.b`, `a.*` or `*`, in lower case.
    pub domains: Vec<Arc<str>>,
    /// The first that matches is taken.
    pub routes: Vec<Route>,
}

/// What happens to requests that match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Its name, for people; may be empty.
    pub name: Arc<str>,
    /// Which requests.
    pub matcher: RouteMatch,
    /// What happens to them.
    pub action: RouteAction,
    /// Faults to inject; what a virtual host or a listener said is already in here.
    pub fault: Option<Arc<FaultPolicy>>,
    /// How many requests pass; what a virtual host or a listener said is already in here.
    pub rate_limit: Option<Arc<RateLimit>>,
}

impl Route {
    /// A route that sends everything to one cluster.
    #[must_use]
    pub fn to_cluster(cluster: impl Into<Arc<str>>) -> Self {
        Self {
            name: "".into(),
            matcher: RouteMatch::default(),
            action: RouteAction::Forward(Box::new(Forward::to_cluster(cluster))),
            fault: None,
            rate_limit: None,
        }
    }
}

/// What happens to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RouteAction {
    /// It goes to a cluster.
    Forward(Box<Forward>),
    /// It is answered at once.
    Answer {
        /// The HTTP status.
        status: u16,
        /// The body.
        body: Arc<[u8]>,
    },
    /// It fails: the action is one that a caller cannot carry out.
    Unsupported {
        /// What was asked for.
        reason: Arc<str>,
    },
}

/// Where a request goes and under which conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    /// Where.
    pub clusters: ClusterChoice,
    /// How long a request may take with all its tries; the caller's deadline holds too. `None`: the
    /// caller's deadline alone.
    pub timeout: Option<Duration>,
    /// How long a stream may last. `None`: as long as it likes.
    pub max_stream_duration: Option<Duration>,
    /// Tries after a failure. `None`: none.
    pub retry: Option<Arc<RetryPolicy>>,
    /// What requests have in common that should reach the same endpoint, in order.
    pub hash: Vec<HashPolicy>,
    /// Who gets a copy.
    pub mirrors: Vec<Mirror>,
    /// The transport that the route asks for; goes before what a cluster or an endpoint says.
    pub transport: Option<Transport>,
}

impl Forward {
    /// Everything to one cluster, without further conditions.
    #[must_use]
    pub fn to_cluster(cluster: impl Into<Arc<str>>) -> Self {
        Self {
            clusters: ClusterChoice::One(cluster.into()),
            timeout: None,
            max_stream_duration: None,
            retry: None,
            hash: Vec::new(),
            mirrors: Vec::new(),
            transport: None,
        }
    }
}

/// Which cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClusterChoice {
    /// This one.
    One(Arc<str>),
    /// One of these, at random by weight.
    Weighted {
        /// At least one.
        clusters: Vec<ClusterWeight>,
        /// The sum of the weights; not zero.
        total: u32,
    },
    /// The one that a header of the request names.
    Header(Arc<str>),
}

impl ClusterChoice {
    /// Every cluster that it names.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        let (one, weighted) = match self {
            Self::One(name) => (Some(name), &[][..]),
            Self::Weighted { clusters, .. } => (None, clusters.as_slice()),
            Self::Header(_) => (None, &[][..]),
        };
        one.into_iter()
            .chain(weighted.iter().map(|weighted| &weighted.name))
    }
}

/// One cluster of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterWeight {
    /// Which.
    pub name: Arc<str>,
    /// Its share.
    pub weight: u32,
    /// Instead of the route's faults.
    pub fault: Option<Arc<FaultPolicy>>,
    /// Instead of the route's rate limit.
    pub rate_limit: Option<Arc<RateLimit>>,
}

/// Conditions under which a request is tried again, as a set.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct RetryOn(u32);

macro_rules! retry_conditions {
    ($($(#[$doc:meta])* $constant:ident = $bit:literal, $name:literal;)*) => {
        impl RetryOn {
            /// None.
            pub const NONE: Self = Self(0);
            $($(#[$doc])* pub const $constant: Self = Self(1 << $bit);)*

            /// Every condition with its name in xDS.
            pub const ALL: &'static [(Self, &'static str)] = &[$((Self::$constant, $name),)*];
        }
    };
}

retry_conditions! {
    /// Answered with 5xx, or not answered.
    SERVER_ERROR = 0, "5xx";
    /// Answered with 502, 503 or 504.
    GATEWAY_ERROR = 1, "gateway-error";
    /// The connection or the stream ended before the answer.
    RESET = 2, "reset";
    /// The same, before the request was sent.
    RESET_BEFORE_REQUEST = 3, "reset-before-request";
    /// No connection.
    CONNECT_FAILURE = 4, "connect-failure";
    /// The peer refused the stream: it was not executed.
    REFUSED_STREAM = 5, "refused-stream";
    /// Answered with 409.
    RETRIABLE_4XX = 6, "retriable-4xx";
    /// Answered with a status of [`RetryPolicy::statuses`].
    RETRIABLE_STATUS_CODES = 7, "retriable-status-codes";
    /// gRPC code CANCELLED.
    CANCELLED = 8, "cancelled";
    /// gRPC code DEADLINE_EXCEEDED.
    DEADLINE_EXCEEDED = 9, "deadline-exceeded";
    /// gRPC code INTERNAL.
    INTERNAL = 10, "internal";
    /// gRPC code RESOURCE_EXHAUSTED.
    RESOURCE_EXHAUSTED = 11, "resource-exhausted";
    /// gRPC code UNAVAILABLE.
    UNAVAILABLE = 12, "unavailable";
}

impl RetryOn {
    /// The condition with this name in xDS.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter();
        all.find(|(_, known)| *known == name).map(|(on, _)| *on)
    }

    /// Whether any of `other` is among it.
    #[must_use]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether it is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for RetryOn {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for RetryOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Self::ALL.iter().filter(|(on, _)| self.intersects(*on));
        f.debug_set().entries(named.map(|(_, name)| name)).finish()
    }
}

/// When, how often and at what pace a request is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// When.
    pub on: RetryOn,
    /// The statuses of [`RetryOn::RETRIABLE_STATUS_CODES`].
    pub statuses: Vec<u16>,
    /// How often beyond the first try.
    pub num_retries: u32,
    /// How long one try may take. `None`: as long as all may.
    pub per_try_timeout: Option<Duration>,
    /// The waits in between.
    pub backoff: Backoff,
    /// Another try goes to an endpoint that was not tried, as long as there is one.
    pub avoid_tried_endpoints: bool,
    /// The operations of this route are declared repeatable: a request may be tried again although it
    /// may have been executed, whatever its method.
    pub repeatable: bool,
}

impl Default for RetryPolicy {
    /// One more try after 25 ms, when it is certain that nothing was executed.
    fn default() -> Self {
        Self {
            on: RetryOn::CONNECT_FAILURE | RetryOn::REFUSED_STREAM | RetryOn::RESET_BEFORE_REQUEST,
            statuses: Vec::new(),
            num_retries: 1,
            per_try_timeout: None,
            backoff: Backoff::default(),
            avoid_tried_endpoints: true,
            repeatable: false,
        }
    }
}

/// Waits that double: at random up to `base`, then up to twice that, at most `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The first.
    pub base: Duration,
    /// The longest; not below `base`.
    pub max: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            base: Duration::from_millis(25),
            max: Duration::from_millis(250),
        }
    }
}

/// One thing that requests may have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashPolicy {
    /// What.
    pub source: HashSource,
    /// When this gave a hash, the following are not looked at.
    pub terminal: bool,
}

/// What a hash is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HashSource {
    /// A header's value, for example of a SUPI.
    Header {
        /// Its name, in lower case.
        name: Arc<str>,
        /// What is replaced in the value before: pattern and replacement.
        rewrite: Option<(Regex, Arc<str>)>,
    },
    /// The channel: all of its requests go the same way.
    Channel,
}

/// Who gets a copy of requests; its answers are dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// Who.
    pub cluster: Arc<str>,
    /// Of how many.
    pub fraction: Fraction,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_have_the_names_of_xds() {
        let on = RetryOn::by_name("5xx").unwrap() | RetryOn::by_name("unavailable").unwrap();
        assert!(on.intersects(RetryOn::SERVER_ERROR) && !on.intersects(RetryOn::RESET));
        assert_eq!(format!("{on:?}"), r#"{"5xx", "unavailable"}"#);
        assert_eq!(RetryOn::by_name("never"), None);
        assert!(RetryOn::NONE.is_empty() && !on.is_empty());
    }

    #[test]
    fn a_choice_names_its_clusters() {
        let weight = |name: &str| ClusterWeight {
            name: name.into(),
            weight: 1,
            fault: None,
            rate_limit: None,
        };
        let choice = ClusterChoice::Weighted {
            clusters: vec![weight("a"), weight("b")],
            total: 2,
        };
        let names: Vec<_> = choice.names().map(|name| &**name).collect();
        assert_eq!(names, ["a", "b"]);
    }
}
