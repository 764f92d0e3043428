//! Records GENERATED FOR TESTS from a formula. They are no measurements, and the machine that they
//! name does not exist; nothing here is ever part of a result.

use std::collections::BTreeMap;

use crate::record::{
    BINS_50US, Baseline, BothSides, Cell, Failure, Host, Latency, LatencyHistogram, LatencyKind,
    MachineLoad, Measured, Mode, Record, SCHEMA, Status,
};

/// Subjects of the model: name, microseconds a request at the server, nanoseconds a byte, and how
/// heavy the tail is.
pub(crate) const MODEL: [(&str, f64, f64, f64); 17] = [
    ("TCP-AS", 11.0, 0.35, 0.35),
    ("THRIFT-S", 11.5, 0.36, 0.30),
    ("THRIFT-NB", 13.0, 0.25, 0.10),
    ("THRIFT-AS", 30.0, 0.60, 0.15),
    ("GRPC-S", 60.0, 0.95, 0.45),
    ("GRPC-AS", 58.0, 0.95, 0.20),
    ("GRPC-BI", 33.0, 0.70, 0.50),
    ("GRPC-ASBI", 30.0, 0.60, 0.12),
    ("GRPC-CB", 50.0, 0.90, 0.25),
    ("CW-S", 9.0, 0.20, 0.08),
    ("CW-AS", 10.0, 0.20, 0.08),
    ("CW-BI", 8.5, 0.22, 0.10),
    ("CW-EL", 7.5, 0.19, 0.08),
    ("CW-SHM", 2.0, 0.15, 0.05),
    ("FLOOR-TCP", 7.0, 0.15, 0.05),
    ("CW-REST", 18.0, 0.30, 0.10),
    ("CW-GRPC", 20.0, 0.32, 0.10),
];

/// What a generated series holds.
#[derive(Debug)]
pub(crate) struct Series<'a> {
    pub(crate) subjects: &'a [&'a str],
    pub(crate) payloads: &'a [u64],
    pub(crate) clients: &'a [u32],
    pub(crate) rates: &'a [u64],
    pub(crate) repetitions: u32,
}

impl Series<'_> {
    /// The records: the single-client payloads, the rates at 0 B, the clients at the payloads of
    /// the tables.
    pub(crate) fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        for repetition in 1..=self.repetitions {
            for subject in self.subjects {
                for payload in self.payloads {
                    records.push(record(subject, *payload, 1, None, repetition));
                }
                for rate in self.rates {
                    records.push(record(subject, 0, 1, Some(*rate), repetition));
                }
                for clients in self.clients.iter().filter(|clients| **clients > 1) {
                    for payload in [0, 10_000, 100_000] {
                        records.push(record(subject, payload, *clients, None, repetition));
                    }
                }
            }
        }
        for (record, sequence) in records.iter_mut().zip(1..) {
            record.sequence = sequence;
        }
        records
    }
}

/// One generated run.
pub(crate) fn record(
    subject: &str,
    payload: u64,
    clients: u32,
    rate: Option<u64>,
    repetition: u32,
) -> Record {
    let (_, base, per_byte, tail) = *MODEL
        .iter()
        .find(|(name, ..)| *name == subject)
        .expect("a subject of the model");
    let service = base + per_byte * payload as f64 / 1e3;
    let queue = service * (f64::from(clients) - 1.0) * 0.8;
    let middle = 9.0 + service + queue;
    let weather = 1.0 + 0.01 * f64::from(repetition % 3);
    let counts = (0..1_000_u32).map(|index| {
        let share = f64::from(index) / 1_000.0;
        // A narrow body and a tail that grows with the clients.
        let factor = 0.85 + 0.3 * share + tail * f64::from(clients).sqrt() * share.powi(30) * 8.0;
        ((middle * weather * factor * 1e3) as u64, 20)
    });
    let counts: Vec<(u64, u64)> = counts.collect();
    let hdr = LatencyHistogram::from_counts(counts.iter().copied()).expect("small counts");
    let latency = latency(&counts, &hdr);
    let qps = match rate {
        Some(rate) => rate as f64,
        None => f64::from(clients) * 1e6 / latency.mean,
    };
    let cpu = (qps * service * 0.8 / 1e4).min(100.0);
    Record {
        schema: SCHEMA,
        cell: Cell {
            scenario: "guti".into(),
            subject: subject.into(),
            mode: if rate.is_some() {
                Mode::Rate
            } else {
                Mode::NoRate
            },
            rate,
            payload_bytes: payload,
            clients,
            connections: clients,
            settings: BTreeMap::new(),
        },
        repetition,
        sequence: 1,
        started_at: format!("2000-01-01T00:{repetition:02}:00.000Z"),
        status: Status::Complete,
        error: None,
        measured: Some(Measured {
            duration_s: 1.0,
            requests: 20_000,
            errors: 0,
            qps,
            bytes_per_s: qps * payload as f64,
            latency_us: latency,
            latency_kind: LatencyKind::RoundTrip,
            histogram_50us: vec![0; BINS_50US],
            hdr: hdr.encode().expect("small counts"),
            cpu_us_per_request: BothSides {
                server: Some(service * 0.8),
                client: Some(service),
            },
            cpu_percent: BothSides {
                server: Some(cpu),
                client: Some(cpu),
            },
        }),
        baseline_us: Some(Baseline {
            mean: 11.0,
            p50: 10.5,
            p99: 20.0,
        }),
        machine_load: Some(MachineLoad {
            foreign_cpu_percent: 1.0,
            steal_percent: 0.0,
            loadavg_1m: 0.5,
        }),
        line_ns: None,
        extra: serde_json::Map::new(),
        options: serde_json::Map::new(),
        versions: BTreeMap::from([("generated for a test".into(), "no version".into())]),
        host: Host {
            cpu_model: "GENERATED FOR A TEST, no real CPU".into(),
            cores: 2,
            memory_bytes: 1 << 32,
            kernel: "none".into(),
            distribution: "none".into(),
            governor: None,
            virtualised: None,
        },
    }
}

/// The same run, failed.
pub(crate) fn failed(record: Record, what: &str) -> Record {
    Record {
        status: Status::Failed,
        error: Some(Failure {
            what: what.into(),
            place: "server, at its start".into(),
            next: String::new(),
        }),
        measured: None,
        ..record
    }
}

fn latency(counts: &[(u64, u64)], histogram: &LatencyHistogram) -> Latency {
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let moment = |of: &dyn Fn(f64) -> f64| {
        let sum = counts
            .iter()
            .map(|(nanoseconds, count)| of(*nanoseconds as f64 / 1e3) * *count as f64);
        sum.sum::<f64>() / total as f64
    };
    let mean = moment(&|value| value);
    let variance = moment(&|value| (value - mean).powi(2));
    Latency {
        min: histogram.quantile_us(0.0),
        mean,
        stddev: variance.sqrt(),
        p25: histogram.quantile_us(0.25),
        p50: histogram.quantile_us(0.5),
        p75: histogram.quantile_us(0.75),
        p90: histogram.quantile_us(0.9),
        p95: histogram.quantile_us(0.95),
        p99: histogram.quantile_us(0.99),
        p999: histogram.quantile_us(0.999),
        p9999: histogram.quantile_us(0.9999),
        max: histogram.quantile_us(1.0),
    }
}
