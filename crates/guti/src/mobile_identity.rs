//! The 5GS mobile identity information element of type 5G-GUTI (TS 24.501 clause 9.11.3.4).

use std::fmt;

use crate::{Guami, Guti, Plmn, PlmnError, ReservedTmsi, Tmsi};

/// Octets of the element's value: without identifier and length.
pub const MOBILE_IDENTITY_LEN: usize = 11;

/// Octet 4: bits 8 to 5 are ones, bit 4 is spare, bits 3 to 1 name the type 5G-GUTI (010).
const TYPE_5G_GUTI: u8 = 0xf2;
/// The bits of octet 4 that name the type.
const TYPE_MASK: u8 = 0x07;

impl Guti {
    /// The value of the 5GS mobile identity element, octets 4 to 14 of TS 24.501 figure 9.11.3.4.1.
    ///
    /// ```text
    /// 4      1111 0 010
    /// 5-7    PLMN, TBCD
    /// 8      AMF Region ID
    /// 9-10   AMF Set ID (10 bits), AMF Pointer (6 bits)
    /// 11-14  5G-TMSI, most significant octet first
    /// ```
    #[must_use]
    pub const fn to_mobile_identity(self) -> [u8; MOBILE_IDENTITY_LEN] {
        let [p1, p2, p3] = self.guami().plmn().to_tbcd();
        let [_, region, set, pointer] = self.guami().amf_id().to_be_bytes();
        let [t1, t2, t3, t4] = self.tmsi().value().to_be_bytes();
        [
            TYPE_5G_GUTI,
            p1,
            p2,
            p3,
            region,
            set,
            pointer,
            t1,
            t2,
            t3,
            t4,
        ]
    }

    /// Reads the value of a 5GS mobile identity element. Spare bits of octet 4 are ignored, as
    /// TS 24.501 asks of a receiver.
    ///
    /// # Errors
    /// The element is of another length or type, or its PLMN or TMSI is none.
    pub fn from_mobile_identity(value: &[u8]) -> Result<Self, MobileIdentityError> {
        let &[kind, p1, p2, p3, region, set, pointer, t1, t2, t3, t4] = value else {
            return Err(MobileIdentityError::Length(value.len()));
        };
        if kind & TYPE_MASK != TYPE_5G_GUTI & TYPE_MASK {
            return Err(MobileIdentityError::OtherType(kind & TYPE_MASK));
        }
        let plmn = Plmn::from_tbcd([p1, p2, p3]).map_err(MobileIdentityError::Plmn)?;
        let tmsi = Tmsi::try_from(u32::from_be_bytes([t1, t2, t3, t4]))
            .map_err(MobileIdentityError::ReservedTmsi)?;
        Ok(Self::new(
            Guami::from_amf_id(plmn, [region, set, pointer]),
            tmsi,
        ))
    }
}

/// Why octets are no 5GS mobile identity of type 5G-GUTI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the form is fixed by TS 24.501")]
pub enum MobileIdentityError {
    /// Not [`MOBILE_IDENTITY_LEN`] octets but this many.
    Length(usize),
    /// Another type of identity: the three type bits.
    OtherType(u8),
    /// Octets 5 to 7 are no PLMN.
    Plmn(PlmnError),
    /// Octets 11 to 14 are all ones.
    ReservedTmsi(ReservedTmsi),
}

impl fmt::Display for MobileIdentityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(len) => write!(
                f,
                "a 5G-GUTI mobile identity has {MOBILE_IDENTITY_LEN} octets, not {len}"
            ),
            Self::OtherType(kind) => {
                write!(f, "mobile identity of type {kind:03b}, not 5G-GUTI (010)")
            }
            Self::Plmn(_) => f.write_str("octets 5 to 7 are no PLMN"),
            Self::ReservedTmsi(_) => f.write_str("octets 11 to 14 are no TMSI"),
        }
    }
}

impl std::error::Error for MobileIdentityError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Plmn(cause) => Some(cause),
            Self::ReservedTmsi(cause) => Some(cause),
            Self::Length(_) | Self::OtherType(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From Registration Accepts of open-source cores (element 77, length 000b cut off).
    #[test]
    fn octets_of_captured_messages() {
        for (octets, text) in [
            (
                [
                    0xf2, 0x00, 0xf1, 0x10, 0x02, 0x00, 0x40, 0xdd, 0x00, 0xb0, 0x64,
                ],
                "5g-guti-00101020040dd00b064",
            ),
            (
                [
                    0xf2, 0x02, 0xf8, 0x39, 0xca, 0xfe, 0x00, 0x00, 0x00, 0x00, 0x01,
                ],
                "5g-guti-20893cafe0000000001",
            ),
        ] {
            let guti: Guti = text.parse().unwrap();
            assert_eq!(guti.to_mobile_identity(), octets, "{text}");
            assert_eq!(Guti::from_mobile_identity(&octets), Ok(guti), "{text}");
        }
    }

    #[test]
    fn every_bit_of_set_and_pointer_keeps_its_place() {
        for bit in 0..24 {
            let amf_id: u32 = 1 << bit;
            let [_, region, set, pointer] = amf_id.to_be_bytes();
            let guami = Guami::from_amf_id(Plmn::TEST, [region, set, pointer]);
            assert_eq!(guami.amf_id(), amf_id);
            let guti = Guti::new(guami, Tmsi::try_from(7).unwrap());
            assert_eq!(&guti.to_mobile_identity()[4..7], [region, set, pointer]);
            assert_eq!(
                Guti::from_mobile_identity(&guti.to_mobile_identity()),
                Ok(guti)
            );
        }
    }

    #[test]
    fn other_octets_are_refused() {
        let good = "5g-guti-00101020040dd00b064"
            .parse::<Guti>()
            .unwrap()
            .to_mobile_identity();
        for len in 0..MOBILE_IDENTITY_LEN {
            assert_eq!(
                Guti::from_mobile_identity(&good[..len]),
                Err(MobileIdentityError::Length(len))
            );
        }
        let mut supi = good;
        supi[0] = 0x01;
        assert_eq!(
            Guti::from_mobile_identity(&supi),
            Err(MobileIdentityError::OtherType(1))
        );
        let mut no_tmsi = good;
        no_tmsi[7..].fill(0xff);
        assert_eq!(
            Guti::from_mobile_identity(&no_tmsi),
            Err(MobileIdentityError::ReservedTmsi(ReservedTmsi))
        );
        let mut no_plmn = good;
        no_plmn[1] = 0xaa;
        assert_eq!(
            Guti::from_mobile_identity(&no_plmn),
            Err(MobileIdentityError::Plmn(PlmnError::Digit))
        );
    }
}
