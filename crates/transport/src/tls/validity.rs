//! Until when a certificate is valid: the one field that rustls checks and does not show.

use rustls::pki_types::{CertificateDer, UnixTime};
use std::time::Duration;

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
/// The explicit tag of a certificate's version.
const VERSION: u8 = 0xa0;

/// The last second of this certificate (RFC 5280, 4.1.2.5). `None` when it cannot be read; what
/// `webpki` has accepted can be.
pub(super) fn last_second(certificate: &CertificateDer<'_>) -> Option<UnixTime> {
    let (whole, _) = expect(certificate, SEQUENCE)?;
    let (mut fields, _) = expect(whole, SEQUENCE)?;
    if fields.first() == Some(&VERSION) {
        fields = element(fields)?.2;
    }
    let (_serial_number, fields) = expect(fields, INTEGER)?;
    let (_signature, fields) = expect(fields, SEQUENCE)?;
    let (_issuer, fields) = expect(fields, SEQUENCE)?;
    let (validity, _) = expect(fields, SEQUENCE)?;
    let (_, _not_before, rest) = element(validity)?;
    let (tag, not_after, _) = element(rest)?;
    time(tag, not_after)
}

/// An element of DER: its tag, what is in it, what follows.
fn element(octets: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, octets) = octets.split_first()?;
    let (&first, octets) = octets.split_first()?;
    let (length, octets) = match first {
        0..=0x7f => (usize::from(first), octets),
        0x81..=0x84 => {
            let (length, octets) = octets.split_at_checked(usize::from(first & 0x7f))?;
            let number = |number: usize, octet: &u8| number << 8 | usize::from(*octet);
            (length.iter().fold(0, number), octets)
        }
        _ => return None,
    };
    let (content, rest) = octets.split_at_checked(length)?;
    Some((tag, content, rest))
}

fn expect(octets: &[u8], expected: u8) -> Option<(&[u8], &[u8])> {
    let (tag, content, rest) = element(octets)?;
    (tag == expected).then_some((content, rest))
}

/// `YYMMDDHHMMSSZ` until 2049, `YYYYMMDDHHMMSSZ` from then on.
fn time(tag: u8, text: &[u8]) -> Option<UnixTime> {
    let (digits, b"Z") = text.split_at_checked(text.len().checked_sub(1)?)? else {
        return None;
    };
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = |digits: &[u8]| {
        let add = |number: u64, digit: &u8| number * 10 + u64::from(digit - b'0');
        digits.iter().fold(0, add)
    };
    let (year, rest) = match (tag, digits.len()) {
        (UTC_TIME, 12) => match number(&digits[..2]) {
            year @ 0..50 => (2000 + year, &digits[2..]),
            year => (1900 + year, &digits[2..]),
        },
        (GENERALIZED_TIME, 14) => (number(&digits[..4]), &digits[4..]),
        _ => return None,
    };
    let [month, day, hour, minute, second] = [0, 2, 4, 6, 8].map(|at| number(&rest[at..at + 2]));
    let days = days_since_1970(year, month, day)?;
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
    Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
}

/// Of the Gregorian calendar, in years that begin in March so that a leap day comes last.
fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (year, month) = match month {
        1 | 2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    // From the first of March in the year 0 to 1970.
    days.checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewire_testkit::certificates::certificate;
    use proptest::prelude::*;
    use rustls::pki_types::pem::PemObject as _;

    fn read(name: &str) -> CertificateDer<'static> {
        CertificateDer::from_pem_file(certificate(name)).unwrap()
    }

    #[test]
    fn the_end_of_a_certificate_is_read_in_both_forms() {
        for (name, seconds) in [("expired", 1_609_459_200), ("server", 4_733_510_400)] {
            let end = last_second(&read(name)).map(|end| end.as_secs());
            assert_eq!(end, Some(seconds), "{name}");
        }
    }

    #[test]
    fn days_are_counted_over_leap_years() {
        for (date, seconds) in [
            ("700101000000Z", 0),
            ("000229120000Z", 951_825_600),
            ("000301000000Z", 951_868_800),
            ("491231235959Z", 2_524_607_999),
        ] {
            let read = time(UTC_TIME, date.as_bytes()).map(|time| time.as_secs());
            assert_eq!(read, Some(seconds), "{date}");
        }
        let read = time(GENERALIZED_TIME, b"21000301000000Z").map(|time| time.as_secs());
        assert_eq!(read, Some(4_107_542_400));
        for wrong in [
            "",
            "Z",
            "700101000000",
            "701301000000Z",
            "7001010000000Z",
            "690101000000Z",
        ] {
            assert_eq!(time(UTC_TIME, wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn a_certificate_that_is_cut_has_no_end() {
        let whole = read("server");
        for length in 0..200 {
            assert_eq!(last_second(&whole[..length].into()), None, "{length}");
        }
    }

    proptest! {
        #[test]
        fn any_octets_are_read_without_panic(
            octets in proptest::collection::vec(any::<u8>(), 0..64),
            at in 0usize..400,
        ) {
            let _ = last_second(&octets.as_slice().into());
            let mut spoilt = read("server").to_vec();
            for (place, octet) in spoilt.iter_mut().skip(at).zip(&octets) {
                *place = *octet;
            }
            let _ = last_second(&spoilt.as_slice().into());
        }
    }
}
