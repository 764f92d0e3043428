//! Whether to ask a socket again and again for a moment before sleeping.
//!
//! Putting a thread to sleep and waking it costs both sides several microseconds of CPU, and the
//! caller the same time again. So who waits asks first, for at least
//! [`ClientOptions::patience`](crate::ClientOptions::patience) and [`LOOKS`] times, and lets other
//! threads run between two looks: alone on its core it is back at once; callers that share a core, be
//! they of one process or of several, each do what they have to do meanwhile, and the answers are there
//! when they come back. Nobody is put to sleep then, and the service has nobody to wake.
//!
//! This is done as long as answers come meanwhile: when they come later, a connection stops, and only
//! looks now and then, ever more seldom, whether it would pay again. On a core where another
//! thread is busy every wait sleeps at once ([`crowding`]).
//!
//! What it costs: nothing while idle; while it does not pay, one wait in [`LOOK_AGAIN`] or fewer; while
//! it does, at most the patience and [`LOOKS`] looks of the caller's core a wait, of which others who
//! want it get their share. `docs/performance.md` has the figures.

use super::crowding;
use crate::event_loop::{after, clock};
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

/// What one connection has learned.
#[derive(Debug)]
pub(crate) struct Patience {
    score: u8,
    waits: u16,
    look_again: u16,
}

impl Patience {
    pub(crate) const fn new() -> Self {
        Self {
            score: SURE / 2,
            waits: 0,
            look_again: LOOK_AGAIN,
        }
    }

    /// Whether the next wait should begin awake.
    pub(crate) const fn is_worth_it(&mut self) -> bool {
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

    /// Learns from a wait that gave way. One that was crowded out says nothing of when answers come.
    pub(crate) fn learn_from(&mut self, end: AwakeEnd) {
        if end != AwakeEnd::CrowdedOut {
            self.learn(end == AwakeEnd::Found);
        }
    }

    /// Learns from a wait that began awake: whether it paid.
    pub(crate) fn learn(&mut self, paid: bool) {
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

/// A wait while it is awake: between two looks it gives way.
#[derive(Debug)]
pub(crate) struct Awake {
    until: Instant,
    looks: u32,
    looked: Instant,
    /// Somebody kept the core for longer than a turn.
    crowded_out: bool,
}

impl Awake {
    /// Of a caller that has this patience.
    pub(crate) fn begin(now: Instant, patience: Duration) -> Self {
        Self {
            until: after(now, patience),
            looks: LOOKS,
            looked: now,
            crowded_out: false,
        }
    }

    /// Lets others run; says whether to look again after it.
    pub(crate) fn give_way(&mut self) -> bool {
        if self.crowded_out || self.looks == 0 && self.looked >= self.until {
            return false;
        }
        std::thread::yield_now();
        let now = clock();
        self.crowded_out = crowding::gave_way(now, now.saturating_duration_since(self.looked));
        self.looked = now;
        self.looks = self.looks.saturating_sub(1);
        true
    }

    /// When it last looked.
    pub(crate) const fn looked(&self) -> Instant {
        self.looked
    }

    /// How it ended: `found` says that there is something.
    pub(crate) const fn end(&self, found: bool) -> AwakeEnd {
        match (self.crowded_out, found) {
            (true, _) => AwakeEnd::CrowdedOut,
            (false, true) => AwakeEnd::Found,
            (false, false) => AwakeEnd::Nothing,
        }
    }
}

/// How a wait that gave way ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AwakeEnd {
    /// With what was waited for.
    Found,
    /// Nothing came.
    Nothing,
    /// Somebody kept the core, whatever came meanwhile.
    CrowdedOut,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_in_vain_end_it_and_it_is_tried_again_now_and_then() {
        let mut patience = Patience::new();
        let mut awake = 0;
        for _ in 0..10 * usize::from(LOOK_AGAIN) {
            if patience.is_worth_it() {
                awake += 1;
                patience.learn(false);
            }
        }
        // Twice at first, then after 256 waits, 512 more, 1024 more.
        assert_eq!(awake, 5);
        patience.learn(true);
        assert!(patience.is_worth_it());
        patience.learn(false);
        let waits = (1..).find(|_| patience.is_worth_it());
        assert_eq!(waits, Some(LOOK_AGAIN), "as at first");
    }

    #[test]
    fn a_wait_looks_a_few_times_however_late_it_is_and_then_ends() {
        let mut awake = Awake::begin(clock(), Duration::ZERO);
        let looks = std::iter::from_fn(|| awake.give_way().then_some(()));
        // Fewer when somebody keeps the core of this test.
        let looks = looks.count();
        let crowded_out = awake.end(true) == AwakeEnd::CrowdedOut;
        assert!(looks == LOOKS as usize || crowded_out, "{looks}");

        let until = clock() + Duration::from_micros(300);
        let mut awake = Awake::begin(clock(), Duration::from_micros(300));
        while awake.give_way() {}
        assert!(awake.looked() >= until || awake.end(true) == AwakeEnd::CrowdedOut);
    }

    #[test]
    fn who_is_crowded_out_stops_and_learns_nothing_of_the_answers() {
        let now = clock();
        let mut awake = Awake::begin(now, Duration::MAX);
        awake.looked = now.checked_sub(2 * crowding::A_TURN).unwrap();
        assert!(awake.give_way());
        assert_eq!(awake.end(true), AwakeEnd::CrowdedOut);
        assert!(!awake.give_way());
        assert!(!crowding::may_give_way(clock()), "nor does anybody there");

        let mut patience = Patience::new();
        for _ in 0..10 * SURE {
            patience.learn_from(AwakeEnd::CrowdedOut);
        }
        assert!(patience.is_worth_it(), "where nobody is in the way");
    }
}
