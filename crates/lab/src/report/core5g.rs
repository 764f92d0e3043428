//! The report of the core scenario: what was required of it, time per UE for registration, session and
//! detach with the tables and words of the REST-based 5G core of 2019 beside ours, where the time of one
//! registration goes hop by hop, and where the CPU time went.

mod cells;
mod claims;
mod curves;
mod goals;
mod hops;
mod source;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use self::cells::{Cells, FLOWS, Row, row_of};
use self::source::{PROCEDURES, Procedure};
use super::ScenarioReport;
use super::command;
use super::escape::escape;
use super::page::Section;
use crate::record::{Record, Status};
use crate::statistics::Summary;

/// Fields of the request and the options that give them.
const OPTIONS: [(&str, &str); 6] = [
    ("profile", "--profile"),
    ("transports", "--transport"),
    ("ues", "--ues"),
    ("threads", "--threads"),
    ("flows", "--flow"),
    ("repeat", "--repeat"),
];

/// Makes the report from the records of this scenario.
pub(super) fn report(records: &[&Record]) -> ScenarioReport {
    let cells = Cells::new(records);
    let curves = curves::procedures(&cells);
    let costs = curves::costs(&cells);
    let (waterfalls, hops) = hops::section(&cells);
    let section = |id, title: &str, html| Section {
        id,
        title: title.to_owned(),
        html,
    };
    let mut sections = vec![
        section("core-goals", "What was required", goals::table(&cells)),
        section("core-curves", "Curves", figures(&curves)),
    ];
    let tables = PROCEDURES
        .iter()
        .zip(["core-registration", "core-session", "core-detach"]);
    sections.extend(tables.map(|(procedure, id)| {
        let title = format!("{}: time per UE", procedure.title);
        section(id, &title, times(records, procedure))
    }));
    sections.extend([
        section("core-words", "The source's words", claims::section(&cells)),
        section(
            "core-hops",
            "One registration and one session, hop by hop",
            waterfalls,
        ),
        section(
            "core-cpu",
            "CPU time per UE, by NF",
            cpu(records) + &figures(&costs),
        ),
        section(
            "core-memory",
            "Memory per attached UE, by NF",
            memory(records),
        ),
        section("core-holes", "What is not here", holes(records)),
    ]);
    let all = curves.iter().chain(&costs).chain(&hops);
    ScenarioReport {
        title: "5G core: registration, session and detach over every transport".to_owned(),
        sections,
        figures: all.map(curves::Figure::file).collect(),
        commands: command::commands(records, "core", &OPTIONS),
    }
}

/// What was required, a line each, for the terminal.
pub(super) fn goals(records: &[&Record]) -> Vec<String> {
    goals::lines(&Cells::new(records))
}

fn figures(figures: &[curves::Figure]) -> String {
    if figures.is_empty() {
        "<p>Not run: a curve needs two numbers of UEs.</p>".to_owned()
    } else {
        figures.iter().map(curves::Figure::html).collect()
    }
}

/// The runs with UEs that were completed.
fn complete<'a>(records: &'a [&Record]) -> impl Iterator<Item = &'a Record> {
    let complete = |record: &&Record| {
        record.status == Status::Complete && FLOWS.contains(&row_of(record).flow.as_str())
    };
    records.iter().copied().filter(complete)
}

fn ues_of(records: &[&Record]) -> Vec<u32> {
    Cells::new(records).ues()
}

/// Medians over the repetitions of each run's mean and percentiles, and the source's means.
fn times(records: &[&Record], procedure: &Procedure) -> String {
    let ues = ues_of(records);
    let mut html = String::from(
        "<p>Milliseconds: mean / median / 99th percentile over the UEs of a run; the median of the \
         repetitions. The source gives means; its machine was another, its core had neither NAS \
         security nor ASN.1.</p><div class=\"scroll\"><table><thead><tr><th>flow</th><th>event loops \
         an NF</th><th>between NFs</th>",
    );
    for ues in &ues {
        let _ = write!(html, "<th>{ues} UEs</th>");
    }
    html.push_str("</tr></thead><tbody>");
    let mut rows: BTreeMap<Row, BTreeMap<u32, Vec<&Value>>> = BTreeMap::new();
    for record in complete(records) {
        if let Some(figures) = record.extra.get(procedure.field) {
            let row = rows.entry(row_of(record)).or_default();
            row.entry(record.cell.clients).or_default().push(figures);
        }
    }
    for (row, cells) in &rows {
        let head = [&row.flow, &row.threads, &row.transport];
        html.push_str("<tr>");
        for text in head {
            let _ = write!(html, "<td>{}</td>", escape(text));
        }
        for ues in &ues {
            let text = cells.get(ues).map_or_else(String::new, |runs| cell(runs));
            let _ = write!(html, "<td>{}</td>", escape(&text));
        }
        html.push_str("</tr>");
    }
    for threads in ["1", "ues"] {
        let _ = write!(
            html,
            "<tr><td>the source, 2019</td><td>{threads}</td><td>REST (mean)</td>"
        );
        for ues in &ues {
            let mean = procedure.mean(threads, *ues);
            let text = mean.map_or_else(String::new, |mean| format!("{mean:.2}"));
            let _ = write!(html, "<td>{text}</td>");
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    html
}

fn cell(runs: &[&Value]) -> String {
    let median = |name: &str| {
        let values: Vec<f64> = runs.iter().filter_map(|run| run[name].as_f64()).collect();
        Summary::of(values).map(|summary| summary.median)
    };
    match (median("mean"), median("p50"), median("p99")) {
        (Some(mean), Some(p50), Some(p99)) => format!("{mean:.2} / {p50:.2} / {p99:.2}"),
        _ => String::new(),
    }
}

/// CPU time of each NF for a UE that registers, opens a session and detaches.
fn cpu(records: &[&Record]) -> String {
    let mut html = String::from(
        "<p>Microseconds of CPU time, user and system, for one UE that registers and opens a session; in \
         brackets for its detaching. The median of the repetitions.</p><div class=\"scroll\"><table><thead><tr>\
         <th>flow</th><th>event loops an NF</th><th>between NFs</th><th>UEs</th><th>all NFs</th>",
    );
    let mut names: Vec<&str> = Vec::new();
    for record in complete(records) {
        if let Some(Value::Object(nfs)) = record.extra.get("cpu_us_per_ue") {
            for name in nfs.keys() {
                if !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
        }
    }
    for name in &names {
        let _ = write!(html, "<th>{}</th>", escape(name));
    }
    html.push_str("</tr></thead><tbody>");
    let mut rows: BTreeMap<(Row, u32), Vec<&Value>> = BTreeMap::new();
    let mut detach = rows.clone();
    for record in complete(records) {
        if let Some(nfs) = record.extra.get("detach_cpu_us_per_ue") {
            let key = (row_of(record), record.cell.clients);
            detach.entry(key).or_default().push(nfs);
        }
        if let Some(nfs) = record.extra.get("cpu_us_per_ue") {
            let row = rows
                .entry((row_of(record), record.cell.clients))
                .or_default();
            row.push(nfs);
        }
    }
    for ((row, ues), runs) in &rows {
        let median = |of: &dyn Fn(&Value) -> Option<f64>| {
            let values: Vec<f64> = runs.iter().filter_map(|run| of(run)).collect();
            Summary::of(values)
                .map(|summary| summary.median)
                .unwrap_or_default()
        };
        let sum = |run: &Value| {
            let nfs = run.as_object()?;
            Some(nfs.values().filter_map(Value::as_f64).sum())
        };
        let all = median(&sum);
        let leaving = detach.get(&(row.clone(), *ues)).into_iter().flatten();
        let leaving = Summary::of(leaving.filter_map(|run| sum(run)).collect::<Vec<_>>());
        let leaving = leaving.map_or(0.0, |summary| summary.median);
        let _ = write!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{ues}</td><td>{all:.0} ({leaving:.0})</td>",
            escape(&row.flow),
            escape(&row.threads),
            escape(&row.transport)
        );
        for name in &names {
            let of = |run: &Value| run[*name].as_f64();
            let _ = write!(html, "<td>{:.0}</td>", median(&of));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    html
}

/// Memory that each NF has more with all UEs attached than with none.
fn memory(records: &[&Record]) -> String {
    let mut html = String::from(
        "<p>Octets of resident memory of the NFs' own (anonymous and shared) that each attached UE adds: \
         registered, with one session; after a hundred others have come and gone. From runs of 1,000 UEs \
         and more; the allocator's slack is in it, so the more UEs the truer.</p><div class=\"scroll\"><table><thead><tr><th>flow</th><th>event loops an NF\
         </th><th>between NFs</th><th>UEs</th><th>run</th><th>all NFs</th><th>by NF</th></tr></thead>\
         <tbody>",
    );
    for record in complete(records) {
        let Some(Value::Object(nfs)) = record.extra.get("memory_bytes_per_ue") else {
            continue;
        };
        let row = row_of(record);
        let all: f64 = nfs.values().filter_map(Value::as_f64).sum();
        let each: Vec<String> = nfs
            .iter()
            .filter_map(|(nf, octets)| Some(format!("{nf} {:.0}", octets.as_f64()?)))
            .collect();
        let _ = write!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{all:.0}</td><td>{}</td></tr>",
            escape(&row.flow),
            escape(&row.threads),
            escape(&row.transport),
            record.cell.clients,
            record.repetition,
            escape(&each.join(", ")),
        );
    }
    html.push_str("</tbody></table></div>");
    html
}

fn holes(records: &[&Record]) -> String {
    let mut html = String::from(
        "<p>The source's reference point over SCTP without an NRF is not built; its throughput (task 1) \
         needs a user plane, which is not built either.</p><ul>",
    );
    for record in records
        .iter()
        .filter(|record| record.status != Status::Complete)
    {
        let why = record
            .error
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        let text = format!("{}: {:?}: {why}", record.cell, record.status);
        let _ = write!(html, "<li>{}</li>", escape(&text));
    }
    html.push_str("</ul>");
    html
}
