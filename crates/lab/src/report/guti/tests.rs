use super::claims::Outcome;
use super::findings;
use super::metric::Metric;
use super::runs::{Condition, Runs, State};
use super::tables::{self, Match};
use super::thesis::{ADAPTERS, CLIENTS, Place, STATEMENTS, TABLES};
use super::versus::{Standing, best_against_best};
use crate::record::{Record, Status};
use crate::report::tests::generated::{Series, failed, record};

fn several(subjects: &[&str], clients: &[u32], repetitions: u32) -> Vec<Record> {
    Series {
        subjects,
        payloads: &[0, 10_000, 100_000],
        clients,
        rates: &[],
        repetitions,
    }
    .records()
}

fn set_mean(record: &mut Record, mean: f64) {
    let measured = record.measured.as_mut().expect("a complete record");
    measured.latency_us.mean = mean;
}

/// A run of any subject, also of one that the model does not know.
fn record_of(subject: &str, repetition: u32) -> Record {
    let mut record = record("CW-S", 0, 1, None, repetition);
    record.cell.subject = subject.to_owned();
    record
}

/// Five repetitions of two adapters with the given means.
fn duel(means: [(&str, [f64; 5]); 2]) -> Vec<Record> {
    let mut records = Vec::new();
    for (subject, means) in means {
        for (repetition, mean) in (1..).zip(means) {
            let mut record = record_of(subject, repetition);
            set_mean(&mut record, mean);
            records.push(record);
        }
    }
    records
}

fn first_cell(records: &[Record]) -> tables::Cell {
    let runs = Runs::new(records);
    let mut cells = tables::cells(&runs, &TABLES[0]);
    cells.remove(0)
}

#[test]
fn a_clear_winner_that_the_thesis_names_too_is_the_same() {
    let records = duel([
        ("TCP-AS", [20.0, 20.1, 20.2, 20.1, 20.0]),
        ("THRIFT-NB", [25.0, 25.1, 25.2, 25.1, 25.0]),
    ]);
    let cell = first_cell(&records);
    assert_eq!(cell.agreement, Match::Same);
    let ranking = cell.comparable.expect("both have figures");
    assert_eq!(ranking.winner(), Some("TCP-AS"));
}

#[test]
fn overlapping_spreads_tie_and_a_tie_with_the_thesis_s_winner_is_shared() {
    let records = duel([
        ("TCP-AS", [20.0, 22.0, 21.0, 23.0, 20.5]),
        ("THRIFT-NB", [20.2, 21.9, 21.1, 22.8, 20.4]),
    ]);
    let cell = first_cell(&records);
    assert_eq!(cell.agreement, Match::Shared);
    let ranking = cell.comparable.expect("both have figures");
    assert_eq!(ranking.best.len(), 2);
    assert_eq!(ranking.winner(), None);
}

#[test]
fn another_winner_is_another() {
    let records = duel([
        ("TCP-AS", [25.0, 25.1, 25.2, 25.1, 25.0]),
        ("GRPC-S", [20.0, 20.1, 20.2, 20.1, 20.0]),
    ]);
    assert_eq!(first_cell(&records).agreement, Match::Other);
    let runs = Runs::new(&records);
    let sentence = tables::sentence(&tables::cells(&runs, &TABLES[0]));
    assert!(sentence.contains("1 name another"), "{sentence}");
    assert!(sentence.contains("GRPC-S here, TCP-AS there"), "{sentence}");
    assert!(
        sentence.contains("26 of the thesis's 27 cells were not run"),
        "{sentence}"
    );
}

#[test]
fn four_repetitions_are_a_hint_and_one_adapter_is_no_contest() {
    let mut records = duel([
        ("TCP-AS", [20.0, 20.1, 20.2, 20.1, 20.0]),
        ("THRIFT-NB", [25.0, 25.1, 25.2, 25.1, 25.0]),
    ]);
    records.retain(|record| record.repetition < 5);
    assert_eq!(first_cell(&records).agreement, Match::Hint(true));
    records.retain(|record| record.cell.subject == "TCP-AS");
    assert_eq!(first_cell(&records).agreement, Match::Alone);
}

#[test]
fn ours_count_among_all_but_not_among_the_eight() {
    let records = duel([
        ("TCP-AS", [20.0, 20.1, 20.2, 20.1, 20.0]),
        ("CW-S", [15.0, 15.1, 15.2, 15.1, 15.0]),
    ]);
    let cell = first_cell(&records);
    assert_eq!(cell.agreement, Match::Alone);
    let everyone = cell.everyone.expect("both have figures");
    assert_eq!(everyone.winner(), Some("CW-S"));
}

#[test]
fn corewire_is_ahead_or_behind_by_the_direction_of_the_metric() {
    let records = duel([
        ("TCP-AS", [20.0, 20.1, 20.2, 20.1, 20.0]),
        ("CW-S", [10.0, 10.05, 10.1, 10.05, 10.0]),
    ]);
    let runs = Runs::new(&records);
    let (ours, theirs) = (["CW-S".to_owned()], ["TCP-AS".to_owned()]);
    let at = Condition::no_rate(0, 1);
    let versus =
        best_against_best(&runs, at, Metric::Mean, &ours, &theirs).expect("both have figures");
    assert_eq!(versus.standing, Standing::Ahead);
    let ratio = versus.ratio.expect("five pairs");
    assert!((ratio.median - 0.5).abs() < 1e-9, "{ratio:?}");
    let versus =
        best_against_best(&runs, at, Metric::Mean, &theirs, &ours).expect("both have figures");
    assert_eq!(versus.standing, Standing::Behind);
}

#[test]
fn a_repetition_that_was_run_again_counts_once_and_a_partial_one_not_at_all() {
    let good = record("TCP-AS", 0, 1, None, 1);
    let bad = failed(good.clone(), "gone");
    let mut partial = record("TCP-AS", 0, 1, None, 2);
    partial.status = Status::Partial;
    let at = Condition::no_rate(0, 1);
    let records = [bad.clone(), good, partial.clone()];
    let runs = Runs::new(&records);
    assert_eq!(runs.samples(at, "TCP-AS", Metric::Mean).len(), 1);
    assert_eq!(runs.state(at, "TCP-AS"), State::Measured);
    let records = [partial];
    let runs = Runs::new(&records);
    let State::Failed(reason) = runs.state(at, "TCP-AS") else {
        panic!("a partial run is shown as a hole");
    };
    assert!(reason.contains("stopped"), "{reason}");
}

#[test]
fn clients_that_share_a_connection_are_a_subject_of_their_own() {
    let mut shared = record("GRPC-ASBI", 0, 16, None, 1);
    shared.cell.connections = 1;
    let records = [shared, record("GRPC-ASBI", 0, 16, None, 1)];
    let runs = Runs::new(&records);
    assert_eq!(runs.subjects(), ["GRPC-ASBI", "GRPC-ASBI on 1"]);
}

#[test]
fn statements_hold_fail_and_stay_untested_by_the_data() {
    let outcome = |records: &[Record], text: &str| {
        let runs = Runs::new(records);
        let all = findings::all(&runs);
        let found = all
            .iter()
            .find(|(statement, _)| statement.text.contains(text))
            .expect("a statement with these words");
        (found.1.outcome(), found.1.held, found.1.unsure)
    };
    // In the model THRIFT-NB is ahead of TCP-AS at 100 kB with one client, and has the lower tail.
    let records = several(&["TCP-AS", "THRIFT-NB"], &[1, 16], 5);
    let best = "lowest mean latency of all at 100 kB with one client";
    assert_eq!(outcome(&records, best), (Outcome::Agrees, 1, 0));
    let tail = "TCP-AS has more tail latency than THRIFT-NB";
    assert_eq!(outcome(&records, tail), (Outcome::Agrees, 3, 0));
    // And its tail never reaches 20 ms.
    let reaches = "THRIFT-S and TCP-AS reaches 20 ms";
    assert_eq!(outcome(&records, reaches), (Outcome::Differs, 0, 0));
    let grpc = "streaming gRPC adapters have lower latency";
    assert_eq!(outcome(&records, grpc).0, Outcome::Untested);
    // With one repetition the same comparison is a hint.
    let records = several(&["TCP-AS", "THRIFT-NB"], &[1, 16], 1);
    assert_eq!(outcome(&records, best), (Outcome::Agrees, 1, 1));
}

#[test]
fn every_figure_and_table_has_a_statement_to_be_held_against() {
    let all = [
        "5.1", "5.2", "5.3", "5.4a", "5.4b", "5.5", "5.6a", "5.6b", "5.7", "5.8", "5.9", "5.10a",
        "5.10b", "5.10c", "5.11a", "5.11b", "5.11c",
    ];
    let records = several(&ADAPTERS, &CLIENTS, 1);
    let runs = Runs::new(&records);
    for number in all {
        let found = findings::at(&runs, Place::Figure(number));
        assert!(!found.is_empty(), "figure {number}");
    }
    for table in TABLES {
        assert!(!findings::at(&runs, Place::Table(table.number)).is_empty());
    }
}

#[test]
fn the_printed_tables_name_only_adapters_of_the_thesis() {
    for table in TABLES {
        for (clients, cells) in table.rows {
            assert!(CLIENTS.contains(&clients));
            for name in cells.iter().copied().flatten() {
                assert!(ADAPTERS.contains(name), "{name}");
            }
        }
    }
    assert!(
        STATEMENTS
            .iter()
            .all(|statement| !statement.places.is_empty())
    );
}

#[test]
fn neither_shared_memory_nor_one_thread_for_all_nor_tls_wins_a_cell() {
    let mut records = duel([
        ("CW-SHM", [1.0, 1.1, 1.2, 1.1, 1.0]),
        ("TCP-AS", [20.0, 20.1, 20.2, 20.1, 20.0]),
    ]);
    records.extend(duel([
        ("CW-EL", [3.0, 3.1, 3.2, 3.1, 3.0]),
        ("GRPC-S", [30.0, 30.1, 30.2, 30.1, 30.0]),
    ]));
    records.extend(duel([
        ("CW-S+mtls", [2.0, 2.1, 2.2, 2.1, 2.0]),
        ("THRIFT-NB", [25.0, 25.1, 25.2, 25.1, 25.0]),
    ]));
    let everyone = first_cell(&records).everyone.expect("figures");
    assert_eq!(everyone.winner(), Some("TCP-AS"));
    let pages = super::report(&records.iter().collect::<Vec<_>>());
    let answer = &pages.sections[0].html;
    assert!(
        answer.contains("Corewire's adapters have no figures"),
        "{answer}"
    );
}

#[test]
fn tls_is_shown_as_a_ratio_to_the_clear_text_of_the_same_run() {
    let mut records = Vec::new();
    for repetition in 1..=5 {
        for (subject, qps) in [
            ("CW-S", 1000.0),
            ("CW-S+mtls", 850.0),
            ("CW-REST", 1000.0),
            ("CW-REST+mtls", 700.0),
            ("GRPC-S+tls", 100.0),
        ] {
            let mut record = record_of(subject, repetition);
            record.measured.as_mut().expect("complete").qps = qps;
            records.push(record);
        }
    }
    let runs = Runs::new(&records);
    let html = super::tls::section(&runs);
    for part in [
        "CW-S+mtls",
        ">met<",
        "CW-REST+mtls",
        ">missed<",
        "0.85",
        "0.70",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert!(
        !html.contains("GRPC-S+tls"),
        "has no clear text here: {html}"
    );
    let few = records.iter().filter(|record| record.repetition < 3);
    let html = super::tls::section(&Runs::new(few));
    assert!(
        html.contains(">too few runs<") && !html.contains(">met<"),
        "{html}"
    );
    assert!(
        super::tls::section(&Runs::new(&duel([
            ("CW-S", [1.0; 5]),
            ("TCP-AS", [2.0; 5]),
        ])))
        .is_empty()
    );
}

#[test]
fn shared_memory_stands_beside_the_adapters_over_tcp() {
    let mut records = duel([
        ("CW-SHM", [1.0, 1.1, 1.2, 1.1, 1.0]),
        ("CW-S", [15.0, 15.1, 15.2, 15.1, 15.0]),
    ]);
    records.extend(duel([
        ("TCP-AS", [20.0, 20.1, 20.2, 20.1, 20.0]),
        ("THRIFT-NB", [25.0, 25.1, 25.2, 25.1, 25.0]),
    ]));
    let report = super::report(&records.iter().collect::<Vec<_>>());
    let answer = &report.sections[0].html;
    let (contest, beside) = answer
        .split_once("<h3>Shared memory")
        .expect("a table of its own");
    assert!(!contest.contains("CW-SHM"), "{contest}");
    assert!(contest.contains("CW-S"), "{contest}");
    assert!(beside.contains("CW-SHM"), "{beside}");
    assert!(beside.contains("one host only"), "{beside}");
}
