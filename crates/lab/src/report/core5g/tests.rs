//! The report of the core from records that are made here.

use serde_json::{Value, json};

use super::*;
use crate::report::tests::generated::Series;

/// A run of so many UEs whose times are all `ms`.
fn record(transport: &str, threads: &str, ues: u32, ms: f64) -> Record {
    let mut record = Series {
        subjects: &["CW-S"],
        payloads: &[0],
        clients: &[1],
        rates: &[],
        repetitions: 1,
    }
    .records()
    .remove(0);
    record.cell.scenario = "core".to_owned();
    record.cell.subject = transport.to_owned();
    record.cell.clients = ues;
    let settings = [("flow", "3gpp"), ("threads", threads)];
    record.cell.settings = settings
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let times = json!({"mean": ms, "p50": ms, "p99": ms});
    let fields = [
        ("registration_ms", times.clone()),
        ("session_ms", times.clone()),
        ("detach_ms", times),
        ("cpu_us_per_ue", json!({"amf": 700.0, "udm": 50.0})),
        ("detach_cpu_us_per_ue", json!({"amf": 70.0})),
        ("attached_per_s", json!(450.0)),
        ("memory_bytes_per_ue", json!({"amf": 1024.0})),
    ];
    for (name, value) in fields {
        record.extra.insert(name.to_owned(), value);
    }
    record
}

fn of(records: &[Record]) -> (ScenarioReport, Vec<String>) {
    let all: Vec<&Record> = records.iter().collect();
    (report(&all), goals(&all))
}

#[test]
fn goals_are_judged_by_what_was_run_and_the_rest_is_named() {
    let records = [
        record("rest", "1", 1, 1.4),
        record("rest", "1", 10, 1.6),
        record("rest", "1", 1000, 30.0),
    ];
    let (_, lines) = of(&records);
    let verdict = |begins: &str| {
        let line = lines.iter().find(|line| line.starts_with(begins));
        line.unwrap_or_else(|| panic!("{begins}: {lines:?}"))
            .clone()
    };
    assert!(verdict("CPU for registration and session, all NFs, rest, 1").ends_with("aim"));
    assert!(verdict("registration, 1 UE, over rest").ends_with("aim"));
    assert!(verdict("registration, 1 UE, over grpc").ends_with("not run"));
    assert!(verdict("session, 1 UE, over rest").ends_with("met"));
    assert!(verdict("registrations and sessions a second, rest").ends_with("met"));
    assert!(verdict("time per UE at 10 UEs").ends_with("met"));
    assert!(verdict("attached UEs held in 1 GiB, extrapolated from 1000").ends_with("aim"));
    assert!(verdict("SCP hop").ends_with("there is no SCP"));
    assert_eq!(goals(&[]), Vec::<String>::new());
}

#[test]
fn the_page_has_curves_beside_the_source_s_and_its_words() {
    let mut records = Vec::new();
    for transport in ["rest", "grpc"] {
        for (threads, ues) in [("1", 1), ("1", 10), ("ues", 10)] {
            records.push(record(transport, threads, ues, 0.5 * f64::from(ues)));
        }
    }
    records[0].extra.insert(
        "hops".to_owned(),
        json!([{"step": "registration", "took_us": 400.0,
                "shares": [{"who": "amf", "us": 100.0}],
                "rows": [{"from": "amf", "to": "ausf", "what": "nausf-auth/v1/ue-authentications",
                          "begin_us": 10.0, "end_us": 90.0, "served_us": [20.0, 80.0]}]}]),
    );
    let (page, _) = of(&records);
    let html: String = page
        .sections
        .iter()
        .map(|section| section.html.as_str())
        .collect();
    for words in [
        "536.64",
        "source 3",
        "Detach is the fastest",
        "60 of them served",
        "750 (70)",
    ] {
        assert!(html.contains(words), "{words} is not in {html}");
    }
    let names: Vec<&str> = page
        .figures
        .iter()
        .map(|figure| figure.name.as_str())
        .collect();
    assert!(names.contains(&"figure-core-registration.svg"), "{names:?}");
    assert!(
        names.contains(&"figure-core-hops-3gpp-rest-registration.svg"),
        "{names:?}"
    );
    let times = Value::from("5.00 / 5.00 / 5.00");
    assert!(html.contains(times.as_str().expect("a text")));
}
