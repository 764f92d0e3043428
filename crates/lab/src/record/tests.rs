use serde_json::json;

use super::*;

/// A record with every field set, to vary in tests.
pub(crate) fn example() -> Record {
    let histogram = LatencyHistogram::from_counts([(17_000, 90), (25_000, 9), (400_000, 1)])
        .expect("small counts");
    Record {
        schema: SCHEMA,
        cell: Cell {
            scenario: "guti".into(),
            subject: "TCP-AS".into(),
            mode: Mode::NoRate,
            rate: None,
            payload_bytes: 10_000,
            clients: 4,
            connections: 4,
            settings: BTreeMap::new(),
        },
        repetition: 2,
        sequence: 17,
        started_at: "2026-01-02T03:04:05.678Z".into(),
        status: Status::Complete,
        error: None,
        measured: Some(Measured {
            duration_s: 0.5,
            requests: 100,
            errors: 0,
            qps: 200.0,
            bytes_per_s: 4e6,
            latency_us: Latency {
                min: 16.5,
                mean: 21.55,
                stddev: 3.25,
                p25: 17.0,
                p50: 17.0,
                p75: 17.0,
                p90: 17.0,
                p95: 25.0,
                p99: 25.0,
                p999: 400.0,
                p9999: 400.0,
                max: 400.0,
            },
            latency_kind: LatencyKind::RoundTrip,
            histogram_50us: vec![0; BINS_50US],
            hdr: histogram.encode().expect("small counts"),
            cpu_us_per_request: BothSides {
                server: Some(5.5),
                client: None,
            },
            cpu_percent: BothSides {
                server: Some(98.0),
                client: None,
            },
        }),
        baseline_us: Some(Baseline {
            mean: 8.0,
            p50: 7.5,
            p99: 12.0,
        }),
        machine_load: Some(MachineLoad {
            foreign_cpu_percent: 1.5,
            steal_percent: 0.0,
            loadavg_1m: 0.7,
        }),
        line_ns: Some(LineNs {
            before: 51.8,
            after: 52.3,
        }),
        extra: Map::new(),
        options: Map::new(),
        versions: BTreeMap::from([("thrift".into(), "0.17".into())]),
        host: Host {
            cpu_model: "a CPU".into(),
            cores: 2,
            memory_bytes: 1 << 30,
            kernel: "6.1".into(),
            distribution: "Debian".into(),
            governor: None,
            virtualised: Some("kvm".into()),
        },
    }
}

/// The same cell, failed.
pub(crate) fn failed() -> Record {
    Record {
        status: Status::Failed,
        error: Some(Failure {
            what: "the client ended".into(),
            place: "corewire-peer-client, while measuring".into(),
            next: String::new(),
        }),
        measured: None,
        ..example()
    }
}

#[test]
fn what_is_written_is_read_back() {
    for record in [example(), failed()] {
        let line = serde_json::to_string(&record).expect("plain data");
        assert!(!line.contains('\n'));
        let back: Record = serde_json::from_str(&line).expect("own output");
        assert_eq!(back, record);
    }
}

#[test]
fn figures_stand_flat_and_under_their_documented_names() {
    let value = serde_json::to_value(example()).expect("plain data");
    for name in [
        "schema",
        "scenario",
        "subject",
        "mode",
        "rate",
        "payload_bytes",
        "clients",
        "connections",
        "repetition",
        "started_at",
        "duration_s",
        "requests",
        "errors",
        "qps",
        "bytes_per_s",
        "latency_us",
        "latency_kind",
        "histogram_50us",
        "hdr",
        "cpu_us_per_request",
        "cpu_percent",
        "baseline_us",
        "extra",
        "options",
        "versions",
        "host",
        "status",
        "machine_load",
        "sequence",
    ] {
        assert!(value.get(name).is_some(), "{name} is missing");
    }
    assert_eq!(value["mode"], json!("no-rate"));
    assert_eq!(value["latency_kind"], json!("round-trip"));
    assert_eq!(value["rate"], Value::Null);
}

#[test]
fn settings_tell_cells_apart_and_are_left_out_when_there_are_none() {
    let mut record = example();
    let line = serde_json::to_string(&record).expect("plain data");
    assert!(!line.contains("settings"), "{line}");
    let bare = record.cell.clone();
    record.cell.settings.insert("nagle".into(), "off".into());
    assert_ne!(record.cell, bare);
    assert!(record.cell.to_string().ends_with(", nagle off"));
    let line = serde_json::to_string(&record).expect("plain data");
    let back: Record = serde_json::from_str(&line).expect("own output");
    assert_eq!(back, record);
}

#[test]
fn a_damaged_figure_is_an_error_and_not_a_hole() {
    let mut value = serde_json::to_value(example()).expect("plain data");
    value["qps"] = json!("fast");
    let error = serde_json::from_value::<Record>(value).expect_err("qps is a number");
    assert!(error.to_string().contains("fast"), "{error}");
}

#[test]
fn a_newer_schema_is_refused_by_number() {
    let mut value = serde_json::to_value(example()).expect("plain data");
    value["schema"] = json!(2);
    let error = serde_json::from_value::<Record>(value).expect_err("another schema");
    assert!(error.to_string().contains("schema 2"), "{error}");
}

#[test]
fn a_record_without_probes_is_read_and_written_without_them() {
    let mut value = serde_json::to_value(example()).expect("plain data");
    value.as_object_mut().expect("an object").remove("line_ns");
    let record: Record = serde_json::from_value(value.clone()).expect("as of earlier programs");
    assert_eq!(record.line_ns, None);
    assert_eq!(serde_json::to_value(record).expect("plain data"), value);
}

#[test]
fn unknown_fields_of_a_later_program_are_let_be() {
    let mut value = serde_json::to_value(example()).expect("plain data");
    value["colour"] = json!("green");
    assert_eq!(
        serde_json::from_value::<Record>(value).expect("same schema"),
        example()
    );
}

#[test]
fn histogram_comes_back_from_base64_with_its_percentiles() {
    let histogram = example()
        .measured
        .expect("complete")
        .histogram()
        .expect("own output");
    assert_eq!(histogram.count(), 100);
    assert!((histogram.quantile_us(0.5) - 17.0).abs() < 0.02);
    assert!((histogram.quantile_us(0.99) - 25.0).abs() < 0.03);
    assert!((histogram.quantile_us(1.0) - 400.0).abs() < 0.5);
    assert!(
        example()
            .measured
            .expect("complete")
            .hdr
            .starts_with("HISTFAAA")
    );
    assert_eq!(
        histogram.bins_us().map(|(_, count)| count).sum::<u64>(),
        100
    );
}

#[test]
fn repetitions_add_up() {
    let mut all = LatencyHistogram::from_counts([(1_000, 3)]).expect("small counts");
    let more = LatencyHistogram::from_counts([(2_000_000_000, 1)]).expect("small counts");
    all.add(&more).expect("small counts");
    assert_eq!(all.count(), 4);
    assert!((all.quantile_us(1.0) / 2e6 - 1.0).abs() < 1e-3);
}

#[test]
fn rubbish_is_no_histogram() {
    assert!(LatencyHistogram::decode("***").is_err());
    assert!(LatencyHistogram::decode("aGVsbG8=").is_err());
}
