//! The driver's own source of chance and time; stages get both as arguments.

use crate::policy::random::{Random, mix};
use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

thread_local! {
    static STATE: Cell<u64> = Cell::new(RandomState::new().hash_one(0_u8));
}

/// Random numbers of this thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadRandom;

impl Random for ThreadRandom {
    fn next(&mut self) -> u64 {
        STATE.with(|state| {
            let next = state.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
            state.set(next);
            mix(next)
        })
    }
}

/// The time `duration` after `now`; where adding would pass what [`Instant`] can say, as late as is
/// of use to anybody. Durations come from control planes and callers, who may say "for ever".
pub(crate) fn after(now: Instant, duration: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
    now.checked_add(duration).unwrap_or_else(|| now + FAR)
}

/// The one clock of the mesh.
#[expect(clippy::disallowed_methods, reason = "the driver's clock")]
pub(crate) fn clock() -> Instant {
    Instant::now()
}
