//! Memory that is held for peers: an account for each connection, a total for the process.
//!
//! Only what a peer makes this end keep is counted: the headers and bodies of calls that have not ended,
//! and [`CALL_OCTETS`] for each call itself. A connection asks before it keeps anything; when the answer is
//! no the call is refused, and what was asked for is dropped.
//!
//! ```text
//!   Account (one connection)            ProcessMemory (all connections)
//!   held  <= limit                      held <= limit
//!   of it headers <= limit / 8            ^
//!   beyond the first 16 KiB ---- leases --+
//! ```

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// What an open call costs beside its headers and its body: its state here and in the session.
pub const CALL_OCTETS: usize = 1024;

/// Octets that a connection may hold for its peer by default.
pub const MAX_CONNECTION_MEMORY: usize = 64 << 20;

/// Octets that a process may hold for all its peers by default.
pub const MAX_PROCESS_MEMORY: usize = 512 << 20;

/// A connection's headers may be this part of what it may hold: they can be sent for a hundredth of what
/// they take here (HPACK), bodies cannot.
const HEADER_SHARE: usize = 8;

/// What must have been held for memory to be given back to the system.
const WORTH_GIVING_BACK: usize = 8 << 20;

/// Octets of each connection that the process does not count: most connections never hold more, and share
/// no counter then.
const UNCOUNTED: usize = 16 << 10;

/// Memory that a process holds for its peers beyond the first 16 KiB of each connection. Clones are the
/// same counter.
#[derive(Clone)]
pub struct ProcessMemory(Arc<Total>);

struct Total {
    held: AtomicUsize,
    limit: AtomicUsize,
    /// The most that was held since [`ProcessMemory::take_fallen`] said yes last.
    peak: AtomicUsize,
}

impl ProcessMemory {
    /// A counter of its own.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(Total {
            held: AtomicUsize::new(0),
            limit: AtomicUsize::new(limit),
            peak: AtomicUsize::new(0),
        }))
    }

    /// The counter that all connections of this process share unless they are given another.
    #[must_use]
    pub fn shared() -> Self {
        static SHARED: OnceLock<ProcessMemory> = OnceLock::new();
        SHARED.get_or_init(|| Self::new(MAX_PROCESS_MEMORY)).clone()
    }

    /// Changes how much may be held; what is held already stays.
    pub fn set_limit(&self, limit: usize) {
        self.0.limit.store(limit, Ordering::Relaxed);
    }

    /// How much may be held, octets.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.0.limit.load(Ordering::Relaxed)
    }

    /// How much is held, octets.
    #[must_use]
    pub fn held(&self) -> usize {
        self.0.held.load(Ordering::Relaxed)
    }

    /// Whether 8 MiB or more were held at a time and less than a quarter of that is now: then the allocator
    /// keeps memory that the system may have back.
    #[must_use]
    pub fn has_fallen(&self) -> bool {
        let peak = self.0.peak.load(Ordering::Relaxed);
        peak >= WORTH_GIVING_BACK && self.held() <= peak / 4
    }

    /// The same, and the next peak begins: says so once for each.
    #[must_use]
    pub fn take_fallen(&self) -> bool {
        let has_fallen = self.has_fallen();
        if has_fallen {
            self.0.peak.store(self.held(), Ordering::Relaxed);
        }
        has_fallen
    }

    fn lease(&self, octets: usize) -> bool {
        let limit = self.limit();
        let more = |held: usize| held.checked_add(octets).filter(|held| *held <= limit);
        let before = self
            .0
            .held
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        if let Ok(before) = before {
            self.0.peak.fetch_max(before + octets, Ordering::Relaxed);
        }
        before.is_ok()
    }

    fn give_back(&self, octets: usize) {
        self.0.held.fetch_sub(octets, Ordering::Relaxed);
    }
}

impl Default for ProcessMemory {
    fn default() -> Self {
        Self::shared()
    }
}

impl fmt::Debug for ProcessMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProcessMemory({} of {})", self.held(), self.limit())
    }
}

/// What one connection holds for its peer.
#[derive(Debug)]
pub struct Account {
    limit: usize,
    held: usize,
    /// Of `held`, what are headers.
    headers: usize,
    /// What the process has counted of `held`, and perhaps a little more.
    leased: usize,
    process: ProcessMemory,
}

impl Account {
    /// An account of a connection that may hold `limit` octets, within what the process may.
    #[must_use]
    pub const fn new(limit: usize, process: ProcessMemory) -> Self {
        Self {
            limit,
            held: 0,
            headers: 0,
            leased: 0,
            process,
        }
    }

    /// What is held, octets.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.held
    }

    /// Asks whether `headers` and `body` more octets may be held; when not, nothing has changed.
    #[must_use]
    #[inline]
    pub fn hold(&mut self, headers: usize, body: usize) -> bool {
        let Some(held) = headers
            .checked_add(body)
            .and_then(|more| self.held.checked_add(more))
        else {
            return false;
        };
        if held > self.limit || headers > 0 && self.headers + headers > self.limit / HEADER_SHARE {
            return false;
        }
        if held > UNCOUNTED + self.leased && !self.lease(held) {
            return false;
        }
        self.held = held;
        self.headers += headers;
        true
    }

    #[cold]
    fn lease(&mut self, held: usize) -> bool {
        let wanted = held - UNCOUNTED - self.leased;
        let may = self.process.lease(wanted);
        if may {
            self.leased += wanted;
        }
        may
    }

    /// So many octets are not held any more.
    #[inline]
    pub const fn release(&mut self, headers: usize, body: usize) {
        self.headers = self.headers.saturating_sub(headers);
        self.held = self.held.saturating_sub(headers.saturating_add(body));
    }

    /// Gives back to the process what is not needed. Called once a turn, not for each call: connections
    /// would else meet at the counter.
    #[inline]
    pub fn settle(&mut self) {
        if self.leased > 0 {
            self.give_back();
        }
    }

    #[cold]
    fn give_back(&mut self) {
        let needed = self.held.saturating_sub(UNCOUNTED);
        if let Some(more @ 1..) = self.leased.checked_sub(needed) {
            self.process.give_back(more);
            self.leased = needed;
        }
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.held = 0;
        self.settle();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_defaults_are_those_that_are_documented() {
        assert_eq!(MAX_CONNECTION_MEMORY, 67_108_864);
        assert_eq!(MAX_PROCESS_MEMORY, 536_870_912);
        assert_eq!(WORTH_GIVING_BACK, 8_388_608);
        assert_eq!(UNCOUNTED, 16_384);
    }

    #[test]
    fn a_connection_holds_its_limit_and_no_more() {
        let mut account = Account::new(80_000, ProcessMemory::new(usize::MAX));
        assert!(account.hold(10_000, 0));
        assert!(
            !account.hold(1, 0),
            "headers are an eighth of it at the most"
        );
        assert!(account.hold(0, 70_000));
        assert!(!account.hold(0, 1));
        account.release(10_000, 0);
        assert!(account.hold(1, 9_999));
        assert_eq!(account.held(), 80_000);
        assert!(!account.hold(usize::MAX, usize::MAX));
    }

    #[test]
    fn connections_share_what_the_process_may_hold() {
        let process = ProcessMemory::new(100_000);
        let mut first = Account::new(usize::MAX, process.clone());
        let mut second = Account::new(usize::MAX, process.clone());
        assert!(first.hold(0, 90_000 + UNCOUNTED));
        assert!(second.hold(0, UNCOUNTED), "the first octets are its own");
        assert_eq!(process.held(), 90_000);
        assert!(!second.hold(0, 10_001));
        assert!(second.hold(0, 10_000));
        first.release(0, 50_000);
        first.settle();
        assert_eq!(process.held(), 50_000);
        assert!(second.hold(0, 50_000));
        drop(first);
        drop(second);
        assert_eq!(process.held(), 0);
    }

    #[test]
    fn a_limit_that_is_lowered_leaves_what_is_held_and_the_first_octets_of_others() {
        let process = ProcessMemory::new(1000);
        let mut first = Account::new(usize::MAX, process.clone());
        assert!(first.hold(0, UNCOUNTED + 1000));
        process.set_limit(500);
        assert_eq!((process.limit(), process.held()), (500, 1000));
        let mut second = Account::new(usize::MAX, process.clone());
        assert!(second.hold(0, UNCOUNTED) && !second.hold(0, 1));
        process.set_limit(1001);
        assert!(second.hold(0, 1));
    }

    #[test]
    fn a_peak_has_fallen_when_a_quarter_of_it_is_left() {
        let process = ProcessMemory::new(usize::MAX);
        let mut account = Account::new(usize::MAX, process.clone());
        assert!(account.hold(0, UNCOUNTED + WORTH_GIVING_BACK));
        account.release(0, WORTH_GIVING_BACK / 4 * 3 - 1);
        account.settle();
        assert!(!process.has_fallen());
        account.release(0, 1);
        account.settle();
        assert!(process.has_fallen());
    }

    #[test]
    fn a_fallen_peak_is_told_once() {
        let process = ProcessMemory::new(usize::MAX);
        let mut account = Account::new(usize::MAX, process.clone());
        for (held, is_much) in [(WORTH_GIVING_BACK - 1, false), (WORTH_GIVING_BACK, true)] {
            assert!(account.hold(0, held + UNCOUNTED));
            assert!(!process.take_fallen(), "it is still held");
            account.release(0, held + UNCOUNTED);
            account.settle();
            assert_eq!(process.has_fallen(), is_much);
            assert_eq!(process.take_fallen(), is_much);
            assert!(!process.take_fallen());
        }
    }

    proptest! {
        #[test]
        fn the_process_counts_what_its_connections_hold(
            steps in prop::collection::vec((0usize..3, any::<bool>(), 0usize..30_000), 1..200)
        ) {
            let process = ProcessMemory::new(100_000);
            let mut accounts: Vec<_> =
                (0..3).map(|_| Account::new(60_000, process.clone())).collect();
            for (which, gives, octets) in steps {
                let account = &mut accounts[which];
                if gives {
                    account.release(0, octets.min(account.held()));
                    account.settle();
                } else {
                    let before = account.held();
                    let may = account.hold(0, octets);
                    prop_assert_eq!(account.held(), before + octets * usize::from(may));
                }
                let counted: usize =
                    accounts.iter().map(|account| account.held().saturating_sub(UNCOUNTED)).sum();
                prop_assert_eq!(process.held(), counted);
                prop_assert!(counted <= 100_000);
            }
        }
    }
}
