//! Slices and tracking areas, which N1 and N2 both speak of (TS 23.003 clauses 19.4.2.3 and 28.4).

use std::fmt;
use std::str::FromStr;

use corewire_guti::Plmn;

/// A slice: its type, and what tells slices of one type apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Snssai {
    /// Slice/service type; 1 is enhanced mobile broadband.
    pub sst: u8,
    /// Slice differentiator, if there is one.
    pub sd: Option<[u8; 3]>,
}

/// `01` or `01-010203`, both parts hexadecimal, as TS 29.571 clause 5.4.4.2 writes a slice in a path.
impl fmt::Display for Snssai {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02x}", self.sst)?;
        match self.sd {
            Some([a, b, c]) => write!(f, "-{a:02x}{b:02x}{c:02x}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Snssai {
    type Err = ParseSnssaiError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hex = |digits: &str, len: usize| {
            let right = digits.len() == len && digits.bytes().all(|d| d.is_ascii_hexdigit());
            right
                .then(|| u32::from_str_radix(digits, 16).ok())
                .flatten()
                .ok_or(ParseSnssaiError)
        };
        let (sst, sd) = match text.split_once('-') {
            Some((sst, sd)) => (sst, Some(hex(sd, 6)?)),
            None => (text, None),
        };
        let [_, _, _, sst] = hex(sst, 2)?.to_be_bytes();
        let sd = sd.map(|sd| {
            let [_, a, b, c] = sd.to_be_bytes();
            [a, b, c]
        });
        Ok(Self { sst, sd })
    }
}

/// A text that is no slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseSnssaiError;

impl fmt::Display for ParseSnssaiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a slice is two hexadecimal digits, or two, a hyphen and six")
    }
}

impl std::error::Error for ParseSnssaiError {}

/// Tracking area code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tac(pub [u8; 3]);

impl Tac {
    /// The code of this number; bits above the 24th are no part of one.
    #[must_use]
    pub const fn new(value: u32) -> Option<Self> {
        match value.to_be_bytes() {
            [0, a, b, c] => Some(Self([a, b, c])),
            _ => None,
        }
    }
}

/// Six hexadecimal digits (TS 29.571 clause 5.4.2).
impl fmt::Display for Tac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c] = self.0;
        write!(f, "{a:02x}{b:02x}{c:02x}")
    }
}

/// A tracking area of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tai {
    /// The network.
    pub plmn: Plmn,
    /// The area within it.
    pub tac: Tac,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_read_as_it_is_written() {
        for text in ["01", "01-010203", "ff-ffffff"] {
            assert_eq!(text.parse::<Snssai>().unwrap().to_string(), text);
        }
        for wrong in ["", "1", "01-", "01-0102", "0g", "+1", "01-010203-"] {
            assert_eq!(wrong.parse::<Snssai>(), Err(ParseSnssaiError), "{wrong}");
        }
    }

    #[test]
    fn a_tracking_area_code_has_24_bits() {
        assert_eq!(Tac::new(1).unwrap().to_string(), "000001");
        assert_eq!(Tac::new(1 << 24), None);
    }
}
