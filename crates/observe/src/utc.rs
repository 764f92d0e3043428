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

/// Reads RFC 3339, with or without a fraction, in UTC or with an offset from it; to the millisecond. `None`
/// for what is none, and for years before 1970.
#[must_use]
pub fn parse_rfc3339(text: &str) -> Option<SystemTime> {
    let (date, rest) = text.split_once(['T', 't'])?;
    let mut date = date.split('-');
    let year = number(date.next()?, 4)?;
    let month = number(date.next()?, 2)?;
    let day = number(date.next()?, 2)?;
    let zone = rest.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = rest.split_at(zone);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut clock = clock.split(':');
    let hour = number(clock.next()?, 2).filter(|hour| *hour < 24)?;
    let minute = number(clock.next()?, 2).filter(|minute| *minute < 60)?;
    // A leap second is the last second once more.
    let second = number(clock.next()?, 2)
        .filter(|second| *second <= 60)?
        .min(59);
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|digit| digit.is_ascii_digit());
    if date.next().is_some() || clock.next().is_some() || !is_fraction {
        return None;
    }
    let millis: String = fraction.chars().chain("00".chars()).take(3).collect();
    let days = days_of(year, month, day)?;
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
    let seconds = match zone.split_at(1) {
        ("Z" | "z", "") => seconds,
        (sign, offset) => {
            let (hours, minutes) = offset.split_once(':')?;
            let hours = number(hours, 2).filter(|hours| *hours < 24)?;
            let minutes = number(minutes, 2).filter(|minutes| *minutes < 60)?;
            let offset = hours * 3600 + minutes * 60;
            match sign {
                // What is ahead of UTC says a later hour.
                "+" => seconds.checked_sub(offset)?,
                "-" => seconds + offset,
                _ => return None,
            }
        }
    };
    let since = Duration::from_secs(seconds) + Duration::from_millis(millis.parse().ok()?);
    UNIX_EPOCH.checked_add(since)
}

fn number(text: &str, digits: usize) -> Option<u64> {
    let all = text.len() == digits && text.bytes().all(|digit| digit.is_ascii_digit());
    all.then(|| text.parse().ok()).flatten()
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

/// Days from 1970-01-01 to a date; `None` when there is no such day, or it is earlier.
fn days_of(year: u64, month: u64, day: u64) -> Option<u64> {
    if year < 1970 || !(1..=12).contains(&month) || day == 0 {
        return None;
    }
    let from_march = (month + 9) % 12;
    let year_of_march = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year_of_march / 400, year_of_march % 400);
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = (era * 146_097 + day_of_era).checked_sub(719_468)?;
    (date(days) == (year, month, day)).then_some(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes_over_leap_years() {
        for days in (0..200 * 365).step_by(7) {
            let time = UNIX_EPOCH + Duration::from_millis(days * 86_400_000 + 45_296_789);
            assert_eq!(parse_rfc3339(&rfc3339(time)), Some(time));
        }
    }

    #[test]
    fn reads_offsets_and_fractions_and_refuses_what_is_no_date() {
        let at = |text: &str| {
            let since = parse_rfc3339(text)?.duration_since(UNIX_EPOCH).ok()?;
            Some(since.as_millis())
        };
        assert_eq!(at("1970-01-02T00:00:00Z"), Some(86_400_000));
        assert_eq!(at("1970-01-02t01:30:00.5+01:30"), Some(86_400_500));
        assert_eq!(at("1970-01-01T19:00:00.1239-05:00"), Some(86_400_123));
        assert_eq!(at("1972-06-30T23:59:60Z"), at("1972-06-30T23:59:59Z"));
        for bad in [
            "",
            "1970-01-02",
            "1970-13-02T00:00:00Z",
            "1970-02-30T00:00:00Z",
            "1970-01-00T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "1970-01-01T00:00:00+00:01",
            "1970-01-02T24:00:00Z",
            "1970-01-02T00:60:00Z",
            "1970-01-02T00:00:61Z",
            "1970-01-02T00:00:00",
            "1970-01-02T00:00Z",
            "1970-01-02T00:00:00.Z",
            "1970-01-02T00:00:00.x1Z",
            "1970-01-02T00:00:00Zx",
            "1970-01-02T00:00:00+0100",
            "1970-1-2T00:00:00Z",
        ] {
            assert_eq!(at(bad), None, "{bad}");
        }
    }

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
