//! Figures 5.1 to 5.11, in the forms of the thesis.

mod clients;
mod percentiles;
mod single;

use super::findings;
use super::metric::Metric;
use super::runs::{Condition, Runs, State};
use super::thesis::Place;
use crate::report::chart::{Key, Slot};
use crate::report::format;
use crate::report::svg::Drawing;

/// A figure with the words around it.
#[derive(Debug)]
pub(super) struct Figure {
    /// `5.4a`; for a figure that the thesis does not have, its name.
    pub(super) number: &'static str,
    pub(super) title: String,
    /// Name of its file, without the ending.
    pub(super) file: String,
    /// `None` when there is nothing to draw.
    pub(super) drawing: Option<Drawing>,
    /// How to read it.
    pub(super) caption: String,
    /// What agrees with the thesis and what does not, as markup.
    pub(super) findings: String,
    /// What is missing; empty when nothing is.
    pub(super) missing: String,
}

/// All figures in the order of the thesis, and the percentiles at the end.
pub(super) fn all(runs: &Runs<'_>) -> Vec<Figure> {
    let keys = Key::number_all(runs.subjects());
    let mut figures = vec![
        single::relative_to_tcp(runs, &keys),
        single::mean_latency(runs, &keys),
        single::tail_latency(runs, &keys),
        single::bytes_per_second(runs, &keys),
        single::requests_per_second(runs, &keys),
        single::server_cpu(runs, &keys),
        single::bytes_per_cpu(runs, &keys),
        single::requests_per_cpu(runs, &keys),
    ];
    figures.extend(clients::distributions(runs, &keys));
    figures.extend(clients::throughput(runs, &keys));
    figures.extend(clients::tail_latency(runs, &keys));
    figures.extend(percentiles::all(runs, &keys));
    figures
}

/// The keys of the subjects that have figures under any of `conditions`.
fn keys_of(runs: &Runs<'_>, keys: &[Key], conditions: &[Condition]) -> Vec<Key> {
    keys.iter()
        .filter(|key| {
            conditions
                .iter()
                .any(|condition| runs.state(*condition, &key.name) == State::Measured)
        })
        .cloned()
        .collect()
}

/// Who failed under all of `conditions` under which it was tried, as a sentence; empty when there
/// is nobody. They have no place in the chart; their reasons stand in the list of holes.
fn failed_throughout(runs: &Runs<'_>, keys: &[Key], conditions: &[Condition]) -> String {
    let names: Vec<&str> = keys
        .iter()
        .filter(|key| {
            let states = || {
                conditions
                    .iter()
                    .map(|condition| runs.state(*condition, &key.name))
            };
            states().any(|state| matches!(state, State::Failed(_)))
                && !states().any(|state| state == State::Measured)
        })
        .map(|key| key.name.as_str())
        .collect();
    if names.is_empty() {
        String::new()
    } else {
        format!(
            "Failed, so not drawn (the reasons stand under \"What is not here\"): {}. ",
            format::list(&names)
        )
    }
}

/// One slot for each key under `condition`; `mark` makes the figure and its words.
fn slots<M>(
    runs: &Runs<'_>,
    keys: &[Key],
    condition: Condition,
    mark: impl Fn(&str) -> Option<(M, String)>,
) -> Vec<Slot<M>> {
    keys.iter()
        .map(|key| match runs.state(condition, &key.name) {
            State::NotRun => Slot::NotRun,
            State::Failed(reason) => Slot::Failed(reason),
            State::Measured => match mark(&key.name) {
                Some((mark, words)) => Slot::Mark(mark, words),
                None => Slot::Failed("this quantity was not recorded".to_owned()),
            },
        })
        .collect()
}

/// The figure and its spread in words, for tooltips.
fn words(runs: &Runs<'_>, condition: Condition, subject: &str, metric: Metric) -> Option<String> {
    let summary = runs.summary(condition, subject, metric)?;
    let median = metric.show(summary.median);
    Some(match summary.count {
        1 => format!("{} {median}, one repetition", metric.name()),
        count => format!(
            "{} {median} (quartiles {} to {} over {count} repetitions)",
            metric.name(),
            metric.show(summary.q1),
            metric.show(summary.q3),
        ),
    })
}

/// What a figure of the thesis shows of the thesis's statements.
fn findings_of(runs: &Runs<'_>, number: &'static str) -> String {
    findings::markup(&findings::at(runs, Place::Figure(number)), "figure")
}

/// What of the thesis's `wanted` was not run, as a sentence; empty when nothing is missing.
fn not_run<T: PartialEq>(wanted: &[T], found: &[T], show: impl Fn(&T) -> String) -> String {
    let missing: Vec<String> = wanted
        .iter()
        .filter(|value| !found.contains(value))
        .map(show)
        .collect();
    if missing.is_empty() {
        String::new()
    } else {
        format!(
            "Not run, but part of the thesis's figure: {}.",
            missing.join(", ")
        )
    }
}
