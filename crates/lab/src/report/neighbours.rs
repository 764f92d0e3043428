//! Runs with other work on the same cores, side by side with the runs alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::escape::escape;
use super::format;
use super::page::Section;
use crate::neighbour::{self, Neighbour};
use crate::record::{Cell, Measured, Record};
use crate::statistics::{Better, Samples};

/// A figure of a run, with its heading and which way it is good.
type Figure = (&'static str, fn(&Measured) -> Option<f64>, Better);

/// What is shown beside each neighbour.
const FIGURES: [Figure; 3] = [
    ("requests/s", |m| Some(m.qps), Better::Larger),
    ("p99 us", |m| Some(m.latency_us.p99), Better::Smaller),
    (
        "server CPU us",
        |m| m.cpu_us_per_request.server,
        Better::Smaller,
    ),
];

/// Whether a run had somebody beside it.
pub(super) fn has_one(record: &Record) -> bool {
    record.cell.settings.contains_key(neighbour::SETTING)
}

/// Runs by what is compared; within it by subject and neighbour.
type Conditions<'a> = BTreeMap<Cell, BTreeMap<(&'a str, Neighbour), Vec<&'a Record>>>;

/// The section of a scenario's runs, alone and beside others.
pub(super) fn section(records: &[&Record]) -> Section {
    let mut conditions = Conditions::new();
    for record in records {
        let mut condition = Cell {
            subject: String::new(),
            connections: 0,
            ..record.cell.clone()
        };
        condition.settings.remove(neighbour::SETTING);
        let key = (record.cell.subject.as_str(), Neighbour::of(&record.cell));
        let runs = conditions.entry(condition).or_default();
        runs.entry(key).or_default().push(record);
    }
    let mut html = String::from(
        "<p>Medians over the repetitions, alone and beside neighbours; the best of each column is \
         marked. <b>low</b>: a busy loop on each core at nice 10. <b>same</b>: one of the same weight. \
         <b>burst</b>: bursts of 1 and 10 ms at random. <b>quota</b> and <b>quota-50</b>: a control \
         group's CPU quota of one core and of half a core for each end, without a neighbour.</p>",
    );
    for (condition, runs) in &conditions {
        // What was only run alone is in the other sections.
        if runs.keys().any(|(_, beside)| *beside != Neighbour::None) {
            table(condition, runs, &mut html);
        }
    }
    Section {
        id: "neighbours",
        title: "Beside neighbours".to_owned(),
        html,
    }
}

fn table(condition: &Cell, runs: &BTreeMap<(&str, Neighbour), Vec<&Record>>, html: &mut String) {
    let neighbours: BTreeSet<Neighbour> = runs.keys().map(|(_, beside)| *beside).collect();
    let subjects: BTreeSet<&str> = runs.keys().map(|(subject, _)| *subject).collect();
    let median = |subject: &str, beside: Neighbour, figure: &Figure| {
        let records = runs.get(&(subject, beside))?.iter();
        let samples: Samples = records
            .filter_map(|run| Some((run.repetition, (figure.1)(run.complete()?)?)))
            .collect();
        samples.summary().map(|summary| summary.median)
    };
    let best = |beside: Neighbour, figure: &Figure| {
        let all = subjects
            .iter()
            .filter_map(|name| median(name, beside, figure));
        match figure.2 {
            Better::Larger => all.max_by(f64::total_cmp),
            Better::Smaller => all.min_by(f64::total_cmp),
        }
    };
    let _ = write!(
        html,
        "<h4>{}</h4><div class=\"scroll\"><table><thead><tr><th rowspan=\"2\"></th>",
        escape(&words(condition))
    );
    for beside in &neighbours {
        let name = match beside {
            Neighbour::None => "alone".to_owned(),
            other => other.to_string(),
        };
        let _ = write!(
            html,
            "<th colspan=\"{}\">{}</th>",
            FIGURES.len(),
            escape(&name)
        );
    }
    html.push_str("</tr><tr>");
    for _ in &neighbours {
        for (heading, ..) in &FIGURES {
            let _ = write!(html, "<th>{heading}</th>");
        }
    }
    html.push_str("</tr></thead><tbody>");
    for subject in &subjects {
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", escape(subject));
        for &beside in &neighbours {
            for figure in &FIGURES {
                let value = median(subject, beside, figure);
                let shown = value.map_or_else(|| "-".to_owned(), format::significant);
                let is_best = value.is_some() && value == best(beside, figure);
                let _ = if is_best {
                    write!(html, "<td><b>{shown}</b></td>")
                } else {
                    write!(html, "<td>{shown}</td>")
                };
            }
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
}

/// `10 kB, 4 clients, 1500/s, replicas 30`.
fn words(condition: &Cell) -> String {
    let plural = if condition.clients == 1 { "" } else { "s" };
    let mut words = format!(
        "{}, {} client{plural}",
        format::bytes(condition.payload_bytes),
        condition.clients
    );
    if let Some(rate) = condition.rate {
        let _ = write!(words, ", {rate}/s");
    }
    for (name, value) in &condition.settings {
        let _ = write!(words, ", {name} {value}");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::example;

    #[test]
    fn runs_alone_and_beside_stand_in_one_row() {
        let mut beside = example();
        let name = Neighbour::Low.to_string();
        beside.cell.settings.insert(neighbour::SETTING.into(), name);
        beside.measured.as_mut().expect("complete").qps = 77.0;
        let mut slower = beside.clone();
        slower.cell.subject = "SLOW".into();
        slower.measured.as_mut().expect("complete").qps = 55.0;
        let alone = example();
        let html = section(&[&alone, &beside, &slower]).html;
        assert_eq!(html.matches("<h4>").count(), 1, "{html}");
        assert!(
            html.contains(">alone</th>") && html.contains(">low</th>"),
            "{html}"
        );
        assert!(html.contains("<b>77") && html.contains("<td>55"), "{html}");
        assert!(!has_one(&alone) && has_one(&beside));
        assert!(!section(&[&alone]).html.contains("<h4>"));
    }
}
