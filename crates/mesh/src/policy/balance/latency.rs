//! Latency-aware: what an endpoint's answers have taken lately, peaks at once, calm slowly.

use crate::policy::timeline::{Timeline, nanos_of};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// In this time an old measurement's weight falls to a third.
pub const DECAY: Duration = Duration::from_secs(5);

/// What is assumed of an endpoint that has not answered yet: little, so that it is tried.
const UNKNOWN_MICROS: f64 = 1.0;

/// A failure counts as so many times what the endpoint was expected to take: once, it is passed over
/// for some seconds, after several in a row for good, until time makes it cheap again.
const FAILURE_FACTOR: f64 = 10.0;
/// What a failure counts as at least, and at most.
const FAILURE_MICROS: (f64, f64) = (1_000.0, 10_000_000.0);

/// A moving average of latencies that takes a peak over at once (peak EWMA).
///
/// Time and value stand in one word: milliseconds since the timeline's beginning in the upper half,
/// microseconds as a small float in the lower. Two answers at the same time may lose one of them:
/// an average can do without.
#[derive(Debug)]
pub struct PeakEwma {
    word: AtomicU64,
    timeline: Timeline,
}

fn pack(millis: u32, micros: f32) -> u64 {
    u64::from(millis) << 32 | u64::from(micros.to_bits())
}

const fn unpack(word: u64) -> (u32, f32) {
    ((word >> 32) as u32, f32::from_bits(word as u32))
}

impl PeakEwma {
    /// An average of nothing.
    #[must_use]
    pub const fn new(timeline: Timeline) -> Self {
        Self {
            word: AtomicU64::new(0),
            timeline,
        }
    }

    /// Takes a latency in.
    pub fn observe(&self, now: Instant, latency: Duration) {
        let observed = nanos_of(latency) as f64 / 1000.0;
        let (then, average) = self.at(now);
        let millis = self.millis(now);
        let average = match average {
            None => observed,
            Some(average) if observed >= average => observed,
            Some(average) => {
                let weight = decay(millis.saturating_sub(then).max(1));
                average * weight + observed * (1.0 - weight)
            }
        };
        // 0 stands for "nothing yet".
        let word = pack(millis, average.max(0.001) as f32);
        self.word.store(word, Ordering::Relaxed);
    }

    /// Takes a failure in. Who fails fast must not look like who is fast.
    pub fn observe_failure(&self, now: Instant, latency: Duration) {
        let (least, most) = FAILURE_MICROS;
        let took = nanos_of(latency) as f64 / 1000.0;
        let expected = self.micros(now).unwrap_or(0.0).max(took);
        let penalty = (expected * FAILURE_FACTOR).clamp(least, most).max(took);
        self.observe(now, Duration::from_secs_f64(penalty / 1e6));
    }

    /// The average, in microseconds; `None` before the first answer. Falls while there is no answer,
    /// so that an endpoint that was slow is tried again.
    #[must_use]
    pub fn micros(&self, now: Instant) -> Option<f64> {
        let (then, average) = self.at(now);
        let passed = self.millis(now).saturating_sub(then);
        average.map(|average| average * decay(passed))
    }

    /// What it costs to send there: the latency to be expected, times the requests before it.
    #[must_use]
    pub fn cost(&self, now: Instant, in_flight: u32, weight: u32) -> f64 {
        let micros = self.micros(now).unwrap_or(UNKNOWN_MICROS);
        micros.max(UNKNOWN_MICROS) * super::least_request::cost(in_flight, weight)
    }

    fn at(&self, _now: Instant) -> (u32, Option<f64>) {
        let word = self.word.load(Ordering::Relaxed);
        let (then, average) = unpack(word);
        (then, (word != 0).then_some(f64::from(average)))
    }

    fn millis(&self, now: Instant) -> u32 {
        // Wraps after seven weeks: then one average counts as fresh, once.
        (self.timeline.nanos(now) / 1_000_000) as u32
    }
}

/// What is left of a value's weight after so many milliseconds.
fn decay(millis: u32) -> f64 {
    (-f64::from(millis) / DECAY.as_millis() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICRO: Duration = Duration::from_micros(1);
    const SECOND: Duration = Duration::from_secs(1);

    fn close(a: Option<f64>, b: f64) -> bool {
        a.is_some_and(|a| (a - b).abs() < b / 100.0 + 0.01)
    }

    #[test]
    fn a_peak_counts_at_once_and_is_forgotten_slowly() {
        let begin = Instant::now();
        let ewma = PeakEwma::new(Timeline::new(begin));
        assert_eq!(ewma.micros(begin), None);
        ewma.observe(begin, 100 * MICRO);
        assert!(close(ewma.micros(begin), 100.0));
        let later = begin + SECOND;
        ewma.observe(later, 5000 * MICRO);
        assert!(close(ewma.micros(later), 5000.0), "the peak");
        ewma.observe(later + SECOND, 100 * MICRO);
        let after = ewma.micros(later + SECOND).unwrap();
        assert!((4000.0..5000.0).contains(&after), "{after}");
        for second in 2..100 {
            ewma.observe(later + second * SECOND, 100 * MICRO);
        }
        assert!(close(ewma.micros(later + 99 * SECOND), 100.0));
    }

    #[test]
    fn a_quicker_answer_counts_the_more_the_older_the_average_is() {
        let begin = Instant::now();
        let ewma = PeakEwma::new(Timeline::new(begin));
        ewma.observe(begin, 1000 * MICRO);
        // A third of what was, the rest of what is.
        ewma.observe(begin + DECAY, 500 * MICRO);
        assert!(close(ewma.micros(begin + DECAY), 683.9));
    }

    #[test]
    fn without_answers_it_falls_so_that_the_endpoint_is_tried_again() {
        let begin = Instant::now();
        let ewma = PeakEwma::new(Timeline::new(begin));
        ewma.observe(begin, 10_000 * MICRO);
        let third = ewma.micros(begin + DECAY).unwrap();
        assert!((3600.0..3750.0).contains(&third), "{third}");
        assert!(ewma.micros(begin + 20 * DECAY).unwrap() < 1.0);
    }

    #[test]
    fn who_fails_fast_is_not_who_is_fast() {
        let begin = Instant::now();
        let new = || PeakEwma::new(Timeline::new(begin));
        let (good, bad) = (new(), new());
        good.observe(begin, 200 * MICRO);
        bad.observe_failure(begin, 20 * MICRO);
        assert!(bad.cost(begin, 0, 1) > good.cost(begin, 2, 1));
        for _ in 0..10 {
            bad.observe_failure(begin, 20 * MICRO);
        }
        assert!(close(bad.micros(begin), 10_000_000.0), "there is a most");
        // It is asked again in time, and a slow failure counts as slow as it was.
        assert!(bad.micros(begin + 20 * DECAY).unwrap() < 1.0);
        bad.observe_failure(begin, 30 * SECOND);
        assert!(close(bad.micros(begin), 30_000_000.0));
    }

    #[test]
    fn cost_grows_with_latency_and_with_what_is_in_flight() {
        let begin = Instant::now();
        let new = || PeakEwma::new(Timeline::new(begin));
        let (quick, slow, fresh) = (new(), new(), new());
        quick.observe(begin, 100 * MICRO);
        slow.observe(begin, 1000 * MICRO);
        assert!(quick.cost(begin, 3, 1) < slow.cost(begin, 0, 1));
        assert!(quick.cost(begin, 30, 1) > slow.cost(begin, 0, 1));
        assert!(
            fresh.cost(begin, 5, 1) < quick.cost(begin, 0, 1),
            "who is new is tried"
        );
        assert!(quick.cost(begin, 0, 2) < quick.cost(begin, 0, 1));
    }
}
