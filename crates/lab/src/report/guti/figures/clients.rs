//! Figures 5.7 to 5.11: by number of clients.

use super::{Figure, failed_throughout, findings_of, keys_of, not_run, slots, words};
use crate::record::Mode;
use crate::report::chart::boxes::BoxStatistics;
use crate::report::chart::grouped::{Group, Grouped};
use crate::report::chart::lines::{Lines, Point};
use crate::report::chart::{Key, Slot};
use crate::report::format;
use crate::report::guti::metric::Metric;
use crate::report::guti::runs::{Condition, Runs};
use crate::report::guti::thesis::{self, TABLE_PAYLOADS};

/// Figures 5.7, 5.8 and 5.9: box plots of the latency.
pub(super) fn distributions(runs: &Runs<'_>, keys: &[Key]) -> Vec<Figure> {
    ["5.7", "5.8", "5.9"]
        .into_iter()
        .zip(TABLE_PAYLOADS)
        .map(|(number, payload)| distribution(runs, keys, number, payload))
        .collect()
}

/// Figures 5.10a to c: requests a second.
pub(super) fn throughput(runs: &Runs<'_>, keys: &[Key]) -> Vec<Figure> {
    let caption = "Higher is better. Medians over the repetitions; the vertical lines span their \
                   quartiles. The axis starts at the lowest value when it is logarithmic.";
    ["5.10a", "5.10b", "5.10c"]
        .into_iter()
        .zip(TABLE_PAYLOADS)
        .map(|(number, payload)| {
            let title = format!(
                "Throughput by number of clients, {}, no-rate mode",
                format::bytes(payload)
            );
            lines(runs, keys, number, payload, (title, caption), Metric::Qps)
        })
        .collect()
}

/// Figures 5.11a to c: 99th percentile of the latency.
pub(super) fn tail_latency(runs: &Runs<'_>, keys: &[Key]) -> Vec<Figure> {
    let caption = "Lower is better. Medians over the repetitions; the vertical lines span their \
                   quartiles. Unlike the thesis's, these values do not end at 20 ms: they come \
                   from the fine histogram.";
    ["5.11a", "5.11b", "5.11c"]
        .into_iter()
        .zip(TABLE_PAYLOADS)
        .map(|(number, payload)| {
            let title = format!(
                "Tail latency (99th percentile) by number of clients, {}, no-rate mode",
                format::bytes(payload)
            );
            lines(runs, keys, number, payload, (title, caption), Metric::P99)
        })
        .collect()
}

/// The numbers of clients that were run with `payload`.
fn client_counts(runs: &Runs<'_>, payload: u64) -> Vec<u32> {
    runs.values(
        |condition| condition.mode == Mode::NoRate && condition.payload == payload,
        |condition| condition.clients,
    )
}

fn missing(found: &[u32]) -> String {
    not_run(&thesis::CLIENTS, found, |clients| words_of(*clients))
}

fn words_of(clients: u32) -> String {
    match clients {
        1 => "1 client".to_owned(),
        more => format!("{more} clients"),
    }
}

fn distribution(runs: &Runs<'_>, keys: &[Key], number: &'static str, payload: u64) -> Figure {
    let counts = client_counts(runs, payload);
    let conditions: Vec<Condition> = counts
        .iter()
        .map(|clients| Condition::no_rate(payload, *clients))
        .collect();
    let missing = format!(
        "{}{}",
        failed_throughout(runs, keys, &conditions),
        missing(&counts)
    );
    let keys = keys_of(runs, keys, &conditions);
    let title = format!(
        "Latency by number of clients, {}, no-rate mode",
        format::bytes(payload)
    );
    let groups: Vec<Group<BoxStatistics>> = conditions
        .iter()
        .map(|condition| Group {
            label: words_of(condition.clients),
            slots: slots(runs, &keys, *condition, |subject| {
                box_of(runs, *condition, subject)
            }),
        })
        .collect();
    let drawing = (!groups.is_empty() && !keys.is_empty()).then(|| {
        Grouped {
            id: format!("figure-{}", number.replace('.', "-")),
            title: format!("Figure {number}: {title}"),
            value_title: "latency, µs".to_owned(),
            group_title: "clients at the same time, each with its own connection".to_owned(),
            keys,
            groups,
            kind: None,
            reference: None,
        }
        .draw()
    });
    Figure {
        number,
        title,
        file: format!("figure-{number}"),
        drawing,
        caption: "Lower is better. The box spans the first to the third quartile; the whiskers \
                  end at Q1 - 1.5 (Q3 - Q1), or at the foot of the axis where that is lower, and \
                  Q3 + 1.5 (Q3 - Q1). White line: median. Half-transparent black line: mean, \
                  which a long tail lifts above the box."
            .to_owned(),
        findings: findings_of(runs, number),
        missing,
    }
}

/// The median over the repetitions of each of the five lines of a box.
fn box_of(runs: &Runs<'_>, condition: Condition, subject: &str) -> Option<(BoxStatistics, String)> {
    let value = |metric| Some(runs.summary(condition, subject, metric)?.median);
    let statistics = BoxStatistics {
        first_quartile: value(Metric::FirstQuartile)?,
        median: value(Metric::Median)?,
        third_quartile: value(Metric::ThirdQuartile)?,
        mean: value(Metric::Mean)?,
    };
    let words = format!(
        "Q1 {}, median {}, Q3 {}, mean {}",
        format::micros(statistics.first_quartile),
        format::micros(statistics.median),
        format::micros(statistics.third_quartile),
        format::micros(statistics.mean),
    );
    Some((statistics, words))
}

fn lines(
    runs: &Runs<'_>,
    keys: &[Key],
    number: &'static str,
    payload: u64,
    (title, caption): (String, &str),
    metric: Metric,
) -> Figure {
    let counts = client_counts(runs, payload);
    let conditions: Vec<Condition> = counts
        .iter()
        .map(|clients| Condition::no_rate(payload, *clients))
        .collect();
    let missing = format!(
        "{}{}",
        failed_throughout(runs, keys, &conditions),
        missing(&counts)
    );
    let keys = keys_of(runs, keys, &conditions);
    let series: Vec<Vec<Slot<Point>>> = keys
        .iter()
        .map(|key| {
            conditions
                .iter()
                .flat_map(|condition| {
                    slots(runs, std::slice::from_ref(key), *condition, |subject| {
                        point_of(runs, *condition, subject, metric)
                    })
                })
                .collect()
        })
        .collect();
    let value_title = match metric {
        Metric::Qps => "requests a second".to_owned(),
        other => format!("{}, µs", other.name()),
    };
    let drawing = (!counts.is_empty() && !keys.is_empty()).then(|| {
        Lines {
            id: format!("figure-{}", number.replace('.', "-")),
            title: format!("Figure {number}: {title}"),
            value_title,
            position_title: "clients at the same time, each with its own connection".to_owned(),
            keys,
            positions: counts
                .iter()
                .map(|clients| (f64::from(*clients), clients.to_string()))
                .collect(),
            series,
            kind: None,
        }
        .draw()
    });
    Figure {
        number,
        title,
        file: format!("figure-{number}"),
        drawing,
        caption: caption.to_owned(),
        findings: findings_of(runs, number),
        missing,
    }
}

fn point_of(
    runs: &Runs<'_>,
    condition: Condition,
    subject: &str,
    metric: Metric,
) -> Option<(Point, String)> {
    let summary = runs.summary(condition, subject, metric)?;
    let point = Point {
        value: summary.median,
        spread: (summary.count > 1).then_some((summary.q1, summary.q3)),
    };
    Some((point, words(runs, condition, subject, metric)?))
}
