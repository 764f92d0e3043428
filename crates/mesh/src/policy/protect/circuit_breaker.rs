//! Circuit breaking: so much may be on its way to a cluster, and no more.

use std::sync::atomic::{AtomicU32, Ordering};

/// What is on its way, against a limit that is given with each request to enter: it may have
/// changed meanwhile.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU32);

impl Gauge {
    /// How many are inside.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Enters unless `limit` are inside; whoever was let in leaves once.
    #[must_use]
    pub fn enter(&self, limit: u32) -> bool {
        // Counted first: an addition does not fail and try again as an exchange does. Those who
        // are turned away are counted for a moment, which can only turn away somebody else at the
        // same moment.
        if self.0.fetch_add(1, Ordering::Relaxed) < limit {
            return true;
        }
        self.leave();
        false
    }

    /// Enters whatever the limit.
    pub fn enter_always(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Leaves.
    pub fn leave(&self) {
        let before = self.0.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(before > 0, "left more often than entered");
    }
}

/// The gauges of one cluster.
#[derive(Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "what circuit limits name")]
pub struct Breaker {
    /// Requests that are not answered.
    pub requests: Gauge,
    /// Requests that wait for a connection.
    pub pending: Gauge,
    /// Tries after the first.
    pub retries: Gauge,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gauge_lets_in_as_many_as_the_limit_and_more_when_it_grows() {
        let gauge = Gauge::default();
        assert!(gauge.enter(2) && gauge.enter(2));
        assert!(!gauge.enter(2));
        assert_eq!(gauge.count(), 2);
        assert!(gauge.enter(3));
        gauge.leave();
        gauge.leave();
        assert!(gauge.enter(2));
        assert!(!gauge.enter(0));
        gauge.enter_always();
        assert_eq!(gauge.count(), 3);
    }

    #[test]
    fn threads_never_get_in_beyond_the_limit() {
        let gauge = Gauge::default();
        let most = AtomicU32::new(0);
        let inside = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        if gauge.enter(3) {
                            let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                            most.fetch_max(now, Ordering::SeqCst);
                            inside.fetch_sub(1, Ordering::SeqCst);
                            gauge.leave();
                        }
                    }
                });
            }
        });
        assert!(most.into_inner() <= 3);
        assert_eq!(gauge.count(), 0);
    }
}
