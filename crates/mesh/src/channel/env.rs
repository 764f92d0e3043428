//! What clusters, calls and the reconciler of one mesh have in common: settings, event loops, and how
//! threads wake each other. Knows nothing of configuration.

use super::options::MeshOptions;
use super::signal::{Signal, Waiters};
use crate::policy::timeline::Timeline;
use corewire_transport::LoopHandle;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Which connection to an endpoint a call uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The one that this event loop drives.
    Loop(usize),
    /// The one that blocking callers drive themselves.
    Thread,
}

/// The surroundings of a mesh's clusters and calls.
pub(crate) struct Env {
    pub(crate) options: MeshOptions,
    pub(crate) timeline: Timeline,
    /// Wakes the reconciler.
    pub(crate) signal: Arc<Signal>,
    /// Wakes calls that wait for configuration or a connection.
    pub(crate) waiters: Waiters,
    loops: Vec<LoopHandle>,
    /// Which loops have channels.
    wanted: Box<[AtomicBool]>,
    ejections: Mutex<()>,
}

impl Env {
    /// Surroundings with these event loops.
    pub(crate) fn new(options: MeshOptions, loops: Vec<LoopHandle>, now: Instant) -> Self {
        let count = loops.len();
        Self::with_sides(options, loops, count, now)
    }

    /// Surroundings without event loops, for one simulated loop: connections have no client.
    #[cfg(test)]
    pub(crate) fn simulated(options: MeshOptions, now: Instant) -> Self {
        Self::with_sides(options, Vec::new(), 1, now)
    }

    fn with_sides(
        options: MeshOptions,
        loops: Vec<LoopHandle>,
        count: usize,
        now: Instant,
    ) -> Self {
        Self {
            options,
            timeline: Timeline::new(now),
            signal: Arc::default(),
            waiters: Waiters::default(),
            loops,
            wanted: (0..count).map(|_| AtomicBool::new(false)).collect(),
            ejections: Mutex::default(),
        }
    }

    pub(crate) fn loops(&self) -> &[LoopHandle] {
        &self.loops
    }

    /// How many connections an endpoint has, beside the one of blocking callers.
    pub(crate) fn loop_count(&self) -> usize {
        self.wanted.len()
    }

    /// The loop that keeps the time of channels on loop `index`.
    pub(crate) fn timer(&self, index: usize) -> &LoopHandle {
        &self.loops[index % self.loops.len()]
    }

    /// Whether the loop that drives this side's connections has ended.
    pub(crate) fn has_ended(&self, side: Side) -> bool {
        match side {
            Side::Loop(index) => self.loops.get(index).is_some_and(LoopHandle::has_ended),
            Side::Thread => false,
        }
    }

    /// From now on endpoints are connected to on this loop.
    pub(crate) fn want_loop(&self, index: usize) {
        if let Some(wanted) = self.wanted.get(index) {
            wanted.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn wanted_loops(&self) -> impl Iterator<Item = usize> {
        let wanted = self.wanted.iter().enumerate();
        wanted.filter_map(|(index, wanted)| wanted.load(Ordering::Relaxed).then_some(index))
    }

    /// Held while an endpoint is taken out of use, so that two threads together do not take out more
    /// than the limit allows.
    pub(crate) fn ejections(&self) -> MutexGuard<'_, ()> {
        self.ejections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
