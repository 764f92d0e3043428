use super::*;
use crate::policy::random::SplitMix;
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);

fn records(count: usize, begin: Instant) -> Vec<Record> {
    let timeline = Timeline::new(begin);
    (0..count).map(|_| Record::new(timeline)).collect()
}

fn all(records: &[Record]) -> Vec<&Record> {
    records.iter().collect()
}

fn note(record: &Record, policy: &OutlierPolicy, verdict: Verdict, times: u32) -> Option<Cause> {
    (0..times).find_map(|_| record.note(policy, verdict))
}

fn by_rate(threshold: u32) -> OutlierByRate {
    OutlierByRate {
        threshold,
        enforcing: 100,
        minimum_hosts: 3,
        request_volume: 100,
    }
}

/// Only by what is asked for.
fn policy() -> OutlierPolicy {
    OutlierPolicy {
        consecutive_5xx: None,
        max_ejection_percent: 50,
        ..OutlierPolicy::default()
    }
}

#[test]
fn failures_in_a_row_make_an_outlier_and_one_success_ends_the_row() {
    let begin = Instant::now();
    let policy = OutlierPolicy::default();
    let record = Record::new(Timeline::new(begin));
    assert_eq!(note(&record, &policy, Verdict::ServerError, 4), None);
    assert_eq!(record.note(&policy, Verdict::Success), None);
    assert_eq!(note(&record, &policy, Verdict::ServerError, 4), None);
    // Whatever kind, unless they are told apart.
    assert_eq!(
        record.note(&policy, Verdict::LocalOrigin),
        Some(Cause::Consecutive5xx)
    );
}

#[test]
fn gateway_errors_have_a_row_of_their_own() {
    let policy = OutlierPolicy {
        consecutive_gateway: Some(3),
        ..OutlierPolicy::default()
    };
    let record = Record::new(Timeline::new(Instant::now()));
    assert_eq!(note(&record, &policy, Verdict::Gateway, 2), None);
    assert_eq!(record.note(&policy, Verdict::ServerError), None);
    assert_eq!(record.note(&policy, Verdict::Gateway), None);
    // The fifth 5xx, the second gateway error in a row.
    assert_eq!(
        record.note(&policy, Verdict::Gateway),
        Some(Cause::Consecutive5xx)
    );
    let other = Record::new(Timeline::new(Instant::now()));
    assert_eq!(
        note(&other, &policy, Verdict::Gateway, 3),
        Some(Cause::ConsecutiveGateway)
    );
}

#[test]
fn failures_of_the_way_can_be_told_apart() {
    let policy = OutlierPolicy {
        consecutive_local_origin: Some(2),
        ..OutlierPolicy::default()
    };
    let record = Record::new(Timeline::new(Instant::now()));
    assert_eq!(note(&record, &policy, Verdict::ServerError, 4), None);
    assert_eq!(record.note(&policy, Verdict::LocalOrigin), None);
    // It was reached in between.
    assert_eq!(record.note(&policy, Verdict::Success), None);
    assert_eq!(
        note(&record, &policy, Verdict::LocalOrigin, 2),
        Some(Cause::ConsecutiveLocalOrigin)
    );
}

#[test]
fn ejections_grow_longer_and_are_forgiven_in_time() {
    let begin = Instant::now();
    let policy = OutlierPolicy {
        max_ejection: 70 * SECOND,
        ..OutlierPolicy::default()
    };
    let mut random = SplitMix::new(1);
    let records = records(1, begin);
    let record = &records[0];
    let mut now = begin;
    for expected in [30, 60, 70, 70] {
        record.eject(&policy, now, &mut random);
        assert_eq!(record.ejected_until(), Some(now + expected * SECOND));
        assert!(!record.readmit(now + (expected - 1) * SECOND));
        now += expected * SECOND;
        assert!(record.readmit(now) && !record.is_ejected());
    }
    // Four intervals without an ejection: as if it had never been.
    for _ in 0..4 {
        now += 10 * SECOND;
        sweep(&policy, &all(&records), now, &mut random);
    }
    record.eject(&policy, now, &mut random);
    assert_eq!(record.ejected_until(), Some(now + 30 * SECOND));
    assert!(record.pardon() && !record.is_ejected());
}

#[test]
fn jitter_spreads_the_ends_of_ejections() {
    let begin = Instant::now();
    let policy = OutlierPolicy {
        ejection_jitter: 10 * SECOND,
        ..OutlierPolicy::default()
    };
    let mut random = SplitMix::new(1);
    let records = records(20, begin);
    for record in &records {
        record.eject(&policy, begin, &mut random);
    }
    let mut ends: Vec<_> = records.iter().filter_map(Record::ejected_until).collect();
    ends.sort_unstable();
    ends.dedup();
    assert_eq!(ends.len(), 20);
    assert!(ends[0] >= begin + 30 * SECOND && ends[19] <= begin + 40 * SECOND);
    assert_eq!(next_readmission(&records), Some(ends[0]));
}

#[test]
fn not_more_than_a_part_is_left_out_but_always_one() {
    let policy = OutlierPolicy::default();
    assert!(may_eject(&policy, 0, 1));
    assert!(!may_eject(&policy, 1, 5));
    assert!(may_eject(&policy, 2, 30) && !may_eject(&policy, 3, 30));
    let never = OutlierPolicy {
        max_ejection_percent: 0,
        ..OutlierPolicy::default()
    };
    assert!(!may_eject(&never, 0, 1) && !may_eject(&never, 0, 100));
}

#[test]
fn a_success_rate_far_below_the_others_is_found() {
    let begin = Instant::now();
    let records = records(5, begin);
    let policy = OutlierPolicy {
        success_rate: Some(by_rate(1900)),
        ..policy()
    };
    let fill = |bad_at_4| {
        for (place, record) in records.iter().enumerate() {
            let bad = if place == 4 { bad_at_4 } else { 2 };
            note(record, &policy, Verdict::ServerError, bad);
            note(record, &policy, Verdict::Success, 100 - bad);
        }
    };
    let mut random = SplitMix::new(1);
    fill(3);
    let swept = sweep(&policy, &all(&records), begin, &mut random);
    // All alike but for one in a hundred: with so little spread even that is far.
    assert_eq!(swept.ejected, [(4, Cause::SuccessRate)]);
    assert!(records[4].is_ejected());

    // Too few have had enough requests.
    for record in &records[..2] {
        note(record, &policy, Verdict::ServerError, 100);
    }
    let swept = sweep(&policy, &all(&records), begin, &mut random);
    assert_eq!(swept.ejected, []);
}

#[test]
fn too_many_failures_are_found_and_counts_begin_anew_with_each_interval() {
    let begin = Instant::now();
    let records = records(4, begin);
    let policy = OutlierPolicy {
        failure_percentage: Some(by_rate(85)),
        ..policy()
    };
    let mut random = SplitMix::new(1);
    for (record, failures) in records.iter().zip([0, 85, 86, 100]) {
        note(record, &policy, Verdict::ServerError, failures);
        note(record, &policy, Verdict::Success, 100 - failures);
    }
    let swept = sweep(&policy, &all(&records), begin, &mut random);
    let expected = [(2, Cause::FailurePercentage), (3, Cause::FailurePercentage)];
    assert_eq!(swept.ejected, expected);
    let later = begin + 30 * SECOND;
    let swept = sweep(&policy, &all(&records), later, &mut random);
    assert_eq!((swept.ejected, swept.readmitted), (vec![], vec![2, 3]));
}

#[test]
fn rates_are_judged_from_so_many_endpoints_on_that_had_requests() {
    let one_bad = [(100, 0), (100, 0), (0, 100)];
    for judge in [by_success_rate, by_failure_percentage] {
        let by = by_rate(85);
        let found = judge(Some(&by), &one_bad);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, 2);
        assert_eq!(judge(Some(&by), &one_bad[1..]), [], "too few");
        let quiet = [(100, 0), (100, 0), (0, 99)];
        assert_eq!(judge(Some(&by), &quiet), [], "too few had so many requests");
        let by = OutlierByRate {
            request_volume: 0,
            ..by
        };
        let idle = [(100, 0), (0, 0), (0, 100)];
        assert_eq!(judge(Some(&by), &idle), [], "too few had any");
    }
}

#[test]
fn a_success_rate_within_the_spread_of_all_is_no_outlier() {
    let by = by_rate(1900);
    let spread = [(100, 0), (100, 0), (90, 10), (90, 10), (80, 20)];
    assert_eq!(by_success_rate(Some(&by), &spread), []);
    assert_eq!(by_success_rate(Some(&by), &[(100, 0); 3]), [], "all alike");
}

#[test]
fn a_policy_without_an_interval_is_swept_each_millisecond() {
    let at_once = OutlierPolicy {
        interval: Duration::ZERO,
        ..policy()
    };
    assert_eq!(interval(&at_once), Duration::from_millis(1));
    assert_eq!(interval(&policy()), policy().interval);
}

#[test]
fn enforcing_may_be_a_part() {
    let begin = Instant::now();
    let records = records(1000, begin);
    let half = OutlierByRate {
        enforcing: 50,
        ..by_rate(50)
    };
    let policy = OutlierPolicy {
        failure_percentage: Some(half),
        max_ejection_percent: 100,
        ..policy()
    };
    for record in &records {
        note(record, &policy, Verdict::ServerError, 100);
    }
    let swept = sweep(&policy, &all(&records), begin, &mut SplitMix::new(1));
    assert!(
        swept.ejected.len().abs_diff(500) < 80,
        "{}",
        swept.ejected.len()
    );
}

proptest! {
    #[test]
    fn a_sweep_never_leaves_out_more_than_it_may(
        counts in prop::collection::vec((0_u32..200, 0_u32..200), 1..30),
        percent in 0_u8..=100, seed: u64,
    ) {
        let begin = Instant::now();
        let records = records(counts.len(), begin);
        let policy = OutlierPolicy {
            success_rate: Some(by_rate(500)),
            failure_percentage: Some(by_rate(10)),
            max_ejection_percent: percent,
            ..policy()
        };
        let mut random = SplitMix::new(seed);
        let mut now = begin;
        for _ in 0..3 {
            for (record, (good, bad)) in records.iter().zip(&counts) {
                note(record, &policy, Verdict::Success, *good);
                note(record, &policy, Verdict::ServerError, *bad);
            }
            sweep(&policy, &all(&records), now, &mut random);
            let ejected = records.iter().filter(|record| record.is_ejected()).count();
            let most = (usize::from(percent) * records.len()).div_ceil(100).max(1);
            prop_assert!(ejected <= most, "{ejected} of {most}");
            now += policy.interval;
        }
    }
}
