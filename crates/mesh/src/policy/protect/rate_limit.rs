//! Rate limit: a bucket of tokens that threads share without a lock.

use crate::config::RateLimit;
use crate::policy::timeline::{Timeline, nanos_of};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A bucket of tokens that fills evenly: what a fill would bring comes spread over its interval.
///
/// One number stands for the bucket: when it would be full again (the generic cell rate algorithm).
#[derive(Debug)]
pub struct TokenBucket {
    full_at: AtomicU64,
    timeline: Timeline,
    /// How long one token takes to come.
    token: u64,
    /// How long a whole bucket takes.
    bucket: u64,
}

impl TokenBucket {
    /// A full bucket.
    #[must_use]
    pub fn new(limit: &RateLimit, timeline: Timeline) -> Self {
        let token = nanos_of(limit.fill_interval) / u64::from(limit.tokens_per_fill.max(1));
        let token = token.max(1);
        Self {
            full_at: AtomicU64::new(0),
            timeline,
            token,
            bucket: token.saturating_mul(u64::from(limit.max_tokens)),
        }
    }

    /// Takes a token; `false` when there is none.
    pub fn take(&self, now: Instant) -> bool {
        let now = self.timeline.nanos(now);
        let taken = self
            .full_at
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |full_at| {
                let full_at = full_at.max(now).saturating_add(self.token);
                (full_at - now <= self.bucket).then_some(full_at)
            });
        taken.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Fraction;
    use proptest::prelude::*;
    use std::time::Duration;

    const MILLI: Duration = Duration::from_millis(1);

    fn limit(max_tokens: u32, tokens_per_fill: u32, fill_interval: Duration) -> RateLimit {
        RateLimit {
            max_tokens,
            tokens_per_fill,
            fill_interval,
            status: 429,
            enforced: Fraction::ALWAYS,
        }
    }

    #[test]
    fn a_full_bucket_serves_a_burst_and_then_what_comes_in() {
        let begin = Instant::now();
        let bucket = TokenBucket::new(&limit(10, 5, 100 * MILLI), Timeline::new(begin));
        let take = |at: Duration| (0..100).filter(|_| bucket.take(begin + at)).count();
        assert_eq!(take(Duration::ZERO), 10);
        assert_eq!(take(19 * MILLI), 0);
        assert_eq!(take(21 * MILLI), 1);
        assert_eq!(take(121 * MILLI), 5);
        assert_eq!(take(Duration::from_secs(60)), 10, "it never holds more");
    }

    #[test]
    fn an_empty_bucket_lets_nothing_pass() {
        let begin = Instant::now();
        let bucket = TokenBucket::new(&limit(0, 5, MILLI), Timeline::new(begin));
        assert!(!bucket.take(begin) && !bucket.take(begin + Duration::from_secs(9)));
    }

    #[test]
    fn threads_share_the_tokens() {
        let begin = Instant::now();
        let bucket = TokenBucket::new(
            &limit(1000, 1, Duration::from_secs(9)),
            Timeline::new(begin),
        );
        let taken: usize = std::thread::scope(|scope| {
            let take = || (0..1000).filter(|_| bucket.take(begin)).count();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .sum()
        });
        assert_eq!(taken, 1000);
    }

    proptest! {
        #[test]
        fn never_more_than_the_bucket_and_what_came_in(
            max in 1_u32..50, per_fill in 1_u32..20, gaps in prop::collection::vec(0_u64..50, 1..200),
        ) {
            let begin = Instant::now();
            let bucket = TokenBucket::new(&limit(max, per_fill, 10 * MILLI), Timeline::new(begin));
            let (mut at, mut taken) = (0, 0_u64);
            for gap in gaps {
                at += gap;
                taken += u64::from(bucket.take(begin + Duration::from_millis(at)));
            }
            prop_assert!(taken <= u64::from(max) + at * u64::from(per_fill) / 10 + 1);
        }
    }
}
