//! The RMR scenario's: messages go one way, both sides' CPU counts, and so does what was lost.

use std::collections::BTreeMap;

use crate::record::{Measured, Record};
use crate::rmr::Condition;
use crate::statistics::Samples;

/// A table a condition, those that are plain first.
pub(super) fn table(records: &[&Record]) -> String {
    let mut tables: BTreeMap<(usize, Condition), BTreeMap<&str, Vec<&Record>>> = BTreeMap::new();
    for record in records {
        let condition = Condition::of(&record.cell);
        let unusual = condition.to_string().matches(", ").count();
        tables
            .entry((unusual, condition))
            .or_default()
            .entry(&record.cell.subject)
            .or_default()
            .push(record);
    }
    let mut text = String::new();
    for ((_, condition), subjects) in &tables {
        text.push_str(&format!(
            "\nrmr: {condition}\n{:<14}{:>5}{:>12}{:>10}{:>10}{:>10}{:>12}{:>12}{:>9}\n",
            "",
            "runs",
            "messages/s",
            "p50 us",
            "p95 us",
            "p99 us",
            "sender us",
            "receiver us",
            "lost"
        ));
        let mut rows: Vec<(f64, String)> = subjects
            .iter()
            .map(|(subject, runs)| row(subject, runs, condition.rate.is_some()))
            .collect();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        text.extend(rows.into_iter().map(|(_, row)| row));
    }
    text
}

/// The row, and what to sort by: latency at a rate, otherwise the rate, the best first.
fn row(subject: &str, runs: &[&Record], rated: bool) -> (f64, String) {
    let median = |figure: &dyn Fn(&Measured) -> Option<f64>| {
        let samples: Samples = runs
            .iter()
            .filter_map(|run| Some((run.repetition, figure(run.complete()?)?)))
            .collect();
        samples.summary().map(|summary| summary.median)
    };
    let (Some(rate), Some(p50)) = (
        median(&|measured| Some(measured.qps)),
        median(&|measured| Some(measured.latency_us.p50)),
    ) else {
        let why = runs
            .iter()
            .rev()
            .find_map(|run| run.error.as_ref())
            .map_or_else(|| "stopped".to_owned(), |failure| failure.what.clone());
        return (f64::INFINITY, format!("{subject:<14}    -  {why}\n"));
    };
    let show = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
    };
    let complete = runs.iter().filter(|run| run.complete().is_some()).count();
    let lost: u64 = runs
        .iter()
        .filter_map(|run| run.extra.get("lost_silently")?.as_u64())
        .sum();
    let row = format!(
        "{subject:<14}{complete:>5}{rate:>12.0}{:>10}{:>10}{:>10}{:>12}{:>12}{lost:>9}\n",
        show(Some(p50), 1),
        show(median(&|measured| Some(measured.latency_us.p95)), 1),
        show(median(&|measured| Some(measured.latency_us.p99)), 1),
        show(median(&|measured| measured.cpu_us_per_request.client), 2),
        show(median(&|measured| measured.cpu_us_per_request.server), 2),
    );
    (if rated { p50 } else { -rate }, row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::{example, failed};

    #[test]
    fn the_fastest_first_with_what_was_lost_and_holes_with_their_reason() {
        let condition = Condition::plain(None, 1000);
        let mut slow = example();
        slow.cell = condition.cell("rmr");
        slow.extra.insert("lost_silently".into(), 17.into());
        let mut fast = example();
        fast.cell = condition.cell("si95");
        fast.measured.as_mut().expect("complete").qps = 1e6;
        let mut hole = failed();
        hole.cell = condition.cell("shm");
        let text = table(&[&hole, &slow, &fast]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "rmr: 1 kB, max rate");
        assert!(
            lines[3].starts_with("si95") && lines[3].contains("1000000"),
            "{text}"
        );
        assert!(
            lines[4].starts_with("rmr") && lines[4].ends_with(" 17"),
            "{text}"
        );
        assert!(
            lines[5].starts_with("shm") && lines[5].contains("client ended"),
            "{text}"
        );
    }
}
