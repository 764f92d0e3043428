//! Where messages went, where the time went, and who understood whom.

use std::fmt::Write as _;

use serde_json::Value;

use super::runs::{Metric, Runs, State, extra_count};
use super::tables::{head, spread};
use crate::record::Record;
use crate::report::escape::escape;
use crate::report::format;
use crate::rmr::Condition;
use crate::statistics::Summary;

const TAIL: &str = "</tbody></table></div>";

/// What became of every message: sums over the complete runs of each subject.
pub(super) fn messages(runs: &Runs<'_>) -> String {
    const COUNTS: [(&str, &str); 9] = [
        ("sent_in_all", "accepted"),
        ("delivered_in_all", "delivered"),
        ("lost_silently", "lost silently"),
        ("tx_dropped", "dropped, sender told"),
        ("rx_dropped", "dropped by the receive queue"),
        ("retries", "refused for now (RETRY)"),
        ("duplicates", "twice"),
        ("out_of_order", "out of order"),
        ("corrupt", "spoilt"),
    ];
    let mut columns = vec!["subject", "runs"];
    columns.extend(COUNTS.iter().map(|(_, title)| *title));
    columns.push("runs with a loss");
    let mut html = head("Every message is accounted for", &columns);
    for subject in runs.subjects() {
        let records: Vec<&Record> = runs
            .cells()
            .filter(|(_, name, _)| name == subject)
            .flat_map(|(_, _, records)| records.iter().copied())
            .filter(|record| record.complete().is_some())
            .collect();
        if records.is_empty() {
            continue;
        }
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{}</th><td>{}</td>",
            escape(subject),
            records.len()
        );
        for (name, _) in COUNTS {
            let counts: Option<u64> = records.iter().map(|one| extra_count(one, name)).sum();
            match counts {
                Some(count) => {
                    let _ = write!(html, "<td>{}</td>", format::count(count));
                }
                None => html.push_str("<td class=\"none\">not counted</td>"),
            }
        }
        let lossy = records
            .iter()
            .filter(|record| extra_count(record, "lost_silently").unwrap_or(0) > 0)
            .count();
        let class = if lossy > 0 { "bad" } else { "good" };
        let _ = write!(
            html,
            "<td><span class=\"mark {class}\">{lossy}</span></td></tr>"
        );
    }
    html.push_str(TAIL);
    html.push_str(
        "<p>Accepted: the send was answered with RMR_OK. Lost silently: accepted, not delivered, and \
         not among the drops that the sender's library reports. Warm-up messages are counted too.</p>",
    );
    html
}

/// From when a message was due to the application, step by step, at 10,000 messages a second.
pub(super) fn steps(runs: &Runs<'_>) -> String {
    let condition = Condition::plain(Some(10_000), 1000);
    if runs.measured_where(|one| *one == condition).is_empty() {
        return String::new();
    }
    let mut html = head(
        "Where the time goes: 10,000 messages a second, 1000 B",
        &[
            "subject",
            "due → application, 50 %",
            "99 %",
            "sent → application, 50 %",
            "99 %",
            "sent → before the queue, 50 %",
            "99 %",
            "the sender was late by, mean",
        ],
    );
    for subject in runs.subjects() {
        if runs.state(&condition, subject) != State::Measured {
            continue;
        }
        let records = runs.records(&condition, subject);
        let figure = |object: &str, field: &str| {
            let values = records.iter().filter_map(|record| {
                record.complete()?;
                record.extra.get(object)?.get(field).and_then(Value::as_f64)
            });
            Summary::of(values).map_or_else(
                || "not told".to_owned(),
                |summary| format::micros(summary.median),
            )
        };
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{}</td><td>{}</td></tr>",
            escape(subject),
            spread(runs, &condition, subject, Metric::P50),
            spread(runs, &condition, subject, Metric::P99),
            figure("since_sent_us", "p50"),
            figure("since_sent_us", "p99"),
            figure("before_queue_us", "p50"),
            figure("before_queue_us", "p99"),
            figure("lag_us", "mean"),
        );
    }
    html.push_str(TAIL);
    html.push_str(
        "<p>The brief measures before the message queue. A library tells that time by a function of \
         its own, rmr_rx_time_ns; one that has none (the real one) is measured in the application \
         alone. Nothing is taken apart at the highest rate, where that would cost time itself.</p>",
    );
    html
}

/// Libraries of different make on the two ends.
pub(super) fn interworking(runs: &Runs<'_>) -> String {
    let mixed: Vec<&String> = runs
        .subjects()
        .iter()
        .filter(|subject| subject.contains("-to-"))
        .collect();
    if mixed.is_empty() {
        return "<p class=\"empty\">Not run: name a library of yours with --rmr-lib, and ours sends \
                to it and receives from it.</p>"
            .to_owned();
    }
    let mut subjects = mixed;
    subjects.extend(
        runs.subjects()
            .iter()
            .filter(|subject| ["rmr", "si95"].contains(&subject.as_str())),
    );
    let mut html = head(
        "Real RMR and ours on the two ends (SI95)",
        &[
            "sender to receiver",
            "1000 B",
            "16 B",
            "10,000/s: 50 %",
            "99 %",
            "lost silently",
        ],
    );
    let (usual, small) = (Condition::plain(None, 1000), Condition::plain(None, 16));
    let rated = Condition::plain(Some(10_000), 1000);
    for subject in subjects {
        let lost: u64 = [&usual, &small, &rated]
            .into_iter()
            .flat_map(|condition| runs.records(condition, subject))
            .filter_map(|record| extra_count(record, "lost_silently"))
            .sum();
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             </tr>",
            escape(subject),
            spread(runs, &usual, subject, Metric::Rate),
            spread(runs, &small, subject, Metric::Rate),
            spread(runs, &rated, subject, Metric::P50),
            spread(runs, &rated, subject, Metric::P99),
            format::count(lost),
        );
    }
    html.push_str(TAIL);
    html
}

/// Tables that were swapped under load.
pub(super) fn swaps(runs: &Runs<'_>) -> String {
    let mut html = String::new();
    for (condition, subject, records) in runs.cells() {
        for record in records.iter().filter(|record| record.complete().is_some()) {
            let Some(swaps) = record.extra.get("swaps") else {
                continue;
            };
            let count = |name: &str| swaps.get(name).and_then(Value::as_u64).unwrap_or(0);
            let answer = |name: &str| {
                swaps
                    .get("answer_us")
                    .and_then(|answer| answer.get(name))
                    .and_then(Value::as_f64)
                    .map_or_else(|| "–".to_owned(), format::micros)
            };
            let _ = write!(
                html,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
                 <td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                escape(subject),
                escape(&condition.to_string()),
                record.repetition,
                count("sent"),
                count("accepted"),
                count("rejected"),
                count("unanswered"),
                answer("p50"),
                answer("max"),
            );
        }
    }
    if html.is_empty() {
        return html;
    }
    let head = head(
        "Tables swapped under load: what the route manager saw",
        &[
            "subject",
            "condition",
            "repetition",
            "tables sent",
            "accepted",
            "rejected",
            "unanswered",
            "answered after, 50 %",
            "max",
        ],
    );
    format!("{head}{html}{TAIL}")
}

/// Every cell in one table.
pub(super) fn everything(runs: &Runs<'_>) -> String {
    const COLUMNS: [(Metric, &str); 9] = [
        (Metric::Rate, "messages/s"),
        (Metric::P50, "p50 µs"),
        (Metric::P95, "p95 µs"),
        (Metric::P99, "p99 µs"),
        (Metric::P999, "p99.9 µs"),
        (Metric::P9999, "p99.99 µs"),
        (Metric::Max, "max µs"),
        (Metric::SenderCpu, "sender CPU µs"),
        (Metric::ReceiverCpu, "receiver CPU µs"),
    ];
    let mut html = String::from(
        "<p>Medians over the repetitions; the quartiles are in the tooltips.</p><div class=\"scroll \
         tall\"><table class=\"data sortable\"><thead><tr><th>subject</th><th>condition</th>\
         <th>runs</th>",
    );
    for (_, title) in COLUMNS {
        let _ = write!(html, "<th>{title}</th>");
    }
    html.push_str("<th>lost silently</th><th>foreign CPU %</th></tr></thead><tbody>");
    for (condition, subject, records) in runs.cells() {
        let complete = records.iter().filter(|one| one.complete().is_some());
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{} of {}</td>",
            escape(subject),
            escape(&condition.to_string()),
            complete.clone().count(),
            records.len()
        );
        for (metric, _) in COLUMNS {
            match runs.summary(condition, subject, metric) {
                Some(summary) => {
                    let shown = if summary.median >= 1_000.0 {
                        format::count(summary.median.round() as u64)
                    } else {
                        format::significant(summary.median)
                    };
                    let _ = write!(
                        html,
                        "<td data-value=\"{}\" title=\"{} to {}\">{shown}</td>",
                        summary.median,
                        escape(&metric.show(summary.q1)),
                        escape(&metric.show(summary.q3)),
                    );
                }
                None => html.push_str("<td class=\"none\">–</td>"),
            }
        }
        let lost: u64 = complete
            .filter_map(|record| extra_count(record, "lost_silently"))
            .sum();
        let foreign = records
            .iter()
            .filter_map(|record| Some(record.machine_load?.foreign_cpu_percent))
            .fold(None, |highest: Option<f64>, load| {
                Some(highest.map_or(load, |highest| highest.max(load)))
            })
            .map_or_else(|| "–".to_owned(), |load| format!("{load:.1}"));
        let _ = write!(html, "<td>{lost}</td><td>{foreign}</td></tr>");
    }
    html.push_str(TAIL);
    html
}
