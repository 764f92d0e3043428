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
