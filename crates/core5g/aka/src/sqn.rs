//! Sequence numbers, which make an authentication vector good for one use (TS 33.102 Annex C).
//!
//! ```text
//! SQN (48 bits) = SEQ (43) | IND (5)
//! ```
//!
//! The home network counts SEQ up and lets IND go round; the USIM remembers the highest SEQ of each
//! IND, so that vectors that arrive out of order are taken as long as each is new in its place.

use std::fmt;

use super::octets;

/// Bits of IND (TS 33.102 clause C.3.2).
const IND_BITS: u32 = 5;
/// Places that a USIM remembers.
const PLACES: usize = 1 << IND_BITS;
/// How far ahead of the highest known a sequence number may be (TS 33.102 clause C.2.1, delta).
const DELTA: u64 = 1 << 28;

/// A sequence number of 48 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Sqn(u64);

impl Sqn {
    /// The largest.
    pub const MAX: Self = Self((1 << 48) - 1);

    /// The sequence number of this value; bits above the 48th are no part of one.
    #[must_use]
    pub const fn new(value: u64) -> Option<Self> {
        if value > Self::MAX.0 {
            None
        } else {
            Some(Self(value))
        }
    }

    /// The value.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }

    /// What the home network uses after this one: SEQ and IND one on, from the beginning again after
    /// the last (TS 33.102 clause C.1.1.1).
    #[must_use]
    pub const fn next(self) -> Self {
        let seq = (self.seq() + 1) & (Self::MAX.0 >> IND_BITS);
        let ind = (self.0 + 1) % PLACES as u64;
        Self(seq << IND_BITS | ind)
    }

    /// Twelve hexadecimal digits (TS 29.503 clause 6.3.6.2).
    #[must_use]
    pub fn to_hex(self) -> String {
        format!("{:012x}", self.0)
    }

    const fn seq(self) -> u64 {
        self.0 >> IND_BITS
    }

    const fn place(self) -> usize {
        (self.0 % PLACES as u64) as usize
    }
}

impl fmt::Debug for Sqn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sqn({:012x})", self.0)
    }
}

impl std::str::FromStr for Sqn {
    type Err = octets::ParseOctetsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let octets: [u8; 6] = octets::from_hex("Sqn", text)?;
        Ok(Self(
            octets
                .iter()
                .fold(0, |sqn, octet| sqn << 8 | u64::from(*octet)),
        ))
    }
}

/// What a USIM remembers of the sequence numbers it took.
#[derive(Clone, Debug)]
pub struct SqnWindow {
    highest: [u64; PLACES],
}

impl SqnWindow {
    /// A USIM that took this one last.
    #[must_use]
    pub const fn after(sqn: Sqn) -> Self {
        Self {
            highest: [sqn.seq(); PLACES],
        }
    }

    /// Takes a sequence number if it is fresh: newer than the last of its place, and not further
    /// ahead of all than TS 33.102 clause C.2.2 allows.
    ///
    /// # Errors
    /// It is not fresh: SQN_MS, the highest taken, which AUTS tells the network.
    pub fn take(&mut self, sqn: Sqn) -> Result<(), Sqn> {
        let seq = sqn.seq();
        let latest = self.latest();
        let ahead = seq.saturating_sub(latest.seq());
        if seq <= self.highest[sqn.place()] || ahead > DELTA {
            return Err(latest);
        }
        self.highest[sqn.place()] = seq;
        Ok(())
    }

    /// SQN_MS: the highest that was taken.
    #[must_use]
    pub fn latest(&self) -> Sqn {
        let newest = (0..PLACES)
            .max_by_key(|place| self.highest[*place])
            .unwrap_or(0);
        Sqn(self.highest[newest] << IND_BITS | newest as u64)
    }
}

impl Default for SqnWindow {
    fn default() -> Self {
        Self::after(Sqn(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_twelve_digits() {
        let sqn: Sqn = "ff9bb4d0b607".parse().unwrap();
        assert_eq!(
            (sqn.value(), sqn.to_hex().as_str()),
            (0xff9b_b4d0_b607, "ff9bb4d0b607")
        );
        assert!("ff9bb4d0b6".parse::<Sqn>().is_err());
        assert_eq!(Sqn::new(1 << 48), None);
    }

    #[test]
    fn every_next_one_is_taken_once() {
        let (mut sqn, mut window) = (Sqn::default(), SqnWindow::default());
        for _ in 0..200 {
            sqn = sqn.next();
            assert_eq!(window.take(sqn), Ok(()));
            assert_eq!(window.take(sqn), Err(window.latest()), "a replay");
        }
        assert_eq!(window.latest(), sqn);
    }

    #[test]
    fn an_older_one_in_a_place_of_its_own_is_taken() {
        let first = Sqn::default().next();
        let second = first.next();
        let mut window = SqnWindow::default();
        assert_eq!(window.take(second), Ok(()));
        assert_eq!(window.take(first), Ok(()));
        assert_eq!(window.take(first), Err(second));
    }

    #[test]
    fn one_too_far_ahead_is_not_taken() {
        let mut window = SqnWindow::default();
        assert!(window.take(Sqn((DELTA + 1) << IND_BITS)).is_err());
        assert!(window.take(Sqn(DELTA << IND_BITS)).is_ok());
    }

    #[test]
    fn the_last_is_followed_by_the_first() {
        assert_eq!(Sqn::MAX.next(), Sqn(0));
    }
}
