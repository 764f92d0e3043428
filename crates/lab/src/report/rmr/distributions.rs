//! Figures 4 to 22: distributions of latency in the brief's bins.

use serde_json::Value;

use super::figures::Figure;
use super::runs::Runs;
use crate::record::{LatencyHistogram, Record};
use crate::report::chart::Key;
use crate::report::chart::histogram::{Distribution, Histogram, bins};
use crate::report::format;
use crate::rmr::{Condition, Nagle, Pin};

/// A figure of the brief, and what it is of.
struct Wanted {
    number: &'static str,
    title: &'static str,
    condition: Condition,
    /// The brief's own subject first; ours beside it.
    subjects: &'static [&'static str],
    /// What the brief says of it, in milliseconds where it says it.
    printed: &'static str,
}

const GRPC: &[&str] = &["grpc", "rmr", "si95", "native"];
const RMR: &[&str] = &["rmr", "si95", "native"];
const PINNED: &[&str] = &["grpc", "grpc-hint", "si95", "native"];

const fn at(rate: u64) -> Condition {
    Condition::plain(Some(rate), 1000)
}

fn wanted() -> Vec<Wanted> {
    let max = |size, nagle, pin| Condition {
        nagle,
        pin,
        ..Condition::plain(None, size)
    };
    let rated = |number, title, rate, printed| Wanted {
        number,
        title,
        condition: at(rate),
        subjects: GRPC,
        printed,
    };
    let other = |number, title, condition, subjects, printed| Wanted {
        number,
        title,
        condition,
        subjects,
        printed,
    };
    vec![
        rated(
            "4",
            "100 messages a second",
            100,
            "gRPC: median 0.30 ms, 99 % 0.38 ms",
        ),
        rated(
            "5",
            "850 messages a second",
            850,
            "gRPC: median 0.17 ms, 99 % 0.25 ms",
        ),
        rated(
            "6",
            "4,000 messages a second",
            4_000,
            "gRPC: median 0.15 ms, 99 % 0.20 ms",
        ),
        rated(
            "7",
            "8,000 messages a second (8,500 in its caption)",
            8_000,
            "gRPC: median 0.09 ms, 99 % 0.15 ms",
        ),
        rated(
            "8",
            "10,000 messages a second",
            10_000,
            "gRPC: median 0.07 ms, 99 % 0.13 ms",
        ),
        rated(
            "9 to 11",
            "39,000 messages a second",
            39_000,
            "gRPC, three trials: median 0.05 ms, 99 % 0.14 ms, above 1 ms, 0.20 ms",
        ),
        other(
            "12",
            "highest rate, Nagle's algorithm on, not pinned",
            max(1000, Nagle::On, Pin::None),
            RMR,
            "RMR over SI95: 300,000/s, 99 % above 1 ms",
        ),
        other(
            "13",
            "highest rate, Nagle's algorithm off, not pinned",
            max(1000, Nagle::Off, Pin::None),
            RMR,
            "RMR over SI95: 112,000/s, 99.5 % 0.07 ms, 99.9 % 0.69 ms",
        ),
        other(
            "14",
            "highest rate, Nagle's algorithm off, receiver pinned",
            max(1000, Nagle::Off, Pin::Receiver),
            RMR,
            "RMR over SI95: 136,000/s, 99.9 % 0.04 ms",
        ),
        other(
            "19",
            "gRPC at its highest rate, not pinned",
            max(1000, Nagle::Off, Pin::None),
            PINNED,
            "gRPC: 30,200/s, 95 % 0.09 ms, 99.99 % 19 ms",
        ),
        other(
            "20",
            "gRPC at its highest rate, very small messages, not pinned",
            max(16, Nagle::Off, Pin::None),
            PINNED,
            "gRPC: 33,900/s, 95 % 0.12 ms, 99.99 % 41 ms",
        ),
        other(
            "21",
            "gRPC at its highest rate, pinned",
            max(1000, Nagle::Off, Pin::Both),
            PINNED,
            "gRPC: 29,100/s, 95 % 0.07 ms, 99.99 % 0.19 ms",
        ),
        other(
            "22",
            "gRPC at its highest rate, very small messages, pinned",
            max(16, Nagle::Off, Pin::Both),
            PINNED,
            "gRPC: 29,500/s, 95 % 0.08 ms, 99.99 % 0.49 ms",
        ),
    ]
}

/// Those that can be drawn, and the numbers of those that cannot.
pub(super) fn all(runs: &Runs<'_>) -> (Vec<Figure>, Vec<String>) {
    let mut figures = Vec::new();
    let mut missing = Vec::new();
    let mut two = two_receivers(runs);
    for wanted in wanted() {
        if wanted.number == "19" {
            // In the brief's own order.
            figures.append(&mut two);
        }
        match one(runs, &wanted) {
            Some(figure) => figures.push(figure),
            None => missing.push(format!("{} ({})", wanted.number, wanted.title)),
        }
    }
    if !figures
        .iter()
        .any(|figure| figure.file.starts_with("figure-rmr-15"))
    {
        missing.push("15 to 18 (two receivers)".to_owned());
    }
    (figures, missing)
}

fn one(runs: &Runs<'_>, wanted: &Wanted) -> Option<Figure> {
    let mut distributions = Vec::new();
    for key in Key::number_all(runs.subjects()) {
        if !wanted.subjects.contains(&key.name.as_str()) {
            continue;
        }
        if let Some(histogram) = together(runs.records(&wanted.condition, &key.name)) {
            distributions.push(distribution(key, &histogram));
        }
    }
    if distributions.is_empty() {
        return None;
    }
    let finding = finding(wanted, &distributions);
    Some(drawn(
        &format!("figure-rmr-{}", wanted.number.replace(' ', "-")),
        format!("Figure {}: {}", wanted.number, wanted.title),
        distributions,
        finding,
    ))
}

fn drawn(file: &str, title: String, distributions: Vec<Distribution>, finding: String) -> Figure {
    Figure {
        file: file.to_owned(),
        drawing: Histogram {
            title,
            distributions,
        }
        .draw(),
        caption: "All repetitions together. Vertical lines stand at the 99th percentiles."
            .to_owned(),
        finding,
    }
}

/// What the brief prints, and what came here.
fn finding(wanted: &Wanted, distributions: &[Distribution]) -> String {
    let here: Vec<String> = distributions
        .iter()
        .map(|one| format!("{} {}", one.key.name, format::micros(one.p99_us)))
        .collect();
    format!(
        "In the brief: {}. Here the 99th percentile is {}.",
        wanted.printed,
        format::list(&here)
    )
}

/// The histograms of a cell's complete runs as one.
fn together(records: &[&Record]) -> Option<LatencyHistogram> {
    let mut all: Option<LatencyHistogram> = None;
    for record in records {
        let Some(histogram) = record.complete().and_then(|one| one.histogram().ok()) else {
            continue;
        };
        match &mut all {
            None => all = Some(histogram),
            // Counts far from overflowing; a run that cannot be added is left out.
            Some(all) => drop(all.add(&histogram)),
        }
    }
    all.filter(|histogram| histogram.count() > 0)
}

fn distribution(key: Key, histogram: &LatencyHistogram) -> Distribution {
    Distribution {
        key,
        counts: bins(histogram.bins_us()),
        p99_us: histogram.quantile_us(0.99),
    }
}

/// Figures 15 to 18: two receivers, each alone.
fn two_receivers(runs: &Runs<'_>) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (nagle, numbers, words, printed) in [
        (
            Nagle::On,
            "15-16",
            "Nagle's algorithm on",
            "about 128,000/s at each, 99.9 % 0.04 ms",
        ),
        (
            Nagle::Off,
            "17-18",
            "Nagle's algorithm off",
            "about 50,000/s at each, 99.9 % below that",
        ),
    ] {
        let condition = Condition {
            receivers: 2,
            nagle,
            ..Condition::plain(None, 1000)
        };
        for key in Key::number_all(runs.subjects()) {
            let records = runs.records(&condition, &key.name);
            let Some(record) = records.iter().find(|record| record.complete().is_some()) else {
                continue;
            };
            let parts = receivers(record, &key);
            if parts.len() != 2 {
                continue;
            }
            let rates: Vec<String> = parts
                .iter()
                .map(|(rate, one)| {
                    let p99 = format::micros(one.p99_us);
                    format!(
                        "{}/s with a 99th percentile of {p99}",
                        format::compact(*rate)
                    )
                })
                .collect();
            figures.push(drawn(
                &format!("figure-rmr-{numbers}-{}", key.name),
                format!(
                    "Figures {}: {} to two receivers, {words}, highest rate",
                    numbers.replace('-', " and "),
                    key.name
                ),
                parts.into_iter().map(|(_, one)| one).collect(),
                format!(
                    "In the brief (RMR over SI95): {printed}. Here: {}.",
                    format::list(&rates)
                ),
            ));
        }
    }
    figures
}

/// Rate and distribution of each receiver of a run.
fn receivers(record: &Record, key: &Key) -> Vec<(f64, Distribution)> {
    let Some(Value::Array(receivers)) = record.extra.get("receivers") else {
        return Vec::new();
    };
    let looks = ["si95", "native", "grpc", "rmr"];
    receivers
        .iter()
        .enumerate()
        .filter_map(|(at, receiver)| {
            let hdr = receiver.get("hdr").and_then(Value::as_str)?;
            let histogram = LatencyHistogram::decode(hdr).ok()?;
            let rate = receiver.get("messages_per_s").and_then(Value::as_f64)?;
            // Both belong to one subject: the second takes another one's colour, to be told apart.
            let look = if at == 0 {
                key.name.as_str()
            } else {
                looks.iter().find(|look| **look != key.name)?
            };
            let key = Key {
                number: at + 1,
                name: format!("{}, receiver {}", key.name, at + 1),
                paint: crate::report::palette::paint(look),
            };
            (histogram.count() > 0).then(|| (rate, distribution(key, &histogram)))
        })
        .collect()
}
