//! Deadlines: a point in time here, a span on the wire.
//!
//! gRPC writes the span in `grpc-timeout` ([`crate::grpc::write_timeout`]); service-based
//! interfaces write it in `3gpp-Sbi-Max-Rsp-Time`, in milliseconds (TS 29.500, 5.2.3.3 and
//! 6.11.2). Header names are lower case in HTTP/2.

use std::time::{Duration, Instant};

/// The header of service-based interfaces that carries the span.
pub const MAX_RSP_TIME: &str = "3gpp-sbi-max-rsp-time";

/// The longest span that is taken from the wire; a longer one is as good as none, and no clock
/// overflows.
pub const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// Milliseconds of a span, rounded up so that it does not become shorter on the way.
#[must_use]
pub fn to_millis(span: Duration) -> u64 {
    u64::try_from(span.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// The span that a `3gpp-Sbi-Max-Rsp-Time` value says; `None` when it is not one.
#[must_use]
pub fn read_max_rsp_time(value: &[u8]) -> Option<Duration> {
    super::decimal::read(value).map(Duration::from_millis)
}

/// A `3gpp-Sbi-Max-Rsp-Time` value.
#[must_use]
pub fn max_rsp_time(span: Duration) -> super::decimal::Decimal {
    super::decimal::write(to_millis(span))
}

/// The point in time that a received span means on this side's clock.
#[must_use]
pub fn deadline(now: Instant, span: Duration) -> Option<Instant> {
    (span <= LONGEST).then(|| now.checked_add(span)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grpc;

    #[test]
    fn a_span_goes_both_ways_and_is_the_same_in_both_protocols() {
        for millis in [1, 50, 999, 1_000, 99_999, 86_400_000] {
            let span = Duration::from_millis(millis);
            assert_eq!(read_max_rsp_time(max_rsp_time(span).as_bytes()), Some(span));
            let mut text = [0; grpc::TIMEOUT_OCTETS];
            let length = grpc::write_timeout(span, &mut text);
            assert_eq!(grpc::read_timeout(&text[..length]), Some(span));
        }
    }

    #[test]
    fn fractions_are_rounded_up() {
        assert_eq!(to_millis(Duration::from_micros(1)), 1);
        assert_eq!(to_millis(Duration::from_micros(1_001)), 2);
        assert_eq!(to_millis(Duration::ZERO), 0);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "an instant to count from")]
    fn what_is_no_span_is_none_and_what_no_clock_holds_is_no_deadline() {
        for bad in ["", "-5", "1.5", "abc"] {
            assert_eq!(read_max_rsp_time(bad.as_bytes()), None, "{bad:?}");
        }
        let now = Instant::now();
        assert_eq!(
            deadline(now, Duration::from_secs(1)),
            Some(now + Duration::from_secs(1))
        );
        assert_eq!(deadline(now, Duration::MAX), None);
        let year = Duration::from_secs(31_622_400);
        assert_eq!(deadline(now, year), Some(now + year));
        assert_eq!(deadline(now, year + Duration::from_nanos(1)), None);
    }
}
