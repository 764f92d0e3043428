//! Random numbers that are the same for the same seed, everywhere and always.

use std::time::Duration;

/// A generator of 64-bit numbers: SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom
/// number generators, 2014). Good enough to shake a network, never for secrets.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, or 0 when that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % bound).unwrap_or(0)
    }

    /// Whether something of this probability (0 to 1) happens.
    pub fn happens(&mut self, probability: f64) -> bool {
        const PARTS: u64 = 1 << 53;
        let drawn = (self.next() % PARTS) as f64;
        drawn < probability * PARTS as f64
    }

    /// A span from zero to `longest`, both included.
    pub fn up_to(&mut self, longest: Duration) -> Duration {
        let nanos = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX - 1);
        Duration::from_nanos(self.next() % (nanos + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_published_sequence() {
        let mut random = Random::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn draws_stay_in_their_bounds() {
        let mut random = Random::new(0);
        for _ in 0..1000 {
            assert!(random.below(7) < 7);
            assert!(random.up_to(Duration::from_micros(3)) <= Duration::from_micros(3));
            assert!(!random.happens(0.0) && random.happens(1.0));
        }
        assert_eq!(random.below(0), 0);
    }
}
