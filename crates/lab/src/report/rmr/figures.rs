//! Charts that the brief has only in words or as tables: rates, CPU, latency by rate, and how all of
//! that grows with senders, receivers and routes.

use super::runs::{Metric, Runs, State};
use crate::report::chart::bars::Bar;
use crate::report::chart::grouped::{Group, Grouped};
use crate::report::chart::lines::{Lines, Point};
use crate::report::chart::{Key, Slot};
use crate::report::format;
use crate::report::svg::Drawing;
use crate::rmr::Condition;

/// A figure with the words around it.
#[derive(Debug)]
pub(super) struct Figure {
    /// Name of its file, without the ending.
    pub(super) file: String,
    pub(super) drawing: Drawing,
    pub(super) caption: String,
    /// What agrees with the brief and what does not.
    pub(super) finding: String,
}

/// Rates of every subject by message size.
pub(super) fn rates(runs: &Runs<'_>) -> Option<Figure> {
    let conditions =
        runs.measured_where(|condition| *condition == Condition::plain(None, condition.size));
    bars(
        runs,
        &conditions,
        (
            "figure-rmr-rates",
            "Highest rates, one sender and one receiver",
        ),
        (Metric::Rate, "messages a second"),
        "Higher is better. Nagle's algorithm off, sender and receiver pinned; medians, the vertical \
         lines span the quartiles.",
    )
}

/// CPU time a message on both sides.
pub(super) fn cpu(runs: &Runs<'_>) -> Vec<Figure> {
    let conditions = runs.measured_where(|condition| {
        *condition == Condition::plain(None, condition.size)
            || *condition == Condition::plain(Some(10_000), 1000)
    });
    [
        (Metric::SenderCpu, "figure-rmr-cpu-sender", "CPU time of the sender for a message"),
        (Metric::ReceiverCpu, "figure-rmr-cpu-receiver", "CPU time of the receiver for a message"),
    ]
    .into_iter()
    .filter_map(|(metric, file, title)| {
        bars(
            runs,
            &conditions,
            (file, title),
            (metric, "µs a message"),
            "Lower is better. User and system time of the whole process; at a rate without the time \
             in which the sender waits for the next message. Flat out a sender that is faster than \
             the receiver spends the rest of its core on being refused.",
        )
    })
    .collect()
}

fn bars(
    runs: &Runs<'_>,
    conditions: &[Condition],
    (file, title): (&str, &str),
    (metric, value_title): (Metric, &str),
    caption: &str,
) -> Option<Figure> {
    let keys = keys_of(runs, conditions);
    if keys.is_empty() {
        return None;
    }
    let groups = conditions
        .iter()
        .map(|condition| Group {
            label: condition.to_string(),
            slots: keys
                .iter()
                .map(|key| {
                    slot(runs, condition, &key.name, metric, |value, spread| Bar {
                        value,
                        deviation: spread,
                        fog: None,
                    })
                })
                .collect(),
        })
        .collect();
    let drawing = Grouped {
        id: file.to_owned(),
        title: title.to_owned(),
        value_title: value_title.to_owned(),
        group_title: "message size and rate".to_owned(),
        keys,
        groups,
        kind: None,
        reference: None,
    }
    .draw();
    Some(Figure {
        file: file.to_owned(),
        drawing,
        caption: caption.to_owned(),
        finding: String::new(),
    })
}

/// Median and 99th percentile by rate.
pub(super) fn latency_by_rate(runs: &Runs<'_>) -> Vec<Figure> {
    let conditions = runs.measured_where(|condition| {
        condition.rate.is_some() && *condition == Condition::plain(condition.rate, 1000)
    });
    [
        (Metric::P50, "figure-rmr-latency-p50", "Median latency by rate, 1000 B"),
        (Metric::P99, "figure-rmr-latency-p99", "99th percentile of latency by rate, 1000 B"),
    ]
    .into_iter()
    .filter_map(|(metric, file, title)| {
        lines(
            runs,
            &conditions,
            (file, title),
            (metric, "latency, µs"),
            ("messages a second", |condition| {
                let rate = condition.rate.unwrap_or(1) as f64;
                (rate.log10(), format::tick(rate, rate))
            }),
            "Lower is better. In the application, from the time at which a message was due. Medians \
             over the repetitions.",
        )
    })
    .collect()
}

/// How the rate changes with the number of processes and the size of the table.
pub(super) fn sweeps(runs: &Runs<'_>) -> Vec<Figure> {
    let alone = |condition: &Condition| Condition {
        senders: 1,
        receivers: 1,
        routes: 1,
        swaps_per_s: 0,
        ..condition.clone()
    };
    let plain = Condition::plain(None, 1000);
    let is = |condition: &Condition| alone(condition) == plain;
    let senders = runs.measured_where(|c| is(c) && c.receivers == 1 && c.routes == 1);
    let receivers = runs.measured_where(|c| is(c) && c.senders == 1 && c.routes == 1);
    let one_each = |c: &Condition| is(c) && c.senders == 1 && c.receivers == 1;
    let routes = runs.measured_where(|c| one_each(c) && c.swaps_per_s == 0);
    let most = routes.iter().map(|c| c.routes).max().unwrap_or(1);
    let swaps = runs.measured_where(|c| one_each(c) && c.routes == most && most > 1);
    let caption = "Higher is better. All processes share the machine's cores, so there is nothing to \
                   grow with beyond their number; what must not happen is a collapse.";
    let count = |value: u32| (f64::from(value), value.to_string());
    let logarithm = |value: u32| {
        (
            f64::from(value.max(1)).log10(),
            format::tick(f64::from(value), f64::from(value.max(1))),
        )
    };
    let drawn = [
        lines(
            runs,
            &senders,
            (
                "figure-rmr-senders",
                "Messages a second by number of senders, one receiver, 1000 B",
            ),
            (Metric::Rate, "messages a second"),
            ("senders", |c| count(c.senders)),
            caption,
        ),
        lines(
            runs,
            &receivers,
            (
                "figure-rmr-receivers",
                "Messages a second by number of receivers, one sender, 1000 B",
            ),
            (Metric::Rate, "messages a second"),
            ("receivers, taking turns", |c| count(c.receivers)),
            caption,
        ),
        lines(
            runs,
            &routes,
            (
                "figure-rmr-routes",
                "Messages a second by entries of the route table, 1000 B",
            ),
            (Metric::Rate, "messages a second"),
            ("entries, half of them used in turns", |c| {
                logarithm(c.routes)
            }),
            "Higher is better.",
        ),
        lines(
            runs,
            &swaps,
            (
                "figure-rmr-swaps",
                "Messages a second while whole route tables are swapped, 1000 B",
            ),
            (Metric::Rate, "messages a second"),
            ("tables a second from the route manager", |c| {
                count(c.swaps_per_s)
            }),
            "Higher is better. The sender's process takes the tables on the core that it sends from; \
             the manager sends them from the receiver's core, and costs time there too.",
        ),
    ];
    // A single position is no curve.
    [senders, receivers, routes, swaps]
        .iter()
        .zip(drawn)
        .filter_map(|(conditions, figure)| figure.filter(|_| conditions.len() > 1))
        .collect()
}

fn lines(
    runs: &Runs<'_>,
    conditions: &[Condition],
    (file, title): (&str, &str),
    (metric, value_title): (Metric, &str),
    (position_title, position): (&str, impl Fn(&Condition) -> (f64, String)),
    caption: &str,
) -> Option<Figure> {
    // A single point is no curve; where nobody has more, points are all there is.
    let points = |key: &Key| {
        let measured = |condition: &&Condition| runs.state(condition, &key.name) == State::Measured;
        conditions.iter().filter(measured).count()
    };
    let mut keys = keys_of(runs, conditions);
    if keys.iter().any(|key| points(key) > 1) {
        keys.retain(|key| points(key) > 1);
    }
    if keys.is_empty() {
        return None;
    }
    let mut conditions: Vec<&Condition> = conditions.iter().collect();
    conditions.sort_by(|a, b| position(a).0.total_cmp(&position(b).0));
    let series = keys
        .iter()
        .map(|key| {
            conditions
                .iter()
                .map(|condition| {
                    slot(runs, condition, &key.name, metric, |value, spread| Point {
                        value,
                        spread,
                    })
                })
                .collect()
        })
        .collect();
    let drawing = Lines {
        id: file.to_owned(),
        title: title.to_owned(),
        value_title: value_title.to_owned(),
        position_title: position_title.to_owned(),
        keys,
        positions: conditions
            .iter()
            .map(|condition| position(condition))
            .collect(),
        series,
        kind: None,
    }
    .draw();
    Some(Figure {
        file: file.to_owned(),
        drawing,
        caption: caption.to_owned(),
        finding: String::new(),
    })
}

/// The keys of the subjects that have figures under any of `conditions`.
pub(super) fn keys_of(runs: &Runs<'_>, conditions: &[Condition]) -> Vec<Key> {
    Key::number_all(runs.subjects())
        .into_iter()
        .filter(|key| {
            conditions
                .iter()
                .any(|condition| runs.state(condition, &key.name) == State::Measured)
        })
        .collect()
}

fn slot<M>(
    runs: &Runs<'_>,
    condition: &Condition,
    subject: &str,
    metric: Metric,
    mark: impl Fn(f64, Option<(f64, f64)>) -> M,
) -> Slot<M> {
    match runs.state(condition, subject) {
        State::NotRun => Slot::NotRun,
        State::Failed(reason) => Slot::Failed(reason),
        State::Measured => match runs.summary(condition, subject, metric) {
            None => Slot::Failed("this quantity was not recorded".to_owned()),
            Some(summary) if summary.count == 1 => Slot::Mark(
                mark(summary.median, None),
                format!(
                    "{} {}, one repetition",
                    metric.name(),
                    metric.show(summary.median)
                ),
            ),
            Some(summary) => Slot::Mark(
                mark(summary.median, Some((summary.q1, summary.q3))),
                format!(
                    "{} {} (quartiles {} to {} over {} repetitions)",
                    metric.name(),
                    metric.show(summary.median),
                    metric.show(summary.q1),
                    metric.show(summary.q3),
                    summary.count
                ),
            ),
        },
    }
}
