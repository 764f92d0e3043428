//! The driver's own source of chance and time; stages get both as arguments.

use crate::policy::random::{Random, mix};
use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::time::Instant;

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

/// The one clock of the mesh.
pub(crate) fn clock() -> Instant {
    Instant::now()
}
