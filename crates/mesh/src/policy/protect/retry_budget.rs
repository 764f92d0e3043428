//! Retry budget: how many of the requests on their way may be repetitions, so that a service that
//! falters is not finished off by those who try again.

use crate::config::CircuitLimits;

/// How many repeated tries may be on their way while so many requests are.
#[must_use]
pub fn limit(limits: &CircuitLimits, requests: u32) -> u32 {
    match limits.retry_budget {
        None => limits.max_retries,
        Some(budget) => {
            let share = f64::from(requests) * budget.percent.max(0.0) / 100.0;
            // A float too large becomes the largest number.
            (share as u32).max(budget.min_concurrency)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RetryBudget;

    #[test]
    fn a_budget_grows_with_the_requests_and_a_fixed_limit_does_not() {
        let mut limits = CircuitLimits::default();
        assert_eq!([limit(&limits, 0), limit(&limits, 1000)], [3, 3]);
        limits.retry_budget = Some(RetryBudget::default());
        for (requests, tries) in [(0, 3), (15, 3), (20, 4), (1000, 200)] {
            assert_eq!(limit(&limits, requests), tries, "{requests}");
        }
        for (percent, tries) in [(-5.0, 3), (f64::NAN, 3), (f64::INFINITY, u32::MAX)] {
            let budget = RetryBudget {
                percent,
                min_concurrency: 3,
            };
            limits.retry_budget = Some(budget);
            assert_eq!(limit(&limits, 10), tries, "{percent}");
        }
    }
}
