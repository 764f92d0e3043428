//! The first screen: what was measured, and the answer in plain words.

mod ratios;
mod standing;

use std::fmt::Write as _;

use serde_json::Value;

use super::claims::Outcome;
use super::findings;
use super::metric::Metric;
use super::runs::{Condition, Runs, reason};
use super::tables::{self, Match};
use super::thesis::{TABLE_PAYLOADS, TABLES};
use super::versus::is_ours;
use crate::record::{Mode, Record};
use crate::report::escape::escape;
use crate::report::format;

/// Foreign CPU load, in percent of one core, above which a run is suspect.
const SUSPECT_LOAD: f64 = 10.0;

/// Foreign CPU load above which a figure says more about the other work than about the adapter.
const HEAVY_LOAD: f64 = 30.0;

/// The metrics of the answer, with their short titles.
const METRICS: [(Metric, &str); 3] = [
    (Metric::Qps, "Requests a second"),
    (Metric::Mean, "Mean latency"),
    (Metric::P99, "99th percentile latency"),
];

/// The whole section.
pub(super) fn section(runs: &Runs<'_>, records: &[&Record]) -> String {
    let mut html = String::new();
    let _ = write!(html, "<p>{}</p>", escape(&measured(runs, records)));
    let measured: Vec<&String> = runs.measured_subjects().collect();
    let contenders = runs.contenders();
    let (contenders, beside): (Vec<&String>, Vec<&String>) = measured
        .into_iter()
        .partition(|subject| contenders.contains(subject));
    let (ours, theirs): (Vec<&String>, Vec<&String>) =
        contenders.into_iter().partition(|subject| is_ours(subject));
    html.push_str("<ul class=\"answers\">");
    for (metric, title) in METRICS {
        let sentence = standing::against_others(runs, metric, &ours, &theirs);
        let winners = standing::winners(runs, metric);
        let _ = write!(
            html,
            "<li><strong>{title}.</strong> {} {}</li>",
            escape(&sentence),
            escape(&winners)
        );
    }
    let _ = write!(
        html,
        "<li><strong>The thesis.</strong> {}</li></ul>",
        escape(&thesis_sentence(runs))
    );
    if ours.is_empty()
        && let Some(reason) = own_failure(runs)
    {
        let reason = escape(&reason);
        let _ = write!(
            html,
            "<p class=\"warning\">Corewire's adapters have no figures: {reason}.</p>"
        );
    }
    html.push_str(&warnings(records));
    if !ours.is_empty() && !theirs.is_empty() {
        html.push_str(&ratios::best_against_best_table(runs, &ours, &theirs));
        html.push_str(&ratios::each_adapter_table(runs, &ours, &theirs));
        let memory: Vec<&String> = beside
            .into_iter()
            .filter(|subject| subject.starts_with("CW-SHM"))
            .collect();
        if !memory.is_empty() {
            html.push_str(&ratios::shared_memory_table(runs, &memory, &theirs));
        }
    }
    html
}

/// How far the thesis is confirmed: its findings in words and its tables.
fn thesis_sentence(runs: &Runs<'_>) -> String {
    let found = findings::all(runs);
    let outcomes: Vec<Outcome> = found.iter().map(|(_, tally)| tally.outcome()).collect();
    let count = |wanted| outcomes.iter().filter(|found| **found == wanted).count();
    let tested = outcomes.len() - count(Outcome::Untested);
    let mut sentence = if tested == 0 {
        format!(
            "None of the {} findings of the thesis can be tested with these runs.",
            outcomes.len()
        )
    } else {
        let parts: Vec<String> = [
            (Outcome::Agrees, "hold"),
            (Outcome::AgreesInPart, "hold in part"),
            (Outcome::Differs, "do not hold"),
            (Outcome::NoDifference, "show no difference"),
        ]
        .into_iter()
        .filter(|(outcome, _)| count(*outcome) > 0)
        .map(|(outcome, words)| format!("{} {words}", count(outcome)))
        .collect();
        format!(
            "Of the {} findings of the thesis {tested} can be tested with these runs: {}{}.",
            outcomes.len(),
            format::list(&parts),
            if found.iter().any(|(_, tally)| tally.unsure > 0) {
                " (where there are too few repetitions by the medians alone, as a hint)"
            } else {
                ""
            },
        )
    };
    let cells: Vec<Match> = TABLES
        .iter()
        .flat_map(|table| tables::cells(runs, table))
        .map(|cell| cell.agreement)
        .collect();
    let count = |wanted| cells.iter().filter(|found| **found == wanted).count();
    let (same, shared, other) = (
        count(Match::Same),
        count(Match::Shared),
        count(Match::Other),
    );
    let decided = same + shared + other;
    if decided > 0 {
        let _ = write!(
            sentence,
            " Of {decided} cells of its tables of winners {same} have the same winner among its \
             eight adapters, {shared} share one in a tie, {other} have another."
        );
    }
    let (hinted_same, hinted_other) = (count(Match::Hint(true)), count(Match::Hint(false)));
    let hinted = hinted_same + hinted_other;
    if hinted > 0 {
        let _ = write!(
            sentence,
            " In {hinted} cells of its tables the best median of its eight adapters is its own \
             winner's {hinted_same} times (a hint, no verdict)."
        );
    }
    sentence
}

/// What, where, when, how often.
fn measured(runs: &Runs<'_>, records: &[&Record]) -> String {
    let subjects = runs.subjects().len();
    let repetitions = records
        .iter()
        .map(|record| record.repetition)
        .max()
        .unwrap_or_default();
    let mut sentence = format!(
        "A client asks a server to allocate a 5G-GUTI, over the loopback network of one machine, \
         through {subjects} adapters in turn: {} runs under {} conditions (payload, number of \
         clients, rate), {}.",
        format::count(records.len() as u64),
        runs.conditions().len(),
        match repetitions {
            1 => "once each".to_owned(),
            more => format!("up to {more} interleaved repetitions"),
        },
    );
    if let Some(first) = records.first() {
        let host = &first.host;
        let _ = write!(
            sentence,
            " The machine: {} with {} core{}, {:.1} GiB of memory, {}, kernel {}{}.",
            host.cpu_model,
            host.cores,
            if host.cores == 1 { "" } else { "s" },
            host.memory_bytes as f64 / f64::from(1 << 30),
            host.distribution,
            host.kernel,
            host.virtualised
                .as_ref()
                .map_or_else(String::new, |name| format!(", virtualised ({name})")),
        );
    }
    let cores = (
        option(records, "server_cpus"),
        option(records, "client_cpus"),
    );
    if let (Some(server), Some(client)) = cores {
        let _ = write!(
            sentence,
            " The server process is held to core {server}, the client to core {client}."
        );
    }
    let last = records
        .iter()
        .map(|record| record.started_at.as_str())
        .max();
    let first = records
        .iter()
        .map(|record| record.started_at.as_str())
        .min();
    if let (Some(first), Some(last)) = (first, last) {
        let _ = write!(
            sentence,
            " Runs started between {} and {}.",
            readable_time(first),
            readable_time(last)
        );
    }
    sentence
}

/// An option that is a text and the same in all runs.
fn option<'a>(records: &[&'a Record], name: &str) -> Option<&'a str> {
    let mut values = records
        .iter()
        .map(|record| record.options.get(name).and_then(Value::as_str));
    let first = values.next()??;
    values.all(|value| value == Some(first)).then_some(first)
}

/// RFC 3339 without the fraction of a second.
fn readable_time(time: &str) -> String {
    let seconds = time.split(['.', 'Z']).next().unwrap_or(time);
    format!("{} UTC", seconds.replace('T', " "))
}

/// The conditions of the thesis's tables that were run.
fn table_conditions(runs: &Runs<'_>) -> Vec<Condition> {
    runs.conditions()
        .into_iter()
        .filter(|condition| {
            condition.mode == Mode::NoRate && TABLE_PAYLOADS.contains(&condition.payload)
        })
        .collect()
}

/// Why the first of Corewire's adapters failed, if one was tried.
fn own_failure(runs: &Runs<'_>) -> Option<String> {
    let (_, _, records) = runs.cells().find(|(_, subject, _)| is_ours(subject))?;
    records.last().map(|record| reason(record))
}

fn warnings(records: &[&Record]) -> String {
    let loads: Vec<f64> = records
        .iter()
        .filter_map(|record| Some(record.machine_load?.foreign_cpu_percent))
        .filter(|load| *load > SUSPECT_LOAD)
        .collect();
    let mut html = String::new();
    // A run here and there is what medians are for.
    if loads.len() * 10 > records.len() {
        let highest = loads.iter().copied().fold(0.0, f64::max);
        let _ = write!(
            html,
            "<p class=\"warning\">In {} of {} runs the machine did other work besides (more than \
             {SUSPECT_LOAD} % of one core, up to {highest:.0} %). {}</p>",
            loads.len(),
            records.len(),
            if highest > HEAVY_LOAD {
                "That much changes every figure: measure again on a machine that is otherwise idle."
            } else {
                "Differences of a few percent there are not the adapters'."
            }
        );
    }
    let failed = records
        .iter()
        .filter(|record| record.complete().is_none())
        .count();
    if failed > 0 {
        let _ = write!(
            html,
            "<p class=\"warning\">{failed} of {} runs failed or were cut short: see <a \
             href=\"#guti-holes\">what is not here</a>.</p>",
            records.len()
        );
    }
    html
}
