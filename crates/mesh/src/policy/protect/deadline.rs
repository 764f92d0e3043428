//! Deadlines: how long a request and each of its tries may take.

use std::time::{Duration, Instant};

/// As good as for ever, where adding a duration would pass what an instant can say.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// When a request must be answered: the earliest of its caller's deadline and the route's timeout;
/// `otherwise` from now when neither says anything.
#[must_use]
pub fn of_request(
    now: Instant,
    caller: Option<Instant>,
    route: Option<Duration>,
    otherwise: Duration,
) -> Instant {
    let route = route.and_then(|timeout| now.checked_add(timeout));
    match (caller, route) {
        (Some(caller), Some(route)) => caller.min(route),
        (Some(at), None) | (None, Some(at)) => at,
        (None, None) => now.checked_add(otherwise).unwrap_or_else(|| now + FAR),
    }
}

/// When a try must be answered: no later than the request.
#[must_use]
pub fn of_try(now: Instant, request: Instant, per_try: Option<Duration>) -> Instant {
    match per_try.and_then(|timeout| now.checked_add(timeout)) {
        Some(at) => at.min(request),
        None => request,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_counts() {
        let now = Instant::now();
        let seconds = Duration::from_secs;
        let at = |number| now + seconds(number);
        for (caller, route, expected) in [
            (Some(5), Some(3), 3),
            (Some(3), Some(5), 3),
            (Some(5), None, 5),
            (None, Some(3), 3),
            (None, None, 10),
        ] {
            let found = of_request(now, caller.map(at), route.map(seconds), seconds(10));
            assert_eq!(found, at(expected), "{caller:?} {route:?}");
        }
        let never = of_request(now, None, Some(Duration::MAX), seconds(10));
        assert_eq!(never, at(10), "a timeout of for ever is none");
        let patient = of_request(now, None, None, Duration::MAX);
        let years = 29 * 365 * 24 * 3600;
        assert!(patient > at(years), "nor is the process's one at once");
        assert_eq!(of_try(now, at(5), Some(seconds(2))), at(2));
        assert_eq!(of_try(now, at(5), Some(seconds(9))), at(5));
        assert_eq!(of_try(now, at(5), None), at(5));
    }
}
