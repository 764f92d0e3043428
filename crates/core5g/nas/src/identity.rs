//! How a UE names itself in NAS (TS 24.501 clause 9.11.3.4).

use corewire_guti::{AmfPointer, AmfSetId, Guami, Guti, Tmsi};

use corewire_core5g_aka::Suci;

/// A 5GS mobile identity.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the types that 3GPP access uses")]
pub enum MobileIdentity {
    /// The UE has none that was asked for.
    None,
    /// The concealed permanent identity.
    Suci(Suci),
    /// The temporary identity, whole.
    Guti(Guti),
    /// The temporary identity within its AMF region.
    STmsi(STmsi),
    /// The equipment: 15 digits.
    Imei(String),
    /// The equipment and its software version: 16 digits.
    Imeisv(String),
}

/// Which identity IDENTITY REQUEST asks for (TS 24.501 clause 9.11.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[expect(clippy::exhaustive_enums, reason = "the types that 3GPP access uses")]
pub enum IdentityKind {
    /// SUCI.
    Suci = 1,
    /// 5G-GUTI.
    Guti = 2,
    /// IMEI.
    Imei = 3,
    /// 5G-S-TMSI.
    STmsi = 4,
    /// IMEISV.
    Imeisv = 5,
}

/// 5G-S-TMSI: the 5G-GUTI without the network and the region (TS 23.003 clause 2.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct STmsi {
    /// The AMF set.
    pub set: AmfSetId,
    /// The AMF within the set.
    pub pointer: AmfPointer,
    /// The UE within the AMF.
    pub tmsi: Tmsi,
}

impl STmsi {
    /// The short form of a GUTI.
    #[must_use]
    pub const fn of(guti: Guti) -> Self {
        Self {
            set: guti.guami().set(),
            pointer: guti.guami().pointer(),
            tmsi: guti.tmsi(),
        }
    }

    /// The GUTI, when the AMF is known to be of this set and pointer.
    #[must_use]
    pub fn within(self, guami: Guami) -> Option<Guti> {
        (guami.set() == self.set && guami.pointer() == self.pointer)
            .then(|| Guti::new(guami, self.tmsi))
    }

    /// Set (10 bits), pointer (6) and TMSI (32), as both N1 and N2 put them together.
    pub(super) fn to_octets(self) -> [u8; 6] {
        let amf = self.set.value() << 6 | u16::from(self.pointer.value());
        let ([a, b], [c, d, e, f]) = (amf.to_be_bytes(), self.tmsi.value().to_be_bytes());
        [a, b, c, d, e, f]
    }

    pub(super) fn from_octets([a, b, c, d, e, f]: [u8; 6]) -> Option<Self> {
        let amf = u16::from_be_bytes([a, b]);
        Some(Self {
            set: AmfSetId::try_from(amf >> 6).ok()?,
            pointer: AmfPointer::try_from(b & 0x3f).ok()?,
            tmsi: Tmsi::try_from(u32::from_be_bytes([c, d, e, f])).ok()?,
        })
    }
}
