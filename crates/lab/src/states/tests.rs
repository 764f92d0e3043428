use super::*;
use crate::record::tests::{example, failed};

/// Figures that scatter by a few percent around `middle`, always the same ones.
fn around(middle: f64, count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(move |index| middle * (1.0 + 0.05 * (index as f64 * 2.399).sin()))
}

fn run(before: f64, after: f64) -> Record {
    Record {
        line_ns: Some(LineNs { before, after }),
        ..example()
    }
}

#[test]
fn one_cloud_is_one_state_however_wide_or_many() {
    for count in [0, 1, 2, 6, 40, 4_000] {
        assert_eq!(States::of(around(52.0, count)).count(), 1, "{count}");
    }
    // Evenly from 50 to 500: a spread, not two states.
    let even = (0..1_000).map(|index| 50.0 * 10_f64.powf(f64::from(index) / 999.0));
    assert_eq!(States::of(even).count(), 1);
}

#[test]
fn two_clouds_are_two_states() {
    let states = States::of(around(52.0, 345).chain(around(419.0, 103)));
    assert_eq!(states.count(), 2);
    assert_eq!((states.at(60.0), states.at(350.0)), (0, 1));
    let between = |before, after| states.between(LineNs { before, after });
    assert_eq!(between(50.0, 55.0), RunState::Steady(0));
    assert_eq!(between(400.0, 425.0), RunState::Steady(1));
    assert_eq!(between(50.0, 425.0), RunState::Changing);
    // As soon as there are four of each.
    let few = |far| States::of(around(52.0, 4).chain(around(419.0, far))).count();
    assert_eq!((few(3), few(4)), (1, 2));
}

#[test]
fn three_clouds_are_three_states() {
    let states = States::of(
        around(40.0, 90)
            .chain(around(110.0, 80))
            .chain(around(420.0, 70)),
    );
    assert_eq!(states.count(), 3);
    assert_eq!([40.0, 110.0, 420.0].map(|ns| states.at(ns)), [0, 1, 2]);
}

#[test]
fn strays_and_near_clouds_are_no_state() {
    // Two probes that an interrupt met, whatever else there is.
    assert_eq!(
        States::of(around(52.0, 20).chain([900.0, 950.0])).count(),
        1
    );
    // Rarer than one in twenty.
    assert_eq!(
        States::of(around(52.0, 400).chain(around(419.0, 15))).count(),
        1
    );
    // Two clouds, but a fifth apart.
    assert_eq!(
        States::of(around(50.0, 50).chain(around(60.0, 50))).count(),
        1
    );
    // Strays do not hide two clouds, neither beyond them nor in the gap.
    let strays = around(52.0, 100)
        .chain(around(419.0, 60))
        .chain([9e3, 2e4, 150.0]);
    assert_eq!(States::of(strays).count(), 2);
}

#[test]
fn runs_are_counted_by_state() {
    let mut records: Vec<Record> = around(52.0, 6).map(|ns| run(ns, ns)).collect();
    records.extend(around(419.0, 4).map(|ns| run(ns, ns)));
    records.push(run(52.0, 419.0));
    records.push(failed());
    let census = Census::of(&records).expect("probed");
    assert_eq!((census.steady[0].0, census.steady[1].0), (6, 4));
    assert_eq!(census.changing, 1);
    let words = census.words();
    assert!(
        census.has_several() && words.contains("4 runs at 4"),
        "{words}"
    );

    let one = Census::of(&records[..6]).expect("probed");
    assert!(!one.has_several() && one.words().contains("6 runs in one state"));
    assert_eq!(Census::of(&[failed()]), None);
}

#[test]
fn without_probes_there_is_one_state_and_no_run_in_it() {
    let record = Record {
        line_ns: None,
        ..example()
    };
    let states = States::of_records([&record]);
    assert_eq!((states.count(), states.of_run(&record)), (1, None));
}
