//! Holds the thesis's statements against the runs, and says in a sentence what came out.

use std::fmt::Write as _;

use super::metric::Metric;
use super::runs::{Condition, Runs};
use super::thesis::{Claim, Over, Place, STATEMENTS, Statement};
use crate::record::Mode;
use crate::report::escape::escape;
use crate::report::format;
use crate::statistics::{Better, PAIRS_NEEDED, Verdict, WhyNot, compare_interleaved};

/// Every single test of a statement.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Tests that came out as the thesis says.
    pub(super) held: usize,
    /// Tests that came out otherwise, in words.
    pub(super) against: Vec<String>,
    /// Tests that show no difference.
    pub(super) tied: usize,
    /// Tests that had too few repetitions: counted above by their medians, as a hint.
    pub(super) unsure: usize,
    /// Tests without data.
    pub(super) missing: usize,
}

/// What the tests of a statement say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Agrees,
    AgreesInPart,
    Differs,
    NoDifference,
    Untested,
}

impl Tally {
    fn tested(&self) -> usize {
        self.held + self.against.len() + self.tied
    }

    /// The sum of the tests.
    pub(super) fn outcome(&self) -> Outcome {
        match (self.held, self.against.len(), self.tied) {
            (0, 0, 0) => Outcome::Untested,
            (0, 0, _) => Outcome::NoDifference,
            (0, _, _) => Outcome::Differs,
            // Mostly without a difference is not agreement yet.
            (held, 0, tied) if held >= tied => Outcome::Agrees,
            _ => Outcome::AgreesInPart,
        }
    }

    /// Class and words of its mark in the page: a hint looks like none.
    pub(super) fn mark(&self) -> (&'static str, String) {
        let outcome = self.outcome();
        if self.unsure > 0 && self.unsure == self.tested() {
            ("none", format!("hint: {}", outcome.words()))
        } else {
            (outcome.class(), outcome.words().to_owned())
        }
    }

    /// `5 of 6`, with the ties.
    pub(super) fn score(&self) -> String {
        let tied = match self.tied {
            0 => String::new(),
            tied => format!(", {tied} without a difference"),
        };
        format!("{} of {}{tied}", self.held, self.tested())
    }
}

impl Outcome {
    /// In a word or two, for tables.
    fn words(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::AgreesInPart => "agrees in part",
            Self::Differs => "does not agree",
            Self::NoDifference => "no difference shown",
            Self::Untested => "not tested",
        }
    }

    /// The class of its mark in the page.
    fn class(self) -> &'static str {
        match self {
            Self::Agrees => "good",
            Self::Differs => "bad",
            Self::AgreesInPart | Self::NoDifference => "even",
            Self::Untested => "none",
        }
    }
}

/// The statements that belong to `place`, each with its tests under the payloads shown there.
pub(super) fn at(runs: &Runs<'_>, place: Place) -> Vec<(&'static Statement, Tally)> {
    let payloads = payloads_shown(place);
    STATEMENTS
        .iter()
        .filter(|statement| statement.places.contains(&place))
        .map(|statement| (statement, check(runs, &statement.claim, payloads)))
        // A statement about other payloads than this figure's has no test here at all.
        .filter(|(_, tally)| tally.tested() + tally.missing > 0)
        .collect()
}

/// Every statement with all its tests.
pub(super) fn all(runs: &Runs<'_>) -> Vec<(&'static Statement, Tally)> {
    STATEMENTS
        .iter()
        .map(|statement| (statement, check(runs, &statement.claim, None)))
        .collect()
}

/// One sentence on what agrees and what does not, and the statements one by one, as markup.
/// `what` is what they are about: `figure` or `table`.
pub(super) fn markup(found: &[(&Statement, Tally)], what: &str) -> String {
    let mut html = format!(
        "<p class=\"finding\">{}</p><ul class=\"statements\">",
        escape(&sentence(found, what))
    );
    for (statement, tally) in found {
        let (class, words) = tally.mark();
        let _ = write!(
            html,
            "<li><span class=\"mark {class}\">{words}</span> {} <small>({})</small></li>",
            escape(&capitalised(statement.text)),
            escape(&evidence(statement, tally)),
        );
    }
    html.push_str("</ul>");
    html
}

/// How many of the statements agree.
fn sentence(found: &[(&Statement, Tally)], what: &str) -> String {
    let count = |outcome| {
        found
            .iter()
            .filter(|(_, tally)| tally.outcome() == outcome)
            .count()
    };
    let untested = count(Outcome::Untested);
    let tested = found.len() - untested;
    let mut parts = Vec::new();
    for (outcome, words) in [
        (Outcome::Agrees, "agrees with"),
        (Outcome::AgreesInPart, "agrees in part with"),
        (Outcome::Differs, "does not agree with"),
        (Outcome::NoDifference, "shows no difference for"),
    ] {
        match count(outcome) {
            0 => {}
            all if all == tested && tested > 1 => parts.push(format!("{words} all {all}")),
            some => parts.push(format!("{words} {some}")),
        }
    }
    let mut sentence = match (found.len(), tested) {
        (0, _) => return "The thesis states nothing about this figure in words.".to_owned(),
        (_, 0) => {
            "No statement of the thesis on this figure could be tested with these runs".to_owned()
        }
        (_, 1) => format!(
            "This series {} statement of the thesis on this {what} that it can test",
            parts.join("").replace(" 1", " the one")
        ),
        (_, tested) => format!(
            "Of the {tested} statements of the thesis on this {what} that it can test, this \
             series {}",
            format::list(&parts)
        ),
    };
    if tested > 0 && untested > 0 {
        let _ = write!(sentence, "; {untested} more it cannot");
    }
    if found.iter().any(|(_, tally)| tally.unsure > 0) {
        let _ = write!(
            sentence,
            " (with fewer than {PAIRS_NEEDED} repetitions by the medians alone: a hint, no verdict)"
        );
    }
    sentence.push('.');
    sentence
}

/// How often it held, where it did not, and where the thesis says it.
fn evidence(statement: &Statement, tally: &Tally) -> String {
    let mut words = match tally.outcome() {
        Outcome::Untested => "no runs".to_owned(),
        _ => format!("in {}", tally.score()),
    };
    if let Some(first) = tally.against.first() {
        let _ = write!(words, "; otherwise {first}");
        if tally.against.len() > 1 {
            let _ = write!(words, ", and {} more", tally.against.len() - 1);
        }
    }
    if !statement.reading.is_empty() {
        let _ = write!(words, "; taken as: {}", statement.reading);
    }
    let _ = write!(words, "; section {}", statement.section);
    words
}

/// With a capital letter, unless it begins with a name.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// The payloads that a figure of one payload shows; `None` for those that show all.
fn payloads_shown(place: Place) -> Option<u64> {
    match place {
        Place::Figure("5.7" | "5.10a" | "5.11a") => Some(0),
        Place::Figure("5.8" | "5.10b" | "5.11b") => Some(10_000),
        Place::Figure("5.9" | "5.10c" | "5.11c") => Some(100_000),
        Place::Figure(_) | Place::Table(_) => None,
    }
}

fn check(runs: &Runs<'_>, claim: &Claim, payload: Option<u64>) -> Tally {
    let mut tally = Tally::default();
    let shown = |over: &Over| conditions(over, payload);
    match *claim {
        Claim::Better {
            metric,
            pairs,
            ref over,
        } => {
            for condition in shown(over) {
                for (first, second) in pairs {
                    compare(runs, &mut tally, condition, metric, (first, second));
                }
            }
        }
        Claim::Lead {
            metric,
            who,
            among,
            ref over,
        } => {
            for condition in shown(over) {
                for first in who {
                    for second in among.iter().filter(|other| !who.contains(other)) {
                        compare(runs, &mut tally, condition, metric, (first, second));
                    }
                }
            }
        }
        Claim::BestOf {
            metric,
            first,
            second,
            ref over,
        } => {
            for condition in shown(over) {
                match (
                    best_of(runs, condition, metric, first),
                    best_of(runs, condition, metric, second),
                ) {
                    (Some(first), Some(second)) => {
                        compare(runs, &mut tally, condition, metric, (first, second));
                    }
                    _ => tally.missing += 1,
                }
            }
        }
        Claim::Alike {
            metric,
            who,
            within,
            ref over,
        } => {
            for condition in shown(over) {
                alike(runs, &mut tally, condition, metric, who, within);
            }
        }
        Claim::Change {
            metric,
            who,
            steps,
            at_least,
            at_most,
        } => {
            for step in steps.iter().filter(|step| fits(step.0, payload)) {
                for subject in who {
                    let Some((factor, sure)) = growth(runs, metric, subject, *step) else {
                        tally.missing += 1;
                        continue;
                    };
                    let holds = (at_least..=at_most).contains(&factor);
                    tally.count(holds, sure, || {
                        let (from, to) = (step.0.words(), step.1.words());
                        format!("{subject} {} from {from} to {to}", format::ratio(factor))
                    });
                }
            }
        }
        Claim::GrowsMost {
            metric,
            who,
            among,
            step,
        } => grows_most(runs, &mut tally, metric, (who, among), step),
        Claim::Reaches {
            metric,
            who,
            value,
            ref over,
        } => {
            for condition in shown(over) {
                for subject in who {
                    single(runs, &mut tally, condition, subject, |runs| {
                        let found = runs.summary(condition, subject, metric)?.median;
                        Some((found >= value, metric.show(found)))
                    });
                }
            }
        }
        Claim::MeanAboveMedian {
            who,
            factor,
            ref over,
        } => {
            for condition in shown(over) {
                mean_above_median(runs, &mut tally, condition, who, factor);
            }
        }
        Claim::Compact {
            who,
            share,
            ref over,
        } => {
            for condition in shown(over) {
                for subject in who {
                    single(runs, &mut tally, condition, subject, |runs| {
                        let value = |metric| Some(runs.summary(condition, subject, metric)?.median);
                        let range = value(Metric::ThirdQuartile)? - value(Metric::FirstQuartile)?;
                        let found = range / value(Metric::Median)?;
                        let words =
                            format!("{} % of the median", format::significant(found * 100.0));
                        Some((found <= share, words))
                    });
                }
            }
        }
    }
    tally
}

impl Tally {
    fn count(&mut self, holds: bool, sure: bool, words: impl FnOnce() -> String) {
        if holds {
            self.held += 1;
        } else {
            self.against.push(words());
        }
        self.unsure += usize::from(!sure);
    }
}

/// Whether the first of a pair is better.
fn compare(
    runs: &Runs<'_>,
    tally: &mut Tally,
    condition: Condition,
    metric: Metric,
    (first, second): (&str, &str),
) {
    let left = runs.samples(condition, first, metric);
    let right = runs.samples(condition, second, metric);
    let (Some(a), Some(b)) = (left.summary(), right.summary()) else {
        tally.missing += 1;
        return;
    };
    let wanted = match metric.better() {
        Better::Smaller => Verdict::Smaller,
        Better::Larger => Verdict::Larger,
    };
    let by_median = if a.median < b.median {
        Verdict::Smaller
    } else {
        Verdict::Larger
    };
    let verdict = compare_interleaved(&left, &right).verdict;
    let (side, sure) = match verdict {
        Verdict::NotShown(WhyNot::TooFewPairs(_)) => (by_median, false),
        Verdict::NotShown(_) => {
            tally.tied += 1;
            return;
        }
        side => (side, true),
    };
    tally.count(side == wanted, sure, || {
        format!(
            "{first} {}, {second} {} at {}",
            metric.show(a.median),
            metric.show(b.median),
            condition.words()
        )
    });
}

fn best_of<'s>(
    runs: &Runs<'_>,
    condition: Condition,
    metric: Metric,
    subjects: &[&'s str],
) -> Option<&'s str> {
    let median = |subject: &str| Some(runs.summary(condition, subject, metric)?.median);
    let found = subjects
        .iter()
        .filter_map(|subject| Some((*subject, median(subject)?)));
    let best = match metric.better() {
        Better::Smaller => found.min_by(|a, b| a.1.total_cmp(&b.1)),
        Better::Larger => found.max_by(|a, b| a.1.total_cmp(&b.1)),
    };
    best.map(|(subject, _)| subject)
}

fn alike(
    runs: &Runs<'_>,
    tally: &mut Tally,
    condition: Condition,
    metric: Metric,
    who: &[&str],
    within: f64,
) {
    let mut found: Vec<(&str, f64, usize)> = who
        .iter()
        .filter_map(|subject| {
            let summary = runs.summary(condition, subject, metric)?;
            Some((*subject, summary.median, summary.count))
        })
        .collect();
    found.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (Some(low), Some(high)) = (found.first(), found.last()) else {
        tally.missing += 1;
        return;
    };
    if found.len() < 2 || low.1 <= 0.0 {
        tally.missing += 1;
        return;
    }
    let sure = found.iter().all(|(.., count)| *count >= PAIRS_NEEDED);
    tally.count(high.1 / low.1 <= within, sure, || {
        let (lowest, highest) = (metric.show(low.1), metric.show(high.1));
        format!(
            "{} {highest}, {} {lowest} at {}",
            high.0,
            low.0,
            condition.words()
        )
    });
}

/// By which factor a quantity changes over a step, and whether there are enough repetitions.
fn growth(
    runs: &Runs<'_>,
    metric: Metric,
    subject: &str,
    (from, to): (Condition, Condition),
) -> Option<(f64, bool)> {
    let before = runs.summary(from, subject, metric)?;
    let after = runs.summary(to, subject, metric)?;
    let sure = before.count.min(after.count) >= PAIRS_NEEDED;
    (before.median > 0.0).then(|| (after.median / before.median, sure))
}

fn grows_most(
    runs: &Runs<'_>,
    tally: &mut Tally,
    metric: Metric,
    (who, among): (&[&str], &[&str]),
    step: (Condition, Condition),
) {
    for first in who {
        for second in among.iter().filter(|other| !who.contains(other)) {
            let (Some((ours, sure)), Some((theirs, also_sure))) = (
                growth(runs, metric, first, step),
                growth(runs, metric, second, step),
            ) else {
                tally.missing += 1;
                continue;
            };
            tally.count(ours > theirs, sure && also_sure, || {
                let (ours, theirs) = (format::ratio(ours), format::ratio(theirs));
                format!("{first} {ours}, {second} {theirs}")
            });
        }
    }
}

/// A test of one subject under one condition, which gives whether it holds and what was found.
fn single(
    runs: &Runs<'_>,
    tally: &mut Tally,
    condition: Condition,
    subject: &str,
    test: impl FnOnce(&Runs<'_>) -> Option<(bool, String)>,
) {
    let Some((holds, found)) = test(runs) else {
        tally.missing += 1;
        return;
    };
    let repetitions = runs.samples(condition, subject, Metric::Mean).len();
    tally.count(holds, repetitions >= PAIRS_NEEDED, || {
        format!("{subject} {found} at {}", condition.words())
    });
}

fn mean_above_median(
    runs: &Runs<'_>,
    tally: &mut Tally,
    condition: Condition,
    who: &[&str],
    factor: f64,
) {
    let highest = who
        .iter()
        .filter_map(|subject| {
            let mean = runs.summary(condition, subject, Metric::Mean)?;
            let median = runs.summary(condition, subject, Metric::Median)?.median;
            (median > 0.0).then(|| (*subject, mean.median / median, mean.count))
        })
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let Some((subject, found, count)) = highest else {
        tally.missing += 1;
        return;
    };
    tally.count(found >= factor, count >= PAIRS_NEEDED, || {
        let found = format::ratio(found);
        format!("at most {found} ({subject}) at {}", condition.words())
    });
}

fn fits(condition: Condition, payload: Option<u64>) -> bool {
    payload.is_none_or(|payload| condition.payload == payload)
}

/// Every condition of `over`, of one payload if that is given.
fn conditions(over: &Over, payload: Option<u64>) -> Vec<Condition> {
    let mut found = Vec::new();
    for bytes in over.payloads {
        match over.mode {
            Mode::NoRate => found.extend(
                over.clients
                    .iter()
                    .map(|clients| Condition::no_rate(*bytes, *clients)),
            ),
            Mode::Rate => {
                found.extend(over.rates.iter().map(|rate| Condition::rate(*rate, *bytes)));
            }
        }
    }
    found.retain(|condition| fits(*condition, payload));
    found
}
