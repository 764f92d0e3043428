//! Whether to ask a socket again and again for a moment before sleeping.
//!
//! Putting a thread to sleep and waking it on another core costs both sides several microseconds
//! of CPU, and the caller the same time again. So a *lone* caller asks for at most
//! [`ClientOptions::patience`](crate::ClientOptions::patience) before it sleeps, as long as answers
//! come within it: when they come later, it stops, and only looks now and then whether it would pay
//! again. Callers that wait at the same time do not: on a shared core they would take it from each
//! other. Those of one connection let other threads run a few times instead, as long as their answers
//! come meanwhile, which is learned in the same way.
//!
//! What it costs: nothing while idle; while it does not pay, one wait in [`LOOK_AGAIN`]; while it
//! does, the caller's core is busy for as long as the answer takes, and the service, which need not
//! wake anybody, saves some of that. `docs/performance.md` has the figures.

use std::sync::atomic::{AtomicUsize, Ordering};

/// A score of this is as sure as it gets that it pays.
const SURE: u8 = 8;

/// What a wait in vain takes off the score; one that paid adds one.
const IN_VAIN: u8 = 2;

/// While it does not pay, one wait in so many looks whether it would.
const LOOK_AGAIN: u16 = 256;

/// Threads of this process that wait for an answer of any connection.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// What one connection has learned.
#[derive(Debug)]
pub(crate) struct Patience {
    score: u8,
    waits: u16,
}

impl Patience {
    pub(crate) const fn new() -> Self {
        Self {
            score: SURE / 2,
            waits: 0,
        }
    }

    /// Whether the next wait should begin awake.
    pub(crate) const fn is_worth_it(&mut self) -> bool {
        self.waits = (self.waits + 1) % LOOK_AGAIN;
        self.score > 0 || self.waits == 0
    }

    /// Learns from a wait that began awake.
    pub(crate) fn learn(&mut self, paid: bool) {
        self.score = if paid {
            (self.score + 1).min(SURE)
        } else {
            self.score.saturating_sub(IN_VAIN)
        };
    }
}

/// A thread that waits; counted while it lives.
#[derive(Debug)]
pub(super) struct Waiting {
    alone: bool,
}

impl Waiting {
    pub(super) fn begin() -> Self {
        Self {
            alone: WAITING.fetch_add(1, Ordering::Relaxed) == 0,
        }
    }

    /// Whether no other thread waited when this one began.
    pub(super) const fn is_alone(&self) -> bool {
        self.alone
    }

    /// Whether another thread has begun to wait since.
    pub(super) fn has_company() -> bool {
        WAITING.load(Ordering::Relaxed) > 1
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Ordering::Relaxed);
    }
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
        assert!((10..=14).contains(&awake), "{awake}");
        patience.learn(true);
        assert!(patience.is_worth_it());
    }
}
