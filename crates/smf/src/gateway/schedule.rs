//! When requests are due.

/// An open loop: requests are due at fixed times, whatever became of those before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    start_ns: u64,
    interval_ns: f64,
}

impl Schedule {
    pub(super) fn new(start_ns: u64, rate: f64) -> Self {
        Self {
            start_ns,
            interval_ns: 1e9 / rate,
        }
    }

    /// When the k-th request is due. Computed from k, never accumulated: rounding does not drift.
    pub(super) fn due(&self, k: u64) -> u64 {
        self.start_ns + (self.interval_ns * k as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_kept_over_a_day() {
        let schedule = Schedule::new(7, 1_500.0);
        assert_eq!(schedule.due(0), 7);
        assert_eq!(schedule.due(1_500 * 86_400), 7 + 86_400 * 1_000_000_000);
        assert_eq!(schedule.due(1) - schedule.due(0), 666_666);
    }
}
