//! Round robin, by weight: everybody comes in turn, as often as its weight says, without a lock.

use std::sync::atomic::{AtomicU32, Ordering};

/// Weights are scaled so that the largest is this.
const LARGEST: u32 = 0xffff;

/// Whose turn it is. One counter that threads share; who has the largest weight comes in every
/// round, the others in as many rounds as their share of it (a static stride scheduler, as gRPC's
/// client-side weighted round robin has it).
#[derive(Debug)]
pub struct Stride {
    next: AtomicU32,
    /// Empty when all are equal.
    weights: Box<[u32]>,
    count: u32,
}

impl Stride {
    /// A schedule of as many as there are weights, which begins at `start`. A weight of 0 counts
    /// as 1.
    #[must_use]
    pub fn new(weights: &[u32], start: u32) -> Self {
        let largest = weights.iter().copied().max().unwrap_or(1).max(1);
        let equal = weights.iter().all(|weight| *weight == largest);
        let scale = |weight: &u32| {
            let scaled = u64::from(*weight) * u64::from(LARGEST) / u64::from(largest);
            u32::try_from(scaled).unwrap_or(LARGEST).max(1)
        };
        Self {
            next: AtomicU32::new(start),
            weights: if equal {
                Box::default()
            } else {
                weights.iter().map(scale).collect()
            },
            count: u32::try_from(weights.len()).unwrap_or(u32::MAX),
        }
    }

    /// Whose turn it is; 0 when there is nobody.
    pub fn turn(&self) -> usize {
        if self.count < 2 {
            return 0;
        }
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let (round, index) = (number / self.count, number % self.count);
            let Some(weight) = self.weights.get(index as usize) else {
                return index as usize;
            };
            // It comes in this round if its share, summed up over the rounds, passes another whole.
            // The offset keeps those of one weight out of step. One has the largest weight and
            // comes in every round, so that this ends.
            let offset = u64::from(index) * u64::from(LARGEST / 2);
            let sum = u64::from(*weight) * u64::from(round) + offset;
            if *weight == LARGEST || sum % u64::from(LARGEST) >= u64::from(LARGEST - weight) {
                return index as usize;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equals_come_one_after_the_other() {
        let stride = Stride::new(&[7, 7, 7], 0);
        let turns: Vec<_> = (0..6).map(|_| stride.turn()).collect();
        assert_eq!(turns, [0, 1, 2, 0, 1, 2]);
        assert_eq!(Stride::new(&[], 5).turn(), 0);
        assert_eq!(Stride::new(&[3], 5).turn(), 0);
    }

    #[test]
    fn those_of_one_weight_do_not_come_all_at_once() {
        let stride = Stride::new(&[2, 1, 1], 0);
        let turns: Vec<_> = (0..40).map(|_| stride.turn()).collect();
        for pair in turns.windows(2) {
            assert!(pair.contains(&0), "{turns:?}");
        }
    }

    #[test]
    fn a_counter_that_wraps_goes_on() {
        let stride = Stride::new(&[1, 1, 1], u32::MAX - 1);
        let mut seen = [0; 3];
        for _ in 0..3000 {
            seen[stride.turn()] += 1;
        }
        assert!(
            seen.iter().all(|count| (998..=1002).contains(count)),
            "{seen:?}"
        );
    }

    proptest! {
        #[test]
        fn everybody_comes_as_often_as_its_weight_says(
            weights in prop::collection::vec(1_u32..100, 1..10), start: u32,
        ) {
            let stride = Stride::new(&weights, start);
            let total: u32 = weights.iter().sum();
            let mut seen = vec![0_u32; weights.len()];
            for _ in 0..100 * total {
                seen[stride.turn()] += 1;
            }
            for (count, weight) in seen.iter().zip(&weights) {
                let expected = f64::from(100 * weight);
                prop_assert!((f64::from(*count) - expected).abs() <= 5.0 + expected / 50.0,
                    "{seen:?} for {weights:?}");
            }
        }
    }
}
