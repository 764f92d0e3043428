//! The AMF identifier: region, set and pointer (TS 23.003 clause 2.10.1).

use crate::OutOfRange;

/// AMF Region ID, 8 bits: every value is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AmfRegionId(u8);

impl AmfRegionId {
    /// A region from its 8 bits.
    #[must_use]
    pub const fn new(value: u8) -> Self {
        Self(value)
    }

    /// The 8 bits.
    #[must_use]
    pub const fn value(self) -> u8 {
        self.0
    }
}

impl From<u8> for AmfRegionId {
    fn from(value: u8) -> Self {
        Self(value)
    }
}

/// AMF Set ID, 10 bits: unique in its region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AmfSetId(u16);

impl AmfSetId {
    /// The largest set identifier, 1023.
    pub const MAX: Self = Self(0x3ff);

    /// The value, at most 1023.
    #[must_use]
    pub const fn value(self) -> u16 {
        self.0
    }

    /// The ten low bits: for decoders that cut exactly ten bits out of their input.
    pub(crate) const fn from_low_bits(bits: u16) -> Self {
        Self(bits & Self::MAX.0)
    }
}

impl TryFrom<u16> for AmfSetId {
    type Error = OutOfRange;

    fn try_from(value: u16) -> Result<Self, OutOfRange> {
        if value > Self::MAX.0 {
            return Err(OutOfRange {
                field: "AMF set",
                value: value.into(),
                max: Self::MAX.0.into(),
            });
        }
        Ok(Self(value))
    }
}

/// AMF Pointer, 6 bits: one or more AMFs of the set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AmfPointer(u8);

impl AmfPointer {
    /// The largest pointer, 63.
    pub const MAX: Self = Self(0x3f);

    /// The value, at most 63.
    #[must_use]
    pub const fn value(self) -> u8 {
        self.0
    }

    /// The six low bits: for decoders that cut exactly six bits out of their input.
    pub(crate) const fn from_low_bits(bits: u8) -> Self {
        Self(bits & Self::MAX.0)
    }
}

impl TryFrom<u8> for AmfPointer {
    type Error = OutOfRange;

    fn try_from(value: u8) -> Result<Self, OutOfRange> {
        if value > Self::MAX.0 {
            return Err(OutOfRange {
                field: "AMF pointer",
                value: value.into(),
                max: Self::MAX.0.into(),
            });
        }
        Ok(Self(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_ten_bits() {
        assert_eq!(AmfSetId::try_from(1023), Ok(AmfSetId::MAX));
        let refused = AmfSetId::try_from(1024).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "AMF set 1024 is out of range: 0 to 1023"
        );
    }

    #[test]
    fn a_pointer_has_six_bits() {
        assert_eq!(AmfPointer::try_from(63), Ok(AmfPointer::MAX));
        assert!(AmfPointer::try_from(64).is_err());
    }
}
