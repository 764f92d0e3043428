//! Figures 5, 11 and 12 of the paper, and what goes beyond them: chains and gateways.

use std::cmp::Reverse;

use super::metric::Metric;
use super::paper;
use super::runs::{Condition, Runs};
use crate::report::chart::lines::{Lines, Point};
use crate::report::chart::{Key, Slot};
use crate::report::svg::Drawing;

/// A figure with the words around it.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) title: String,
    /// Name of its file, without the ending.
    pub(super) file: String,
    /// `None` when there is nothing to draw.
    pub(super) drawing: Option<Drawing>,
    /// How to read it.
    pub(super) caption: String,
    /// What it shows of the paper's statements; empty when it shows nothing.
    pub(super) finding: String,
}

const SPREAD: &str = "Lower is better. Medians over the repetitions; the vertical lines span their \
                      quartiles.";

/// Figures 11 and 12.
pub(super) fn by_rate(runs: &Runs<'_>) -> Vec<Figure> {
    let conditions = runs.at_rate().map_or_else(Vec::new, |base| {
        runs.sweep(
            base,
            |condition| condition.rate,
            |one, base| {
                one.rate.is_some()
                    && (one.replicas, one.hops, one.gateways)
                        == (base.replicas, base.hops, base.gateways)
            },
        )
    });
    let label = |condition: &Condition| {
        let rate = condition.rate.unwrap_or(0);
        (rate as f64, rate.to_string())
    };
    let one = |file: &str, title: &str, metric, words: &str| {
        lines(
            runs,
            &conditions,
            &label,
            "requests a second, offered",
            file,
            title,
            metric,
            words,
        )
    };
    let mut latency = one(
        "figure-mesh-11a",
        "Figure 11: one-way latency from gateway to replica, 99th percentile, by rate",
        Metric::OneWayP99,
        "Taken as the paper takes it: the gateway writes the time of sending into a header, the \
         replica subtracts it from the time of receiving.",
    );
    latency.finding = paper::latency_sentence(runs);
    let mean = one(
        "figure-mesh-11b",
        "Figure 11: one-way latency from gateway to replica, mean, by rate",
        Metric::OneWayMean,
        "",
    );
    let mut jitter = one(
        "figure-mesh-11c",
        "Figure 11: jitter (standard deviation of the one-way latency), by rate",
        Metric::OneWayJitter,
        "",
    );
    jitter.finding = paper::jitter_sentence(runs);
    let round_trip = one(
        "figure-mesh-11d",
        "Round trip from the time a request was due, median, by rate",
        Metric::P50,
        "The paper does not draw this one; a stall of the gateway is not hidden in it.",
    );
    let mut cpu = one(
        "figure-mesh-12a",
        "Figure 12: CPU of the gateway's pod (gateway and its sidecar), by rate",
        Metric::PodMilliCores,
        "",
    );
    cpu.finding = paper::cpu_sentence(runs);
    let all = one(
        "figure-mesh-12b",
        "CPU of all processes (sidecars and control plane too), by rate",
        Metric::AllMilliCores,
        "",
    );
    vec![latency, mean, jitter, round_trip, cpu, all]
}

/// Figure 5.
pub(super) fn by_connections(runs: &Runs<'_>) -> Vec<Figure> {
    let conditions = runs.at_rate().map_or_else(Vec::new, |base| {
        runs.sweep(
            base,
            |condition| condition.replicas,
            |one, base| (one.rate, one.hops, one.gateways) == (base.rate, base.hops, base.gateways),
        )
    });
    let label = |condition: &Condition| {
        let connections = condition.replicas * condition.gateways;
        (f64::from(connections), connections.to_string())
    };
    let conditions = several(conditions);
    let one = |file: &str, title: &str, metric| {
        let axis = "connections between gateway and replicas";
        lines(runs, &conditions, &label, axis, file, title, metric, "")
    };
    let mut first = one(
        "figure-mesh-5a",
        "Figure 5: round trip by number of connections, median",
        Metric::P50,
    );
    first.finding = paper::connections_sentence(runs, &conditions);
    let tail = one(
        "figure-mesh-5b",
        "Figure 5: round trip by number of connections, 99th percentile",
        Metric::P99,
    );
    vec![first, tail]
}

/// Chains.
pub(super) fn by_hops(runs: &Runs<'_>) -> Vec<Figure> {
    let conditions = several(hop_conditions(runs));
    let label = |condition: &Condition| (f64::from(condition.hops), condition.hops.to_string());
    let one = |file: &str, title: &str, metric| {
        let axis = "microservices that a request crosses, one after another";
        lines(runs, &conditions, &label, axis, file, title, metric, "")
    };
    vec![
        one(
            "figure-mesh-hops-p50",
            "Round trip by number of hops, median",
            Metric::P50,
        ),
        one(
            "figure-mesh-hops-p99",
            "Round trip by number of hops, 99th percentile",
            Metric::P99,
        ),
    ]
}

/// The rate at which the most chains were run.
pub(super) fn hop_conditions<'r>(runs: &'r Runs<'_>) -> Vec<&'r Condition> {
    let longest = runs
        .conditions()
        .filter(|condition| condition.hops > 1)
        .max_by_key(|condition| (Reverse(condition.gateways), condition.rate, condition.hops));
    longest.map_or_else(Vec::new, |base| {
        runs.sweep(
            base,
            |condition| condition.hops,
            |one, base| {
                (one.rate, one.replicas, one.gateways) == (base.rate, base.replicas, base.gateways)
            },
        )
    })
}

/// Gateways.
pub(super) fn by_gateways(runs: &Runs<'_>) -> Vec<Figure> {
    let of = |base: Option<&Condition>| {
        base.map_or_else(Vec::new, |base| {
            runs.sweep(
                base,
                |condition| condition.gateways,
                |one, base| {
                    (one.rate, one.replicas, one.hops) == (base.rate, base.replicas, base.hops)
                },
            )
        })
    };
    let label = |condition: &Condition| {
        (
            f64::from(condition.gateways),
            condition.gateways.to_string(),
        )
    };
    let axis = "gateways";
    let saturated = several(of(runs.saturated()));
    let rated = several(of(runs.at_rate()));
    let mut rate = lines(
        runs,
        &saturated,
        &label,
        axis,
        "figure-mesh-gateways-rate",
        "Requests a second at saturation, by number of gateways",
        Metric::Qps,
        "Higher is better. All processes share the cores of this machine.",
    );
    rate.caption = rate.caption.replacen(SPREAD, "", 1).trim_start().to_owned();
    let latency = lines(
        runs,
        &rated,
        &label,
        axis,
        "figure-mesh-gateways-p99",
        "Round trip, 99th percentile, by number of gateways that share the rate",
        Metric::P99,
        "",
    );
    vec![rate, latency]
}

/// A curve needs two points.
fn several(conditions: Vec<&Condition>) -> Vec<&Condition> {
    if conditions.len() > 1 {
        conditions
    } else {
        Vec::new()
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "each is a part of the figure's face"
)]
fn lines(
    runs: &Runs<'_>,
    conditions: &[&Condition],
    label: &dyn Fn(&Condition) -> (f64, String),
    position_title: &str,
    file: &str,
    title: &str,
    metric: Metric,
    words: &str,
) -> Figure {
    // A path that was run at one place only makes no curve.
    let has_curve = |key: &Key| {
        let tried = |it: &&&Condition| !runs.records(it, &key.name).is_empty();
        let known = |it: &&Condition| runs.summary(it, &key.name, metric).is_some();
        conditions.iter().filter(tried).count() > 1 && conditions.iter().any(known)
    };
    let keys: Vec<Key> = Key::number_all(runs.subjects())
        .into_iter()
        .filter(has_curve)
        .collect();
    let series = keys
        .iter()
        .map(|key| {
            let slot = |condition: &&Condition| slot(runs, condition, &key.name, metric);
            conditions.iter().map(slot).collect()
        })
        .collect();
    let drawing = (!keys.is_empty()).then(|| {
        Lines {
            id: file.to_owned(),
            title: title.to_owned(),
            value_title: metric.axis(),
            position_title: position_title.to_owned(),
            keys,
            positions: conditions
                .iter()
                .map(|condition| label(condition))
                .collect(),
            series,
            kind: None,
        }
        .draw()
    });
    Figure {
        title: title.to_owned(),
        file: file.to_owned(),
        drawing,
        caption: [SPREAD, words].join(" ").trim_end().to_owned(),
        finding: String::new(),
    }
}

fn slot(runs: &Runs<'_>, condition: &Condition, subject: &str, metric: Metric) -> Slot<Point> {
    if let Some(summary) = runs.summary(condition, subject, metric) {
        let point = Point {
            value: summary.median,
            spread: (summary.count > 1).then_some((summary.q1, summary.q3)),
        };
        let words = format!(
            "{subject}, {}: {} {} (quartiles {} to {}, {} repetitions)",
            condition.words(),
            metric.name(),
            metric.show(summary.median),
            metric.show(summary.q1),
            metric.show(summary.q3),
            summary.count,
        );
        return Slot::Mark(point, words);
    }
    match runs.failure(condition, subject) {
        Some(reason) => Slot::Failed(reason),
        None => Slot::NotRun,
    }
}
