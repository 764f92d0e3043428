//! Which algorithms a UE has, which are chosen, and under which key set (TS 24.501 clauses 9.11.3.54,
//! 9.11.3.34 and 9.11.3.32).

use serde::{Deserialize, Serialize};

/// Octets of the longest UE security capability.
const LONGEST: usize = 8;

/// What algorithms a UE has, octet for octet, so that it can be replayed to the UE as it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct UeSecurityCapability(Vec<u8>);

impl UeSecurityCapability {
    /// NEA0 to NEA2 and NIA1 to NIA2; NIA0 is for emergencies only.
    #[must_use]
    pub fn of_ue() -> Self {
        Self(vec![0b1110_0000, 0b0110_0000])
    }

    /// The value of the element: 2 to 8 octets.
    #[must_use]
    pub fn from_octets(octets: &[u8]) -> Option<Self> {
        (2..=LONGEST)
            .contains(&octets.len())
            .then(|| Self(octets.to_vec()))
    }

    /// The value of the element.
    #[must_use]
    pub fn as_octets(&self) -> &[u8] {
        &self.0
    }

    /// 5G-EA0 in the highest bit to 5G-EA7 in the lowest.
    #[must_use]
    pub fn nr_ciphering(&self) -> u8 {
        self.octet(0)
    }

    /// 5G-IA0 in the highest bit to 5G-IA7 in the lowest.
    #[must_use]
    pub fn nr_integrity(&self) -> u8 {
        self.octet(1)
    }

    /// EEA0 to EEA7, for LTE.
    #[must_use]
    pub fn eutra_ciphering(&self) -> u8 {
        self.octet(2)
    }

    /// EIA0 to EIA7, for LTE.
    #[must_use]
    pub fn eutra_integrity(&self) -> u8 {
        self.octet(3)
    }

    fn octet(&self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or(0)
    }
}

impl TryFrom<Vec<u8>> for UeSecurityCapability {
    type Error = &'static str;

    fn try_from(octets: Vec<u8>) -> Result<Self, Self::Error> {
        Self::from_octets(&octets).ok_or("a UE security capability has 2 to 8 octets")
    }
}

impl From<UeSecurityCapability> for Vec<u8> {
    fn from(capability: UeSecurityCapability) -> Self {
        capability.0
    }
}

/// A ciphering algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
#[expect(clippy::exhaustive_enums, reason = "the ones that are served")]
pub enum Ciphering {
    /// None.
    Nea0 = 0,
    /// SNOW 3G.
    Nea1 = 1,
    /// AES in counter mode.
    Nea2 = 2,
}

/// An integrity algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
#[expect(clippy::exhaustive_enums, reason = "the ones that are served")]
pub enum Integrity {
    /// None: only for emergency sessions without authentication (TS 33.501 clause 5.5.2).
    Nia0 = 0,
    /// SNOW 3G.
    Nia1 = 1,
    /// AES-CMAC.
    Nia2 = 2,
}

/// The algorithms of a security context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NasAlgorithms {
    /// Conceals what is said.
    pub ciphering: Ciphering,
    /// Proves who said it.
    pub integrity: Integrity,
}

impl NasAlgorithms {
    /// The first of each list that the UE has (TS 33.501 clause 6.7.1.1: the network's order decides).
    #[must_use]
    pub fn choose(
        capability: &UeSecurityCapability,
        ciphering: &[Ciphering],
        integrity: &[Integrity],
    ) -> Option<Self> {
        let has = |bits: u8, algorithm: u8| bits & (0x80 >> algorithm) != 0;
        Some(Self {
            ciphering: *ciphering
                .iter()
                .find(|a| has(capability.nr_ciphering(), **a as u8))?,
            integrity: *integrity
                .iter()
                .find(|a| has(capability.nr_integrity(), **a as u8))?,
        })
    }

    /// The octet of SECURITY MODE COMMAND.
    pub(super) const fn to_octet(self) -> u8 {
        (self.ciphering as u8) << 4 | self.integrity as u8
    }

    /// What an octet of SECURITY MODE COMMAND names, if it is served here.
    pub(super) const fn from_octet(octet: u8) -> Option<Self> {
        let ciphering = match octet >> 4 {
            0 => Ciphering::Nea0,
            1 => Ciphering::Nea1,
            2 => Ciphering::Nea2,
            _ => return None,
        };
        let integrity = match octet & 0x0f {
            0 => Integrity::Nia0,
            1 => Integrity::Nia1,
            2 => Integrity::Nia2,
            _ => return None,
        };
        Some(Self {
            ciphering,
            integrity,
        })
    }
}

/// ngKSI: which of the UE's native key sets a message means, 0 to 6. That there is none is an
/// `Option` (the value 7 on the wire).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ksi(u8);

impl Ksi {
    /// The first.
    pub const ZERO: Self = Self(0);

    /// The key set of this number, 0 to 6.
    #[must_use]
    pub const fn new(value: u8) -> Option<Self> {
        if value < 7 { Some(Self(value)) } else { None }
    }

    /// The number.
    #[must_use]
    pub const fn value(self) -> u8 {
        self.0
    }

    /// Another one, for the next authentication (TS 24.501 clause 5.4.1.3.2).
    #[must_use]
    pub const fn next(self) -> Self {
        Self((self.0 + 1) % 7)
    }

    /// The half octet that means a native key set, or none.
    pub(super) fn to_bits(this: Option<Self>) -> u8 {
        this.map_or(7, |ksi| ksi.0)
    }

    /// A mapped key set (bit 4) is none of ours: as if the UE had no key.
    pub(super) const fn from_bits(bits: u8) -> Option<Self> {
        if bits & 0x08 == 0 {
            Self::new(bits & 0x07)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_networks_order_decides() {
        let ue = UeSecurityCapability::of_ue();
        let choose = |c: &[Ciphering], i: &[Integrity]| NasAlgorithms::choose(&ue, c, i);
        let (nea, nia) = (&[Ciphering::Nea2, Ciphering::Nea0], &[Integrity::Nia2]);
        let chosen = choose(nea, nia).unwrap();
        assert_eq!(chosen.ciphering, Ciphering::Nea2);
        assert_eq!(NasAlgorithms::from_octet(chosen.to_octet()), Some(chosen));
        assert_eq!(
            choose(nea, &[Integrity::Nia0]),
            None,
            "the UE did not offer it"
        );
        assert_eq!(choose(&[], nia), None);
    }

    #[test]
    fn a_capability_is_two_to_eight_octets() {
        assert!(UeSecurityCapability::from_octets(&[0xe0]).is_none());
        assert!(UeSecurityCapability::from_octets(&[0; 9]).is_none());
        let long = UeSecurityCapability::from_octets(&[1, 2, 3, 4, 5]).unwrap();
        assert_eq!((long.eutra_ciphering(), long.eutra_integrity()), (3, 4));
    }

    #[test]
    fn a_mapped_key_set_is_none_of_ours() {
        assert_eq!(Ksi::from_bits(0x0a), None);
        assert_eq!(Ksi::from_bits(7), None);
        assert_eq!(Ksi::from_bits(6).map(Ksi::next), Some(Ksi::ZERO));
    }
}
