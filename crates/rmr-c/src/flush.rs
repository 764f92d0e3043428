//! When what was accepted is written: at once while there is leisure, gathered while there is none.
//!
//! Pure: the time is an argument. Leisure is a matter of the sending thread, whatever the number of
//! peers it sends to: time that it does not spend here earns credit, and a write at once costs some.
//! So a short burst is written message by message, and a stream without pauses gathers whatever its
//! length. What gathers is written by the sender itself when it is large, or old and the last write
//! is as long ago as it took: writing to many peers in turn never takes more than half of the time.
//! What is left when no sender comes any more is the flusher's.

use std::time::{Duration, Instant};

/// Time between two calls that earns one write at once: about what it costs.
const PAUSE: Duration = Duration::from_micros(4);
/// How many messages of a burst are written one by one.
const MOST_CREDIT: u32 = 8;
/// As many octets as this are written, however young: enough that the call's own cost vanishes.
pub(crate) const LARGE: usize = 64 * 1024;
/// Octets that have waited as long as this are written by the next sender.
const OLD: Duration = Duration::from_micros(25);
/// So long a thread in a rush goes on without a look at the clock, which costs as much as all the
/// rest of a small message.
const BLIND: Duration = Duration::from_micros(1);
/// And no more messages than this.
const MOST_BLIND: u32 = 16;

/// What to do with a message that has just been accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// Write everything now.
    Write,
    /// Leave it; the flusher must know that something waits.
    Gather,
}

/// The recent past of one sending thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    credit: u32,
    /// When it last came back from sending.
    left: Option<Instant>,
    /// Until when it has written enough.
    rests: Option<Instant>,
    /// Messages that it may still gather without looking at the clock.
    blind: u32,
    /// Those that it has gathered so since it looked.
    unseen: u32,
}

impl Pace {
    /// Of a thread that has not sent.
    pub(crate) const fn new() -> Self {
        Self {
            credit: MOST_CREDIT,
            left: None,
            rests: None,
            blind: 0,
            unseen: 0,
        }
    }

    /// Whether it may leave a message with others that wait, without asking what time it is:
    /// messages have come so fast that little can have passed.
    pub(crate) fn is_blind(&mut self) -> bool {
        let blind = self.blind > 0;
        self.blind -= u32::from(blind);
        self.unseen += u32::from(blind);
        blind
    }

    /// It comes to send, at `now`.
    fn arrive(&mut self, now: Instant) {
        let pause = match self.left {
            Some(left) => now.saturating_duration_since(left),
            None => Duration::MAX,
        };
        // As many more as come in that time, at the speed that they came at.
        let count = self.unseen + 1;
        let pace = u128::from(count) * BLIND.as_nanos() / pause.as_nanos().max(1);
        self.blind = pace.min(u128::from(MOST_BLIND)) as u32;
        self.unseen = 0;
        if pause >= PAUSE {
            let earned = (pause.as_nanos() / PAUSE.as_nanos()).min(u128::from(MOST_CREDIT));
            self.credit = (self.credit + earned as u32).min(MOST_CREDIT);
        }
    }

    fn spend(&mut self) -> bool {
        let can = self.credit > 0;
        self.credit -= u32::from(can);
        can
    }

    fn is_rested(&self, now: Instant) -> bool {
        self.rests.is_none_or(|rests| now >= rests)
    }

    /// It goes, having written nothing since it came at `now`.
    pub(crate) fn gathered(&mut self, now: Instant) {
        self.left = Some(now);
    }

    /// It goes, having written from `begin` to `end`.
    pub(crate) fn wrote(&mut self, begin: Instant, end: Instant) {
        self.left = Some(end);
        self.rests = end.checked_add(end.saturating_duration_since(begin));
    }
}

/// What waits for one peer.
#[derive(Debug)]
pub(crate) struct FlushPolicy {
    /// When the oldest of it was accepted.
    oldest: Option<Instant>,
}

impl FlushPolicy {
    /// Nothing waits.
    pub(crate) fn new() -> Self {
        Self { oldest: None }
    }

    /// A message is there at `now`; with it, `waiting` octets are to be written.
    pub(crate) fn accepted(&mut self, pace: &mut Pace, now: Instant, waiting: usize) -> Advice {
        pace.arrive(now);
        let oldest = *self.oldest.get_or_insert(now);
        let is_old = now.saturating_duration_since(oldest) >= OLD;
        if waiting >= LARGE || pace.spend() || is_old && pace.is_rested(now) {
            Advice::Write
        } else {
            Advice::Gather
        }
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

    /// What sending and writing cost in these tests.
    const CALL: Duration = Duration::from_nanos(250);
    const WRITE: Duration = Duration::from_micros(3);

    /// How many of `count` messages are written at once, and how long all take, when there is
    /// `gap` between two calls and they go to `peers` in turn.
    fn written(count: usize, gap: Duration, octets: usize, peers: usize) -> (u32, Duration) {
        let mut pace = Pace::new();
        let mut policies: Vec<_> = (0..peers).map(|_| (FlushPolicy::new(), 0)).collect();
        let begin = Instant::now();
        let (mut now, mut writes) = (begin, 0);
        for message in 0..count {
            now += gap;
            let (policy, waiting) = &mut policies[message % peers];
            *waiting += octets;
            if policy.accepted(&mut pace, now, *waiting) == Advice::Write {
                policy.written();
                writes += 1;
                *waiting = 0;
                pace.wrote(now, now + CALL + WRITE);
                now += CALL + WRITE;
            } else {
                pace.gathered(now + CALL);
                now += CALL;
            }
        }
        (writes, now - begin)
    }

    #[test]
    fn with_leisure_every_message_is_written_at_once() {
        assert_eq!(written(1000, Duration::from_micros(100), 1300, 1).0, 1000);
        assert_eq!(written(1000, PAUSE, 1300, 1).0, 1000);
        assert_eq!(written(1000, PAUSE, 1300, 8).0, 1000);
    }

    #[test]
    fn a_stream_gathers_up_to_its_size_or_age() {
        let (writes, _) = written(10_000, Duration::ZERO, 1300, 1);
        // By size each 50 messages.
        assert!((150..300).contains(&writes), "{writes}");
        let (writes, _) = written(10_000, Duration::ZERO, 20, 1);
        // By age each 100 messages.
        assert!((80..200).contains(&writes), "{writes}");
    }

    /// Each peer's own pauses must not pass for leisure: they are the others' writes.
    #[test]
    #[cfg_attr(miri, ignore = "takes minutes there")]
    fn many_peers_do_not_make_a_stream_slow() {
        let (_, one) = written(100_000, Duration::ZERO, 1300, 1);
        for peers in [2, 4, 8, 32, 200] {
            let (_, many) = written(100_000, Duration::ZERO, 1300, peers);
            assert!(many < 3 * one, "{peers} peers: {many:?}, one: {one:?}");
        }
    }

    #[test]
    fn a_short_burst_is_written_message_by_message() {
        let most = MOST_CREDIT as usize;
        assert_eq!(written(most, Duration::ZERO, 1300, 1).0, MOST_CREDIT);
        assert_eq!(written(most + 3, Duration::ZERO, 1300, 1).0, MOST_CREDIT);
    }

    #[test]
    fn only_a_rush_is_blind_and_never_for_long() {
        let mut pace = Pace::new();
        let mut now = Instant::now();
        let mut blind = |gap: Duration| {
            now += gap;
            pace.arrive(now);
            pace.gathered(now);
            (0..100).filter(|_| pace.is_blind()).count()
        };
        assert_eq!(blind(Duration::from_micros(5)), 0);
        assert_eq!(blind(2 * BLIND), 0);
        assert_eq!(blind(BLIND / 4), 4);
        // Five came in this time.
        assert_eq!(blind(BLIND / 2), 10);
        assert_eq!(blind(Duration::ZERO), MOST_BLIND as usize);
        assert_eq!(blind(100 * BLIND), 0);
    }

    #[test]
    fn the_age_is_that_of_the_oldest() {
        let (mut pace, mut policy) = (Pace::new(), FlushPolicy::new());
        let start = Instant::now();
        assert_eq!(policy.age(start), None);
        policy.accepted(&mut pace, start, 1);
        policy.accepted(&mut pace, start + PAUSE, 1);
        assert_eq!(policy.age(start + OLD), Some(OLD));
        policy.written();
        assert_eq!(policy.age(start + OLD), None);
    }
}
