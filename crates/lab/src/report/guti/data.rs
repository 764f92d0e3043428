//! Every cell in one table, to sort and to read exact figures from.

use std::fmt::Write as _;

use super::metric::Metric;
use super::runs::{Condition, Runs};
use crate::record::Record;
use crate::report::escape::escape;
use crate::report::format;

/// The columns with figures: metric, title, and how many units one of the title is.
const COLUMNS: [(Metric, &str, f64); 11] = [
    (Metric::Mean, "mean µs", 1.0),
    (Metric::Median, "p50 µs", 1.0),
    (Metric::P99, "p99 µs", 1.0),
    (Metric::P999, "p99.9 µs", 1.0),
    (Metric::Deviation, "σ µs", 1.0),
    (Metric::Qps, "requests/s", 1.0),
    (Metric::BytesPerSecond, "MB/s", 1e6),
    (Metric::ServerCpu, "server CPU %", 1.0),
    (Metric::ServerCpuPerRequest, "server CPU µs/request", 1.0),
    (Metric::ClientCpuPerRequest, "client CPU µs/request", 1.0),
    (Metric::Baseline, "network µs", 1.0),
];

/// The whole section.
pub(super) fn section(runs: &Runs<'_>) -> String {
    let mut html = String::from(
        "<p>Medians over the repetitions; the quartiles are in the tooltips. Minimum, maximum \
         and the other percentiles of each single run are in the file of results.</p>\
         <div class=\"scroll tall\"><table class=\"data sortable\"><thead><tr><th>adapter</th>\
         <th>mode</th><th>rate/s</th><th>payload B</th><th>clients</th><th>runs</th>",
    );
    for (_, title, _) in COLUMNS {
        let _ = write!(html, "<th>{title}</th>");
    }
    html.push_str("<th>errors</th><th>foreign CPU %</th></tr></thead><tbody>");
    for (condition, subject, records) in runs.cells() {
        row(runs, condition, subject, records, &mut html);
    }
    html.push_str("</tbody></table></div>");
    html
}

fn row(
    runs: &Runs<'_>,
    condition: Condition,
    subject: &str,
    records: &[&Record],
    html: &mut String,
) {
    let complete = records
        .iter()
        .filter(|record| record.complete().is_some())
        .count();
    let rate = condition.rate.map_or_else(String::new, |r| r.to_string());
    let _ = write!(
        html,
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{rate}</td><td>{}</td><td>{}</td>\
         <td>{complete} of {}</td>",
        escape(subject),
        condition.mode,
        condition.payload,
        condition.clients,
        records.len(),
    );
    for (metric, _, unit) in COLUMNS {
        match runs.summary(condition, subject, metric) {
            Some(summary) => {
                let _ = write!(
                    html,
                    "<td data-value=\"{}\" title=\"{} to {}\">{}</td>",
                    summary.median,
                    escape(&metric.show(summary.q1)),
                    escape(&metric.show(summary.q3)),
                    grouped(summary.median / unit),
                );
            }
            None => html.push_str("<td class=\"none\">–</td>"),
        }
    }
    let errors: u64 = records
        .iter()
        .filter_map(|record| Some(record.complete()?.errors))
        .sum();
    let foreign = records
        .iter()
        .filter_map(|record| Some(record.machine_load?.foreign_cpu_percent))
        .fold(None, |highest: Option<f64>, load| {
            Some(highest.map_or(load, |highest| highest.max(load)))
        })
        .map_or_else(|| "–".to_owned(), |load| format!("{load:.1}"));
    let _ = write!(html, "<td>{errors}</td><td>{foreign}</td></tr>");
}

/// Three significant digits, or all digits in groups above a thousand.
fn grouped(value: f64) -> String {
    if value >= 1_000.0 {
        format::count(value.round() as u64)
    } else {
        format::significant(value)
    }
}
