//! Cores on which another thread is busy, so that yielding there is expensive.
//!
//! A thread that calls `sched_yield` beside a busy thread gets its core back when the other's time slice
//! ends: 3 to 4 ms later, whatever the other's priority is. A yield that pays saves some 5 us. So each core
//! has an account in time: after a late return every thread of this process sleeps at once on that core, for
//! [`TIMES`] as long as the yield took. When it happens again within that time, the next spell is [`AGAIN`]
//! times as long, up to [`LONGEST`]. A busy neighbour thus takes a sixteenth of the time at first, and
//! soon a thousandth.
//!
//! The accounts are of the core and not of the thread: what one thread has found out, the others on that
//! core need not find out again, and a thread that the scheduler moves obeys its new core's account.

use crate::clock;
use rustix::thread::sched_getcpu;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A yield that takes longer met a busy thread: many callers that wait for answers take less in all,
/// the scheduler's time slice is longer.
pub(crate) const A_TURN: Duration = Duration::from_millis(1);

/// A spell without yields is so many times as long as the yield that began it.
const TIMES: u64 = 16;

/// A spell that begins soon after the last one is so many times as long as that.
const AGAIN: u64 = 4;

/// The longest spell: then a yield is tried again.
const LONGEST: Duration = Duration::from_secs(4);

/// Number of accounts. On a machine with more cores two of them share one, and both pay for it.
const ACCOUNTS: usize = 256;

/// The account of one core, in a cache line of its own: only that core's threads write to it.
#[derive(Debug)]
#[repr(align(64))]
struct Account {
    /// No thread yields before this, in nanoseconds since [`origin`].
    not_before: AtomicU64,
    /// The length of the last spell, in nanoseconds.
    spell: AtomicU64,
}

impl Account {
    const fn new() -> Self {
        Self {
            not_before: AtomicU64::new(0),
            spell: AtomicU64::new(0),
        }
    }

    fn is_open(&self, now: u64) -> bool {
        now >= self.not_before.load(Ordering::Relaxed)
    }

    /// A yield returned after `late` nanoseconds. When several threads of the core waited for it
    /// together, only the first report counts.
    fn lost(&self, now: u64, late: u64) {
        let not_before = self.not_before.load(Ordering::Relaxed);
        if now < not_before {
            return;
        }
        let (last, longest) = (
            self.spell.load(Ordering::Relaxed),
            LONGEST.as_nanos() as u64,
        );
        let first = late.saturating_mul(TIMES);
        let spell = if last > 0 && now - not_before <= last + late {
            last.saturating_mul(AGAIN).max(first)
        } else {
            first
        };
        let spell = spell.min(longest);
        let until = now.saturating_add(spell);
        let (relaxed, account) = (Ordering::Relaxed, &self.not_before);
        if account
            .compare_exchange(not_before, until, relaxed, relaxed)
            .is_ok()
        {
            self.spell.store(spell, Ordering::Relaxed);
        }
    }
}

static CORES: [Account; ACCOUNTS] = [const { Account::new() }; ACCOUNTS];

fn here() -> &'static Account {
    &CORES[sched_getcpu() % ACCOUNTS]
}

fn origin() -> Instant {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    *ORIGIN.get_or_init(clock)
}

fn nanos(now: Instant) -> u64 {
    // Five hundred years.
    now.saturating_duration_since(origin()).as_nanos() as u64
}

/// Whether yielding is cheap on this thread's core, as far as is known.
#[inline]
#[must_use]
pub fn may_yield(now: Instant) -> bool {
    here().is_open(nanos(now))
}

/// Reports a yield that took `away`; returns whether a busy thread kept the core.
pub(crate) fn yielded(now: Instant, away: Duration) -> bool {
    let is_kept = away > A_TURN;
    if is_kept {
        here().lost(nanos(now), away.as_nanos() as u64);
    }
    is_kept
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: u64 = 1_000_000;

    /// When it is tried on a core where each try costs so much, from the first on.
    fn tries(cost: u64, until: u64) -> Vec<u64> {
        let account = Account::new();
        let (mut now, mut tries) = (0, Vec::new());
        while now < until {
            if account.is_open(now) {
                tries.push(now / MILLI);
                now += cost;
                account.lost(now, cost);
            }
            now += MILLI;
        }
        tries
    }

    #[test]
    fn where_a_stranger_works_it_is_tried_ever_more_seldom() {
        let tries = tries(3 * MILLI, 20_000 * MILLI);
        assert_eq!(tries, [0, 51, 246, 1017, 4092, 8095, 12098, 16101]);
    }

    #[test]
    fn who_keeps_the_core_longer_is_kept_away_from_longer() {
        assert_eq!(tries(100 * MILLI, 9_000 * MILLI), [0, 1700, 5800]);
    }

    #[test]
    fn once_in_a_while_costs_no_more_than_the_first_time() {
        let account = Account::new();
        for second in 1..100 {
            let now = second * 1_000 * MILLI;
            assert!(account.is_open(now));
            account.lost(now, 2 * MILLI);
            assert!(!account.is_open(now + 31 * MILLI));
            assert!(account.is_open(now + 32 * MILLI));
        }
    }

    #[test]
    fn what_several_lost_at_once_counts_once() {
        let account = Account::new();
        for thread in 0..16 {
            account.lost(3 * MILLI + thread, 3 * MILLI);
        }
        assert!(account.is_open(51 * MILLI));
    }

    #[test]
    fn a_short_absence_is_no_loss() {
        assert!(!yielded(clock(), A_TURN));
    }
}
