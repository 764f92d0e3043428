//! Instants as numbers, so that threads can share them without a lock.

use std::time::{Duration, Instant};

/// Counts nanoseconds from a beginning; what an atomic holds instead of an [`Instant`].
#[derive(Clone, Copy, Debug)]
pub struct Timeline(Instant);

impl Timeline {
    /// A timeline that begins at `origin`; earlier instants count as it.
    #[must_use]
    pub const fn new(origin: Instant) -> Self {
        Self(origin)
    }

    /// One more than the nanoseconds from the beginning to `at`: 0 is left to mean "never".
    #[must_use]
    pub fn nanos(self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.0);
        nanos_of(since).saturating_add(1)
    }

    /// The instant that [`nanos`](Self::nanos) gives this for.
    #[must_use]
    pub fn instant(self, nanos: u64) -> Instant {
        self.0
            .checked_add(Duration::from_nanos(nanos.saturating_sub(1)))
            .unwrap_or(self.0)
    }
}

/// The nanoseconds of a duration; 584 years at most.
#[must_use]
pub fn nanos_of(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_and_numbers_lead_to_each_other() {
        let origin = Instant::now();
        let timeline = Timeline::new(origin);
        for millis in [0, 1, 20, 3_600_000] {
            let at = origin + Duration::from_millis(millis);
            assert_eq!(timeline.instant(timeline.nanos(at)), at);
        }
        assert_eq!(timeline.nanos(origin), 1, "0 means never");
        assert_eq!(nanos_of(Duration::MAX), u64::MAX);
    }
}
