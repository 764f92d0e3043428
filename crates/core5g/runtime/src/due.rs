//! What is due at a time: timers as data.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Things by the time at which they are to be looked at. Time is an argument.
pub struct Due<T>(Mutex<BTreeSet<(Instant, T)>>);

impl<T> Default for Due<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Ord + Copy> Due<T> {
    /// This is to be looked at then.
    pub fn push(&self, at: Instant, what: T) {
        self.lock().insert((at, what));
    }

    /// What has come due.
    pub fn handle_timeout(&self, now: Instant) -> Vec<T> {
        let mut due = self.lock();
        let mut come = Vec::new();
        while let Some((at, what)) = due.first().copied().filter(|(at, _)| *at <= now) {
            due.remove(&(at, what));
            come.push(what);
        }
        come
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<(Instant, T)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
