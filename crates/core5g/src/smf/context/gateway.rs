//! The SMF gateway: what it needs, and the releases that wait for a replica.

use crate::runtime::{Gauge, SbiRequest};
use crate::smf::ports::{Clock, Peers, Sbi};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Begins the release of a session on an event loop, for as long as it may wait.
pub(in crate::smf) type StartRelease = Box<dyn Fn(Arc<Gateway>, usize, Release) + Send + Sync>;

/// A release that no replica has taken.
pub(in crate::smf) struct Release {
    pub(in crate::smf) request: SbiRequest,
    pub(in crate::smf) until: Instant,
}

/// The gateway.
pub(in crate::smf) struct Gateway {
    /// Where others reach it; replicas are reached in the same way.
    pub(in crate::smf) api_root: String,
    pub(in crate::smf) event_loops: usize,
    pub(in crate::smf) clock: Arc<dyn Clock>,
    pub(in crate::smf) peers: Arc<dyn Peers>,
    pub(in crate::smf) start: StartRelease,
    pub(in crate::smf) turn: AtomicUsize,
    /// Releases that wait for a replica.
    pub(in crate::smf) later: Gauge,
}

impl Gateway {
    /// The way to replicas. The loops take turns: a handler does not know its own.
    pub(in crate::smf) fn sbi(&self) -> Sbi {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        Sbi {
            peers: Arc::clone(&self.peers),
            event_loop: turn % self.event_loops,
        }
    }
}
