//! The 5G-TMSI (TS 23.003 clauses 2.4 and 2.10.1).

use std::fmt;

/// A 5G-TMSI: the 32 bits that name a UE within its AMF.
///
/// Any value but the one of all ones, which a SIM stores to say that it has no valid TMSI and which
/// a network therefore never allocates (TS 23.003 clause 2.4).
///
/// `Debug` hides the value: who holds the TMSI of a UE can page and follow it, so it does not
/// belong in a log by accident. Where it is meant, say [`Tmsi::value`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tmsi(u32);

impl Tmsi {
    /// The value that means "no valid TMSI" and is none.
    pub const RESERVED: u32 = u32::MAX;

    /// The 32 bits.
    #[must_use]
    pub const fn value(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for Tmsi {
    type Error = ReservedTmsi;

    fn try_from(value: u32) -> Result<Self, ReservedTmsi> {
        if value == Self::RESERVED {
            return Err(ReservedTmsi);
        }
        Ok(Self(value))
    }
}

impl fmt::Debug for Tmsi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tmsi(<redacted>)")
    }
}

/// The 32 bits were all ones, which is no TMSI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReservedTmsi;

impl fmt::Display for ReservedTmsi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a TMSI of all ones is reserved and names no UE (TS 23.003 clause 2.4)")
    }
}

impl std::error::Error for ReservedTmsi {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ones_is_no_tmsi() {
        assert_eq!(Tmsi::try_from(0xffff_ffff), Err(ReservedTmsi));
        assert_eq!(Tmsi::try_from(0xffff_fffe).unwrap().value(), 0xffff_fffe);
    }

    #[test]
    fn debug_hides_the_value() {
        let tmsi = Tmsi::try_from(0xdead_beef).unwrap();
        assert_eq!(format!("{tmsi:?}"), "Tmsi(<redacted>)");
    }
}
