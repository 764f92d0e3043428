//! Dates of HTTP (RFC 9110, 5.6.7), with and without the milliseconds of TS 29.500, 5.2.3.2.10.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
/// The end of the year 9999: four digits are all that the format has.
const END: u64 = 253_402_300_800_000;

/// A point in time, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HttpDate(u64);

impl HttpDate {
    /// What the wall clock says.
    pub(crate) fn now() -> Self {
        Self::of(SystemTime::now())
    }

    /// A time, to the millisecond; before 1970 and after 9999 the nearest that can be said.
    pub(crate) fn of(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let millis = u64::try_from(since.as_millis()).unwrap_or(END - 1);
        Self(millis.min(END - 1))
    }

    /// This much later.
    pub(crate) fn after(self, span: Duration) -> Self {
        let span = u64::try_from(span.as_millis()).unwrap_or(END);
        Self(self.0.saturating_add(span).min(END - 1))
    }

    /// The time.
    pub(crate) fn time(self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.0)
    }

    /// Seconds since 1970.
    pub(crate) const fn seconds(self) -> u64 {
        self.0 / 1000
    }

    /// As JSON has it (RFC 3339, TS 29.571 `DateTime`): `2026-11-21T19:13:33.375Z`.
    pub(crate) fn to_json_text(self) -> String {
        let (year, month, day) = civil(self.0 / 86_400_000);
        let millis = self.0 % 1000;
        format!(
            "{year:04}-{month:02}-{day:02}T{}.{millis:03}Z",
            self.clock()
        )
    }

    /// Reads RFC 3339 in UTC (`Z`), with or without a fraction.
    pub(crate) fn from_json_text(text: &str) -> Option<Self> {
        let (date, rest) = text.split_once('T')?;
        let mut date = date.split('-');
        let year = number(date.next()?, 4)?;
        let month = number(date.next()?, 2)?;
        let day = number(date.next()?, 2)?;
        let rest = rest.strip_suffix('Z')?;
        let (clock, fraction) = rest.split_once('.').unwrap_or((rest, ""));
        let digits = fraction.bytes().all(|octet| octet.is_ascii_digit());
        let fraction: String = fraction.chars().chain("000".chars()).take(3).collect();
        (date.next().is_none() && digits)
            .then(|| at(year, month, day, clock, fraction.parse().ok()?))?
    }

    fn parts(self) -> (&'static str, String) {
        let days = self.0 / 86_400_000;
        let (year, month, day) = civil(days);
        // `days % 7` is below 7 and `month` is 1 to 12.
        let weekday = DAYS[(days % 7) as usize];
        let name = MONTHS[month as usize - 1];
        (weekday, format!("{day:02} {name} {year:04}"))
    }

    fn clock(self) -> String {
        let seconds = self.0 / 1000 % 86_400;
        let (hour, minute) = (seconds / 3600, seconds / 60 % 60);
        format!("{hour:02}:{minute:02}:{:02}", seconds % 60)
    }
}

/// With milliseconds: `Sat, 21 Nov 2026 19:13:33.375 GMT`.
impl fmt::Display for HttpDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (day, date) = self.parts();
        write!(f, "{day}, {date} {}.{:03} GMT", self.clock(), self.0 % 1000)
    }
}

/// What is no date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateFault;

impl FromStr for HttpDate {
    type Err = DateFault;

    fn from_str(text: &str) -> Result<Self, DateFault> {
        read(text).ok_or(DateFault)
    }
}

fn read(text: &str) -> Option<HttpDate> {
    let (weekday, rest) = text.split_once(", ")?;
    let mut words = rest.split(' ');
    let day = number(words.next()?, 2)?;
    let name = words.next()?;
    let month = MONTHS.iter().position(|known| *known == name)?;
    let year = number(words.next()?, 4)?;
    let clock = words.next()?;
    if words.next()? != "GMT" || words.next().is_some() {
        return None;
    }
    let (clock, millis) = match clock.split_once('.') {
        Some((clock, millis)) => (clock, number(millis, 3)?),
        None => (clock, 0),
    };
    let date = at(year, month as u64 + 1, day, clock, millis)?;
    (date.parts().0 == weekday).then_some(date)
}

fn at(year: u64, month: u64, day: u64, clock: &str, millis: u64) -> Option<HttpDate> {
    let mut clock = clock.split(':');
    let hour = number(clock.next()?, 2).filter(|hour| *hour < 24)?;
    let minute = number(clock.next()?, 2).filter(|minute| *minute < 60)?;
    // A leap second is the last second once more.
    let second = number(clock.next()?, 2)
        .filter(|second| *second <= 60)?
        .min(59);
    if clock.next().is_some() || year < 1970 || !(1..=12).contains(&month) || day == 0 {
        return None;
    }
    let days = days_of(year, month, day);
    (civil(days) == (year, month, day)).then(|| {
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
        HttpDate(seconds * 1000 + millis)
    })
}

fn number(text: &str, digits: usize) -> Option<u64> {
    let all = text.len() == digits && text.bytes().all(|octet| octet.is_ascii_digit());
    all.then(|| text.parse().ok()).flatten()
}

/// Days since 1970 as year, month, day: eras of 400 years that begin in March, so that the leap day
/// is the last.
const fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    (year + era * 400 + (month <= 2) as u64, month, day)
}

const fn days_of(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let march = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * march + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_millisecond_goes_both_ways(millis in 0..END) {
            let date = HttpDate(millis);
            prop_assert_eq!(date.to_string().parse(), Ok(date));
            prop_assert_eq!(HttpDate::from_json_text(&date.to_json_text()), Some(date));
        }

        #[test]
        fn any_text_is_a_date_or_none(text in "[A-Za-z0-9 ,:.]{0,40}") {
            if let Ok(date) = text.parse::<HttpDate>() {
                prop_assert!(text == date.to_string() || !text.contains('.') || text.contains(":60"));
            }
        }
    }

    #[test]
    fn the_examples_of_the_specifications() {
        let text = "Sat, 21 Nov 2026 19:13:33.375 GMT";
        let date: HttpDate = text.parse().unwrap();
        assert_eq!(date.to_string(), text);
        assert_eq!(date.to_json_text(), "2026-11-21T19:13:33.375Z");
        let leap: HttpDate = "Thu, 29 Feb 2024 00:00:00 GMT".parse().unwrap();
        assert_eq!(leap.seconds(), 1_709_164_800);
        for bad in [
            "",
            "Sun, 21 Nov 2026 19:13:33 GMT",
            "Sat, 31 Feb 2026 19:13:33 GMT",
            "Sat, 21 Nov 2026 24:13:33 GMT",
            "Sat, 21 Nov 2026 19:13:33.37 GMT",
            "Sat, 21 Nov 2026 19:13:33 UTC",
            "Sat, 21 Nov 2026 19:13:33 GMT ",
            "Sat, 00 Jan 0000 00:00:00 GMT",
        ] {
            assert_eq!(bad.parse::<HttpDate>(), Err(DateFault), "{bad}");
        }
        for bad in [
            "",
            "2026-11-21",
            "2026-13-21T00:00:00Z",
            "2026-11-21T00:00:00.x1Z",
        ] {
            assert_eq!(HttpDate::from_json_text(bad), None, "{bad}");
        }
    }
}
