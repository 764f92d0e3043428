//! The one clock of the drivers.

use std::time::{Duration, Instant};

/// What stands for "never" when a time would lie beyond what [`Instant`] can say: thirty years.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// The time now. Cores are given it as an argument.
#[inline]
#[must_use]
pub fn clock() -> Instant {
    Instant::now()
}

/// The time `duration` after `now`. Options and calls may say [`Duration::MAX`] and mean "never",
/// where adding would panic.
#[inline]
#[must_use]
pub fn after(now: Instant, duration: Duration) -> Instant {
    now.checked_add(duration).unwrap_or_else(|| now + FAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_is_far_and_does_not_panic() {
        let now = clock();
        let second = Duration::from_secs(1);
        assert_eq!(after(now, second), now + second);
        assert!(after(now, Duration::MAX) > now + FAR / 2);
    }
}
