//! Active health checks: what is asked of an endpoint from time to time, and when its answers count.

use crate::config::HealthCheck;
use crate::policy::random::Random;
use std::time::{Duration, Instant};

/// The shortest time between two checks, whatever a control plane asks for.
pub const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);

/// What an endpoint answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "each is treated in its own way")]
pub enum Answer {
    /// It wants calls.
    Serving,
    /// It does not, it says so itself: that counts at once.
    NotServing,
    /// It did not answer, or wrongly: that counts when it happens so often in a row.
    Failed,
    /// Nobody there knows such questions: it is well as far as anybody knows.
    Unknown,
    /// It could not be asked; its connection says why.
    NotAsked,
}

/// What checks have found of an endpoint. Sans-IO: the time and the answers come from outside.
#[derive(Debug, Default)]
pub struct Checked {
    due: Option<Instant>,
    is_running: bool,
    is_ill: bool,
    failures: u32,
    successes: u32,
}

impl Checked {
    /// Whether it is to be asked now; the next time is noted then.
    pub fn begin(&mut self, check: &HealthCheck, now: Instant, random: &mut impl Random) -> bool {
        // The first checks of many endpoints are spread, too.
        let due = *self
            .due
            .get_or_insert_with(|| now + jittered(Duration::ZERO, check, random));
        if now < due || self.is_running {
            return false;
        }
        let interval = check.interval.max(SHORTEST_INTERVAL);
        self.due = Some(now + jittered(interval, check, random));
        self.is_running = true;
        true
    }

    /// When it is to be asked next; `None` before it was first looked at.
    #[must_use]
    pub const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Takes an answer; says whether the endpoint changed how it is.
    pub fn answered(&mut self, check: &HealthCheck, answer: Answer) -> bool {
        self.is_running = false;
        let before = self.is_ill;
        match answer {
            Answer::Serving => {
                self.failures = 0;
                self.successes = self.successes.saturating_add(1);
                self.is_ill &= self.successes < check.healthy.max(1);
            }
            Answer::NotServing => {
                self.successes = 0;
                self.failures = self.failures.saturating_add(1);
                self.is_ill = true;
            }
            Answer::Failed => {
                self.successes = 0;
                self.failures = self.failures.saturating_add(1);
                self.is_ill |= self.failures >= check.unhealthy.max(1);
            }
            Answer::Unknown => {
                self.failures = 0;
                self.is_ill = false;
            }
            Answer::NotAsked => {}
        }
        self.is_ill != before
    }

    /// Whether it gets no calls for what checks have found.
    #[must_use]
    pub const fn is_ill(&self) -> bool {
        self.is_ill
    }
}

/// `base` and at random up to the check's jitter more.
fn jittered(base: Duration, check: &HealthCheck, random: &mut impl Random) -> Duration {
    let most = u64::try_from(check.jitter.as_nanos()).unwrap_or(u64::MAX);
    base + Duration::from_nanos(random.next() % most.saturating_add(1).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::random::SplitMix;

    const SECOND: Duration = Duration::from_secs(1);

    fn check() -> HealthCheck {
        HealthCheck {
            interval: SECOND,
            jitter: SECOND / 2,
            unhealthy: 3,
            healthy: 2,
            ..HealthCheck::default()
        }
    }

    #[test]
    fn it_is_asked_once_an_interval_and_not_twice_at_a_time() {
        let (check, mut random) = (check(), SplitMix::new(1));
        let begin = Instant::now();
        let mut now = begin;
        let mut checked = Checked::default();
        let mut asked = 0;
        assert_eq!(checked.due(), None);
        while now < begin + 100 * SECOND {
            if checked.begin(&check, now, &mut random) {
                asked += 1;
                let next = checked.due().unwrap();
                assert!(next >= now + SECOND && next <= now + SECOND * 3 / 2);
                assert!(
                    !checked.begin(&check, now + 10 * SECOND, &mut random),
                    "it runs"
                );
                checked.answered(&check, Answer::Serving);
            }
            now += Duration::from_millis(10);
        }
        // Every 1 to 1.5 s.
        assert!((66..=101).contains(&asked), "{asked}");
    }

    #[test]
    fn the_first_checks_of_many_endpoints_are_spread() {
        let (check, mut random) = (check(), SplitMix::new(1));
        let now = Instant::now();
        for _ in 0..10 {
            let mut checked = Checked::default();
            assert!(!checked.begin(&check, now, &mut random));
            assert!(checked.begin(&check, now + SECOND / 2, &mut random));
        }
    }

    #[test]
    fn without_jitter_it_is_asked_the_moment_that_its_time_has_come() {
        let check = HealthCheck {
            jitter: Duration::ZERO,
            ..check()
        };
        let (mut checked, mut random) = (Checked::default(), SplitMix::new(1));
        let now = Instant::now();
        assert!(checked.begin(&check, now, &mut random));
        checked.answered(&check, Answer::Serving);
        let early = now + SECOND - Duration::from_nanos(1);
        assert!(!checked.begin(&check, early, &mut random));
        assert!(checked.begin(&check, now + SECOND, &mut random));
    }

    #[test]
    fn thresholds_count_in_a_row_and_its_own_word_at_once() {
        let check = check();
        let mut checked = Checked::default();
        for answer in [
            Answer::Failed,
            Answer::Failed,
            Answer::Serving,
            Answer::Failed,
            Answer::NotAsked,
            Answer::Failed,
        ] {
            assert!(!checked.answered(&check, answer), "{answer:?}");
        }
        assert!(checked.answered(&check, Answer::Failed) && checked.is_ill());
        assert!(!checked.answered(&check, Answer::Serving));
        assert!(checked.answered(&check, Answer::Serving) && !checked.is_ill());
        assert!(checked.answered(&check, Answer::NotServing) && checked.is_ill());
        assert!(checked.answered(&check, Answer::Unknown) && !checked.is_ill());
    }
}
