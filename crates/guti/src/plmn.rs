//! The PLMN identity: mobile country and network code (TS 23.003 clause 2.2, TBCD of TS 24.501).

use std::fmt;
use std::str::FromStr;

/// A PLMN: MCC of three digits and MNC of two or three.
///
/// MNC `01` and MNC `001` are different networks, so the number of digits is part of the identity.
/// Text: `001-01` (also read without the hyphen).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Plmn {
    mcc: u16,
    mnc: u16,
    mnc_digits: u8,
}

impl Plmn {
    /// 001/01, the test network (TS 23.003 has MCC 001 from ITU-T E.212 for tests).
    pub const TEST: Self = Self {
        mcc: 1,
        mnc: 1,
        mnc_digits: 2,
    };

    /// A PLMN from its codes as numbers and the number of digits of the MNC.
    ///
    /// # Errors
    /// Names the first part that is out of range.
    pub const fn new(mcc: u16, mnc: u16, mnc_digits: u8) -> Result<Self, PlmnError> {
        if mcc > 999 {
            return Err(PlmnError::Mcc);
        }
        let mnc_max = match mnc_digits {
            2 => 99,
            3 => 999,
            _ => return Err(PlmnError::MncDigits),
        };
        if mnc > mnc_max {
            return Err(PlmnError::Mnc);
        }
        Ok(Self {
            mcc,
            mnc,
            mnc_digits,
        })
    }

    /// Mobile country code, at most 999.
    #[must_use]
    pub const fn mcc(self) -> u16 {
        self.mcc
    }

    /// Mobile network code, at most 99 or 999.
    #[must_use]
    pub const fn mnc(self) -> u16 {
        self.mnc
    }

    /// Digits of the network code: 2 or 3.
    #[must_use]
    pub const fn mnc_digits(self) -> u8 {
        self.mnc_digits
    }

    /// The three octets of every PLMN on the air interface (TS 24.501 figure 9.11.3.4.1, octets 5 to 7).
    ///
    /// ```text
    /// bits 8-5      bits 4-1
    /// MCC digit 2 | MCC digit 1
    /// MNC digit 3 | MCC digit 3      (MNC digit 3 is 1111 when the MNC has two)
    /// MNC digit 2 | MNC digit 1
    /// ```
    #[must_use]
    pub const fn to_tbcd(self) -> [u8; 3] {
        let [mcc1, mcc2, mcc3] = digits(self.mcc);
        let [mnc1, mnc2, mnc3] = if self.mnc_digits == 3 {
            digits(self.mnc)
        } else {
            let [_, tens, ones] = digits(self.mnc);
            [tens, ones, FILLER]
        };
        [mcc2 << 4 | mcc1, mnc3 << 4 | mcc3, mnc2 << 4 | mnc1]
    }

    /// Reads the three octets that [`Plmn::to_tbcd`] writes.
    ///
    /// # Errors
    /// [`PlmnError::Digit`] for a half octet that is no digit (only the MNC's third may be the filler).
    pub const fn from_tbcd(octets: [u8; 3]) -> Result<Self, PlmnError> {
        let [a, b, c] = octets;
        let Some(mcc) = number(a & 0xf, a >> 4, b & 0xf) else {
            return Err(PlmnError::Digit);
        };
        let (mnc, mnc_digits) = match b >> 4 {
            FILLER => (number(0, c & 0xf, c >> 4), 2),
            third => (number(c & 0xf, c >> 4, third), 3),
        };
        let Some(mnc) = mnc else {
            return Err(PlmnError::Digit);
        };
        Self::new(mcc, mnc, mnc_digits)
    }
}

/// What stands for the third digit of an MNC that has two.
const FILLER: u8 = 0xf;

const fn digits(number: u16) -> [u8; 3] {
    [
        (number / 100) as u8,
        (number / 10 % 10) as u8,
        (number % 10) as u8,
    ]
}

const fn number(hundreds: u8, tens: u8, ones: u8) -> Option<u16> {
    if hundreds > 9 || tens > 9 || ones > 9 {
        return None;
    }
    Some(hundreds as u16 * 100 + tens as u16 * 10 + ones as u16)
}

impl fmt::Display for Plmn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = usize::from(self.mnc_digits);
        write!(f, "{:03}-{:0width$}", self.mcc, self.mnc)
    }
}

impl FromStr for Plmn {
    type Err = PlmnError;

    fn from_str(text: &str) -> Result<Self, PlmnError> {
        if !text.bytes().all(|c| c.is_ascii_digit() || c == b'-') {
            return Err(PlmnError::Digit);
        }
        let (mcc, mnc) = text
            .split_once('-')
            .or_else(|| text.split_at_checked(3))
            .ok_or(PlmnError::Mcc)?;
        if mcc.len() != 3 {
            return Err(PlmnError::Mcc);
        }
        let mnc_digits = match mnc.len() {
            2 => 2,
            3 => 3,
            _ => return Err(PlmnError::MncDigits),
        };
        let mcc = mcc.parse().map_err(|_| PlmnError::Digit)?;
        let mnc = mnc.parse().map_err(|_| PlmnError::Digit)?;
        Self::new(mcc, mnc, mnc_digits)
    }
}

/// Why something is no PLMN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a PLMN has no further parts")]
pub enum PlmnError {
    /// The MCC is not three digits.
    Mcc,
    /// The MNC has more digits than it says.
    Mnc,
    /// An MNC has two digits or three.
    MncDigits,
    /// A character or a half octet is no decimal digit.
    Digit,
}

impl fmt::Display for PlmnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mcc => "the MCC must have three digits",
            Self::Mnc => "the MNC is larger than its number of digits allows",
            Self::MncDigits => "the MNC must have two or three digits",
            Self::Digit => "a PLMN holds decimal digits only",
        })
    }
}

impl std::error::Error for PlmnError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn plmn(text: &str) -> Plmn {
        text.parse().unwrap()
    }

    /// As seen in captures of live and test networks.
    #[test]
    fn tbcd_of_known_networks() {
        for (text, octets) in [
            ("001-01", [0x00, 0xf1, 0x10]),
            ("208-93", [0x02, 0xf8, 0x39]),
            ("310-410", [0x13, 0x00, 0x14]),
            ("999-70", [0x99, 0xf9, 0x07]),
            ("302-720", [0x03, 0x02, 0x27]),
        ] {
            assert_eq!(plmn(text).to_tbcd(), octets, "{text}");
            assert_eq!(Plmn::from_tbcd(octets), Ok(plmn(text)), "{text}");
        }
    }

    #[test]
    fn every_plmn_survives_tbcd_and_text() {
        for mcc in 0..=999 {
            for (mnc, mnc_digits) in [(0, 2), (7, 2), (99, 2), (0, 3), (7, 3), (99, 3), (999, 3)] {
                let plmn = Plmn::new(mcc, mnc, mnc_digits).unwrap();
                assert_eq!(Plmn::from_tbcd(plmn.to_tbcd()), Ok(plmn));
                assert_eq!(plmn.to_string().parse(), Ok(plmn));
                assert_eq!(plmn.to_string().replace('-', "").parse(), Ok(plmn));
            }
        }
    }

    #[test]
    fn a_half_octet_that_is_no_digit_is_refused() {
        for octets in [
            [0x0a, 0xf1, 0x10],
            [0xa0, 0xf1, 0x10],
            [0x00, 0xfa, 0x10],
            [0x00, 0xf1, 0x1a],
            [0x00, 0xf1, 0xf0],
            [0x00, 0xa1, 0x10],
        ] {
            assert_eq!(
                Plmn::from_tbcd(octets),
                Err(PlmnError::Digit),
                "{octets:x?}"
            );
        }
    }

    #[test]
    fn text_that_is_no_plmn_says_why() {
        for (text, error) in [
            ("", PlmnError::Mcc),
            ("01-01", PlmnError::Mcc),
            ("001-1", PlmnError::MncDigits),
            ("001-0001", PlmnError::MncDigits),
            ("001-0-", PlmnError::Digit),
            ("0O1-01", PlmnError::Digit),
            ("+01-01", PlmnError::Digit),
            ("٣٠١-01", PlmnError::Digit),
        ] {
            assert_eq!(text.parse::<Plmn>(), Err(error), "{text:?}");
        }
        assert_eq!(Plmn::new(1000, 1, 2), Err(PlmnError::Mcc));
        assert_eq!(Plmn::new(1, 100, 2), Err(PlmnError::Mnc));
        assert_eq!(Plmn::new(1, 1, 4), Err(PlmnError::MncDigits));
    }
}
