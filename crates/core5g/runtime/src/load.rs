//! The load of this process as it tells the NRF (TS 29.510, 6.1.6.2.2, `load`): the CPU time of a
//! while, in percent of what its event loops could have used.
#![expect(
    clippy::disallowed_methods,
    reason = "a driver: CPU time since the last look"
)]

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// Loads are told in steps of so many percent: a profile that changes with every heartbeat would be made
/// anew for every consumer.
const STEP: u128 = 10;

/// Measures from one heartbeat to the next.
pub(super) struct Meter {
    loops: usize,
    since: Instant,
    used: Duration,
}

impl Meter {
    /// Of a process with so many event loops.
    pub(super) fn new(loops: usize) -> Self {
        Self {
            loops,
            since: Instant::now(),
            used: used(),
        }
    }

    /// The load since the last time, in percent.
    pub(super) fn read(&mut self) -> u8 {
        let (now, used) = (Instant::now(), used());
        let load = percent(
            used.saturating_sub(self.used),
            now.saturating_duration_since(self.since),
            self.loops,
        );
        (self.since, self.used) = (now, used);
        load
    }
}

/// CPU time of all threads so far.
fn used() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let rest = u64::try_from(time.tv_nsec).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_nanos(rest)
}

fn percent(used: Duration, span: Duration, loops: usize) -> u8 {
    let most = span.as_nanos() * loops.max(1) as u128;
    let exact = used.as_nanos() * 100 / most.max(1);
    let rounded = (exact + STEP / 2) / STEP * STEP;
    u8::try_from(rounded.min(100)).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_is_the_share_of_all_loops_in_steps_of_ten() {
        let ms = Duration::from_millis;
        let table = [
            (0, 1000, 1, 0),
            (40, 1000, 1, 0),
            (50, 1000, 1, 10),
            (500, 1000, 1, 50),
            (500, 1000, 2, 30),
            (2500, 1000, 2, 100),
            (5, 0, 1, 100),
            (0, 0, 0, 0),
        ];
        for (used, span, loops, expected) in table {
            assert_eq!(
                percent(ms(used), ms(span), loops),
                expected,
                "{used} of {span}, {loops}"
            );
        }
    }

    #[test]
    fn a_process_that_runs_has_used_cpu_time() {
        assert!(used() > Duration::ZERO);
    }
}
