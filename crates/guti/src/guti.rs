//! The GUAMI and the 5G-GUTI (TS 23.003 clause 2.10).

use std::fmt;
use std::str::FromStr;

use crate::{AmfPointer, AmfRegionId, AmfSetId, Plmn, PlmnError, ReservedTmsi, Tmsi};

/// Globally Unique AMF Identifier: which AMF (or AMFs) a UE is known to.
///
/// Text: the PLMN and the AMF identifier of TS 29.571 in six hexadecimal digits, `001-01-020040`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Guami {
    plmn: Plmn,
    region: AmfRegionId,
    set: AmfSetId,
    pointer: AmfPointer,
}

impl Guami {
    /// A GUAMI of its parts.
    #[must_use]
    pub const fn new(plmn: Plmn, region: AmfRegionId, set: AmfSetId, pointer: AmfPointer) -> Self {
        Self {
            plmn,
            region,
            set,
            pointer,
        }
    }

    /// The network that the AMF belongs to.
    #[must_use]
    pub const fn plmn(self) -> Plmn {
        self.plmn
    }

    /// The AMF region.
    #[must_use]
    pub const fn region(self) -> AmfRegionId {
        self.region
    }

    /// The AMF set within the region.
    #[must_use]
    pub const fn set(self) -> AmfSetId {
        self.set
    }

    /// The AMF within the set.
    #[must_use]
    pub const fn pointer(self) -> AmfPointer {
        self.pointer
    }

    /// The 24 bits of the AMF identifier: region, set, pointer (TS 23.003 clause 2.10.1).
    #[must_use]
    pub const fn amf_id(self) -> u32 {
        (self.region.value() as u32) << 16
            | (self.set.value() as u32) << 6
            | self.pointer.value() as u32
    }

    /// A GUAMI of a PLMN and the AMF identifier's octets: every 24 bits are one.
    #[must_use]
    pub const fn from_amf_id(plmn: Plmn, [region, set_high, low]: [u8; 3]) -> Self {
        Self {
            plmn,
            region: AmfRegionId::new(region),
            set: AmfSetId::from_low_bits((set_high as u16) << 2 | (low >> 6) as u16),
            pointer: AmfPointer::from_low_bits(low),
        }
    }
}

/// The test network 001/01, region 2, set 1, pointer 0: what open test cores come up with.
impl Default for Guami {
    fn default() -> Self {
        Self::from_amf_id(Plmn::TEST, [0x02, 0x00, 0x40])
    }
}

impl fmt::Display for Guami {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:06x}", self.plmn, self.amf_id())
    }
}

/// 5G Globally Unique Temporary Identifier.
///
/// Text, as in the UE context identifiers of TS 29.518 clause 6.1.3.2.2:
/// `5g-guti-` + MCC and MNC + six hexadecimal digits of the AMF identifier + eight of the TMSI.
/// `Debug` hides the TMSI ([`Tmsi`]); `Display` shows it, since that is its purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Guti {
    guami: Guami,
    tmsi: Tmsi,
}

impl Guti {
    /// A GUTI of its two parts.
    #[must_use]
    pub const fn new(guami: Guami, tmsi: Tmsi) -> Self {
        Self { guami, tmsi }
    }

    /// Which AMF knows the UE.
    #[must_use]
    pub const fn guami(self) -> Guami {
        self.guami
    }

    /// Which UE it is, to that AMF.
    #[must_use]
    pub const fn tmsi(self) -> Tmsi {
        self.tmsi
    }
}

const PREFIX: &str = "5g-guti-";
/// Hexadecimal digits of the AMF identifier and of the TMSI.
const AMF_ID_DIGITS: usize = 6;
const TMSI_DIGITS: usize = 8;

impl fmt::Display for Guti {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plmn = self.guami.plmn;
        write!(
            f,
            "{PREFIX}{:03}{:0width$}{:06x}{:08x}",
            plmn.mcc(),
            plmn.mnc(),
            self.guami.amf_id(),
            self.tmsi.value(),
            width = usize::from(plmn.mnc_digits()),
        )
    }
}

impl FromStr for Guti {
    type Err = ParseGutiError;

    fn from_str(text: &str) -> Result<Self, ParseGutiError> {
        let text = text.strip_prefix(PREFIX).ok_or(ParseGutiError::Prefix)?;
        let plmn_len = text
            .len()
            .checked_sub(AMF_ID_DIGITS + TMSI_DIGITS)
            .ok_or(ParseGutiError::Length)?;
        if !matches!(plmn_len, 5 | 6) {
            return Err(ParseGutiError::Length);
        }
        let (plmn, hex) = text
            .split_at_checked(plmn_len)
            .ok_or(ParseGutiError::Length)?;
        // Sign and underscore would pass `from_str_radix`.
        if !hex.bytes().all(|c| c.is_ascii_hexdigit()) {
            return Err(ParseGutiError::Hexadecimal);
        }
        let bits = u64::from_str_radix(hex, 16).map_err(|_| ParseGutiError::Hexadecimal)?;
        let [_, region, set, pointer, tmsi @ ..] = bits.to_be_bytes();
        let plmn = plmn.parse().map_err(ParseGutiError::Plmn)?;
        let tmsi =
            Tmsi::try_from(u32::from_be_bytes(tmsi)).map_err(ParseGutiError::ReservedTmsi)?;
        Ok(Self::new(
            Guami::from_amf_id(plmn, [region, set, pointer]),
            tmsi,
        ))
    }
}

/// Why a text is no 5G-GUTI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the form is fixed by TS 29.518")]
pub enum ParseGutiError {
    /// It does not begin with `5g-guti-`.
    Prefix,
    /// After the prefix stand not five or six digits and fourteen hexadecimal ones.
    Length,
    /// A character of the last fourteen is not hexadecimal.
    Hexadecimal,
    /// The first five or six digits are no PLMN.
    Plmn(PlmnError),
    /// The TMSI is the reserved one.
    ReservedTmsi(ReservedTmsi),
}

impl fmt::Display for ParseGutiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prefix => "a 5G-GUTI begins with \"5g-guti-\"",
            Self::Length => {
                "a 5G-GUTI has five or six digits and fourteen hexadecimal ones after its prefix"
            }
            Self::Hexadecimal => "the AMF identifier and the TMSI must be hexadecimal",
            Self::Plmn(_) => "the first digits are no PLMN",
            Self::ReservedTmsi(_) => "the last eight digits are no TMSI",
        })
    }
}

impl std::error::Error for ParseGutiError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Plmn(cause) => Some(cause),
            Self::ReservedTmsi(cause) => Some(cause),
            Self::Prefix | Self::Length | Self::Hexadecimal => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_the_ue_context_identifier_of_ts_29_518() {
        let guti = Guti::new(Guami::default(), Tmsi::try_from(0x0000_0e6f).unwrap());
        assert_eq!(guti.to_string(), "5g-guti-0010102004000000e6f");
        assert_eq!(guti.guami().to_string(), "001-01-020040");

        let text = "5g-guti-310410cafe3fdeadbeef";
        let guti: Guti = text.parse().unwrap();
        assert_eq!(guti.to_string(), text);
        assert_eq!(guti.guami().plmn().to_string(), "310-410");
        assert_eq!(guti.guami().region().value(), 0xca);
        assert_eq!(guti.guami().set().value(), 0xfe << 2);
        assert_eq!(guti.guami().pointer().value(), 0x3f);
        assert_eq!(guti.tmsi().value(), 0xdead_beef);
    }

    #[test]
    fn text_that_is_no_guti_says_why() {
        for (text, error) in [
            ("", ParseGutiError::Prefix),
            ("imsi-001010000000001", ParseGutiError::Prefix),
            ("5g-guti-", ParseGutiError::Length),
            ("5g-guti-001010200400000e6f", ParseGutiError::Length),
            ("5g-guti-0010100102004000000e6f", ParseGutiError::Length),
            ("5g-guti-0010é2004000000e6f", ParseGutiError::Length),
            ("5g-guti-001010+0040000e6f5", ParseGutiError::Length),
            ("5g-guti-00101+2004000000e6f", ParseGutiError::Hexadecimal),
            (
                "5g-guti-0a10102004000000e6f",
                ParseGutiError::Plmn(PlmnError::Digit),
            ),
            (
                "5g-guti-00101020040ffffffff",
                ParseGutiError::ReservedTmsi(ReservedTmsi),
            ),
        ] {
            assert_eq!(text.parse::<Guti>(), Err(error), "{text:?}");
        }
    }

    #[test]
    fn debug_does_not_show_the_tmsi() {
        let guti: Guti = "5g-guti-00101020040deadbeef".parse().unwrap();
        let debug = format!("{guti:?}");
        assert!(debug.contains("redacted"), "{debug}");
        assert!(
            !debug.contains("3735928559") && !debug.contains("deadbeef"),
            "{debug}"
        );
    }
}
