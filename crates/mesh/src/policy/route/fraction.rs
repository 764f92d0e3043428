//! A share of all requests: so many in so many.

use crate::policy::random::Random;

/// So many in so many; at most all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fraction {
    numerator: u32,
    out_of: u32,
}

impl Fraction {
    /// Every request.
    pub const ALL: Self = Self {
        numerator: 1,
        out_of: 1,
    };

    /// So many in so many. 0 in 0 is none.
    #[must_use]
    pub const fn new(numerator: u32, out_of: u32) -> Self {
        let out_of = if out_of == 0 { 1 } else { out_of };
        Self { numerator, out_of }
    }

    /// So many in a hundred.
    #[must_use]
    pub const fn percent(numerator: u32) -> Self {
        Self::new(numerator, 100)
    }

    /// Whether this request is one of them. All and none draw no random number.
    pub fn draw(self, random: &mut impl Random) -> bool {
        self.numerator != 0 && random.happens(self.numerator.into(), self.out_of.into())
    }

    /// Whether it is no request at all.
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.numerator == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::random::SplitMix;

    #[test]
    fn a_share_is_drawn_as_often_as_it_says() {
        let mut random = SplitMix::new(3);
        for (fraction, expected) in [
            (Fraction::ALL, 10_000),
            (Fraction::new(0, 0), 0),
            (Fraction::percent(0), 0),
            (Fraction::percent(100), 10_000),
            (Fraction::percent(300), 10_000),
            (Fraction::percent(10), 1000),
            (Fraction::new(500_000, 1_000_000), 5000),
        ] {
            let drawn = (0..10_000).filter(|_| fraction.draw(&mut random)).count();
            assert!(drawn.abs_diff(expected) <= 300, "{fraction:?}: {drawn}");
            if matches!(expected, 0 | 10_000) {
                assert_eq!(drawn, expected, "{fraction:?} leaves nothing to chance");
            }
        }
    }
}
