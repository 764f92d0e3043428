//! The figures of a result as plain tables: medians over the repetitions.

mod rmr;

use std::collections::BTreeMap;

use crate::record::{Cell, Measured, Record, Status};
use crate::statistics::Samples;
use crate::units::show_bytes;

/// What makes a table: everything of a cell but its subject.
fn key(cell: &Cell) -> Cell {
    Cell {
        subject: String::new(),
        ..cell.clone()
    }
}

/// A table a cell.
pub(crate) fn table(records: &[Record]) -> String {
    let (checks, measured): (Vec<&Record>, Vec<&Record>) = records
        .iter()
        .partition(|record| record.cell.scenario == crate::qualities::NAME);
    let (messages, requests): (Vec<&Record>, Vec<&Record>) = measured
        .into_iter()
        .partition(|record| record.cell.scenario == crate::rmr::NAME);
    let mut text = requests_table(&requests);
    text.push_str(&rmr::table(&messages));
    text.push_str(&crate::report::qualities_table(&checks));
    text
}

fn requests_table(records: &[&Record]) -> String {
    let mut tables: BTreeMap<Cell, Vec<&str>> = BTreeMap::new();
    for record in records {
        let subjects = tables.entry(key(&record.cell)).or_default();
        if !subjects.contains(&record.cell.subject.as_str()) {
            subjects.push(&record.cell.subject);
        }
    }
    let mut text = String::new();
    for (key, subjects) in &tables {
        text.push_str(&heading(key));
        let mut rows: Vec<(f64, String)> = subjects
            .iter()
            .map(|subject| {
                let runs: Vec<&Record> = records
                    .iter()
                    .copied()
                    .filter(|r| r.cell.subject == *subject && self::key(&r.cell) == *key)
                    .collect();
                row(subject, &runs)
            })
            .collect();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        text.extend(rows.into_iter().map(|(_, row)| row));
    }
    let in_memory = |record: &&Record| record.cell.subject.starts_with("CW-SHM");
    if records.iter().any(in_memory) {
        text.push_str("\nCW-SHM works within one host only: it is no adapter over TCP\n");
    }
    text
}

fn heading(cell: &Cell) -> String {
    let plural = if cell.clients == 1 { "" } else { "s" };
    let shared = match cell.connections {
        own if own == cell.clients => String::new(),
        1 => " on one connection".to_owned(),
        several => format!(" on {several} connections"),
    };
    let mode = cell
        .rate
        .map_or_else(|| cell.mode.to_string(), |rate| format!("{rate}/s"));
    let settings: String = cell
        .settings
        .iter()
        .map(|(name, value)| format!(", {name} {value}"))
        .collect();
    format!(
        "\n{}: {}, {} client{plural}{shared}, {mode}{settings}\n{:<18}{:>5}{:>12}{:>11}{:>11}{:>11}{:>13}{:>11}\n",
        cell.scenario,
        show_bytes(cell.payload_bytes),
        cell.clients,
        "",
        "runs",
        "requests/s",
        "mean us",
        "p50 us",
        "p99 us",
        "server us/rq",
        "errors"
    )
}

/// The row, and the median of the means to sort by.
fn row(subject: &str, runs: &[&Record]) -> (f64, String) {
    let median = |figure: &dyn Fn(&Measured) -> Option<f64>| {
        let samples: Samples = runs
            .iter()
            .filter_map(|run| Some((run.repetition, figure(run.complete()?)?)))
            .collect();
        samples.summary().map(|summary| summary.median)
    };
    let complete = runs
        .iter()
        .filter(|run| run.status == Status::Complete)
        .count();
    let Some(mean) = median(&|m| Some(m.latency_us.mean)) else {
        let why = runs
            .iter()
            .rev()
            .find_map(|run| run.error.as_ref())
            .map_or_else(|| "stopped".to_owned(), |failure| failure.what.clone());
        return (f64::INFINITY, format!("{subject:<18}    -  {why}\n"));
    };
    let show = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| format!("{v:.1}"));
    let errors: u64 = runs
        .iter()
        .filter_map(|run| Some(run.measured.as_ref()?.errors))
        .sum();
    let row = format!(
        "{subject:<18}{complete:>5}{:>12}{:>11}{:>11}{:>11}{:>13}{:>11}\n",
        median(&|m| Some(m.qps)).map_or_else(String::new, |qps| format!("{qps:.0}")),
        show(Some(mean)),
        show(median(&|m| Some(m.latency_us.p50))),
        show(median(&|m| Some(m.latency_us.p99))),
        show(median(&|m| m.cpu_us_per_request.server)),
        errors
    );
    (mean, row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::{example, failed};

    #[test]
    fn medians_holes_and_reasons() {
        let mut slower = example();
        slower.repetition = 3;
        slower.measured.as_mut().expect("complete").latency_us.mean = 23.55;
        let mut hole = failed();
        hole.cell.subject = "THRIFT-S".into();
        let text = table(&[hole, example(), slower]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "guti: 10 kB, 4 clients, no-rate");
        assert!(
            lines[3].starts_with("TCP-AS                2         200       22.6"),
            "{text}"
        );
        assert!(lines[4].contains("the client ended"), "{text}");
        assert_eq!(lines.len(), 5);
    }
}
