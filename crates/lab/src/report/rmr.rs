//! The report of the RMR scenario: the brief's tables 1 to 5 and its figures 4 to 22 from our runs,
//! what was required of our library, and what became of every message.

mod accounts;
mod brief;
mod distributions;
mod figures;
mod findings;
mod goals;
mod runs;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use figures::Figure;
use runs::{Metric, Runs, State, reason};

use super::command;
use super::escape::escape;
use super::format;
use super::page::Section;
use super::{FigureFile, ScenarioReport};
use crate::record::Record;
use crate::rmr::Condition;

/// Fields of the request and the options that give them, in the order of the command line.
const OPTIONS: [(&str, &str); 17] = [
    ("profile", "--profile"),
    ("transports", "--transport"),
    ("rates", "--rate"),
    ("sizes", "--size"),
    ("nagle", "--nagle"),
    ("pin", "--pin"),
    ("mtu", "--mtu"),
    ("senders", "--senders"),
    ("receivers", "--receivers"),
    ("routes", "--routes"),
    ("swaps_per_s", "--swaps-per-s"),
    ("exchange", "--exchange"),
    ("repeat", "--repeat"),
    ("server_cpu", "--server-cpu"),
    ("libraries", "--rmr-lib"),
    ("sender_library", "--rmr-sender-lib"),
    ("receiver_library", "--rmr-receiver-lib"),
];

/// Foreign CPU load, in percent of one core, above which a run is suspect.
const SUSPECT_LOAD: f64 = 10.0;

/// Whether a subject is our library on both ends.
fn is_ours(subject: &str) -> bool {
    ["si95", "si95-gather", "native", "shm", "nng"].contains(&subject)
}

/// Makes the report from the records of this scenario.
pub(super) fn report(records: &[&Record]) -> ScenarioReport {
    let runs = Runs::new(records);
    let rates: Vec<Figure> = figures::rates(&runs)
        .into_iter()
        .chain(figures::cpu(&runs))
        .collect();
    let by_rate = figures::latency_by_rate(&runs);
    let sweeps = figures::sweeps(&runs);
    let (distributions, missing) = distributions::all(&runs);
    let sections = vec![
        section("rmr-answer", "The answer", answer(&runs, records)),
        section(
            "rmr-rates",
            "Rates and CPU: table 1",
            format!(
                "{}{}{}",
                tables::rates(&runs),
                findings::about(&runs, "1"),
                all(&rates)
            ),
        ),
        section(
            "rmr-latency",
            "Latency by rate: tables 2 and 3",
            format!(
                "{}{}{}{}",
                all(&by_rate),
                accounts::steps(&runs),
                tables::latencies(&runs),
                findings::about(&runs, "2")
            ),
        ),
        section(
            "rmr-tuning",
            "Nagle, pinning, MTU: tables 4 and 5",
            format!(
                "{}{}{}{}",
                tables::tuning(&runs),
                findings::about(&runs, "4"),
                tables::pinning(&runs),
                findings::about(&runs, "5")
            ),
        ),
        section(
            "rmr-figures",
            "Distributions: figures 4 to 22",
            format!("{}{}", all(&distributions), not_drawn(&missing)),
        ),
        section(
            "rmr-growth",
            "Senders, receivers, routes",
            format!("{}{}", all(&sweeps), accounts::swaps(&runs)),
        ),
        section(
            "rmr-interworking",
            "Interworking",
            accounts::interworking(&runs),
        ),
        section(
            "rmr-messages",
            "What became of every message",
            accounts::messages(&runs),
        ),
        section(
            "rmr-findings",
            "The brief's findings, one by one",
            findings::section(&runs),
        ),
        section("rmr-holes", "What is not here", holes(&runs)),
        section(
            "rmr-data",
            "Every cell in one table",
            accounts::everything(&runs),
        ),
    ];
    let files = [rates, by_rate, distributions, sweeps]
        .into_iter()
        .flatten()
        .map(|figure| FigureFile {
            name: format!("{}.svg", figure.file),
            svg: figure.drawing.file(),
        })
        .collect();
    ScenarioReport {
        title: "RMR: message routing over every transport".to_owned(),
        sections,
        figures: files,
        commands: command::commands(records, "rmr", &OPTIONS),
    }
}

fn section(id: &'static str, title: &str, html: String) -> Section {
    Section {
        id,
        title: title.to_owned(),
        html,
    }
}

fn all(figures: &[Figure]) -> String {
    let mut html = String::new();
    for figure in figures {
        let _ = write!(
            html,
            "<figure id=\"{file}\"><div class=\"scroll\">{}</div><figcaption><p \
             class=\"finding\">{}</p><p>{} <a href=\"figures/{file}.svg\">{file}.svg</a></p>\
             </figcaption></figure>",
            figure.drawing.inline(),
            escape(&figure.finding),
            escape(&figure.caption),
            file = escape(&figure.file),
        );
    }
    html
}

/// The first screen.
fn answer(runs: &Runs<'_>, records: &[&Record]) -> String {
    let mut html = format!("<p>{}</p>", escape(&measured(runs, records)));
    html.push_str("<ul class=\"answers\">");
    let bullet = |html: &mut String, title: &str, words: &str| {
        let _ = write!(
            html,
            "<li><strong>{}.</strong> {}</li>",
            escape(title),
            escape(words)
        );
    };
    bullet(
        &mut html,
        "Messages a second",
        &ranking(runs, &Condition::plain(None, 1000), &[Metric::Rate]),
    );
    bullet(
        &mut html,
        "Latency at 10,000 a second (median, 99th percentile)",
        &ranking(
            runs,
            &Condition::plain(Some(10_000), 1000),
            &[Metric::P50, Metric::P99],
        ),
    );
    let (met, judged, not_shown) = goals::score(runs);
    let mut words = match judged {
        0 => "No requirement could be judged".to_owned(),
        _ => format!("{met} of {judged} requirements that could be judged are met"),
    };
    if not_shown > 0 {
        let _ = write!(
            words,
            "; {not_shown} more are neither shown nor refuted here"
        );
    }
    words.push('.');
    bullet(&mut html, "What was required", &words);
    bullet(&mut html, "The brief", &findings::sentence(runs));
    html.push_str("</ul>");
    html.push_str(&warnings(records));
    html.push_str(&goals::table(runs));
    html
}

/// Every subject with its medians, the best first.
fn ranking(runs: &Runs<'_>, condition: &Condition, metrics: &[Metric]) -> String {
    let mut found: Vec<(&String, Vec<f64>)> = runs
        .subjects()
        .iter()
        .filter_map(|subject| {
            let figures: Option<Vec<f64>> = metrics
                .iter()
                .map(|metric| runs.median(condition, subject, *metric))
                .collect();
            Some((subject, figures?))
        })
        .collect();
    if found.is_empty() {
        return format!("Nothing was run with {condition}.");
    }
    found.sort_by(|a, b| a.1[0].total_cmp(&b.1[0]));
    if metrics[0] == Metric::Rate {
        found.reverse();
    }
    let words: Vec<String> = found
        .into_iter()
        .map(|(subject, figures)| {
            let figures: Vec<String> = figures
                .into_iter()
                .zip(metrics)
                .map(|(figure, metric)| metric.show(figure))
                .collect();
            format!("{subject} {}", figures.join(", "))
        })
        .collect();
    format!("{condition}: {}.", words.join("; "))
}

/// What, where, how often.
fn measured(runs: &Runs<'_>, records: &[&Record]) -> String {
    let repetitions = records
        .iter()
        .map(|record| record.repetition)
        .max()
        .unwrap_or_default();
    let complete = records
        .iter()
        .filter(|one| one.complete().is_some())
        .count();
    let mut sentence = format!(
        "Plain C programs send and receive messages through RMR libraries, over {} transports in \
         turn: {} complete runs under {} conditions, up to {repetitions} interleaved repetition{}.",
        runs.subjects().len(),
        format::count(complete as u64),
        runs.conditions().len(),
        if repetitions == 1 { "" } else { "s" },
    );
    if let Some(first) = records.first() {
        let host = &first.host;
        let _ = write!(
            sentence,
            " The machine: {} with {} cores, {}, kernel {}{}.",
            host.cpu_model,
            host.cores,
            host.distribution,
            host.kernel,
            host.virtualised
                .as_ref()
                .map_or_else(String::new, |name| format!(", virtualised ({name})")),
        );
    }
    sentence
}

fn warnings(records: &[&Record]) -> String {
    let loads: Vec<f64> = records
        .iter()
        .filter_map(|record| Some(record.machine_load?.foreign_cpu_percent))
        .filter(|load| *load > SUSPECT_LOAD)
        .collect();
    // A run here and there is what medians are for.
    if loads.len() * 10 <= records.len() {
        return String::new();
    }
    let highest = loads.iter().copied().fold(0.0, f64::max);
    format!(
        "<p class=\"warning\">In {} of {} runs the machine did other work besides (more than \
         {SUSPECT_LOAD} % of one core, up to {highest:.0} %): measure again on a machine that is \
         otherwise idle.</p>",
        loads.len(),
        records.len()
    )
}

fn not_drawn(missing: &[String]) -> String {
    if missing.is_empty() {
        return String::new();
    }
    format!(
        "<p class=\"empty\">Not drawn, since nothing was run for them: figures {}.</p>",
        escape(&missing.join("; "))
    )
}

/// What failed or was not run, with the reasons.
fn holes(runs: &Runs<'_>) -> String {
    let mut found: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
    for (condition, subject, records) in runs.cells() {
        for record in records.iter().filter(|record| record.complete().is_none()) {
            found
                .entry((subject, reason(record)))
                .or_default()
                .push(format!("{condition} (repetition {})", record.repetition));
        }
    }
    let mut html = String::new();
    if !found.is_empty() {
        html.push_str(
            "<div class=\"scroll\"><table><thead><tr><th>Subject</th><th>Reason</th><th>Runs</th>\
             <th>Where</th></tr></thead><tbody>",
        );
        for ((subject, reason), cells) in found {
            let more = match cells.len() {
                0..=4 => String::new(),
                count => format!("; and {} more", count - 4),
            };
            let shown: Vec<&str> = cells.iter().map(String::as_str).take(4).collect();
            let _ = write!(
                html,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}{more}</td></tr>",
                escape(subject),
                escape(&reason),
                cells.len(),
                escape(&shown.join("; "))
            );
        }
        html.push_str("</tbody></table></div>");
    }
    let gaps: Vec<String> = runs
        .subjects()
        .iter()
        .filter_map(|subject| {
            let count = runs
                .conditions()
                .iter()
                .filter(|condition| runs.state(condition, subject) == State::NotRun)
                .count();
            (count > 0).then(|| format!("{subject} ({count})"))
        })
        .collect();
    if !gaps.is_empty() {
        let _ = write!(
            html,
            "<p>Conditions that others ran, and these did not, since the profile has them for some \
             transports only: {}.</p>",
            escape(&gaps.join(", "))
        );
    }
    if html.is_empty() {
        html.push_str("<p>Nothing is missing: every transport ran under every condition.</p>");
    }
    html
}
