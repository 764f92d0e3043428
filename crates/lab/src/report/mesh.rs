//! The report of the mesh experiment: the paper's figures 5, 11 and 12 from our runs, the goals, and
//! where time and memory go.

mod data;
mod figures;
mod goals;
mod metric;
mod paper;
mod runs;
mod shares;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use figures::Figure;
use runs::Runs;

use super::command;
use super::escape::escape;
use super::page::Section;
use super::{FigureFile, ScenarioReport};
use crate::record::Record;

/// Makes the report from the records of this scenario.
pub(super) fn report(records: &[&Record]) -> ScenarioReport {
    let runs = Runs::new(records);
    let by_rate = figures::by_rate(&runs);
    let by_connections = figures::by_connections(&runs);
    let by_hops = figures::by_hops(&runs);
    let by_gateways = figures::by_gateways(&runs);
    let hops = format!("{}{}", all(&by_hops), shares::hops(&runs));
    let sections = vec![
        section(
            "mesh-answer",
            "The answer: inline against sidecar",
            goals::section(&runs),
        ),
        section(
            "mesh-paper",
            "The paper's numbers beside ours",
            paper::section(&runs),
        ),
        section(
            "mesh-rate",
            "Latency and CPU by rate: figures 11 and 12",
            all(&by_rate),
        ),
        section(
            "mesh-connections",
            "Latency by number of connections: figure 5",
            all(&by_connections),
        ),
        section("mesh-hops", "Several microservices in a row", hops),
        section("mesh-gateways", "Several gateways", all(&by_gateways)),
        section(
            "mesh-shares",
            "Where time and memory go",
            shares::section(&runs),
        ),
        section("mesh-holes", "What is not here", data::holes(&runs)),
        section("mesh-data", "Every cell in one table", data::section(&runs)),
    ];
    let figures = [by_rate, by_connections, by_hops, by_gateways];
    ScenarioReport {
        title: "The inline mesh beside the sidecar it replaces".to_owned(),
        sections,
        figures: figures
            .into_iter()
            .flatten()
            .filter_map(|figure| {
                Some(FigureFile {
                    name: format!("{}.svg", figure.file),
                    svg: figure.drawing?.file(),
                })
            })
            .collect(),
        commands: commands(records),
    }
}

/// Fields of the request and the options that give them, in the order of the command line.
const OPTIONS: [(&str, &str); 13] = [
    ("profile", "--profile"),
    ("paths", "--path"),
    ("rates", "--rate"),
    ("replicas", "--replicas"),
    ("replica_mode", "--replica-mode"),
    ("envoy_per_replica", "--envoy-per-replica"),
    ("hops", "--hops"),
    ("gateways", "--gateways"),
    ("mtls", "--mtls"),
    ("measure", "--measure"),
    ("in_flight", "--in-flight"),
    ("repeat", "--repeat"),
    ("server_cpu", "--server-cpu"),
];

/// The commands that make these runs again.
fn commands(records: &[&Record]) -> Vec<String> {
    command::commands_of(records, "mesh", &OPTIONS, |request, field| match field {
        // Paths that nobody named are written down for --resume; the profile has its own.
        "paths" => request.get("named") == Some(&true.into()),
        "mtls" => request.get("mtls") != Some(&"off".into()),
        _ => true,
    })
}

/// What came of the goals, a line each.
pub(super) fn goals(records: &[&Record]) -> Vec<String> {
    goals::lines(records)
}

fn section(id: &'static str, title: &str, html: String) -> Section {
    Section {
        id,
        title: title.to_owned(),
        html,
    }
}

fn all(figures: &[Figure]) -> String {
    figures.iter().map(markup).collect()
}

fn markup(figure: &Figure) -> String {
    let mut html = format!("<figure id=\"{}\">", figure.file);
    match &figure.drawing {
        Some(drawing) => {
            let _ = write!(html, "<div class=\"scroll\">{}</div>", drawing.inline());
        }
        None => {
            let _ = write!(
                html,
                "<p class=\"empty\">{}: no runs to draw it from.</p>",
                escape(&figure.title)
            );
        }
    }
    html.push_str("<figcaption>");
    if !figure.finding.is_empty() {
        let _ = write!(html, "<p class=\"finding\">{}</p>", escape(&figure.finding));
    }
    let _ = write!(html, "<p>{}", escape(&figure.caption));
    if figure.drawing.is_some() {
        let _ = write!(
            html,
            " <a href=\"figures/{file}.svg\">{file}.svg</a>",
            file = figure.file
        );
    }
    html.push_str("</p></figcaption></figure>");
    html
}
