//! Silent endpoints: those that take requests and answer none, as a process does that hangs or was
//! stopped. Found by the traffic itself, whatever outlier policy a cluster has, or none.
//!
//! ```text
//!            3 timeouts in a row, no answer between; or 3 requests that wait for so long
//!   in use ─────────────────────────────────────────▶ left out
//!      ▲                                                 │ 5 s, twice as long each time, at most 60 s
//!      │ an answer                                       ▼
//!      └──────────────────────────────────────────── on trial: one request at a time
//!                                                        └──▶ a timeout: left out again
//! ```
//!
//! The connection of such an endpoint stays open, since its kernel goes on answering; what fails is
//! noticed by deadlines only. Where they are long, or there are none, it is noticed that nothing comes
//! back ([`Unanswered`]). An answer of any kind, a failure too, ends all suspicion.

use crate::policy::timeline::{Timeline, nanos_of};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Timeouts in a row after which an endpoint is left out.
pub const TIMEOUTS: u32 = 3;
/// How long it is left out the first time; each time twice as long.
pub const FIRST: Duration = Duration::from_secs(5);
/// At most so long.
pub const LONGEST: Duration = Duration::from_secs(60);
/// A try that was given less time than this says nothing about its endpoint.
pub const SHORTEST_TRY: Duration = Duration::from_millis(10);

/// So long nothing comes from an endpoint for which [`TIMEOUTS`] requests wait, before it is left out.
pub const UNANSWERED: Duration = Duration::from_secs(1);
/// Or so many times what its answers usually take, if that is longer.
const USUAL_TIMES: u32 = 10;

/// Whether an endpoint answers those that wait, by looks at it now and then.
#[derive(Debug, Default)]
pub struct Unanswered {
    answers: u64,
    since: Option<Instant>,
}

impl Unanswered {
    /// A look: so many requests have been answered by it, so many wait, and an answer usually takes so
    /// long. Says whether it has left them waiting for too long.
    pub fn look(
        &mut self,
        now: Instant,
        answers: u64,
        waiting: u32,
        usual: Option<Duration>,
    ) -> bool {
        if waiting < TIMEOUTS || answers != self.answers {
            self.answers = answers;
            self.since = (waiting >= TIMEOUTS).then_some(now);
            return false;
        }
        let longest = usual.unwrap_or_default().saturating_mul(USUAL_TIMES);
        let since = *self.since.get_or_insert(now);
        now.saturating_duration_since(since) >= longest.max(UNANSWERED)
    }
}

/// What is known of one endpoint.
#[derive(Debug)]
pub struct Silence {
    /// There is something to forget when an answer comes: looked at with every answer.
    is_suspect: AtomicBool,
    /// 0: it is not left out.
    until: AtomicU64,
    is_on_trial: AtomicBool,
    counts: Mutex<Counts>,
    timeline: Timeline,
}

#[derive(Debug, Default)]
struct Counts {
    timeouts: u32,
    times: u32,
}

impl Silence {
    /// Nothing is known.
    #[must_use]
    pub const fn new(timeline: Timeline) -> Self {
        Self {
            is_suspect: AtomicBool::new(false),
            until: AtomicU64::new(0),
            is_on_trial: AtomicBool::new(false),
            counts: Mutex::new(Counts {
                timeouts: 0,
                times: 0,
            }),
            timeline,
        }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It answered, well or not; says whether it was left out until now.
    pub fn answered(&self) -> bool {
        if !self.is_suspect.load(Ordering::Relaxed) {
            return false;
        }
        *self.counts() = Counts::default();
        self.is_suspect.store(false, Ordering::Relaxed);
        self.is_on_trial.store(false, Ordering::Relaxed);
        self.until.swap(0, Ordering::Relaxed) != 0
    }

    /// A try got no answer in the time that it had. Says whether the endpoint is left out from now on;
    /// `may_leave_out` is asked first, whether enough others remain.
    pub fn timed_out(
        &self,
        now: Instant,
        had: Duration,
        may_leave_out: impl FnOnce() -> bool,
    ) -> bool {
        if had < SHORTEST_TRY || self.is_silent() {
            return false;
        }
        self.is_suspect.store(true, Ordering::Relaxed);
        let mut counts = self.counts();
        counts.timeouts = counts.timeouts.saturating_add(1);
        let failed_trial = self.is_on_trial.load(Ordering::Relaxed);
        if !failed_trial && counts.timeouts < TIMEOUTS || !may_leave_out() {
            return false;
        }
        self.leave_out(&mut counts, now);
        true
    }

    /// Requests wait for an answer that does not come. Says whether the endpoint is left out from now on.
    pub fn unanswered(&self, now: Instant, may_leave_out: impl FnOnce() -> bool) -> bool {
        if self.is_silent() || !may_leave_out() {
            return false;
        }
        self.is_suspect.store(true, Ordering::Relaxed);
        self.leave_out(&mut self.counts(), now);
        true
    }

    fn leave_out(&self, counts: &mut Counts, now: Instant) {
        let time = FIRST.saturating_mul(1 << counts.times.min(10)).min(LONGEST);
        counts.times = counts.times.saturating_add(1);
        counts.timeouts = 0;
        self.is_on_trial.store(false, Ordering::Relaxed);
        let until = self.timeline.nanos(now).saturating_add(nanos_of(time));
        self.until.store(until.max(1), Ordering::Relaxed);
    }

    /// Whether it is left out.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.until.load(Ordering::Relaxed) != 0
    }

    /// Whether it takes another request, with so many on their way to it.
    #[must_use]
    pub fn takes(&self, in_flight: impl FnOnce() -> u32) -> bool {
        !self.is_on_trial.load(Ordering::Relaxed) || in_flight() == 0
    }

    /// When its trial begins; `None` unless it is left out.
    #[must_use]
    pub fn until(&self) -> Option<Instant> {
        match self.until.load(Ordering::Relaxed) {
            0 => None,
            nanos => Some(self.timeline.instant(nanos)),
        }
    }

    /// Begins its trial if the time has come; says whether it did.
    pub fn readmit(&self, now: Instant) -> bool {
        let due = self.until().is_some_and(|until| until <= now);
        if due {
            self.is_on_trial.store(true, Ordering::Relaxed);
            self.until.store(0, Ordering::Relaxed);
        }
        due
    }
}

/// Whether another of `all` endpoints may be left out when `silent` of them are: at least half remain.
#[must_use]
pub const fn may_leave_out(silent: usize, all: usize) -> bool {
    (silent + 1) * 2 <= all
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRY: Duration = Duration::from_millis(200);

    fn silence() -> (Silence, Instant) {
        let now = Instant::now();
        (Silence::new(Timeline::new(now)), now)
    }

    #[test]
    fn three_timeouts_in_a_row_leave_an_endpoint_out() {
        let (silence, now) = silence();
        for _ in 0..2 {
            assert!(!silence.timed_out(now, TRY, || true));
        }
        assert!(!silence.answered(), "it was in use");
        for _ in 0..2 {
            assert!(!silence.timed_out(now, TRY, || true));
        }
        assert!(silence.timed_out(now, TRY, || true));
        assert!(silence.is_silent());
        assert_eq!(silence.until(), Some(now + FIRST));
        // Those that were on their way when it was left out change nothing.
        assert!(!silence.timed_out(now + TRY, TRY, || true));
        assert!(!silence.readmit(now + FIRST - TRY));
        assert!(silence.readmit(now + FIRST));
    }

    #[test]
    fn on_trial_one_request_at_a_time_decides() {
        let (silence, mut now) = silence();
        for _ in 0..TIMEOUTS {
            silence.timed_out(now, TRY, || true);
        }
        let mut waits = Vec::new();
        for _ in 0..6 {
            let until = silence.until().unwrap();
            waits.push(until.duration_since(now).as_secs());
            now = until;
            assert!(silence.readmit(now));
            assert!(silence.takes(|| 0) && !silence.takes(|| 1));
            assert!(
                silence.timed_out(now, TRY, || true),
                "the first timeout is enough"
            );
        }
        assert_eq!(waits, [5, 10, 20, 40, 60, 60]);
        now = silence.until().unwrap();
        assert!(silence.readmit(now));
        silence.answered();
        assert!(silence.takes(|| 9) && !silence.is_silent());
        assert!(!silence.timed_out(now, TRY, || true), "all is forgotten");
    }

    #[test]
    fn who_answers_nobody_for_a_second_is_left_out_whatever_the_deadlines() {
        let (silence, now) = silence();
        let mut unanswered = Unanswered::default();
        let at = |millis| now + Duration::from_millis(millis);
        assert!(!unanswered.look(now, 7, 3, None));
        assert!(!unanswered.look(at(999), 7, 9, None));
        assert!(!unanswered.look(at(1_000), 8, 9, None), "an answer came");
        assert!(!unanswered.look(at(1_999), 8, 9, None));
        assert!(unanswered.look(at(2_000), 8, 9, None));
        assert!(!silence.unanswered(now, || false));
        assert!(silence.unanswered(now, || true) && silence.is_silent());
        assert!(!silence.unanswered(now, || true), "it is already");
        assert_eq!(silence.until(), Some(now + FIRST));
        assert!(silence.answered());
    }

    #[test]
    fn three_that_wait_are_enough_to_tell() {
        let (now, mut unanswered) = (Instant::now(), Unanswered::default());
        assert!(!unanswered.look(now, 1, TIMEOUTS, None));
        assert!(unanswered.look(now + UNANSWERED, 1, TIMEOUTS, None));
    }

    #[test]
    fn few_that_wait_and_answers_that_take_long_are_no_silence() {
        let now = Instant::now();
        let mut unanswered = Unanswered::default();
        let slow = Some(Duration::from_secs(2));
        for second in 0..20 {
            let now = now + Duration::from_secs(second);
            assert!(!unanswered.look(now, 1, 2, None), "two do not tell");
        }
        for second in 20..40 {
            let now = now + Duration::from_secs(second);
            assert!(!unanswered.look(now, 1, 5, slow), "at second {second}");
        }
        assert!(unanswered.look(now + Duration::from_secs(40), 1, 5, slow));
    }

    #[test]
    fn a_late_answer_ends_it_at_once() {
        let (silence, now) = silence();
        for _ in 0..TIMEOUTS {
            silence.timed_out(now, TRY, || true);
        }
        assert!(silence.answered());
        assert!(!silence.is_silent());
    }

    #[test]
    fn short_tries_say_nothing_and_enough_endpoints_remain() {
        let (silence, now) = silence();
        for _ in 0..100 {
            assert!(!silence.timed_out(now, Duration::from_millis(9), || true));
            assert!(!silence.timed_out(now, TRY, || false));
        }
        assert!(
            silence.timed_out(now, SHORTEST_TRY, || true),
            "10 ms are enough, and it has not answered all the while"
        );
        for (silent, all, may) in [(0, 1, false), (0, 2, true), (1, 3, false), (1, 4, true)] {
            assert_eq!(may_leave_out(silent, all), may, "{silent} of {all}");
        }
    }
}
