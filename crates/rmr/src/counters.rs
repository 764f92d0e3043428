//! What is counted, so that every message can be accounted for.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows, and that any thread may read.
#[derive(Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds, from any thread.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// Adds, while no other thread does: under the lock of what is counted. Spares the bus lock.
    pub fn add_exclusively(&self, count: u64) {
        let now = self.0.load(Ordering::Relaxed);
        self.0.store(now.wrapping_add(count), Ordering::Relaxed);
    }

    /// How much it is now.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// Why a message that was taken from its sender was not delivered after all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "each has its counter")]
pub enum DropKind {
    /// A copy for one of several groups: the call succeeded because another copy went.
    Copy,
    /// The connection was lost before it was written.
    ConnectionLost,
    /// The context was closed before it was written.
    Closed,
}

impl DropKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Copy, Self::ConnectionLost, Self::Closed];

    /// A name for counters' output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::ConnectionLost => "connection-lost",
            Self::Closed => "closed",
        }
    }
}

/// What happened to messages for one endpoint.
///
/// When nothing is under way, `accepted` is `written` and the drops of each kind. What was refused
/// its sender was told, and has kept.
#[derive(Debug, Default)]
pub struct EndpointCounters {
    /// Taken from the sender.
    pub accepted: Counter,
    /// Written to the connection.
    pub written: Counter,
    /// Refused: try again later.
    pub retry: Counter,
    /// Refused: cannot be sent.
    pub failed: Counter,
    dropped: [Counter; DropKind::ALL.len()],
}

impl EndpointCounters {
    /// The counter of messages that were accepted and dropped.
    #[must_use]
    pub fn dropped(&self, kind: DropKind) -> &Counter {
        &self.dropped[kind as usize]
    }

    /// All drops together.
    #[must_use]
    pub fn all_dropped(&self) -> u64 {
        self.dropped.iter().map(Counter::get).sum()
    }
}

/// What happened to messages that never got as far as an endpoint, or that came in.
#[derive(Debug, Default)]
pub struct RouterCounters {
    /// Refused: no entry for type and subscription.
    pub no_entry: Counter,
    /// Refused: the entry has no endpoint left.
    pub empty_entry: Counter,
    /// Refused: nobody owns the managed element.
    pub unknown_meid: Counter,
    /// Came in whole.
    pub received: Counter,
    /// Given to the application.
    pub delivered: Counter,
    /// Came in and was malformed.
    pub malformed: Counter,
    /// Came in and was longer than is taken.
    pub too_long: Counter,
    /// Answers whose caller waited no longer.
    pub late_replies: Counter,
    /// Came in and found the queue full.
    pub queue_full: Counter,
    /// Was queued, and the context was closed.
    pub unread: Counter,
    /// Connections that were closed because nothing told where the next message begins.
    pub lost_streams: Counter,
}

impl RouterCounters {
    /// The counter of a refusal.
    #[must_use]
    pub fn refused(&self, why: crate::NoRoute) -> &Counter {
        match why {
            crate::NoRoute::NoEntry => &self.no_entry,
            crate::NoRoute::EmptyEntry => &self.empty_entry,
            crate::NoRoute::UnknownMeid => &self.unknown_meid,
        }
    }
}
