//! The least loaded of some that are looked at.

use crate::policy::random::Random;

/// How many draws are made for each that is looked at, before it is given up to find some that can
/// be used by chance.
const DRAWS_EACH: u32 = 3;

/// The most that are looked at, whatever a control plane asks for.
pub const MOST_CHOICES: u32 = 64;

/// Of `choices` drawn at random among `count`, the one with the least cost; `None` when none of
/// those drawn can be used, for which `cost` gives `None`.
pub fn pick(
    count: usize,
    choices: u32,
    random: &mut impl Random,
    cost: impl Fn(usize) -> Option<f64>,
) -> Option<usize> {
    let choices = choices.clamp(1, MOST_CHOICES);
    let mut best: Option<(usize, f64)> = None;
    let mut looked_at = 0;
    for _ in 0..choices.saturating_mul(DRAWS_EACH) {
        let drawn = usize::try_from(random.below(count as u64)).unwrap_or(0);
        if count > 1 && best.is_some_and(|(index, _)| index == drawn) {
            continue;
        }
        if let Some(cost) = (drawn < count).then(|| cost(drawn)).flatten() {
            if best.is_none_or(|(_, least)| cost < least) {
                best = Some((drawn, cost));
            }
            looked_at += 1;
        }
        if looked_at >= choices {
            break;
        }
    }
    best.map(|(index, _)| index)
}

/// What it costs to send to an endpoint with this many requests in flight and this weight.
#[must_use]
pub fn cost(in_flight: u32, weight: u32) -> f64 {
    (f64::from(in_flight) + 1.0) / f64::from(weight.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::random::SplitMix;
    use std::cell::RefCell;

    #[test]
    fn more_choices_find_the_least_loaded_more_often() {
        let load = [9, 9, 9, 0, 9, 9, 9, 9, 9, 9];
        let mut random = SplitMix::new(2);
        let mut found = |choices| {
            let least = |_: &u32| {
                let picked = pick(10, choices, &mut random, |index| Some(cost(load[index], 1)));
                picked == Some(3)
            };
            (0..10_000).filter(least).count()
        };
        let (two, five) = (found(2), found(5));
        assert!((1700..2300).contains(&two), "a fifth: {two}");
        assert!(five > 3700, "{five}");
    }

    #[test]
    fn however_many_choices_are_asked_for_a_pick_ends_soon() {
        let looks = RefCell::new(0);
        let mut random = SplitMix::new(2);
        let look = |_| {
            *looks.borrow_mut() += 1;
            Some(1.0)
        };
        assert!(pick(2, u32::MAX, &mut random, look).is_some());
        assert!(*looks.borrow() <= MOST_CHOICES, "{looks:?}");
    }

    #[test]
    fn load_evens_out() {
        let load = RefCell::new([0_u32; 8]);
        let mut random = SplitMix::new(3);
        for _ in 0..8000 {
            let picked = pick(8, 2, &mut random, |index| {
                Some(cost(load.borrow()[index], 1))
            });
            load.borrow_mut()[picked.unwrap()] += 1;
        }
        let load = load.into_inner();
        assert!(
            load.iter().all(|count| (980..=1020).contains(count)),
            "{load:?}"
        );
    }

    #[test]
    fn twice_the_weight_bears_twice_the_load() {
        let load = RefCell::new([0_u32; 2]);
        let mut random = SplitMix::new(4);
        for _ in 0..3000 {
            let picked = pick(2, 2, &mut random, |index| {
                Some(cost(load.borrow()[index], [1, 2][index]))
            });
            load.borrow_mut()[picked.unwrap()] += 1;
        }
        assert!(load.borrow()[1].abs_diff(2000) < 20, "{load:?}");
    }

    #[test]
    fn what_cannot_be_used_is_not_picked() {
        let mut random = SplitMix::new(5);
        for _ in 0..1000 {
            let picked = pick(4, 2, &mut random, |index| (index == 2).then_some(1.0));
            assert!(picked.is_none_or(|index| index == 2));
        }
        assert_eq!(pick(4, 2, &mut random, |_| None), None);
        assert_eq!(pick(0, 2, &mut random, |_| Some(1.0)), None);
        assert_eq!(pick(1, 2, &mut random, |_| Some(1.0)), Some(0));
    }
}
