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
/// Each copy of a message is counted once: it is `accepted`, or it is refused (`retry`, `failed`) and its
/// sender was told, and has kept it. When nothing is under way, `accepted` is `written` and the drops
/// of each kind.
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

/// Sends that were refused because nothing in the table said where to.
#[derive(Debug, Default)]
pub struct RouterCounters {
    /// No entry for type and subscription.
    pub no_entry: Counter,
    /// The entry has no endpoint left.
    pub empty_entry: Counter,
    /// Nobody owns the managed element.
    pub unknown_meid: Counter,
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

    /// All refusals together.
    #[must_use]
    pub fn all(&self) -> u64 {
        let kinds = [&self.no_entry, &self.empty_entry, &self.unknown_meid];
        kinds.into_iter().map(Counter::get).sum()
    }
}

/// Why something that came in was not given to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "each has its counter")]
pub enum LossKind {
    /// A message whose lengths contradict each other.
    Malformed,
    /// A message that is longer than is taken.
    TooLong,
    /// An answer whose caller waited no longer.
    LateReply,
    /// A message that found the queue full while a caller waited for what came behind it.
    QueueFull,
    /// A message for which the system had no memory.
    NoMemory,
    /// A connection that was closed because nothing told where its next message begins.
    LostStream,
    /// A connection that was closed because the parts of messages took too much room.
    Crowded,
    /// A message that nobody had asked for when the context was closed.
    Unread,
}

impl LossKind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Malformed,
        Self::TooLong,
        Self::LateReply,
        Self::QueueFull,
        Self::NoMemory,
        Self::LostStream,
        Self::Crowded,
        Self::Unread,
    ];
}

/// What came in, and what became of it.
#[derive(Debug, Default)]
pub struct ArrivalCounters {
    /// Messages for the application, replies among them, but for those at hand.
    pub taken: Counter,
    /// Messages for the application that lay ready when it asked: counted exclusively.
    pub at_hand: Counter,
    lost: [Counter; LossKind::ALL.len()],
}

impl ArrivalCounters {
    /// All messages for the application.
    #[must_use]
    pub fn all_taken(&self) -> u64 {
        self.taken.get() + self.at_hand.get()
    }

    /// The counter of one kind of loss.
    #[must_use]
    pub fn lost(&self, kind: LossKind) -> &Counter {
        &self.lost[kind as usize]
    }

    /// All that were lost while the context was open. (What was unread then had been taken.)
    #[must_use]
    pub fn all_lost(&self) -> u64 {
        let open = LossKind::ALL
            .into_iter()
            .filter(|kind| *kind != LossKind::Unread);
        open.map(|kind| self.lost(kind).get()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoRoute;

    /// Adds another number to each, so that no two can be mistaken for each other, or for their product.
    fn fill<'a>(counters: impl IntoIterator<Item = &'a Counter>) {
        for (at, counter) in counters.into_iter().enumerate() {
            counter.add(1 << at);
        }
    }

    #[test]
    fn a_counter_only_grows_and_begins_again_behind_its_end() {
        let counter = Counter::default();
        counter.add(2);
        counter.add_exclusively(3);
        assert_eq!(counter.get(), 5);
        counter.add_exclusively(u64::MAX);
        assert_eq!(counter.get(), 4);
    }

    #[test]
    fn each_kind_has_a_counter_of_its_own_and_totals_are_their_sums() {
        let endpoint = EndpointCounters::default();
        fill(DropKind::ALL.map(|kind| endpoint.dropped(kind)));
        assert_eq!(
            DropKind::ALL.map(|kind| endpoint.dropped(kind).get()),
            [1, 2, 4]
        );
        assert_eq!(endpoint.all_dropped(), 7);
        assert_eq!(
            DropKind::ALL.map(DropKind::name),
            ["copy", "connection-lost", "closed"]
        );

        let router = RouterCounters::default();
        let refusals = [NoRoute::NoEntry, NoRoute::EmptyEntry, NoRoute::UnknownMeid];
        fill(refusals.map(|why| router.refused(why)));
        let named = [&router.no_entry, &router.empty_entry, &router.unknown_meid];
        assert_eq!(named.map(Counter::get), [1, 2, 4]);
        assert_eq!(router.all(), 7);
    }

    #[test]
    fn what_came_in_was_taken_or_lost_and_what_was_unread_at_the_end_had_been_taken() {
        let arrivals = ArrivalCounters::default();
        fill([&arrivals.taken, &arrivals.at_hand]);
        fill(LossKind::ALL.map(|kind| arrivals.lost(kind)));
        assert_eq!(arrivals.all_taken(), 3);
        let unread = arrivals.lost(LossKind::Unread).get();
        assert_eq!(arrivals.all_lost() + unread, (1 << LossKind::ALL.len()) - 1);
    }
}
