//! The first screen: what was measured, and the answer in plain words.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::findings::{self, Outcome};
use super::metric::Metric;
use super::runs::{Condition, Runs, reason};
use super::tables::{self, Match};
use super::thesis::{TABLE_PAYLOADS, TABLES};
use super::versus::{Standing, Versus, best_against_best, is_ours, ratio_words};
use crate::record::{Mode, Record};
use crate::report::escape::escape;
use crate::report::format;
use crate::statistics::{Better, PAIRS_NEEDED};

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
    let (ours, theirs): (Vec<&String>, Vec<&String>) =
        measured.into_iter().partition(|subject| is_ours(subject));
    html.push_str("<ul class=\"answers\">");
    for (metric, title) in METRICS {
        let sentence = standing_sentence(runs, metric, &ours, &theirs);
        let winners = winners_sentence(runs, metric);
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
        html.push_str(&headline_table(runs, &ours, &theirs));
        html.push_str(&each_adapter_table(runs, &ours, &theirs));
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

fn standing_sentence(
    runs: &Runs<'_>,
    metric: Metric,
    ours: &[&String],
    theirs: &[&String],
) -> String {
    if ours.is_empty() {
        return "Corewire's adapters have no figures in this series.".to_owned();
    }
    if theirs.is_empty() {
        return "Only Corewire's adapters have figures in this series: nothing to compare with."
            .to_owned();
    }
    let mut by_standing: BTreeMap<Standing, Vec<Versus>> = BTreeMap::new();
    for condition in table_conditions(runs) {
        let ours = ours.iter().copied();
        let theirs = theirs.iter().copied();
        if let Some(versus) = best_against_best(runs, condition, metric, ours, theirs) {
            by_standing.entry(versus.standing).or_default().push(versus);
        }
    }
    let cells: usize = by_standing.values().map(Vec::len).sum();
    if cells == 0 {
        return "No cell has both a Corewire adapter and another one.".to_owned();
    }
    let open = by_standing.remove(&Standing::Open).unwrap_or_default();
    let decided: Vec<String> = by_standing
        .iter()
        .map(|(standing, found)| {
            let words = match standing {
                Standing::Even => "not shown to differ",
                other => other.words(),
            };
            let all = if found.len() + open.len() == cells {
                "all "
            } else {
                ""
            };
            format!("{words} in {all}{}{}", found.len(), ratio_range(found))
        })
        .collect();
    let mut sentences = Vec::new();
    if !decided.is_empty() {
        sentences.push(format!(
            "Of {} cells (clients × payload) the best Corewire adapter, against the best other \
             adapter of that cell, is {}.",
            cells - open.len(),
            format::list(&decided)
        ));
    }
    if !open.is_empty() {
        let better = open.iter().filter(|versus| leads(versus, metric)).count();
        sentences.push(format!(
            "No verdict in {} cells (clients × payload), which have fewer than {PAIRS_NEEDED} \
             interleaved repetitions; by the medians alone the best Corewire adapter is better \
             than the best other adapter in {better} of them{}.",
            open.len(),
            ratio_range(&open)
        ));
    }
    sentences.join(" ")
}

/// Why the first of Corewire's adapters failed, if one was tried.
fn own_failure(runs: &Runs<'_>) -> Option<String> {
    let (_, _, records) = runs.cells().find(|(_, subject, _)| is_ours(subject))?;
    records.last().map(|record| reason(record))
}

/// Whether ours has the better median.
fn leads(versus: &Versus, metric: Metric) -> bool {
    match metric.better() {
        Better::Smaller => versus.ours.median < versus.theirs.median,
        Better::Larger => versus.ours.median > versus.theirs.median,
    }
}

/// ` (1.12× to 2.30×)`, of the medians over the pairs.
fn ratio_range(found: &[Versus]) -> String {
    let ratios: Vec<f64> = found
        .iter()
        .filter_map(|versus| Some(versus.ratio?.median))
        .collect();
    let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let high = ratios.iter().copied().fold(0.0, f64::max);
    match ratios.len() {
        0 => String::new(),
        1 => format!(" ({} the other's)", format::ratio(low)),
        _ => format!(
            " ({} to {} the other's)",
            format::ratio(low),
            format::ratio(high)
        ),
    }
}

/// Who is best in how many cells, among all.
fn winners_sentence(runs: &Runs<'_>, metric: Metric) -> String {
    let mut wins: BTreeMap<String, usize> = BTreeMap::new();
    let mut hints: BTreeMap<String, usize> = BTreeMap::new();
    let mut ties: BTreeMap<String, usize> = BTreeMap::new();
    for condition in table_conditions(runs) {
        let Some(ranking) = runs.rank(condition, runs.subjects(), metric) else {
            continue;
        };
        match (ranking.winner(), ranking.best.first()) {
            (Some(winner), _) => *wins.entry(winner.to_owned()).or_default() += 1,
            (None, Some(best)) if !ranking.decided => {
                *hints.entry(best.clone()).or_default() += 1;
            }
            (None, Some(best)) => *ties.entry(best.clone()).or_default() += 1,
            (None, None) => {}
        }
    }
    let mut parts = Vec::new();
    if !wins.is_empty() {
        parts.push(format!("Winners among all adapters: {}.", by_count(wins)));
    }
    if !ties.is_empty() {
        let cells: usize = ties.values().sum();
        let plural = if cells == 1 { "" } else { "s" };
        parts.push(format!(
            "A tie at the top of {cells} cell{plural}, with the best median: {}.",
            by_count(ties)
        ));
    }
    if !hints.is_empty() {
        parts.push(format!("Best medians, no verdict: {}.", by_count(hints)));
    }
    parts.join(" ")
}

/// `CW-S (5), TCP-AS (2)`, the most first.
fn by_count(counts: BTreeMap<String, usize>) -> String {
    let mut order: Vec<(String, usize)> = counts.into_iter().collect();
    order.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), name.clone()));
    let names: Vec<String> = order
        .iter()
        .map(|(name, count)| format!("{name} ({count})"))
        .collect();
    format::list(&names)
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

/// The best of both sides, for the smallest and the largest number of clients.
fn headline_table(runs: &Runs<'_>, ours: &[&String], theirs: &[&String]) -> String {
    let mut html = String::from(
        "<h3>The best Corewire adapter against the best other one</h3>\
         <p>Ratios are Corewire's figure over the other's, pair by pair of repetitions: the \
         median, with the quartiles in brackets. Above 1 is better for requests a second, below \
         1 for latency.</p>\
         <div class=\"scroll\"><table><thead><tr><th>Clients, payload</th>",
    );
    for (_, title) in METRICS {
        let _ = write!(html, "<th>{title}</th>");
    }
    html.push_str("</tr></thead><tbody>");
    for condition in edge_conditions(runs) {
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{}</th>",
            escape(&condition.words())
        );
        for (metric, _) in METRICS {
            let ours = ours.iter().copied();
            let theirs = theirs.iter().copied();
            match best_against_best(runs, condition, metric, ours, theirs) {
                Some(versus) => html.push_str(&versus_cell(&versus, metric)),
                None => html.push_str("<td class=\"none\">no figures</td>"),
            }
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    html
}

fn versus_cell(versus: &Versus, metric: Metric) -> String {
    let standing = versus.standing;
    format!(
        "<td><span class=\"mark {}\">{}</span> <strong>{}</strong><br><small>{} {} against {} \
         {}</small></td>",
        standing.class(),
        standing.words(),
        escape(&ratio_words(versus.ratio.as_ref())),
        escape(&versus.ours.name),
        escape(&metric.show(versus.ours.median)),
        escape(&versus.theirs.name),
        escape(&metric.show(versus.theirs.median)),
    )
}

/// Every Corewire adapter in requests a second over the best other adapter.
fn each_adapter_table(runs: &Runs<'_>, ours: &[&String], theirs: &[&String]) -> String {
    let conditions = edge_conditions(runs);
    let mut html = String::from(
        "<h3>Each Corewire adapter: requests a second over those of the best other adapter</h3>\
         <div class=\"scroll\"><table><thead><tr><th>Adapter</th>",
    );
    for condition in &conditions {
        let _ = write!(html, "<th>{}</th>", escape(&condition.words()));
    }
    html.push_str("</tr></thead><tbody>");
    for subject in ours {
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", escape(subject));
        for condition in &conditions {
            let theirs = theirs.iter().copied();
            match best_against_best(runs, *condition, Metric::Qps, [*subject], theirs) {
                Some(versus) => {
                    // Without a verdict the ratio stands alone; the table above says why.
                    let mark = match versus.standing {
                        Standing::Open => String::new(),
                        standing => format!(
                            "<span class=\"mark {}\">{}</span> ",
                            standing.class(),
                            standing.words()
                        ),
                    };
                    let _ = write!(
                        html,
                        "<td title=\"against {}\">{mark}{}</td>",
                        escape(&versus.theirs.name),
                        in_two_lines(&ratio_words(versus.ratio.as_ref())),
                    );
                }
                None => html.push_str("<td class=\"none\">no figures</td>"),
            }
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    html
}

/// The ratio, and below it the quartiles in brackets.
fn in_two_lines(ratio: &str) -> String {
    let ratio = escape(ratio);
    match ratio.split_once(" (") {
        Some((ratio, spread)) => format!("{ratio}<br><small class=\"name\">({spread}</small>"),
        None => ratio,
    }
}

/// The conditions of the tables at the smallest and at the largest number of clients.
fn edge_conditions(runs: &Runs<'_>) -> Vec<Condition> {
    let mut conditions = table_conditions(runs);
    let clients = || conditions.iter().map(|condition| condition.clients);
    let (fewest, most) = (clients().min(), clients().max());
    conditions
        .retain(|condition| Some(condition.clients) == fewest || Some(condition.clients) == most);
    conditions.sort_by_key(|condition| (condition.clients, condition.payload));
    conditions
}
