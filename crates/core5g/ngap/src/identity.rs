//! How gNB and AMF name UEs, nodes and cells (TS 38.413 clauses 9.3.1 and 9.3.3).

use corewire_guti::Plmn;

/// The AMF's number for a UE, 40 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AmfUeNgapId(u64);

impl AmfUeNgapId {
    /// The number, if it has at most 40 bits.
    #[must_use]
    pub const fn new(value: u64) -> Option<Self> {
        if value >> 40 == 0 {
            Some(Self(value))
        } else {
            None
        }
    }

    /// The number.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }
}

/// The gNB's number for a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RanUeNgapId(pub u32);

/// A UE's connection, as both sides number it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UePair {
    /// The AMF's number.
    pub amf: AmfUeNgapId,
    /// The gNB's number.
    pub ran: RanUeNgapId,
}

/// Whose context is to be released: by both numbers, or by the AMF's when it never learned the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "TS 38.413 clause 9.3.3.27 lists two"
)]
pub enum UeIds {
    /// Both.
    Pair(UePair),
    /// The AMF's.
    Amf(AmfUeNgapId),
}

/// A gNB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GnbId {
    /// Its network.
    pub plmn: Plmn,
    /// Its number.
    pub value: u32,
    /// Bits of the number, 22 to 32.
    pub bits: u8,
}

/// A cell: 36 bits, of which the first are the gNB's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NrCell {
    /// Its network.
    pub plmn: Plmn,
    /// Its number.
    pub value: u64,
}

impl NrCell {
    /// The cell of this number in its gNB; bits that do not fit beside the gNB's are left out.
    #[must_use]
    pub const fn of(gnb: GnbId, cell: u16) -> Self {
        let rest = 36 - gnb.bits as u32;
        Self {
            plmn: gnb.plmn,
            value: (gnb.value as u64) << rest | cell as u64 & ((1 << rest) - 1),
        }
    }
}
