//! What holds for calls, as plain validated values: the seam between where policy comes from (a
//! control plane, a file, code) and the stages that carry it out.
//!
//! ```text
//!   Snapshot ── target name ──▶ Target ── virtual host, route ──▶ Forward ── cluster name ─┐
//!      │                                                                                   ▼
//!      └── cluster name ──▶ ClusterEntry { Cluster: balance, protect; Endpoints: where } ◀─┘
//! ```
//!
//! A [`Snapshot`] never changes; a [`SnapshotSource`] gives the current one without a lock. What a
//! control plane asked for and nobody here carries out stands in [`Snapshot::notices`].

mod cluster;
mod endpoints;
mod fault;
mod matcher;
mod notice;
mod route;
mod snapshot;
mod source;
mod transport;

pub use cluster::{
    Admission, CircuitLimits, Cluster, HealthCheck, LbPolicy, OutlierByRate, OutlierPolicy,
    RetryBudget, TlsPolicy,
};
pub use corewire_transport::Address;
pub use endpoints::{DropOverload, EndpointInfo, Endpoints, Health, Locality};
pub use fault::{FaultAbort, FaultAbortKind, FaultDelay, FaultDelayKind, FaultPolicy, RateLimit};
pub use matcher::{
    Fraction, HeaderCondition, HeaderMatch, MAX_REGEX_OCTETS, PathMatch, Regex, RegexFault,
    RouteMatch, StringMatch, StringPattern,
};
pub use notice::{Fault, FieldFault, Notice, ResourceId};
pub use route::{
    Backoff, ClusterChoice, ClusterWeight, Forward, HashPolicy, HashSource, Mirror, RetryOn,
    RetryPolicy, Route, RouteAction, RouteConfig, VirtualHost,
};
pub use snapshot::{ClusterEntry, Resolution, Snapshot, Target};
pub use source::{Changed, SnapshotGuard, SnapshotSource, Subscription};
pub use transport::{Transport, TransportFault};
