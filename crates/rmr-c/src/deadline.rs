//! Until when a thread waits.

use corewire_driver::clock;
use std::sync::{Condvar, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Until when to wait.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deadline {
    /// Not at all.
    Now,
    /// For so long, from when it is begun on: who need not wait need not know the time.
    Within(Duration),
    /// Until then.
    At(Instant),
    /// For ever.
    Never,
}

impl Deadline {
    pub(crate) const NOW: Self = Self::Now;
    pub(crate) const NEVER: Self = Self::Never;

    /// What C's milliseconds mean: negative is for ever.
    pub(crate) fn from_millis(millis: i32) -> Self {
        match millis {
            0 => Self::Now,
            ..0 => Self::Never,
            millis => Self::Within(Duration::from_millis(millis.unsigned_abs().into())),
        }
    }

    /// The same, with its end fixed.
    pub(crate) fn begun(self) -> Self {
        match self {
            Self::Within(duration) => Self::after(duration),
            fixed => fixed,
        }
    }

    /// That long from now.
    pub(crate) fn after(duration: Duration) -> Self {
        clock().checked_add(duration).map_or(Self::Never, Self::At)
    }

    pub(crate) fn left(self) -> Option<Duration> {
        match self {
            Self::Now => Some(Duration::ZERO),
            Self::Within(duration) => Some(duration),
            Self::At(at) => Some(at.saturating_duration_since(clock())),
            Self::Never => None,
        }
    }

    pub(crate) fn is_over(self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }

    pub(crate) fn sleep<'a, T>(
        self,
        condvar: &Condvar,
        guard: MutexGuard<'a, T>,
    ) -> MutexGuard<'a, T> {
        match self.left() {
            None => condvar.wait(guard).unwrap_or_else(PoisonError::into_inner),
            Some(left) => {
                let waited = condvar.wait_timeout(guard, left);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }
}
