//! Wall-clock time as text, in UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// RFC 3339 with milliseconds: `2026-01-02T03:04:05.678Z`. A time before 1970 is shown as 1970.
#[must_use]
pub fn rfc3339(time: SystemTime) -> String {
    let CivilTime {
        date: (y, m, d),
        time: (hour, minute, second),
        milli,
    } = CivilTime::of(time);
    format!("{y:04}-{m:02}-{d:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// For file names: `20260102-030405`.
#[must_use]
pub fn compact(time: SystemTime) -> String {
    let CivilTime {
        date: (y, m, d),
        time: (hour, minute, second),
        ..
    } = CivilTime::of(time);
    format!("{y:04}{m:02}{d:02}-{hour:02}{minute:02}{second:02}")
}

struct CivilTime {
    date: (u64, u64, u64),
    time: (u64, u64, u64),
    milli: u32,
}

impl CivilTime {
    fn of(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
        Self {
            date: date(days),
            time: (second / 3600, second / 60 % 60, second % 60),
            milli: since.subsec_millis(),
        }
    }
}

/// Year, month, day of a number of days after 1970-01-01 (Howard Hinnant's `civil_from_days`: years
/// begin in March, so that the leap day is the last).
fn date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_known_moments() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(rfc3339(UNIX_EPOCH), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(at(951_782_400)), "2000-02-29T00:00:00.000Z");
        assert_eq!(rfc3339(at(1_709_251_199)), "2024-02-29T23:59:59.000Z");
        assert_eq!(rfc3339(at(4_107_542_400)), "2100-03-01T00:00:00.000Z");
        assert_eq!(compact(at(1_000_000_000)), "20010909-014640");
    }
}
