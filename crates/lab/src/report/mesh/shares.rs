//! Where time, CPU and memory go: the way there and the way back, process by process, hop by hop.

use std::fmt::Write as _;

use super::figures::hop_conditions;
use super::metric::{Metric, number};
use super::runs::{Condition, Runs};
use crate::record::Record;
use crate::report::escape::escape;
use crate::report::format;
use crate::statistics::Summary;

const ROLES: [(&str, &str); 6] = [
    ("gateway", "gateway"),
    ("gateway_sidecar", "its sidecar"),
    ("replica_sidecar", "replicas' sidecars"),
    ("link", "links"),
    ("replica", "replicas"),
    ("control", "control plane"),
];

/// The whole section.
pub(super) fn section(runs: &Runs<'_>) -> String {
    let mut html = String::new();
    for condition in [runs.at_rate(), runs.saturated()].into_iter().flatten() {
        let _ = write!(html, "<h3>{}</h3>", escape(&condition.words()));
        html.push_str(&time(runs, condition));
        html.push_str(&cpu(runs, condition));
        html.push_str(&memory(runs, condition));
    }
    if html.is_empty() {
        html.push_str("<p class=\"empty\">No runs.</p>");
    }
    html
}

fn time(runs: &Runs<'_>, condition: &Condition) -> String {
    let mut html = String::from(
        "<p>Time a request, medians: the way there ends when the replica has the request in hand; \
         what is left is its answer, the way back and, where requests queue, their wait.</p>\
         <div class=\"scroll\"><table><thead><tr><th>Path</th><th>round trip p50</th>\
         <th>way there p50</th><th>the rest</th><th>way there's share</th></tr></thead><tbody>",
    );
    for subject in runs.subjects() {
        let round = runs.summary(condition, subject, Metric::P50);
        let there = runs.summary(condition, subject, Metric::OneWayP50);
        let (Some(round), Some(there)) = (round, there) else {
            continue;
        };
        let rest = (round.median - there.median).max(0.0);
        let share = there.median / round.median.max(f64::MIN_POSITIVE) * 100.0;
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{share:.0} %</td></tr>",
            escape(subject),
            escape(&format::micros(round.median)),
            escape(&format::micros(there.median)),
            escape(&format::micros(rest)),
        );
    }
    html.push_str("</tbody></table></div>");
    html
}

fn cpu(runs: &Runs<'_>, condition: &Condition) -> String {
    table(
        runs,
        condition,
        "CPU time a request, by process (µs)",
        "role_cpu_us_per_request",
        |value| value.as_f64(),
        1.0,
        Some("all"),
    )
}

fn memory(runs: &Runs<'_>, condition: &Condition) -> String {
    table(
        runs,
        condition,
        "Resident memory of the largest process of each kind (MB)",
        "role_rss_bytes",
        |value| value.get("largest")?.as_f64(),
        1e6,
        None,
    )
}

/// A row a path, a column a role.
fn table(
    runs: &Runs<'_>,
    condition: &Condition,
    title: &str,
    field: &str,
    read: impl Fn(&serde_json::Value) -> Option<f64>,
    unit: f64,
    sum: Option<&str>,
) -> String {
    let mut html = format!(
        "<p>{}</p><div class=\"scroll\"><table><thead><tr><th>Path</th>",
        escape(title)
    );
    for (_, name) in ROLES {
        let _ = write!(html, "<th>{}</th>", escape(name));
    }
    if sum.is_some() {
        html.push_str("<th>all</th>");
    }
    html.push_str("</tr></thead><tbody>");
    for subject in runs.subjects() {
        let records = runs.records(condition, subject);
        let value =
            |role: &str| median(records, |record| read(record.extra.get(field)?.get(role)?));
        let roles = ROLES.iter().map(|(role, _)| *role).chain(sum);
        let values: Vec<Option<f64>> = roles.map(value).collect();
        if values.iter().all(Option::is_none) {
            continue;
        }
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", escape(subject));
        for value in values {
            match value {
                Some(value) => {
                    let _ = write!(html, "<td>{}</td>", format::significant(value / unit));
                }
                None => html.push_str("<td class=\"none\">–</td>"),
            }
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    html
}

fn median(records: &[&Record], figure: impl Fn(&Record) -> Option<f64>) -> Option<f64> {
    let complete = records.iter().filter(|record| record.complete().is_some());
    Summary::of(complete.filter_map(|record| figure(record))).map(|summary| summary.median)
}

/// Each hop's share of a chain.
pub(super) fn hops(runs: &Runs<'_>) -> String {
    let mut html = String::from(
        "<p>The way to each hop, mean over all requests, medians over the repetitions (µs). The \
         first is from the gateway, the last to a replica.</p>",
    );
    let mut rows = String::new();
    let mut most = 0;
    for condition in hop_conditions(runs) {
        for subject in runs.subjects() {
            let records = runs.records(condition, subject);
            let ways: Vec<f64> = (0..condition.hops as usize)
                .map_while(|hop| median(records, |record| way(record, hop)))
                .collect();
            if ways.is_empty() {
                continue;
            }
            most = most.max(ways.len());
            let total: f64 = ways.iter().sum();
            let _ = write!(
                rows,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td>",
                escape(subject),
                condition.hops,
                format::significant(total),
            );
            for way in ways {
                let share = way / total.max(f64::MIN_POSITIVE) * 100.0;
                let _ = write!(rows, "<td>{} ({share:.0} %)</td>", format::significant(way));
            }
            rows.push_str("</tr>");
        }
    }
    if rows.is_empty() {
        return "<p class=\"empty\">No chains were run: give --hops 1,2,4,8.</p>".to_owned();
    }
    html.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>Path</th><th>hops</th><th>all ways there</th>",
    );
    for hop in 1..=most {
        let _ = write!(html, "<th>hop {hop}</th>");
    }
    let _ = write!(html, "</tr></thead><tbody>{rows}</tbody></table></div>");
    html
}

fn way(record: &Record, hop: usize) -> Option<f64> {
    match record.extra.get("hops_one_way_us") {
        Some(hops) => hops.get(hop)?.get("mean")?.as_f64(),
        None if hop == 0 => number(&record.extra, &["one_way_us", "mean"]),
        None => None,
    }
}
