//! Faults that are made on purpose, and how many requests pass.

use super::matcher::{Fraction, HeaderMatch};
use corewire_message::Code;
use std::time::Duration;

/// Faults to inject, so that callers can be tried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultPolicy {
    /// Only requests for which all of these hold; empty: every request.
    pub headers: Vec<HeaderMatch>,
    /// Requests are held back.
    pub delay: Option<FaultDelay>,
    /// Requests are answered with a failure, without being sent.
    pub abort: Option<FaultAbort>,
    /// How many requests may be held back or answered so at a time; `None`: any number.
    pub max_active: Option<u32>,
}

/// How requests are held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultDelay {
    /// How long.
    pub kind: FaultDelayKind,
    /// How many of them.
    pub fraction: Fraction,
}

/// How long a request is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultDelayKind {
    /// This long.
    Fixed(Duration),
    /// As header `x-envoy-fault-delay-request` says, in milliseconds;
    /// `x-envoy-fault-delay-request-percentage` can lower the fraction.
    Header,
}

/// How requests are answered with a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultAbort {
    /// With which failure.
    pub kind: FaultAbortKind,
    /// How many of them.
    pub fraction: Fraction,
}

/// The failure of an aborted request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultAbortKind {
    /// An HTTP status, 200 to 599.
    Http(u16),
    /// A gRPC code, never OK.
    Grpc(Code),
    /// As header `x-envoy-fault-abort-request` (HTTP status) or
    /// `x-envoy-fault-abort-grpc-request` (gRPC code) says;
    /// `x-envoy-fault-abort-request-percentage` can lower the fraction.
    Header,
}

/// A bucket of tokens; a request takes one or is answered with a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// How many tokens it holds; it begins full.
    pub max_tokens: u32,
    /// How many are put in at a time; at least 1.
    pub tokens_per_fill: u32,
    /// How often; at least 1 ms.
    pub fill_interval: Duration,
    /// The HTTP status of a request without a token.
    pub status: u16,
    /// For how many of the requests it is enforced.
    pub enforced: Fraction,
}
