//! What is not in the report, and why.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::runs::{Condition, Runs, State, reason};
use super::thesis;
use crate::record::Mode;
use crate::report::escape::escape;
use crate::report::format;

/// Adapters that an evaluation of everything would hold besides the thesis's.
const OTHER_ADAPTERS: [&str; 8] = [
    "GRPC-CB", "CW-S", "CW-AS", "CW-BI", "CW-EL", "CW-SHM", "CW-REST", "CW-GRPC",
];

/// How many cells are named before the rest is only counted.
const NAMED: usize = 6;

/// The whole section.
pub(super) fn section(runs: &Runs<'_>) -> String {
    let mut html = String::new();
    failures(runs, &mut html);
    absent_adapters(runs, &mut html);
    absent_conditions(runs, &mut html);
    gaps(runs, &mut html);
    refused_requests(runs, &mut html);
    if html.is_empty() {
        html.push_str("<p>Nothing is missing: every adapter ran under every condition.</p>");
    }
    html
}

/// Failed and cut-off runs, by subject and reason. One that was run again is no longer among the
/// records.
fn failures(runs: &Runs<'_>, html: &mut String) {
    let mut found: BTreeMap<(&str, String), BTreeMap<Condition, Vec<u32>>> = BTreeMap::new();
    for (condition, subject, records) in runs.cells() {
        for record in records.iter().filter(|record| record.complete().is_none()) {
            found
                .entry((subject, reason(record)))
                .or_default()
                .entry(condition)
                .or_default()
                .push(record.repetition);
        }
    }
    if found.is_empty() {
        return;
    }
    html.push_str(
        "<h3>Failed or cut short</h3><div class=\"scroll\"><table><thead><tr><th>Adapter</th>\
         <th>Reason</th><th>Runs</th><th>Where</th></tr></thead><tbody>",
    );
    for ((subject, reason), cells) in found {
        let count: usize = cells.values().map(Vec::len).sum();
        let cells: Vec<String> = cells
            .into_iter()
            .map(|(condition, repetitions)| with_repetitions(condition, &repetitions))
            .collect();
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(subject),
            escape(&reason),
            count,
            escape(&first_few(&cells)),
        );
    }
    html.push_str("</tbody></table></div>");
}

/// `10 kB, 4 clients (repetitions 1, 2)`.
fn with_repetitions(condition: Condition, repetitions: &[u32]) -> String {
    let plural = if repetitions.len() == 1 { "" } else { "s" };
    let numbers: Vec<String> = repetitions.iter().map(ToString::to_string).collect();
    format!(
        "{} (repetition{plural} {})",
        condition.words(),
        numbers.join(", ")
    )
}

fn absent_adapters(runs: &Runs<'_>, html: &mut String) {
    for (title, names) in [
        (
            "Adapters of the thesis without any run",
            &thesis::ADAPTERS[..],
        ),
        ("Other adapters without any run", &OTHER_ADAPTERS[..]),
    ] {
        let absent: Vec<&str> = names
            .iter()
            .filter(|name| !runs.subjects().iter().any(|subject| subject == *name))
            .copied()
            .collect();
        if !absent.is_empty() {
            let _ = write!(
                html,
                "<p><strong>{title}:</strong> {}. The file has no record of them: they were not \
                 asked for, or not part of this series.</p>",
                escape(&format::list(&absent)),
            );
        }
    }
}

/// Parts of the thesis's matrix that nobody ran.
fn absent_conditions(runs: &Runs<'_>, html: &mut String) {
    let mut lines = Vec::new();
    let single = runs.values(
        |condition| condition.mode == Mode::NoRate && condition.clients == 1,
        |condition| condition.payload,
    );
    lines.extend(
        absent(&thesis::PAYLOADS, &single, |bytes| format::bytes(*bytes))
            .map(|payloads| format!("one client, no-rate mode: payloads {payloads}")),
    );
    for payload in thesis::TABLE_PAYLOADS {
        let clients = runs.values(
            |condition| condition.mode == Mode::NoRate && condition.payload == payload,
            |condition| condition.clients,
        );
        lines.extend(
            absent(&thesis::CLIENTS, &clients, ToString::to_string).map(|clients| {
                format!(
                    "{}, no-rate mode: {clients} clients",
                    format::bytes(payload)
                )
            }),
        );
    }
    for payload in thesis::PAYLOADS {
        let rates = runs.values(
            |condition| condition.mode == Mode::Rate && condition.payload == payload,
            |condition| condition.rate.unwrap_or_default(),
        );
        lines.extend(
            absent(&thesis::RATES, &rates, ToString::to_string).map(|rates| {
                format!(
                    "{}, rate mode: {rates} requests a second",
                    format::bytes(payload)
                )
            }),
        );
    }
    if lines.is_empty() {
        return;
    }
    html.push_str("<p><strong>Parts of the thesis's matrix that were not run:</strong></p><ul>");
    for line in lines {
        let _ = write!(html, "<li>{}</li>", escape(&line));
    }
    html.push_str("</ul>");
}

fn absent<T: PartialEq>(wanted: &[T], found: &[T], show: impl Fn(&T) -> String) -> Option<String> {
    let absent: Vec<String> = wanted
        .iter()
        .filter(|value| !found.contains(value))
        .map(show)
        .collect();
    (!absent.is_empty()).then(|| format::list(&absent))
}

/// Conditions that some adapters ran and others did not.
fn gaps(runs: &Runs<'_>, html: &mut String) {
    let mut lines = Vec::new();
    for subject in runs.subjects() {
        let cells: Vec<String> = runs
            .conditions()
            .into_iter()
            .filter(|condition| runs.state(*condition, subject) == State::NotRun)
            .map(|condition| condition.words())
            .collect();
        if !cells.is_empty() {
            lines.push(format!("{subject}: {}", first_few(&cells)));
        }
    }
    if lines.is_empty() {
        return;
    }
    html.push_str("<p><strong>Conditions that others ran but not these adapters:</strong></p><ul>");
    for line in lines {
        let _ = write!(html, "<li>{}</li>", escape(&line));
    }
    html.push_str("</ul>");
}

/// Complete runs in which requests failed.
fn refused_requests(runs: &Runs<'_>, html: &mut String) {
    let mut lines = Vec::new();
    for (condition, subject, records) in runs.cells() {
        let errors: u64 = records
            .iter()
            .filter_map(|record| Some(record.complete()?.errors))
            .sum();
        if errors > 0 {
            lines.push(format!(
                "{subject}, {}: {} requests",
                condition.words(),
                format::count(errors)
            ));
        }
    }
    if lines.is_empty() {
        return;
    }
    let _ = write!(
        html,
        "<p><strong>Requests that were not answered, or wrongly, in runs that are shown \
         (they are not part of the latencies):</strong> {}.</p>",
        escape(&lines.join("; "))
    );
}

fn first_few(cells: &[String]) -> String {
    if cells.len() <= NAMED {
        return cells.join("; ");
    }
    format!(
        "{}; and {} more",
        cells[..NAMED].join("; "),
        cells.len() - NAMED
    )
}
