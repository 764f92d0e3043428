//! Which of several weighted clusters takes a request: canary splits.

use crate::policy::random::Random;

/// Weights, ready to draw from.
#[derive(Clone, Debug, Default)]
pub struct Weighted {
    /// The sum of the weights up to and with each.
    sums: Box<[u64]>,
}

impl Weighted {
    /// A choice between as many as there are weights.
    #[must_use]
    pub fn new(weights: impl IntoIterator<Item = u32>) -> Self {
        let sums = weights.into_iter().scan(0_u64, |sum, weight| {
            *sum += u64::from(weight);
            Some(*sum)
        });
        Self {
            sums: sums.collect(),
        }
    }

    /// Draws one; `None` when all weights are 0. A choice of one draws no random number.
    pub fn draw(&self, random: &mut impl Random) -> Option<usize> {
        match *self.sums {
            [] | [0] => None,
            [_] => Some(0),
            [.., 0] => None,
            [.., total] => Some(self.at(random.below(total))),
        }
    }

    /// The one that stands at `number`, which is below the sum of the weights: the same number, for
    /// example a hash, gives the same one.
    pub fn at(&self, number: u64) -> usize {
        self.sums.partition_point(|sum| *sum <= number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::random::SplitMix;
    use proptest::prelude::*;

    #[test]
    fn a_canary_gets_its_share() {
        let mut random = SplitMix::new(1);
        let split = Weighted::new([90, 0, 10]);
        let mut drawn = [0_u32; 3];
        for _ in 0..100_000 {
            drawn[split.draw(&mut random).unwrap()] += 1;
        }
        assert_eq!(drawn[1], 0, "weight 0 gets nothing");
        // Five standard deviations of a share of a tenth.
        assert!(drawn[2].abs_diff(10_000) < 475, "{drawn:?}");
    }

    #[test]
    fn nothing_is_drawn_from_nothing() {
        let mut random = SplitMix::new(1);
        assert_eq!(Weighted::new([]).draw(&mut random), None);
        assert_eq!(Weighted::new([0]).draw(&mut random), None);
        assert_eq!(Weighted::new([0, 0]).draw(&mut random), None);
        assert_eq!(Weighted::new([0, 3, 0]).draw(&mut random), Some(1));
    }

    proptest! {
        #[test]
        fn what_is_drawn_has_a_weight(weights in prop::collection::vec(0_u32.., 0..20), seed: u64) {
            let mut random = SplitMix::new(seed);
            let drawn = Weighted::new(weights.clone()).draw(&mut random);
            match drawn {
                Some(index) => prop_assert!(weights[index] > 0),
                None => prop_assert!(weights.iter().all(|weight| *weight == 0)),
            }
        }
    }
}
