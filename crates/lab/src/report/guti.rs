//! The report of the GUTI evaluation: the thesis's figures and tables from our runs.

mod answer;
mod cells;
mod claims;
mod data;
mod figures;
mod findings;
mod floor;
mod goals;
mod holes;
mod metric;
mod runs;
mod tables;
#[cfg(test)]
mod tests;
mod thesis;
mod tls;
mod versus;
mod wire;

use std::fmt::Write as _;

use figures::Figure;
use runs::Runs;

use super::command;
use super::escape::escape;
use super::page::Section;
use super::{FigureFile, ScenarioReport};
use crate::record::Record;

/// Fields of the request and the options that give them, in the order of the command line.
const OPTIONS: [(&str, &str); 9] = [
    ("profile", "--profile"),
    ("adapters", "--adapter"),
    ("clients", "--clients"),
    ("payloads", "--payload"),
    ("modes", "--mode"),
    ("rates", "--rate"),
    ("repeat", "--repeat"),
    ("connections", "--connections"),
    ("server_cpu", "--server-cpu"),
];

/// What the terminal shows: the floor and the goals that were judged.
pub(super) fn lines(records: &[&Record]) -> Vec<String> {
    let mut lines = floor::lines(records);
    lines.extend(goals::lines(records));
    lines
}

/// Makes the report from the records of this scenario.
pub(super) fn report(records: &[&Record]) -> ScenarioReport {
    let runs = Runs::new(records.iter().copied());
    let figures = figures::all(&runs);
    let single = |figure: &&Figure| is_single_client(figure.number);
    let (one, several): (Vec<&Figure>, Vec<&Figure>) = figures.iter().partition(single);
    let mut sections = vec![
        section("guti-answer", "The answer", answer::section(&runs, records)),
        section("guti-single", "One client: figures 5.1 to 5.6", all(&one)),
        section(
            "guti-clients",
            "Several clients: figures 5.7 to 5.11",
            all(&several),
        ),
        section(
            "guti-tables",
            "Winners: tables 5.5 to 5.7",
            tables::section(&runs),
        ),
        section(
            "guti-findings",
            "The thesis's findings, one by one",
            findings_table(&runs),
        ),
        section("guti-holes", "What is not here", holes::section(&runs)),
        section("guti-data", "Every cell in one table", data::section(&runs)),
    ];
    let wire = wire::section(&runs);
    if !wire.is_empty() {
        sections.insert(1, section("guti-wire", "What HTTP/2 costs", wire));
    }
    let floor = floor::section(&runs);
    if !floor.is_empty() {
        sections.insert(1, section("guti-floor", "The floor", floor));
    }
    let goals = goals::section(&runs);
    sections.insert(1, section("guti-goals", "The project's own goals", goals));
    let cells = cells::section(&runs);
    if !cells.is_empty() {
        sections.insert(
            1,
            section("guti-cells", "Every cell of tables 5.5 to 5.7", cells),
        );
    }
    let tls = tls::section(&runs);
    if !tls.is_empty() {
        sections.insert(1, section("guti-tls", "What TLS costs", tls));
    }
    let files = figures
        .into_iter()
        .filter_map(|figure| {
            Some(FigureFile {
                name: format!("{}.svg", figure.file),
                svg: figure.drawing?.file(),
            })
        })
        .collect();
    ScenarioReport {
        title: "GUTI allocation: RPC adapters compared".to_owned(),
        sections,
        figures: files,
        commands: command::commands(records, "guti", &OPTIONS),
    }
}

fn section(id: &'static str, title: &str, html: String) -> Section {
    Section {
        id,
        title: title.to_owned(),
        html,
    }
}

/// Whether a figure belongs to the runs with one client.
fn is_single_client(number: &str) -> bool {
    matches!(
        number,
        "5.1" | "5.2" | "5.3" | "5.4a" | "5.4b" | "5.5" | "5.6a" | "5.6b"
    )
}

fn all(figures: &[&Figure]) -> String {
    figures.iter().map(|figure| markup(figure)).collect()
}

fn markup(figure: &Figure) -> String {
    let mut html = format!("<figure id=\"{}\">", figure.file.replace('.', "-"));
    match &figure.drawing {
        Some(drawing) => {
            let _ = write!(html, "<div class=\"scroll\">{}</div>", drawing.inline());
        }
        None => {
            let _ = write!(
                html,
                "<p class=\"empty\">Figure {}, {}: no runs to draw it from.</p>",
                escape(figure.number),
                escape(&figure.title)
            );
        }
    }
    html.push_str("<figcaption>");
    html.push_str(&figure.findings);
    let _ = write!(html, "<p>{}", escape(&figure.caption));
    if !figure.missing.is_empty() {
        let _ = write!(html, " <em>{}</em>", escape(&figure.missing));
    }
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

fn findings_table(runs: &Runs<'_>) -> String {
    let mut html = String::from(
        "<p>Each statement of the thesis about these quantities, held against every comparison \
         for which there are runs.</p>\
         <div class=\"scroll\"><table class=\"findings\"><thead><tr><th>Section</th>\
         <th>The thesis says that</th><th>Here</th><th>Held in</th><th>Otherwise</th></tr>\
         </thead><tbody>",
    );
    for (statement, tally) in findings::all(runs) {
        let (class, words) = tally.mark();
        let reading = if statement.reading.is_empty() {
            String::new()
        } else {
            format!("<br><small>{}</small>", escape(statement.reading))
        };
        let score = if tally.outcome() == claims::Outcome::Untested {
            "–".to_owned()
        } else if tally.unsure > 0 {
            format!("{}; {} by medians only", tally.score(), tally.unsure)
        } else {
            tally.score()
        };
        let against: Vec<&str> = tally.against.iter().map(String::as_str).take(3).collect();
        let more = match tally.against.len() {
            0..=3 => String::new(),
            count => format!("; and {} more", count - 3),
        };
        let _ = write!(
            html,
            "<tr><td>{}</td><td>{}{reading}</td><td><span class=\"mark {class}\">{words}</span></td>\
             <td>{}</td><td>{}{more}</td></tr>",
            escape(statement.section),
            escape(statement.text),
            escape(&score),
            escape(&against.join("; ")),
        );
    }
    html.push_str("</tbody></table></div>");
    html
}
