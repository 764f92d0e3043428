//! The SUPI: the permanent identity of a subscriber (TS 23.003 clause 2.2A), here always an IMSI.

use std::fmt;
use std::str::FromStr;

use corewire_guti::Plmn;

/// Digits of the longest IMSI (TS 23.003 clause 2.2).
const LONGEST: usize = 15;
/// Digits of the shortest: country, network and one digit of the subscriber.
const SHORTEST: usize = 6;
/// How the service interfaces mark a SUPI that is an IMSI (TS 29.571 clause 5.3.2).
const PREFIX: &str = "imsi-";

/// A permanent identity, `imsi-001010000000001` on the service interfaces.
///
/// `{:?}` shows country and network only: who a subscriber is has no place in a log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Supi {
    digits: [u8; LONGEST],
    len: u8,
}

impl Supi {
    /// The SUPI of an IMSI, without the prefix.
    ///
    /// # Errors
    /// The text is not 6 to 15 decimal digits.
    pub fn from_imsi(imsi: &str) -> Result<Self, ParseSupiError> {
        let text = imsi.as_bytes();
        if !(SHORTEST..=LONGEST).contains(&text.len()) || !text.iter().all(u8::is_ascii_digit) {
            return Err(ParseSupiError::NotAnImsi);
        }
        let mut digits = [b'0'; LONGEST];
        digits[..text.len()].copy_from_slice(text);
        let len = u8::try_from(text.len()).map_err(|_| ParseSupiError::NotAnImsi)?;
        Ok(Self { digits, len })
    }

    /// The digits of the IMSI.
    #[must_use]
    pub fn imsi(&self) -> &str {
        let digits = &self.digits[..usize::from(self.len)];
        std::str::from_utf8(digits).unwrap_or_default()
    }

    /// The home network, when its network code has this many digits (2 or 3); the IMSI does not say.
    #[must_use]
    pub fn plmn(&self, mnc_digits: u8) -> Option<Plmn> {
        let end = 3 + usize::from(mnc_digits);
        let number = |from: usize, to: usize| self.imsi().get(from..to)?.parse::<u16>().ok();
        Plmn::new(number(0, 3)?, number(3, end)?, mnc_digits).ok()
    }

    /// The digits after the home network's.
    #[must_use]
    pub fn msin(&self, mnc_digits: u8) -> &str {
        self.imsi()
            .get(3 + usize::from(mnc_digits)..)
            .unwrap_or_default()
    }
}

impl fmt::Display for Supi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.imsi())
    }
}

impl fmt::Debug for Supi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Supi({}..)", self.imsi().get(..5).unwrap_or_default())
    }
}

impl FromStr for Supi {
    type Err = ParseSupiError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let imsi = text.strip_prefix(PREFIX).ok_or(ParseSupiError::OtherType)?;
        Self::from_imsi(imsi)
    }
}

impl serde::Serialize for Supi {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Supi {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Why a text is not a SUPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a caller answers each case")]
pub enum ParseSupiError {
    /// It does not begin with `imsi-`: network specific identifiers are not served.
    OtherType,
    /// What follows is not 6 to 15 decimal digits.
    NotAnImsi,
}

impl fmt::Display for ParseSupiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherType => "a SUPI begins with imsi- here",
            Self::NotAnImsi => "an IMSI is 6 to 15 decimal digits",
        })
    }
}

impl std::error::Error for ParseSupiError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_both_ways_and_debug_hides_the_subscriber() {
        let supi: Supi = "imsi-001010000000001".parse().unwrap();
        assert_eq!(supi.to_string(), "imsi-001010000000001");
        assert_eq!(format!("{supi:?}"), "Supi(00101..)");
        assert_eq!(
            supi.plmn(2).unwrap().to_string(),
            Plmn::new(1, 1, 2).unwrap().to_string()
        );
        assert_eq!((supi.msin(2), supi.msin(3)), ("0000000001", "000000001"));
    }

    #[test]
    fn what_is_no_imsi_is_refused() {
        let parse = |text: &str| text.parse::<Supi>().unwrap_err();
        assert_eq!(parse("nai-user@example.com"), ParseSupiError::OtherType);
        assert_eq!(parse("imsi-0010100000000012"), ParseSupiError::NotAnImsi);
        assert_eq!(parse("imsi-00101"), ParseSupiError::NotAnImsi);
        assert_eq!(parse("imsi-00101000000000a"), ParseSupiError::NotAnImsi);
        assert_eq!(
            parse("imsi-\u{661}01010000000001"),
            ParseSupiError::NotAnImsi
        );
    }
}
