//! Random numbers for choices: spread, jitter, fractions. Not for secrets.

/// Where a stage's random numbers come from. Tests give a list or a seeded generator.
pub trait Random {
    /// The next 64 random bits.
    fn next(&mut self) -> u64;

    /// A number below `bound`; 0 when `bound` is 0.
    fn below(&mut self, bound: u64) -> u64 {
        // The high half of a product is as even as 64 bits can be, without a division.
        let wide = u128::from(self.next()) * u128::from(bound);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// A number from 0 up to, but not, 1.
    fn unit(&mut self) -> f64 {
        // 53 bits: what a double holds exactly.
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Whether an event of this many in `out_of` happens now.
    fn happens(&mut self, numerator: u64, out_of: u64) -> bool {
        numerator >= out_of || self.below(out_of) < numerator
    }
}

/// A small, fast generator (SplitMix64: Steele, Lea and Flood, 2014).
#[derive(Clone, Debug)]
pub struct SplitMix(u64);

impl SplitMix {
    /// A generator that begins here; the same seed gives the same numbers.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }
}

impl Random for SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }
}

/// Spreads the bits of a number over all of it.
#[must_use]
pub const fn mix(number: u64) -> u64 {
    let mut mixed = number;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The next number is always this one.
    struct Fixed(u64);

    impl Random for Fixed {
        fn next(&mut self) -> u64 {
            self.0
        }
    }

    #[test]
    fn the_generator_is_splitmix64() {
        // The first numbers of the authors' own program for this seed.
        let mut random = SplitMix::new(1_234_567);
        let drawn: [u64; 5] = std::array::from_fn(|_| random.next());
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(drawn, expected);
    }

    #[test]
    fn random_bits_become_numbers_and_fractions_in_even_steps() {
        const HALF: u64 = 1 << 63;
        for (bits, below_10, unit) in [
            (0, 0, 0.0),
            (HALF - 1, 4, 0.5 - f64::EPSILON / 2.0),
            (HALF, 5, 0.5),
            (u64::MAX, 9, 1.0 - f64::EPSILON / 2.0),
        ] {
            let mut random = Fixed(bits);
            assert_eq!(random.below(10), below_10);
            assert!((random.unit() - unit).abs() < f64::EPSILON, "{bits}");
            for numerator in 0..=10 {
                assert_eq!(random.happens(numerator, 10), below_10 < numerator);
            }
        }
        // All of them is all of them, also of more than are drawn from.
        assert!(Fixed(u64::MAX).happens(11, 10) && Fixed(u64::MAX).happens(0, 0));
    }

    #[test]
    fn numbers_stay_below_their_bound_and_reach_all_of_it() {
        let mut random = SplitMix::new(1);
        for bound in [1, 2, 3, 10, 1000] {
            let drawn: Vec<u64> = (0..20 * bound).map(|_| random.below(bound)).collect();
            assert!(drawn.iter().all(|number| *number < bound));
            let low = drawn
                .iter()
                .filter(|number| **number < bound.div_ceil(2))
                .count();
            assert!(low > 0, "the lower half of {bound} is reached");
        }
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn a_fraction_happens_as_often_as_it_says() {
        let mut random = SplitMix::new(7);
        let happened = (0..100_000).filter(|_| random.happens(25, 100)).count();
        assert!((24_000..26_000).contains(&happened), "{happened}");
        assert!((0..1000).all(|_| random.happens(100, 100)));
        assert!(!(0..1000).any(|_| random.happens(0, 100)));
        assert!(
            (0..1000)
                .map(|_| random.unit())
                .all(|unit| (0.0..1.0).contains(&unit))
        );
    }
}
