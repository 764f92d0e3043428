//! The SMF gateway: what it needs, and the releases that wait for a replica.

use crate::ports::{Clock, Peers, Sbi};
use corewire_core5g_runtime::{Gauge, SbiRequest};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Begins the release of a session on an event loop, for as long as it may wait.
pub(crate) type StartRelease = Box<dyn Fn(Arc<Gateway>, usize, Release) + Send + Sync>;

/// A release that no replica has taken.
pub(crate) struct Release {
    pub(crate) request: SbiRequest,
    pub(crate) until: Instant,
}

/// The gateway.
pub(crate) struct Gateway {
    /// Where others reach it; replicas are reached in the same way.
    pub(crate) api_root: String,
    pub(crate) event_loops: usize,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) peers: Arc<dyn Peers>,
    pub(crate) start: StartRelease,
    pub(crate) turn: AtomicUsize,
    /// Releases that wait for a replica.
    pub(crate) later: Gauge,
}

impl Gateway {
    /// The way to replicas. The loops take turns: a handler does not know its own.
    pub(crate) fn sbi(&self) -> Sbi {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        Sbi {
            peers: Arc::clone(&self.peers),
            event_loop: turn % self.event_loops,
        }
    }
}
