//! When what was accepted is written: at once while there is leisure, gathered while there is none.
//!
//! Pure: the time is an argument. A short burst is written message by message from credit; credit
//! comes back only in pauses, so that a stream without pauses gathers whatever its length. What
//! gathers is written by the sender itself when it is large or old enough, and by the flusher when
//! no sender comes any more.

use std::time::{Duration, Instant};

/// A pause as long as this earns one more immediate write: about what a write costs.
const PAUSE: Duration = Duration::from_micros(8);
/// How many messages of a burst are written one by one.
const MOST_CREDIT: u32 = 8;
/// As many octets as this are written, however young: enough that the call's own cost vanishes.
const LARGE: usize = 64 * 1024;
/// Octets that have waited as long as this are written by the next sender.
const OLD: Duration = Duration::from_micros(25);

/// What to do with a message that has just been accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// Write everything now.
    Write,
    /// Leave it; the flusher must know that something waits.
    Gather,
}

/// The recent past of one connection's senders.
#[derive(Debug)]
pub(crate) struct FlushPolicy {
    credit: u32,
    last: Option<Instant>,
    /// When the oldest of what waits was accepted.
    oldest: Option<Instant>,
}

impl FlushPolicy {
    /// Of a connection that has not been used.
    pub(crate) fn new() -> Self {
        Self {
            credit: MOST_CREDIT,
            last: None,
            oldest: None,
        }
    }

    /// A message is there at `now`; with it, `waiting` octets are to be written.
    pub(crate) fn accepted(&mut self, now: Instant, waiting: usize) -> Advice {
        let pause = match self.last.replace(now) {
            Some(last) => now.saturating_duration_since(last),
            None => Duration::MAX,
        };
        if pause >= PAUSE {
            let earned = pause.as_nanos() / PAUSE.as_nanos();
            let earned = earned.min(u128::from(MOST_CREDIT)) as u32;
            self.credit = (self.credit + earned).min(MOST_CREDIT);
        }
        let oldest = *self.oldest.get_or_insert(now);
        if self.credit > 0 {
            self.credit -= 1;
            return Advice::Write;
        }
        if waiting >= LARGE || now.saturating_duration_since(oldest) >= OLD {
            return Advice::Write;
        }
        Advice::Gather
    }

    /// Everything has been written.
    pub(crate) fn written(&mut self) {
        self.oldest = None;
    }

    /// How long the oldest has waited.
    pub(crate) fn age(&self, now: Instant) -> Option<Duration> {
        Some(now.saturating_duration_since(self.oldest?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `count` messages, one each `gap`, are written at once.
    fn written(count: u32, gap: Duration, octets: usize) -> u32 {
        let mut policy = FlushPolicy::new();
        let mut now = Instant::now();
        let (mut writes, mut waiting) = (0, 0);
        for _ in 0..count {
            now += gap;
            waiting += octets;
            if policy.accepted(now, waiting) == Advice::Write {
                policy.written();
                writes += 1;
                waiting = 0;
            }
        }
        writes
    }

    #[test]
    fn with_leisure_every_message_is_written_at_once() {
        assert_eq!(written(1000, Duration::from_micros(100), 1300), 1000);
        assert_eq!(written(1000, PAUSE, 1300), 1000);
    }

    #[test]
    fn a_stream_gathers_up_to_its_size_or_age() {
        let gap = Duration::from_nanos(300);
        let writes = written(10_000, gap, 1300);
        // By size each 50 messages.
        assert!((150..300).contains(&writes), "{writes}");
        // By age each 84 messages.
        let writes = written(10_000, gap, 20);
        assert!((100..200).contains(&writes), "{writes}");
    }

    #[test]
    fn a_short_burst_is_written_message_by_message() {
        assert_eq!(written(MOST_CREDIT, Duration::ZERO, 1300), MOST_CREDIT);
        assert_eq!(written(MOST_CREDIT + 5, Duration::ZERO, 1300), MOST_CREDIT);
    }

    #[test]
    fn the_age_is_that_of_the_oldest() {
        let mut policy = FlushPolicy::new();
        let start = Instant::now();
        assert_eq!(policy.age(start), None);
        policy.accepted(start, 1);
        policy.accepted(start + PAUSE, 1);
        assert_eq!(policy.age(start + OLD), Some(OLD));
        policy.written();
        assert_eq!(policy.age(start + OLD), None);
    }
}
