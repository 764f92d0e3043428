//! Medians, spreads and the one rule by which a difference counts.
//!
//! The samples of a cell are its repetitions: one figure (mean latency, requests a second, ...) a
//! repetition. Adapters take turns within a repetition, so two adapters' figures of the same
//! repetition are a *pair* that met the same weather.
//!
//! # The rule
//! A difference between two adapters is shown when
//! 1. there are at least [`PAIRS_NEEDED`] pairs,
//! 2. the spreads (first to third quartile) do not overlap, and
//! 3. the pairs agree: so many lie on the same side that chance alone would do it in at most one
//!    case of twenty (one-sided sign test; five of five, seven of eight, nine of ten).
//!
//! The second alone would be wrong one time in five with five repetitions of one and the same
//! program; with the third it is about one in twenty, one in thirty for a side named beforehand.
//! Everything else is a tie.
//!
//! # A machine with several states
//! Where runs were probed ([`States`](crate::states::States)) a pair whose runs were made in different
//! states, or while the state changed, tells little: it is left out, from the ratio too, as long as
//! [`ALIKE_NEEDED`] others are left. Pairs of different states are compared within their state: figures
//! are divided by the mean of all of that state before the spreads are. Where all runs were made in one
//! state, or were not probed, nothing of this changes anything.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use crate::states::RunState;

/// Pairs below which no difference is shown.
pub const PAIRS_NEEDED: usize = 5;

/// Pairs of runs made in one state below which the others are not left out of a ratio.
pub const ALIKE_NEEDED: usize = 3;

/// Chance that the sign test accepts.
const SIGN_TEST_LEVEL: f64 = 0.05;

/// The figures of one subject in one cell, by repetition, each with the state of the machine in which
/// it was taken. Figures that are not finite are left out when they are put in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples(BTreeMap<u32, (f64, Option<RunState>)>);

impl Samples {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `(repetition, figure)`, ascending by repetition.
    pub fn iter(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.0
            .iter()
            .map(|(&repetition, &(value, _))| (repetition, value))
    }

    fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.0.values().map(|(value, _)| *value)
    }

    /// Median and spread; `None` when there is no figure.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(self.values())
    }
}

impl FromIterator<(u32, f64)> for Samples {
    fn from_iter<I: IntoIterator<Item = (u32, f64)>>(iter: I) -> Self {
        iter.into_iter()
            .map(|(repetition, value)| (repetition, value, None))
            .collect()
    }
}

impl FromIterator<(u32, f64, Option<RunState>)> for Samples {
    fn from_iter<I: IntoIterator<Item = (u32, f64, Option<RunState>)>>(iter: I) -> Self {
        Self(
            iter.into_iter()
                .filter(|(_, value, _)| value.is_finite())
                .map(|(repetition, value, state)| (repetition, (value, state)))
                .collect(),
        )
    }
}

/// Median and spread of some figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// How many figures.
    pub count: usize,
    /// Smallest.
    pub min: f64,
    /// First quartile: the lower end of the spread.
    pub q1: f64,
    /// Median.
    pub median: f64,
    /// Third quartile: the upper end of the spread.
    pub q3: f64,
    /// Largest.
    pub max: f64,
}

impl Summary {
    /// Sorts and sums up; quartiles between two figures are interpolated. `None` of nothing.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values
            .into_iter()
            .filter(|value| value.is_finite())
            .collect();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        Some(Self {
            count: sorted.len(),
            min,
            q1: quantile(&sorted, 0.25),
            median: quantile(&sorted, 0.5),
            q3: quantile(&sorted, 0.75),
            max,
        })
    }

    /// Whether the spreads (first to third quartile) have a point in common.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.q1 <= other.q3 && other.q1 <= self.q3
    }
}

/// Of ascending figures, at least one.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let position = share * (sorted.len() - 1) as f64;
    let below = position.floor();
    let left = sorted[below as usize];
    let right = sorted[position.ceil() as usize];
    left + (right - left) * (position - below)
}

/// Whether a difference between `a` and `b` is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "closed: a reader must decide on each"
)]
pub enum Verdict {
    /// `a` is smaller.
    Smaller,
    /// `a` is larger.
    Larger,
    /// No difference is shown, and why.
    NotShown(WhyNot),
}

/// Why no difference is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "closed: the steps of the rule")]
pub enum WhyNot {
    /// Fewer than [`PAIRS_NEEDED`]; so many.
    TooFewPairs(usize),
    /// Enough, but only so many of them of runs made in one state of the machine.
    TooFewAlike(usize),
    /// The spreads have a point in common.
    SpreadsOverlap,
    /// Too many pairs lie on the other side.
    PairsDisagree,
}

impl fmt::Display for WhyNot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewPairs(pairs) => {
                write!(
                    f,
                    "not shown: {pairs} of the {PAIRS_NEEDED} repetitions needed"
                )
            }
            Self::TooFewAlike(pairs) => write!(
                f,
                "tie: the machine was in one state in {pairs} of the {PAIRS_NEEDED} pairs needed"
            ),
            Self::SpreadsOverlap => f.write_str("tie: the spreads overlap"),
            Self::PairsDisagree => f.write_str("tie: the pairs disagree"),
        }
    }
}

/// Two subjects of one cell beside each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Median and spread of `a / b` over the pairs that count; `None` without a pair whose `b` is above
    /// zero.
    pub ratio: Option<Summary>,
    /// Whether they differ.
    pub verdict: Verdict,
    /// Where pairs do not count because the machine's state changed between their runs.
    pub apart: Option<Apart>,
    /// Whether there are repetitions enough to judge the ratio by a bound.
    pub suffices: bool,
}

/// Pairs whose two runs were not made in one state.
#[derive(Debug, Clone, PartialEq)]
pub struct Apart {
    /// How many pairs there are.
    pub pairs: usize,
    /// How many of them are of runs made in one state.
    pub alike: usize,
    /// `a / b` over all pairs.
    pub ratio: Option<Summary>,
}

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} pairs in one state", self.alike, self.pairs)?;
        match self.ratio {
            Some(all) if self.alike >= ALIKE_NEEDED => write!(f, ", all: {:.2}×", all.median),
            _ => Ok(()),
        }
    }
}

/// The two figures of a repetition, and the state that both were taken in.
#[derive(Debug, Clone, Copy)]
struct Pair {
    left: f64,
    right: f64,
    state: Option<RunState>,
}

/// Compares interleaved repetitions pair by pair, by the rule above.
#[must_use]
pub fn compare_interleaved(a: &Samples, b: &Samples) -> Comparison {
    let (counted, apart) = pairs(a, b);
    let Some(apart) = apart else {
        return Comparison {
            ratio: ratio(&counted),
            verdict: verdict(&counted),
            suffices: counted.len() >= PAIRS_NEEDED,
            apart: None,
        };
    };
    let enough = apart.pairs >= PAIRS_NEEDED;
    Comparison {
        ratio: ratio(&counted),
        verdict: if enough && apart.alike < PAIRS_NEEDED {
            Verdict::NotShown(WhyNot::TooFewAlike(apart.alike))
        } else if enough {
            verdict(&counted)
        } else {
            Verdict::NotShown(WhyNot::TooFewPairs(apart.pairs))
        },
        suffices: enough && apart.alike >= ALIKE_NEEDED,
        apart: Some(apart),
    }
}

/// The pairs that count, and what is left out of them.
fn pairs(a: &Samples, b: &Samples) -> (Vec<Pair>, Option<Apart>) {
    let mut every = Vec::new();
    let mut alike = Vec::new();
    for (repetition, &(left, state)) in &a.0 {
        let Some(&(right, other)) = b.0.get(repetition) else {
            continue;
        };
        let pair = Pair {
            left,
            right,
            state: state.or(other),
        };
        every.push(pair);
        if are_alike(state, other) {
            alike.push(pair);
        }
    }
    if alike.len() == every.len() {
        return (every, None);
    }
    let apart = Apart {
        pairs: every.len(),
        alike: alike.len(),
        ratio: ratio(&every),
    };
    let counted = if apart.alike >= ALIKE_NEEDED {
        alike
    } else {
        every
    };
    (counted, Some(apart))
}

/// The figures of the pairs that count in [`compare_interleaved`].
pub(crate) fn counted_pairs(a: &Samples, b: &Samples) -> Vec<(f64, f64)> {
    let (counted, _) = pairs(a, b);
    counted.iter().map(|pair| (pair.left, pair.right)).collect()
}

/// Whether nothing is known against two runs having met one state of the machine.
fn are_alike(one: Option<RunState>, other: Option<RunState>) -> bool {
    match (one, other) {
        (Some(RunState::Steady(one)), Some(RunState::Steady(other))) => one == other,
        (Some(RunState::Changing), Some(_)) | (Some(_), Some(RunState::Changing)) => false,
        (None, _) | (_, None) => true,
    }
}

fn ratio(pairs: &[Pair]) -> Option<Summary> {
    let above_zero = pairs.iter().filter(|pair| pair.right > 0.0);
    Summary::of(above_zero.map(|pair| pair.left / pair.right))
}

fn verdict(pairs: &[Pair]) -> Verdict {
    if pairs.len() < PAIRS_NEEDED {
        return Verdict::NotShown(WhyNot::TooFewPairs(pairs.len()));
    }
    let pairs = within_states(pairs);
    let (Some(left), Some(right)) = (
        Summary::of(pairs.iter().map(|pair| pair.left)),
        Summary::of(pairs.iter().map(|pair| pair.right)),
    ) else {
        return Verdict::NotShown(WhyNot::TooFewPairs(0));
    };
    if left.overlaps(&right) {
        return Verdict::NotShown(WhyNot::SpreadsOverlap);
    }
    let (side, verdict) = if left.median < right.median {
        (Ordering::Less, Verdict::Smaller)
    } else {
        (Ordering::Greater, Verdict::Larger)
    };
    let agreeing = pairs
        .iter()
        .filter(|pair| pair.left.total_cmp(&pair.right) == side)
        .count();
    if chance_of_at_least(agreeing, pairs.len()) > SIGN_TEST_LEVEL {
        return Verdict::NotShown(WhyNot::PairsDisagree);
    }
    verdict
}

/// Divides the figures of each state by their mean, so that what is left is the difference within
/// states. Pairs of one state are let be.
fn within_states(pairs: &[Pair]) -> Vec<Pair> {
    let mut means: BTreeMap<Option<RunState>, (f64, f64)> = BTreeMap::new();
    for pair in pairs {
        let (sum, count) = means.entry(pair.state).or_default();
        *sum += pair.left + pair.right;
        *count += 2.0;
    }
    if means.len() < 2 {
        return pairs.to_vec();
    }
    pairs
        .iter()
        .map(|pair| {
            let (sum, count) = means[&pair.state];
            let mean = if sum > 0.0 { sum / count } else { 1.0 };
            Pair {
                left: pair.left / mean,
                right: pair.right / mean,
                ..*pair
            }
        })
        .collect()
}

/// How often a fair coin, thrown `throws` times, shows heads at least `heads` times.
fn chance_of_at_least(heads: usize, throws: usize) -> f64 {
    // Row by row of Pascal's triangle in probabilities: no factorial to overflow.
    let mut row = vec![1.0_f64];
    for _ in 0..throws {
        let mut next = vec![0.0; row.len() + 1];
        for (at, share) in row.iter().enumerate() {
            next[at] += share / 2.0;
            next[at + 1] += share / 2.0;
        }
        row = next;
    }
    row.iter().skip(heads).sum()
}

/// Compares repetitions that were *not* interleaved (two results, taken at different times), so
/// there are no pairs, and a change of the machine's mood looks like a difference. Stricter
/// therefore: a difference only where, of at least [`PAIRS_NEEDED`] repetitions each, no figure of
/// one lies among those of the other.
#[must_use]
pub fn compare_apart(a: &Samples, b: &Samples) -> Comparison {
    let fewer = a.len().min(b.len());
    let (Some(left), Some(right)) = (a.summary(), b.summary()) else {
        return Comparison {
            ratio: None,
            verdict: Verdict::NotShown(WhyNot::TooFewPairs(0)),
            apart: None,
            suffices: false,
        };
    };
    // Each against each: without pairs, all are as good.
    let ratio = Summary::of(a.values().flat_map(|left| {
        b.values()
            .filter(|right| *right > 0.0)
            .map(move |right| left / right)
    }));
    let verdict = if fewer < PAIRS_NEEDED {
        Verdict::NotShown(WhyNot::TooFewPairs(fewer))
    } else if left.max < right.min {
        Verdict::Smaller
    } else if right.max < left.min {
        Verdict::Larger
    } else {
        Verdict::NotShown(WhyNot::SpreadsOverlap)
    };
    Comparison {
        ratio,
        verdict,
        apart: None,
        suffices: fewer >= PAIRS_NEEDED,
    }
}

/// Which way a figure is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "closed: two directions")]
pub enum Better {
    /// Latency, CPU.
    Smaller,
    /// Requests or bytes a second.
    Larger,
}

/// Who is best in a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// The subject with the best median, then, in the order of their medians, all from which it
    /// is not shown to differ. One name alone is a winner, unless `decided` is false.
    pub best: Vec<String>,
    /// False when there are too few repetitions to name a winner at all; `best` then holds only
    /// the best median, to be shown as a hint.
    pub decided: bool,
}

impl Ranking {
    /// The winner, where there is one.
    #[must_use]
    pub fn winner(&self) -> Option<&str> {
        match self.best.as_slice() {
            [only] if self.decided => Some(only),
            _ => None,
        }
    }
}

/// Ranks the subjects of one cell. Subjects without a figure take no part; `None` when none has
/// one. A subject that stands alone is not decided: it had nobody to win against.
#[must_use]
pub fn rank(subjects: &[(String, Samples)], better: Better) -> Option<Ranking> {
    let mut order: Vec<(&str, &Samples, f64)> = subjects
        .iter()
        .filter_map(|(name, samples)| Some((name.as_str(), samples, samples.summary()?.median)))
        .collect();
    order.sort_by(|a, b| match better {
        Better::Smaller => a.2.total_cmp(&b.2),
        Better::Larger => b.2.total_cmp(&a.2),
    });
    let (&(name, samples, _), rest) = order.split_first()?;
    if samples.len() < PAIRS_NEEDED || rest.is_empty() {
        return Some(Ranking {
            best: vec![name.to_owned()],
            decided: false,
        });
    }
    let ties = rest.iter().filter(|(_, other, _)| {
        matches!(
            compare_interleaved(samples, other).verdict,
            Verdict::NotShown(_)
        )
    });
    Some(Ranking {
        best: std::iter::once(name)
            .chain(ties.map(|(name, ..)| *name))
            .map(str::to_owned)
            .collect(),
        decided: true,
    })
}

#[cfg(test)]
mod tests;
