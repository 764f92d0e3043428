//! Holds the thesis's claims against the runs.

use super::metric::Metric;
use super::runs::{Condition, Runs};
use super::thesis::{Claim, Over};
use crate::record::Mode;
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
    fn count(&mut self, holds: bool, sure: bool, words: impl FnOnce() -> String) {
        if holds {
            self.held += 1;
        } else {
            self.against.push(words());
        }
        self.unsure += usize::from(!sure);
    }

    /// How many tests had data.
    pub(super) fn tested(&self) -> usize {
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
    pub(super) fn words(self) -> &'static str {
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

/// Makes every test of `claim` for which there are runs, of one payload if that is given.
pub(super) fn check(runs: &Runs<'_>, claim: &Claim, payload: Option<u64>) -> Tally {
    let mut tests = Tests {
        runs,
        payload,
        tally: Tally::default(),
    };
    tests.claim(claim);
    tests.tally
}

/// The tests of one claim, as they are made.
struct Tests<'t, 'r> {
    runs: &'t Runs<'r>,
    payload: Option<u64>,
    tally: Tally,
}

impl Tests<'_, '_> {
    fn claim(&mut self, claim: &Claim) {
        match *claim {
            Claim::Better {
                metric,
                pairs,
                over,
            } => {
                for at in self.conditions(&over) {
                    for (first, second) in pairs {
                        self.better(at, metric, (first, second));
                    }
                }
            }
            Claim::Lead {
                metric,
                who,
                among,
                over,
            } => {
                for at in self.conditions(&over) {
                    for pair in each_against_the_rest(who, among) {
                        self.better(at, metric, pair);
                    }
                }
            }
            Claim::BestOf {
                metric,
                first,
                second,
                over,
            } => {
                for at in self.conditions(&over) {
                    self.best_of(at, metric, first, second);
                }
            }
            Claim::Alike {
                metric,
                who,
                within,
                over,
            } => {
                for at in self.conditions(&over) {
                    self.alike(at, metric, who, within);
                }
            }
            Claim::Change {
                metric,
                who,
                steps,
                at_least,
                at_most,
            } => {
                let payload = self.payload;
                for step in steps.iter().filter(|step| fits(step.0, payload)) {
                    for subject in who {
                        self.change(metric, subject, *step, (at_least, at_most));
                    }
                }
            }
            Claim::GrowsMost {
                metric,
                who,
                among,
                step,
            } => {
                for pair in each_against_the_rest(who, among) {
                    self.grows_more(metric, pair, step);
                }
            }
            Claim::Reaches {
                metric,
                who,
                value,
                over,
            } => {
                for at in self.conditions(&over) {
                    for subject in who {
                        self.reaches(at, metric, subject, value);
                    }
                }
            }
            Claim::MeanAboveMedian { who, factor, over } => {
                for at in self.conditions(&over) {
                    self.mean_above_median(at, who, factor);
                }
            }
            Claim::Compact { who, share, over } => {
                for at in self.conditions(&over) {
                    for subject in who {
                        self.compact(at, subject, share);
                    }
                }
            }
        }
    }

    /// Every condition of `over` that is shown.
    fn conditions(&self, over: &Over) -> Vec<Condition> {
        let mut found = Vec::new();
        for bytes in over.payloads {
            match over.mode {
                Mode::NoRate => {
                    found.extend(over.clients.iter().map(|n| Condition::no_rate(*bytes, *n)));
                }
                Mode::Rate => {
                    found.extend(over.rates.iter().map(|rate| Condition::rate(*rate, *bytes)));
                }
            }
        }
        found.retain(|condition| fits(*condition, self.payload));
        found
    }

    /// The median of a cell, and whether there are repetitions enough for a verdict.
    fn median(&self, at: Condition, subject: &str, metric: Metric) -> Option<(f64, bool)> {
        let summary = self.runs.summary(at, subject, metric)?;
        Some((summary.median, summary.count >= PAIRS_NEEDED))
    }

    /// Whether the first of a pair is better.
    fn better(&mut self, at: Condition, metric: Metric, (first, second): (&str, &str)) {
        let left = self.runs.samples(at, first, metric);
        let right = self.runs.samples(at, second, metric);
        let (Some(a), Some(b)) = (left.summary(), right.summary()) else {
            self.tally.missing += 1;
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
        let (side, sure) = match compare_interleaved(&left, &right).verdict {
            Verdict::NotShown(WhyNot::TooFewPairs(_)) => (by_median, false),
            Verdict::NotShown(_) => {
                self.tally.tied += 1;
                return;
            }
            side => (side, true),
        };
        self.tally.count(side == wanted, sure, || {
            let (a, b) = (metric.show(a.median), metric.show(b.median));
            format!("{first} {a}, {second} {b} at {}", at.words())
        });
    }

    fn best_of(&mut self, at: Condition, metric: Metric, first: &[&str], second: &[&str]) {
        match (self.best(at, metric, first), self.best(at, metric, second)) {
            (Some(first), Some(second)) => self.better(at, metric, (first, second)),
            _ => self.tally.missing += 1,
        }
    }

    fn best<'s>(&self, at: Condition, metric: Metric, subjects: &[&'s str]) -> Option<&'s str> {
        let found = subjects
            .iter()
            .filter_map(|subject| Some((*subject, self.median(at, subject, metric)?.0)));
        let best = match metric.better() {
            Better::Smaller => found.min_by(|a, b| a.1.total_cmp(&b.1)),
            Better::Larger => found.max_by(|a, b| a.1.total_cmp(&b.1)),
        };
        best.map(|(subject, _)| subject)
    }

    fn alike(&mut self, at: Condition, metric: Metric, who: &[&str], within: f64) {
        let mut found: Vec<(&str, f64, bool)> = who
            .iter()
            .filter_map(|subject| {
                let (median, sure) = self.median(at, subject, metric)?;
                (median > 0.0).then_some((*subject, median, sure))
            })
            .collect();
        found.sort_by(|a, b| a.1.total_cmp(&b.1));
        let [low, .., high] = found.as_slice() else {
            self.tally.missing += 1;
            return;
        };
        let sure = found.iter().all(|(.., sure)| *sure);
        self.tally.count(high.1 / low.1 <= within, sure, || {
            let (lowest, highest) = (metric.show(low.1), metric.show(high.1));
            let (low, high) = (low.0, high.0);
            format!("{high} {highest}, {low} {lowest} at {}", at.words())
        });
    }

    /// By which factor a quantity changes over a step, and whether there are enough repetitions.
    fn growth(
        &self,
        metric: Metric,
        subject: &str,
        (from, to): (Condition, Condition),
    ) -> Option<(f64, bool)> {
        let (before, sure) = self.median(from, subject, metric)?;
        let (after, also_sure) = self.median(to, subject, metric)?;
        (before > 0.0).then(|| (after / before, sure && also_sure))
    }

    fn change(
        &mut self,
        metric: Metric,
        subject: &str,
        step: (Condition, Condition),
        (at_least, at_most): (f64, f64),
    ) {
        let Some((factor, sure)) = self.growth(metric, subject, step) else {
            self.tally.missing += 1;
            return;
        };
        let holds = (at_least..=at_most).contains(&factor);
        self.tally.count(holds, sure, || {
            let (from, to) = (step.0.words(), step.1.words());
            format!("{subject} {} from {from} to {to}", format::ratio(factor))
        });
    }

    fn grows_more(
        &mut self,
        metric: Metric,
        (first, second): (&str, &str),
        step: (Condition, Condition),
    ) {
        let (Some((ours, sure)), Some((theirs, also_sure))) = (
            self.growth(metric, first, step),
            self.growth(metric, second, step),
        ) else {
            self.tally.missing += 1;
            return;
        };
        self.tally.count(ours > theirs, sure && also_sure, || {
            let (ours, theirs) = (format::ratio(ours), format::ratio(theirs));
            format!("{first} {ours}, {second} {theirs}")
        });
    }

    fn reaches(&mut self, at: Condition, metric: Metric, subject: &str, value: f64) {
        let Some((found, sure)) = self.median(at, subject, metric) else {
            self.tally.missing += 1;
            return;
        };
        self.tally.count(found >= value, sure, || {
            format!("{subject} {} at {}", metric.show(found), at.words())
        });
    }

    fn mean_above_median(&mut self, at: Condition, who: &[&str], factor: f64) {
        let highest = who
            .iter()
            .filter_map(|subject| {
                let (mean, sure) = self.median(at, subject, Metric::Mean)?;
                let (median, _) = self.median(at, subject, Metric::Median)?;
                (median > 0.0).then(|| (*subject, mean / median, sure))
            })
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((subject, found, sure)) = highest else {
            self.tally.missing += 1;
            return;
        };
        self.tally.count(found >= factor, sure, || {
            let found = format::ratio(found);
            format!("at most {found} ({subject}) at {}", at.words())
        });
    }

    fn compact(&mut self, at: Condition, subject: &str, share: f64) {
        let (Some((low, _)), Some((median, sure)), Some((high, _))) = (
            self.median(at, subject, Metric::FirstQuartile),
            self.median(at, subject, Metric::Median),
            self.median(at, subject, Metric::ThirdQuartile),
        ) else {
            self.tally.missing += 1;
            return;
        };
        let found = (high - low) / median;
        self.tally.count(found <= share, sure, || {
            let percent = format::significant(found * 100.0);
            format!("{subject} {percent} % of the median at {}", at.words())
        });
    }
}

fn fits(condition: Condition, payload: Option<u64>) -> bool {
    payload.is_none_or(|payload| condition.payload == payload)
}

/// Each of `who` with each other of `among`.
fn each_against_the_rest<'s>(
    who: &'s [&'s str],
    among: &'s [&'s str],
) -> impl Iterator<Item = (&'s str, &'s str)> {
    who.iter().flat_map(move |first| {
        among
            .iter()
            .filter(move |other| !who.contains(other))
            .map(move |second| (*first, *second))
    })
}
