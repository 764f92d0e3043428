//! Waits between tries that grow, spread by chance so that many callers do not come back in step.

use crate::config::Backoff;
use crate::policy::random::Random;
use std::time::Duration;

/// The first wait after an attempt to connect failed.
const FIRST: Duration = Duration::from_millis(50);

/// The wait before try `number` (1 is the first after the first): at random up to the base, then up
/// to twice that, and so on.
pub fn wait(backoff: &Backoff, number: u32, random: &mut impl Random) -> Duration {
    limit(backoff, number).mul_f64(random.unit())
}

/// The longest that [`wait`] gives.
fn limit(backoff: &Backoff, number: u32) -> Duration {
    let doublings = number.saturating_sub(1).min(31);
    backoff.base.saturating_mul(1 << doublings).min(backoff.max)
}

/// The waits between attempts to connect to one endpoint. At least half of each is waited, since
/// nobody waits for it who could go elsewhere.
#[derive(Clone, Debug)]
pub struct ConnectBackoff {
    backoff: Backoff,
    failures: u32,
}

impl ConnectBackoff {
    /// Waits of this kind.
    #[must_use]
    pub const fn new(backoff: Backoff) -> Self {
        Self {
            backoff,
            failures: 0,
        }
    }

    /// The usual waits, none longer than this.
    #[must_use]
    pub fn up_to(longest: Duration) -> Self {
        let base = FIRST.min(longest);
        Self::new(Backoff { base, max: longest })
    }

    /// Another attempt failed: how long to wait.
    pub fn failed(&mut self, random: &mut impl Random) -> Duration {
        self.failures = self.failures.saturating_add(1);
        let full = limit(&self.backoff, self.failures);
        full / 2 + (full / 2).mul_f64(random.unit())
    }

    /// It is connected: waits begin anew.
    pub const fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// How many attempts in a row have failed.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }
}

impl Default for ConnectBackoff {
    /// 50 ms, doubling up to 5 s.
    fn default() -> Self {
        Self::new(Backoff {
            base: FIRST,
            max: Duration::from_secs(5),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::random::SplitMix;

    const MILLI: Duration = Duration::from_millis(1);

    #[test]
    fn waits_double_up_to_the_longest_and_are_spread() {
        let backoff = Backoff {
            base: 25 * MILLI,
            max: 250 * MILLI,
        };
        let mut random = SplitMix::new(1);
        for (number, most) in [
            (1, 25),
            (2, 50),
            (3, 100),
            (4, 200),
            (5, 250),
            (u32::MAX, 250),
        ] {
            let most = most * MILLI;
            let waits: Vec<_> = (0..1000)
                .map(|_| wait(&backoff, number, &mut random))
                .collect();
            assert!(waits.iter().all(|wait| *wait < most));
            assert!(waits.iter().any(|wait| *wait < most / 4));
            assert!(waits.iter().any(|wait| *wait > most * 3 / 4));
        }
    }

    #[test]
    fn connecting_again_waits_longer_each_time_until_it_succeeds() {
        let mut random = SplitMix::new(2);
        let mut backoff = ConnectBackoff::default();
        for most in [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000] {
            let wait = backoff.failed(&mut random);
            assert!(
                wait >= most * MILLI / 2 && wait <= most * MILLI,
                "{wait:?} of {most}"
            );
        }
        assert_eq!(backoff.failures(), 9);
        let mut short = ConnectBackoff::up_to(10 * MILLI);
        assert!(short.failed(&mut random) <= 10 * MILLI);
        backoff.succeeded();
        assert!(backoff.failed(&mut random) <= 50 * MILLI);
    }
}
