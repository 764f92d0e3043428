//! Corewire's adapters against the others, cell by cell.

use super::metric::Metric;
use super::runs::{Condition, Runs};
use crate::args::Tls;
use crate::guti::{MIXED, suffix};
use crate::report::format;
use crate::statistics::{Apart, Better, Comparison, Summary, Verdict, WhyNot, compare_interleaved};

/// How Corewire stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    Ahead,
    /// No difference is shown, though there were repetitions enough.
    Even,
    Behind,
    /// Too few repetitions for a verdict.
    Open,
}

impl Standing {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Ahead => "ahead",
            Self::Even => "no difference",
            Self::Behind => "behind",
            Self::Open => "no verdict",
        }
    }

    /// The class of its mark in the page.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Ahead => "good",
            Self::Even => "even",
            Self::Behind => "bad",
            Self::Open => "none",
        }
    }
}

/// One subject and its figure.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub(super) name: String,
    pub(super) median: f64,
}

/// One of Corewire's adapters beside another.
#[derive(Clone, Debug)]
pub(super) struct Versus {
    pub(super) ours: Side,
    pub(super) theirs: Side,
    /// Ours over theirs, over the pairs of repetitions.
    pub(super) ratio: Option<Summary>,
    /// Where pairs were left out.
    pub(super) apart: Option<Apart>,
    pub(super) standing: Standing,
}

impl Versus {
    /// Whether ours has the better median; where pairs were left out, of the others' ratios.
    pub(super) fn leads(&self, metric: Metric) -> bool {
        let (ours, theirs) = match (&self.apart, &self.ratio) {
            (Some(_), Some(ratio)) => (ratio.median, 1.0),
            _ => (self.ours.median, self.theirs.median),
        };
        match metric.better() {
            Better::Smaller => ours < theirs,
            Better::Larger => ours > theirs,
        }
    }

    /// The ratio in words, with how many pairs it is of where some were left out.
    pub(super) fn words(&self) -> String {
        let ratio = ratio_words(self.ratio.as_ref());
        match &self.apart {
            Some(apart) => format!("{ratio} [{apart}]"),
            None => ratio,
        }
    }
}

/// Whether a subject is one of Corewire's own adapters, at both ends.
pub(super) fn is_ours(subject: &str) -> bool {
    subject.starts_with("CW-") && !is_mixed(subject)
}

/// Whether client and server are of different adapters: `GRPC-S-to-CW-GRPC`.
pub(super) fn is_mixed(subject: &str) -> bool {
    subject.contains(MIXED)
}

/// Whether a subject may win a cell: it speaks over TCP and in clear text, as the thesis's eight do.
/// Shared memory, bare sockets, one thread for all clients and ends of different adapters answer another
/// question, polling burns a core and TLS costs something; they are shown beside.
pub(super) fn is_contender(subject: &str) -> bool {
    let beside = ["CW-SHM", "CW-EL", "FLOOR-"];
    !beside.iter().any(|name| subject.starts_with(name))
        && !subject.contains("+poll")
        && !is_mixed(subject)
        && clear_text_of(subject).is_none()
}

/// The same subject without TLS, and the TLS that it has; `None` when it has none.
pub(super) fn clear_text_of(subject: &str) -> Option<(String, Tls)> {
    [Tls::Server, Tls::Mutual].into_iter().find_map(|kind| {
        let (name, rest) = subject.split_once(suffix(kind))?;
        Some((format!("{name}{rest}"), kind))
    })
}

/// Compares the best of `ours` with the best of `theirs`; `None` unless both sides have figures.
pub(super) fn best_against_best<'s>(
    runs: &Runs<'_>,
    condition: Condition,
    metric: Metric,
    ours: impl IntoIterator<Item = &'s String>,
    theirs: impl IntoIterator<Item = &'s String>,
) -> Option<Versus> {
    let ours = best(runs, condition, metric, ours)?;
    let theirs = best(runs, condition, metric, theirs)?;
    let left = runs.samples(condition, &ours.name, metric);
    let right = runs.samples(condition, &theirs.name, metric);
    let Comparison {
        ratio,
        verdict,
        apart,
        ..
    } = compare_interleaved(&left, &right);
    let standing = match (verdict, metric.better()) {
        (Verdict::Smaller, Better::Smaller) | (Verdict::Larger, Better::Larger) => Standing::Ahead,
        (Verdict::Smaller, Better::Larger) | (Verdict::Larger, Better::Smaller) => Standing::Behind,
        (Verdict::NotShown(WhyNot::TooFewPairs(_)), _) => Standing::Open,
        (Verdict::NotShown(_), _) => Standing::Even,
    };
    Some(Versus {
        ours,
        theirs,
        ratio,
        apart,
        standing,
    })
}

/// `1.32× (1.28 to 1.35)`: the median and the quartiles over the pairs.
pub(super) fn ratio_words(ratio: Option<&Summary>) -> String {
    match ratio {
        None => "no pair".to_owned(),
        Some(ratio) if ratio.count < 2 => format::ratio(ratio.median),
        Some(ratio) => format!(
            "{} ({} to {})",
            format::ratio(ratio.median),
            format::ratio(ratio.q1),
            format::ratio(ratio.q3)
        ),
    }
}

fn best<'s>(
    runs: &Runs<'_>,
    condition: Condition,
    metric: Metric,
    subjects: impl IntoIterator<Item = &'s String>,
) -> Option<Side> {
    let found = subjects.into_iter().filter_map(|subject| {
        Some(Side {
            name: subject.clone(),
            median: runs.summary(condition, subject, metric)?.median,
        })
    });
    match metric.better() {
        Better::Smaller => found.min_by(|a, b| a.median.total_cmp(&b.median)),
        Better::Larger => found.max_by(|a, b| a.median.total_cmp(&b.median)),
    }
}
