use super::*;

fn samples(values: &[f64]) -> Samples {
    (1..).zip(values.iter().copied()).collect()
}

#[test]
fn quartiles_of_known_figures() {
    let summary = Summary::of([4.0, 1.0, 3.0, 2.0]).expect("four figures");
    assert_eq!(
        summary,
        Summary {
            count: 4,
            min: 1.0,
            q1: 1.75,
            median: 2.5,
            q3: 3.25,
            max: 4.0
        }
    );
    let one = Summary::of([7.0]).expect("one figure");
    assert_eq!((one.q1, one.median, one.q3), (7.0, 7.0, 7.0));
    assert_eq!(Summary::of([]), None);
    assert_eq!(Summary::of([f64::NAN]), None);
}

#[test]
fn five_clear_pairs_show_a_difference_and_its_ratio() {
    let a = samples(&[10.0, 11.0, 10.5, 10.2, 10.8]);
    let b = samples(&[20.0, 22.0, 21.0, 20.4, 21.6]);
    let comparison = compare_interleaved(&a, &b);
    assert_eq!(comparison.verdict, Verdict::Smaller);
    let ratio = comparison.ratio.expect("five pairs");
    assert_eq!(
        (ratio.count, ratio.median, ratio.min, ratio.max),
        (5, 0.5, 0.5, 0.5)
    );
    assert_eq!(compare_interleaved(&b, &a).verdict, Verdict::Larger);
}

#[test]
fn four_pairs_show_nothing_however_clear() {
    let a = samples(&[1.0, 1.0, 1.0, 1.0]);
    let b = samples(&[9.0, 9.0, 9.0, 9.0, 9.0]);
    assert_eq!(
        compare_interleaved(&a, &b).verdict,
        Verdict::NotShown(WhyNot::TooFewPairs(4))
    );
}

#[test]
fn only_equal_repetitions_make_a_pair() {
    let a: Samples = [(1, 1.0), (3, 1.0)].into_iter().collect();
    let b: Samples = [(2, 2.0), (3, 2.0)].into_iter().collect();
    assert_eq!(
        compare_interleaved(&a, &b).ratio.expect("one pair").count,
        1
    );
}

#[test]
fn overlapping_spreads_are_a_tie() {
    let a = samples(&[10.0, 12.0, 14.0, 16.0, 18.0]);
    let b = samples(&[11.0, 13.0, 15.0, 17.0, 19.0]);
    // Every pair agrees, and still the spreads overlap.
    assert_eq!(
        compare_interleaved(&a, &b).verdict,
        Verdict::NotShown(WhyNot::SpreadsOverlap)
    );
}

#[test]
fn one_pair_of_five_on_the_other_side_is_a_tie() {
    let a = samples(&[10.0, 10.0, 10.0, 10.0, 30.0]);
    let b = samples(&[20.0, 20.0, 20.0, 20.0, 20.0]);
    assert_eq!(
        compare_interleaved(&a, &b).verdict,
        Verdict::NotShown(WhyNot::PairsDisagree)
    );
    // Of eight pairs one may: seven of eight happen by chance in 9 of 256 cases.
    let a = samples(&[10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 30.0]);
    let b = samples(&[20.0; 8]);
    assert_eq!(compare_interleaved(&a, &b).verdict, Verdict::Smaller);
}

#[test]
fn coin_throws() {
    assert!((chance_of_at_least(5, 5) - 1.0 / 32.0).abs() < 1e-12);
    assert!((chance_of_at_least(7, 8) - 9.0 / 256.0).abs() < 1e-12);
    assert!((chance_of_at_least(0, 3) - 1.0).abs() < 1e-12);
}

#[test]
fn results_taken_apart_need_ranges_without_a_common_point() {
    let a = samples(&[1.0, 1.1, 1.2, 1.1, 1.0]);
    let b = samples(&[2.0, 2.1, 2.2, 2.1, 2.0]);
    assert_eq!(compare_apart(&a, &b).verdict, Verdict::Smaller);
    let b = samples(&[2.0, 2.1, 2.2, 2.1, 1.2]);
    assert_eq!(
        compare_apart(&a, &b).verdict,
        Verdict::NotShown(WhyNot::SpreadsOverlap)
    );
    assert_eq!(compare_apart(&a, &Samples::default()).ratio, None);
}

#[test]
fn ranking_names_winner_tie_or_nobody() {
    let slow = ("slow".to_owned(), samples(&[30.0, 31.0, 32.0, 33.0, 34.0]));
    let fast = ("fast".to_owned(), samples(&[10.0, 10.1, 10.2, 10.3, 10.4]));
    let same = ("same".to_owned(), samples(&[10.4, 10.2, 10.3, 10.1, 10.35]));
    let none = ("none".to_owned(), Samples::default());

    let ranking = rank(&[slow.clone(), fast.clone(), none.clone()], Better::Smaller);
    assert_eq!(ranking.expect("two took part").winner(), Some("fast"));

    let ranking = rank(&[slow.clone(), same, fast.clone()], Better::Smaller).expect("three");
    assert_eq!((ranking.winner(), ranking.best.len()), (None, 2));

    let ranking = rank(&[slow.clone(), fast.clone()], Better::Larger).expect("two");
    assert_eq!(ranking.winner(), Some("slow"));

    let short = ("short".to_owned(), samples(&[1.0, 1.0]));
    let ranking = rank(&[short, slow], Better::Smaller).expect("two");
    assert!(!ranking.decided);
    assert_eq!(ranking.best, ["short"]);

    assert!(!rank(&[fast], Better::Smaller).expect("alone").decided);
    assert_eq!(rank(&[none], Better::Smaller), None);
}

use RunState::{Changing, Steady};

fn in_states(figures: &[(f64, RunState)]) -> Samples {
    (1..)
        .zip(figures)
        .map(|(repetition, (value, state))| (repetition, *value, Some(*state)))
        .collect()
}

/// Numbers from 0 to 1, always the same ones.
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[test]
fn one_state_or_none_gives_the_same_verdict_ratio_and_winner() {
    let mut seen = [0; 3];
    for seed in 1..=2_000 {
        let mut next = numbers(seed);
        let count = (next() * 9.0) as usize + 1;
        let factor = 0.8 + 0.4 * next();
        let mut figures = |scale: f64| -> Vec<f64> {
            // Some equal, some zero: the ugly cases.
            (0..count)
                .map(|_| (scale * (8.0 + 4.0 * next())).round() * f64::from(next() > 0.02))
                .collect()
        };
        let (left, right) = (figures(1.0), figures(factor));
        let known = |values: &[f64]| {
            let with_state: Vec<(f64, RunState)> =
                values.iter().map(|value| (*value, Steady(0))).collect();
            in_states(&with_state)
        };
        let before = compare_interleaved(&samples(&left), &samples(&right));
        let after = compare_interleaved(&known(&left), &known(&right));
        assert_eq!(before, after, "{left:?} {right:?}");
        assert_eq!(before.suffices, count >= PAIRS_NEEDED);
        seen[match before.verdict {
            Verdict::NotShown(WhyNot::TooFewPairs(_)) => 0,
            Verdict::NotShown(_) => 1,
            Verdict::Smaller | Verdict::Larger => 2,
        }] += 1;
        let subjects =
            |one: Samples, other: Samples| [("a".to_owned(), one), ("b".to_owned(), other)];
        assert_eq!(
            rank(&subjects(samples(&left), samples(&right)), Better::Smaller),
            rank(&subjects(known(&left), known(&right)), Better::Smaller)
        );
    }
    assert!(seen.iter().all(|count| *count > 50), "{seen:?}");
}

#[test]
fn pairs_of_two_states_are_left_out_of_ratio_and_verdict() {
    // Twice as slow when far; ours is a third better in each state.
    let (near, far) = (Steady(0), Steady(1));
    let ours = in_states(&[
        (20.0, far),
        (10.0, near),
        (10.1, near),
        (10.2, near),
        (20.1, far),
        (20.2, far),
        (10.0, Changing),
    ]);
    let theirs = in_states(&[
        (15.0, near),
        (15.1, near),
        (15.2, near),
        (15.0, near),
        (30.0, far),
        (30.2, far),
        (30.0, far),
    ]);
    let compared = compare_interleaved(&ours, &theirs);
    let ratio = compared.ratio.expect("five pairs");
    assert_eq!(ratio.count, 5);
    assert!(ratio.min > 0.66 && ratio.max < 0.69, "{ratio:?}");
    let apart = compared.apart.expect("two pairs are left out");
    assert_eq!((apart.pairs, apart.alike), (7, 5));
    assert!(apart.ratio.expect("seven").max > 1.3);
    assert!(
        apart
            .to_string()
            .starts_with("5 of 7 pairs in one state, all: 0.")
    );
    // The spreads of both overlap, but not within their states.
    assert_eq!(compared.verdict, Verdict::Smaller);
    assert!(compared.suffices);
}

#[test]
fn few_alike_pairs_give_a_ratio_and_fewer_not_even_that() {
    let near = [(10.0, Steady(0)); 5];
    let some = |alike: usize| -> Samples {
        let figures: Vec<(f64, RunState)> = (0..5)
            .map(|at| {
                if at < alike {
                    (20.0, Steady(0))
                } else {
                    (90.0, Steady(1))
                }
            })
            .collect();
        in_states(&figures)
    };
    let three = compare_interleaved(&some(ALIKE_NEEDED), &in_states(&near));
    assert_eq!(three.ratio.expect("three").max, 2.0);
    assert_eq!(three.verdict, Verdict::NotShown(WhyNot::TooFewAlike(3)));
    assert!(three.suffices);
    let two = compare_interleaved(&some(ALIKE_NEEDED - 1), &in_states(&near));
    assert_eq!(two.ratio.expect("all five").count, 5);
    assert_eq!(two.verdict, Verdict::NotShown(WhyNot::TooFewAlike(2)));
    assert!(!two.suffices);
    let four = in_states(&[(10.0, Steady(0)); 4]);
    assert_eq!(
        compare_interleaved(&some(ALIKE_NEEDED), &four).verdict,
        Verdict::NotShown(WhyNot::TooFewPairs(4))
    );
}

#[test]
fn a_run_that_was_not_probed_pairs_with_any() {
    let known = in_states(&[(10.0, Steady(1)); 5]);
    let unknown = samples(&[20.0; 5]);
    let compared = compare_interleaved(&known, &unknown);
    assert_eq!((compared.apart, compared.suffices), (None, true));
    let changing = in_states(&[(10.0, Changing); 5]);
    assert_eq!(compare_interleaved(&changing, &unknown).apart, None);
    assert_eq!(
        compare_interleaved(&changing, &changing)
            .apart
            .expect("none alike")
            .alike,
        0
    );
}
