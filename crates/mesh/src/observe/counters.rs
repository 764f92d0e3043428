//! Counters that threads do not share: each thread adds to a part of its own, a reader adds the
//! parts up.

use crate::policy::outcome::Outcome;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Parts of every counter; more threads than this share some.
const PARTS: usize = 4;

thread_local! {
    static PART: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The part that this thread adds to.
fn part() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    PART.with(|part| {
        if part.get() == usize::MAX {
            part.set(NEXT.fetch_add(1, Ordering::Relaxed) % PARTS);
        }
        part.get()
    })
}

macro_rules! counters {
    ($($(#[$doc:meta])* $variant:ident, $field:ident;)*) => {
        /// What is counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Counter {
            $($(#[$doc])* $variant,)*
        }

        /// How often things happened.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Counts {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl Counts {
            /// Each count with its name.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($field), self.$field),)*].into_iter()
            }

            /// Adds others.
            pub fn add(&mut self, others: &Self) {
                $(self.$field += others.$field;)*
            }
        }

        const COUNTERS: usize = [$(Counter::$variant),*].len();

        impl Counters {
            /// All that was counted so far. Threads go on counting meanwhile: the numbers need not
            /// be of one moment.
            #[must_use]
            pub fn counts(&self) -> Counts {
                Counts {
                    $($field: self.sum(Counter::$variant),)*
                }
            }
        }
    };
}

counters! {
    /// Tries that were sent, events and streams too.
    Tries, tries;
    /// Tries answered with success.
    Ok, ok;
    /// Tries answered with a failure that is the request's own (4xx).
    Rejected, rejected;
    /// Tries answered with a failure of the endpoint's (5xx).
    Failed, failed;
    /// Tries that never left.
    NotSent, not_sent;
    /// Tries that the peer refused, since it drains.
    Refused, refused;
    /// Tries that the peer did not take, since it has too much to do.
    Overloaded, overloaded;
    /// Tries for which the connection had no room.
    Full, full;
    /// Tries whose connection was lost.
    Lost, lost;
    /// Tries without an answer in time.
    TimedOut, timed_out;
    /// Tries that were given up, or could not be sent as they are.
    Own, own;
    /// Tries ended by a peer that broke the protocol.
    Broken, broken;
}

impl Counter {
    /// What an outcome counts as.
    #[must_use]
    pub const fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Answered(answer) if answer.is_success() => Self::Ok,
            Outcome::Answered(_) => match outcome.verdict() {
                Some(crate::policy::outcome::Verdict::Success) => Self::Rejected,
                _ => Self::Failed,
            },
            Outcome::NotSent => Self::NotSent,
            Outcome::Refused => Self::Refused,
            Outcome::FullHere => Self::Full,
            Outcome::Overloaded => Self::Overloaded,
            Outcome::Lost => Self::Lost,
            Outcome::TimedOut => Self::TimedOut,
            Outcome::Own => Self::Own,
            Outcome::Broken => Self::Broken,
        }
    }
}

/// Counters of one endpoint.
#[derive(Debug, Default)]
pub struct Counters([Part; PARTS]);

/// On lines of its own, or threads would take them from each other all the same.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Part([AtomicU64; COUNTERS]);

impl Counters {
    /// Counts one.
    pub fn count(&self, counter: Counter) {
        self.0[part()].0[counter as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Tries that were sent.
    pub(crate) fn tries(&self) -> u64 {
        self.sum(Counter::Tries)
    }

    /// Tries to which the endpoint said something.
    pub(crate) fn answered(&self) -> u64 {
        let all = [
            Counter::Ok,
            Counter::Rejected,
            Counter::Failed,
            Counter::Refused,
            Counter::Overloaded,
        ];
        all.into_iter().map(|counter| self.sum(counter)).sum()
    }

    fn sum(&self, counter: Counter) -> u64 {
        let parts = self.0.iter();
        parts
            .map(|part| part.0[counter as usize].load(Ordering::Relaxed))
            .sum()
    }
}

macro_rules! cluster_counts {
    ($($(#[$doc:meta])* $field:ident;)*) => {
        /// What is counted of a cluster beside what its endpoints' tries are: rare things.
        #[derive(Debug, Default)]
        pub(crate) struct ClusterCounters {
            $(pub(crate) $field: AtomicU64,)*
        }

        /// What happened to requests of a cluster before and between tries.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct ClusterCounts {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl ClusterCounts {
            /// Each count with its name.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($field), self.$field),)*].into_iter()
            }
        }

        impl ClusterCounters {
            pub(crate) fn counts(&self) -> ClusterCounts {
                ClusterCounts {
                    $($field: self.$field.load(Ordering::Relaxed),)*
                }
            }
        }
    };
}

cluster_counts! {
    /// Tries after the first that the policy allowed.
    retries;
    /// Tries elsewhere after one that was certainly not executed.
    elsewhere;
    /// Retries that the budget did not allow.
    retries_over_budget;
    /// Requests shed because of the circuit limit.
    shed_circuit;
    /// Requests shed by admission, less urgent ones first.
    shed_admission;
    /// Requests shed because too many wait for a connection.
    shed_pending;
    /// Requests dropped by order of the control plane.
    dropped;
    /// Requests turned away by a rate limit.
    rate_limited;
    /// Requests held back on purpose.
    delayed;
    /// Requests aborted on purpose.
    aborted;
    /// Copies sent to mirrors.
    mirrored;
    /// Requests that found no endpoint.
    no_endpoint;
    /// Ejections of endpoints.
    ejections;
    /// Endpoints that were used again after an ejection.
    readmissions;
}

/// Adds one.
pub(crate) fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewire_message::Code;

    #[test]
    fn threads_add_up() {
        let counters = Counters::default();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        counters.count(Counter::Tries);
                        counters.count(Counter::of(Outcome::answered(Code::Ok)));
                    }
                    counters.count(Counter::of(Outcome::Broken));
                });
            }
        });
        let counts = counters.counts();
        assert_eq!((counts.tries, counts.ok, counts.broken), (8000, 8000, 8));
        assert_eq!(counts.iter().map(|(_, count)| count).sum::<u64>(), 16_008);
    }

    #[test]
    fn failures_are_told_apart_by_whose_they_are() {
        let of = |code| Counter::of(Outcome::answered(code));
        assert_eq!(of(Code::NotFound), Counter::Rejected);
        assert_eq!(of(Code::Internal), Counter::Failed);
        assert_eq!(of(Code::Unavailable), Counter::Failed);
    }
}
