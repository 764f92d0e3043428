//! Whether to look at a socket again for a moment before sleeping.
//!
//! Putting a thread to sleep and waking it costs both sides several microseconds of CPU, and the
//! caller the same time again. So a thread that waits spins first, for at least the time that its options
//! say and [`LOOKS`] times, and yields between two looks: alone on its core it is back at once; callers
//! that share a core, of one process or of several, each do what they have to do meanwhile, and the
//! answers are there when they come back. No thread is put to sleep then, and the service has none to wake.
//!
//! This is done as long as answers come meanwhile: when they come later, a connection stops, and only
//! looks now and then, ever more seldom, whether it would pay again. On a core where another
//! thread is busy every wait sleeps at once ([`may_yield`]).
//!
//! What it costs: nothing while idle; while it does not pay, one wait in [`LOOK_AGAIN`] or fewer; while
//! it does, at most that time and [`LOOKS`] looks of the caller's core a wait, of which other threads that
//! want it get their share. `docs/journal/waiting.md` has the figures.

#[cfg(any(test, doc))]
use crate::may_yield;
use crate::yielding::yielded;
use crate::{after, clock};
use std::time::{Duration, Instant};

/// A score of this is as sure as it gets that it pays.
const SURE: u8 = 8;

/// What a wait in vain takes off the score; one that paid adds one.
const IN_VAIN: u8 = 2;

/// While it does not pay, one wait in so many looks whether it would; each time in vain makes it
/// twice as many, up to [`LOOK_AGAIN_AT_LAST`].
const LOOK_AGAIN: u16 = 256;
const LOOK_AGAIN_AT_LAST: u16 = 8192;

/// Looks that are made at least: between two of them every other caller may have had its turn.
const LOOKS: u32 = 8;

/// Whether it pays to spin before a sleep, as one connection or driver has learned it.
#[derive(Debug)]
pub struct AdaptiveSpin {
    score: u8,
    waits: u16,
    look_again: u16,
}

impl AdaptiveSpin {
    /// Nothing is known yet: it is tried.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            score: SURE / 2,
            waits: 0,
            look_again: LOOK_AGAIN,
        }
    }

    /// Whether the next wait should begin with spinning.
    #[inline]
    pub const fn should_spin(&mut self) -> bool {
        if self.score > 0 {
            return true;
        }
        self.waits += 1;
        if self.waits < self.look_again {
            return false;
        }
        self.waits = 0;
        true
    }

    /// Learns from a wait that yielded. One that was crowded out says nothing of when answers come.
    #[inline]
    pub fn learn_from(&mut self, end: SpinEnd) {
        if end != SpinEnd::CrowdedOut {
            self.learn(end == SpinEnd::Found);
        }
    }

    /// Learns whether a wait that began with spinning paid.
    #[inline]
    pub fn learn(&mut self, paid: bool) {
        if paid {
            self.score = (self.score + 1).min(SURE);
            self.look_again = LOOK_AGAIN;
            self.waits = 0;
            return;
        }
        if self.score == 0 {
            self.look_again = (self.look_again * 2).min(LOOK_AGAIN_AT_LAST);
        }
        self.score = self.score.saturating_sub(IN_VAIN);
    }
}

impl Default for AdaptiveSpin {
    fn default() -> Self {
        Self::new()
    }
}

/// A wait that spins: between two looks it yields.
#[derive(Debug)]
pub struct SpinWait {
    until: Instant,
    looks: u32,
    looked: Instant,
    /// Another thread kept the core for longer than a turn.
    crowded_out: bool,
}

impl SpinWait {
    /// Begins one that lasts as long, and eight looks at least.
    #[inline]
    #[must_use]
    pub fn begin(now: Instant, lasts: Duration) -> Self {
        Self {
            until: after(now, lasts),
            looks: LOOKS,
            looked: now,
            crowded_out: false,
        }
    }

    /// Lets other threads run; says whether to look again after it.
    #[inline]
    pub fn yield_now(&mut self) -> bool {
        if self.crowded_out || self.looks == 0 && self.looked >= self.until {
            return false;
        }
        std::thread::yield_now();
        let now = clock();
        self.crowded_out = yielded(now, now.saturating_duration_since(self.looked));
        self.looked = now;
        self.looks = self.looks.saturating_sub(1);
        true
    }

    /// When it last looked.
    #[inline]
    #[must_use]
    pub const fn looked(&self) -> Instant {
        self.looked
    }

    /// How it ended: `found` says that there is something.
    #[inline]
    #[must_use]
    pub const fn end(&self, found: bool) -> SpinEnd {
        match (self.crowded_out, found) {
            (true, _) => SpinEnd::CrowdedOut,
            (false, true) => SpinEnd::Found,
            (false, false) => SpinEnd::Nothing,
        }
    }
}

/// How a wait that spun ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a wait pays, does not pay, or says nothing"
)]
pub enum SpinEnd {
    /// With what was waited for.
    Found,
    /// Nothing came.
    Nothing,
    /// Another thread kept the core, whatever came meanwhile.
    CrowdedOut,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yielding::A_TURN;

    #[test]
    fn waits_in_vain_end_it_and_it_is_tried_again_now_and_then() {
        let mut spin = AdaptiveSpin::new();
        let mut awake = 0;
        for _ in 0..10 * usize::from(LOOK_AGAIN) {
            if spin.should_spin() {
                awake += 1;
                spin.learn(false);
            }
        }
        // Twice at first, then after 256 waits, 512 more, 1024 more.
        assert_eq!(awake, 5);
        spin.learn(true);
        assert!(spin.should_spin());
        spin.learn(false);
        let waits = (1..).find(|_| spin.should_spin());
        assert_eq!(waits, Some(LOOK_AGAIN), "as at first");
    }

    #[test]
    fn a_wait_looks_a_few_times_however_late_it_is_and_then_ends() {
        let mut awake = SpinWait::begin(clock(), Duration::ZERO);
        let looks = std::iter::from_fn(|| awake.yield_now().then_some(()));
        // Fewer when another thread keeps the core of this test.
        let looks = looks.count();
        let crowded_out = awake.end(true) == SpinEnd::CrowdedOut;
        assert!(looks == LOOKS as usize || crowded_out, "{looks}");

        let until = clock() + Duration::from_micros(300);
        let mut awake = SpinWait::begin(clock(), Duration::from_micros(300));
        while awake.yield_now() {}
        assert!(awake.looked() >= until || awake.end(true) == SpinEnd::CrowdedOut);
    }

    #[test]
    fn who_is_crowded_out_stops_and_learns_nothing_of_the_answers() {
        let now = clock();
        let mut awake = SpinWait::begin(now, Duration::MAX);
        awake.looked = now.checked_sub(2 * A_TURN).unwrap();
        assert!(awake.yield_now());
        assert_eq!(awake.end(true), SpinEnd::CrowdedOut);
        assert!(!awake.yield_now());
        assert!(!may_yield(clock()), "nor does anybody there");

        let mut spin = AdaptiveSpin::new();
        for _ in 0..10 * SURE {
            spin.learn_from(SpinEnd::CrowdedOut);
        }
        assert!(spin.should_spin(), "where no other thread is in the way");
    }
}
