//! What is not in the report, and every cell in one table.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::metric::Metric;
use super::runs::Runs;
use crate::report::escape::escape;
use crate::report::format;

/// The columns: metric, title, and how many units one of the title is.
const COLUMNS: [(Metric, &str, f64); 12] = [
    (Metric::P50, "p50 µs", 1.0),
    (Metric::Mean, "mean µs", 1.0),
    (Metric::P99, "p99 µs", 1.0),
    (Metric::OneWayP50, "one way p50 µs", 1.0),
    (Metric::OneWayP99, "one way p99 µs", 1.0),
    (Metric::OneWayJitter, "one way σ µs", 1.0),
    (Metric::Qps, "requests/s", 1.0),
    (Metric::CpuAll, "CPU µs/request, all", 1.0),
    (Metric::CpuPod, "CPU µs/request, pod", 1.0),
    (Metric::FirstAnswer, "first answer ms", 1.0),
    (Metric::GatewayMemory, "gateway MB", 1e6),
    (Metric::SidecarMemory, "Envoy MB", 1e6),
];

/// The table.
pub(super) fn section(runs: &Runs<'_>) -> String {
    let mut html = String::from(
        "<p>Medians over the repetitions; the quartiles are in the tooltips.</p>\
         <div class=\"scroll tall\"><table class=\"data sortable\"><thead><tr><th>path</th>\
         <th>condition</th><th>runs</th>",
    );
    for (_, title, _) in COLUMNS {
        let _ = write!(html, "<th>{title}</th>");
    }
    html.push_str("<th>errors</th><th>foreign CPU %</th></tr></thead><tbody>");
    for condition in runs.conditions() {
        for subject in runs.subjects() {
            let records = runs.records(condition, subject);
            let complete = records
                .iter()
                .filter(|record| record.complete().is_some())
                .count();
            if records.is_empty() {
                continue;
            }
            let _ = write!(
                html,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{complete} of {}</td>",
                escape(subject),
                escape(&condition.words()),
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
                .reduce(f64::max)
                .map_or_else(|| "–".to_owned(), |load| format!("{load:.1}"));
            let _ = write!(html, "<td>{errors}</td><td>{foreign}</td></tr>");
        }
    }
    html.push_str("</tbody></table></div>");
    html
}

/// Three significant digits, or all digits in groups above a thousand.
fn grouped(value: f64) -> String {
    if value >= 1_000.0 {
        format::count(value.round() as u64)
    } else {
        format::significant(value)
    }
}

/// What failed and what is not measured by this version at all.
pub(super) fn holes(runs: &Runs<'_>) -> String {
    let mut reasons: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for condition in runs.conditions() {
        for subject in runs.subjects() {
            if let Some(reason) = runs.failure(condition, subject) {
                reasons
                    .entry((subject.clone(), reason))
                    .or_default()
                    .push(condition.words());
            }
        }
    }
    let mut html = String::from("<ul>");
    for ((subject, reason), conditions) in reasons {
        let cells = match conditions.as_slice() {
            [only] => only.clone(),
            [first, ..] => format!("{first} and {} more cells", conditions.len() - 1),
            [] => String::new(),
        };
        let _ = write!(
            html,
            "<li><strong>{}</strong> ({}): {}</li>",
            escape(&subject),
            escape(&cells),
            escape(&reason)
        );
    }
    html.push_str(
        "<li>No iptables redirect, no telemetry filters, no network between machines and, without \
         <code>--mtls on</code>, no TLS stand in the sidecars' way here: what they cost is a lower \
         bound.</li><li>With <code>--mtls on</code> everything between pods is secured, the control \
         plane too; a sidecar and the function beside it speak clear text, as in Istio. gRPC C++ \
         asks the control plane in clear text: it has no TLS for that.</li></ul>",
    );
    html
}
