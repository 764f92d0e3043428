//! Dates of HTTP (RFC 9110, 5.6.7), with and without the milliseconds of TS 29.500, 5.2.3.2.10.

use corewire_observe::utc;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The end of the year 9999: four digits are all that the format has.
const END: u64 = 253_402_300_800_000;

/// A point in time, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HttpDate(u64);

impl HttpDate {
    /// A time, to the millisecond; before 1970 and after 9999 the nearest that can be said.
    pub fn of(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let millis = u64::try_from(since.as_millis()).unwrap_or(END - 1);
        Self(millis.min(END - 1))
    }

    /// This much later.
    pub fn after(self, span: Duration) -> Self {
        let span = u64::try_from(span.as_millis()).unwrap_or(END);
        Self(self.0.saturating_add(span).min(END - 1))
    }

    /// The time.
    pub fn time(self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.0)
    }

    /// Seconds since 1970.
    pub const fn seconds(self) -> u64 {
        self.0 / 1000
    }

    /// As JSON has it (RFC 3339, TS 29.571 `DateTime`): `2026-11-21T19:13:33.375Z`.
    pub fn to_json_text(self) -> String {
        utc::rfc3339(self.time())
    }

    /// Reads RFC 3339, with or without a fraction, in UTC or with an offset from it.
    pub fn from_json_text(text: &str) -> Option<Self> {
        Some(Self::of(utc::parse_rfc3339(text)?))
    }
}

/// What ends every date of HTTP.
const ZONE: &str = " GMT";

/// With milliseconds: `Sat, 21 Nov 2026 19:13:33.375 GMT`.
impl fmt::Display for HttpDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = httpdate::fmt_http_date(self.time());
        let text = text.strip_suffix(ZONE).unwrap_or(&text);
        write!(f, "{text}.{:03}{ZONE}", self.0 % 1000)
    }
}

/// What is no date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateFault;

/// All three forms of RFC 9110; the first may have milliseconds.
impl FromStr for HttpDate {
    type Err = DateFault;

    fn from_str(text: &str) -> Result<Self, DateFault> {
        let (text, millis) = match text
            .strip_suffix(ZONE)
            .and_then(|text| text.split_once('.'))
        {
            Some((text, millis)) => (&*format!("{text}{ZONE}"), milliseconds(millis)?),
            None => (text, 0),
        };
        let time = httpdate::parse_http_date(text).map_err(|_| DateFault)?;
        Ok(Self::of(time + Duration::from_millis(millis)))
    }
}

fn milliseconds(digits: &str) -> Result<u64, DateFault> {
    let is_number = digits.len() == 3 && digits.bytes().all(|octet| octet.is_ascii_digit());
    let number = is_number.then(|| digits.parse().ok()).flatten();
    number.ok_or(DateFault)
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
        // RFC 9110, 5.6.7: the two obsolete forms are read, too.
        for text in [
            "Saturday, 21-Nov-26 19:13:33 GMT",
            "Sat Nov 21 19:13:33 2026",
        ] {
            assert_eq!(
                text.parse().map(HttpDate::seconds),
                Ok(date.seconds()),
                "{text}"
            );
        }
        let leap: HttpDate = "Thu, 29 Feb 2024 00:00:00 GMT".parse().unwrap();
        assert_eq!(leap.seconds(), 1_709_164_800);
        for bad in [
            "",
            "Sun, 21 Nov 2026 19:13:33 GMT",
            "Sat, 31 Feb 2026 19:13:33 GMT",
            "Sat, 21 Nov 2026 24:13:33 GMT",
            "Sat, 21 Nov 2026 19:13:33.37 GMT",
            "Sat, 21 Nov 2026 19:13:33 UTC",
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
