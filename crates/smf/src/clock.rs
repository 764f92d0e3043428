//! Time that processes of one machine agree on.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// Nanoseconds of the monotonic clock: the same in every process of this machine, so that a
/// timestamp taken in one can be subtracted in another.
pub(crate) fn now_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// CPU time of this process, all threads.
pub(crate) fn cpu_ns() -> u64 {
    nanoseconds(ClockId::ProcessCPUTime)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
        + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// From the clock's nanoseconds to what the event loop waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epoch {
    instant: Instant,
    ns: u64,
}

impl Epoch {
    pub(crate) fn now() -> Self {
        Self {
            instant: Instant::now(),
            ns: now_ns(),
        }
    }

    /// The instant at which [`now_ns`] is `ns`; this one for times before.
    pub(crate) fn at(&self, ns: u64) -> Instant {
        self.instant + Duration::from_nanos(ns.saturating_sub(self.ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_epoch_follows_the_clock() {
        let begun = Instant::now();
        let epoch = Epoch::now();
        let in_a_second = epoch.at(now_ns() + 1_000_000_000);
        // A second after a look at the clock that was between these, however long they are apart; the
        // two clocks are looked at one after the other.
        let (earliest, latest) = (begun, Instant::now() + Duration::from_millis(10));
        let second = Duration::from_secs(1) - Duration::from_millis(10);
        assert!(in_a_second >= earliest + second);
        assert!(in_a_second <= latest + Duration::from_secs(1));
        assert_eq!(epoch.at(0), epoch.instant);
    }
}
