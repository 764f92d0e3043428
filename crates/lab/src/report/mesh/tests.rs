//! Reports of records GENERATED FOR TESTS: they are no measurements.

use serde_json::{Value, json};

use crate::record::{Cell, Mode, Record};
use crate::report::tests::generated::{failed, record};
use crate::report::tests::page;

/// A path's cell with a model's latencies; `times` is how much slower it is.
fn run(subject: &str, rate: Option<u64>, repetition: u32, times: f64) -> Record {
    let mut run = record("CW-REST", 0, 1, rate, repetition);
    run.cell = Cell {
        scenario: "mesh".into(),
        subject: subject.into(),
        mode: if rate.is_some() {
            Mode::Rate
        } else {
            Mode::NoRate
        },
        rate,
        payload_bytes: 1024,
        clients: 1,
        connections: 30,
        settings: [("replicas".to_owned(), "30".to_owned())].into(),
    };
    let measured = run.measured.as_mut().expect("complete");
    measured.latency_us.p50 = 100.0 * times;
    measured.latency_us.p99 = 200.0 * times + f64::from(repetition);
    let Value::Object(extra) = json!({
        "one_way_us": {"mean": 40.0 * times, "p50": 39.0 * times, "p99": 80.0 * times,
                       "stddev": 9.0 * times},
        "role_cpu_us_per_request": {"gateway": 30.0, "gateway_sidecar": 100.0 * times,
                                    "replica": 25.0, "all": 60.0 * times},
        "role_cpu_milli": {"gateway": 45.0, "gateway_sidecar": 150.0 * times, "all": 90.0},
        "role_rss_bytes": {"gateway": {"processes": 1, "largest": 5_000_000, "sum": 5_000_000}},
        "first_answer_ms": 4.0,
    }) else {
        panic!("an object");
    };
    run.extra = extra;
    run.options = [("request".to_owned(), json!({"profile": "quick"}))]
        .into_iter()
        .collect();
    run
}

fn series() -> Vec<Record> {
    let mut records = Vec::new();
    for repetition in 1..=5 {
        for rate in [Some(500), Some(1_500), None] {
            for (subject, times) in [
                ("direct-rest", 1.0),
                ("inline-rest", 1.05),
                ("envoy-2-rest", 7.0),
                ("inline-grpc", 1.2),
                ("envoy-2-grpc", 8.0),
            ] {
                records.push(run(subject, rate, repetition, times));
            }
        }
        for hops in [2_u32, 4] {
            let mut chain = run("inline-rest", Some(1_500), repetition, f64::from(hops));
            chain.cell.settings.insert("hops".into(), hops.to_string());
            let ways: Vec<Value> = (0..hops)
                .map(|hop| json!({"mean": 40.0 + f64::from(hop)}))
                .collect();
            chain.extra.insert("hops_one_way_us".into(), ways.into());
            records.push(chain);
        }
        for replicas in [1_u32, 60] {
            let mut other = run("envoy-2-rest", Some(1_500), repetition, 6.0);
            other
                .cell
                .settings
                .insert("replicas".into(), replicas.to_string());
            records.push(other);
        }
    }
    records
}

#[test]
fn the_papers_figures_and_the_goals_are_there_and_well_formed() {
    let (page, figures) = page(&series());
    for figure in [
        "11a", "11b", "11c", "11d", "12a", "12b", "5a", "5b", "hops-p50", "hops-p99",
    ] {
        let name = format!("figure-mesh-{figure}.svg");
        assert!(figures.contains(&name), "{name} in {figures:?}");
    }
    assert!(page.contains("aim met"), "1.05 of 7.0 is below a sixth");
    assert!(
        page.contains("it agrees: envoy-2-grpc against inline-grpc"),
        "6.7 is over three"
    );
    assert!(page.contains("hop 4") && page.contains("not run"));
    assert!(page.contains("corewire lab run mesh --profile quick"));
}

#[test]
fn holes_name_their_reason_and_a_small_series_makes_a_report_too() {
    let hole = failed(
        run("inline-shm", Some(1_500), 1, 1.0),
        "inline-shm: not built yet",
    );
    let (page, _) = page(&[hole, run("direct-rest", Some(10), 1, 1.0)]);
    assert!(page.contains("inline-shm: not built yet"));
    assert!(page.contains("no runs to draw it from"));
}

#[test]
fn goals_are_told_in_the_terminal_too() {
    let records = series();
    let records: Vec<&Record> = records.iter().collect();
    let lines = super::goals::lines(&records);
    assert!(lines[0].contains("aim met"), "{lines:?}");
    assert!(lines.iter().all(|line| !line.contains("not run")));
}
