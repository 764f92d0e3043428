//! The report of the core scenario: time per UE for registration, session and detach, with the tables
//! of the REST-based 5G core of 2019 beside ours, and where the CPU time went.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

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

/// One procedure: what it is called here and in the records, and the source's means in milliseconds by
/// UEs: with one thread in each NF, and with one a UE (task 3 of the report, 11 March 2019).
struct Procedure {
    title: &'static str,
    field: &'static str,
    one_thread: [f64; 4],
    thread_a_ue: [f64; 4],
}

/// UEs of the source's tables.
const UES: [u32; 4] = [1, 2, 5, 10];

const PROCEDURES: [Procedure; 3] = [
    Procedure {
        title: "Registration",
        field: "registration_ms",
        one_thread: [8.4844, 11.11056, 260.1328, 536.6366],
        thread_a_ue: [8.4844, 8.5872, 16.35618, 34.11612],
    },
    Procedure {
        title: "Session creation",
        field: "session_ms",
        one_thread: [175.3326, 179.8534, 145.6166, 129.2704],
        thread_a_ue: [175.3326, 226.9646, 378.2406, 607.94],
    },
    Procedure {
        title: "Detach",
        field: "detach_ms",
        one_thread: [4.2086, 7.6408, 6.17288, 5.85984],
        thread_a_ue: [4.2086, 3.658, 6.17906, 7.23634],
    },
];

/// Makes the report from the records of this scenario.
pub(super) fn report(records: &[&Record]) -> ScenarioReport {
    let mut sections: Vec<Section> = PROCEDURES
        .iter()
        .zip(["core-registration", "core-session", "core-detach"])
        .map(|(procedure, id)| Section {
            id,
            title: format!("{}: time per UE", procedure.title),
            html: times(records, procedure),
        })
        .collect();
    sections.push(Section {
        id: "core-cpu",
        title: "CPU time per UE, by NF".to_owned(),
        html: cpu(records),
    });
    sections.push(Section {
        id: "core-holes",
        title: "What is not here".to_owned(),
        html: holes(records),
    });
    ScenarioReport {
        title: "5G core: registration, session and detach over every transport".to_owned(),
        sections,
        figures: Vec::new(),
        commands: command::commands(records, "core", &OPTIONS),
    }
}

/// What a row of a table is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    flow: String,
    threads: String,
    transport: String,
}

fn row_of(record: &Record) -> Row {
    let setting = |name: &str| record.cell.settings.get(name).cloned().unwrap_or_default();
    Row {
        flow: setting("flow"),
        threads: setting("threads"),
        transport: record.cell.subject.clone(),
    }
}

fn complete<'a>(records: &'a [&Record]) -> impl Iterator<Item = &'a Record> {
    let complete = |record: &&&Record| record.status == Status::Complete;
    records.iter().filter(complete).copied()
}

fn ues_of(records: &[&Record]) -> Vec<u32> {
    let mut ues: Vec<u32> = complete(records)
        .map(|record| record.cell.clients)
        .collect();
    ues.sort_unstable();
    ues.dedup();
    ues
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
    for (threads, source) in [("1", procedure.one_thread), ("ues", procedure.thread_a_ue)] {
        let _ = write!(
            html,
            "<tr><td>the source, 2019</td><td>{threads}</td><td>REST (mean)</td>"
        );
        for ues in &ues {
            let known = UES.iter().position(|known| known == ues);
            let text = known.map_or_else(String::new, |at| format!("{:.2}", source[at]));
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
        "<p>Microseconds of CPU time, user and system, for one UE that registers, opens a session and \
         detaches; the median of the repetitions.</p><div class=\"scroll\"><table><thead><tr>\
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
    for record in complete(records) {
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
        let all = median(&|run| {
            let nfs = run.as_object()?;
            Some(nfs.values().filter_map(Value::as_f64).sum())
        });
        let _ = write!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{ues}</td><td>{all:.0}</td>",
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
