//! The forms of chart, one a file, and what they share: subjects, holes and legends.

pub(super) mod bars;
pub(super) mod boxes;
pub(super) mod grouped;
pub(super) mod histogram;
pub(super) mod legend;
pub(super) mod lines;
pub(super) mod swatch;

use super::palette::{self, Paint};

/// A subject as a chart shows it.
#[derive(Clone, Debug)]
pub(super) struct Key {
    /// Its number in the legend, the same in every figure of a report.
    pub(super) number: usize,
    pub(super) name: String,
    pub(super) paint: Paint,
}

impl Key {
    /// The keys of `subjects`, numbered from one in this order.
    pub(super) fn number_all(subjects: &[String]) -> Vec<Self> {
        subjects
            .iter()
            .enumerate()
            .map(|(index, name)| Self {
                number: index + 1,
                name: name.clone(),
                paint: palette::paint(name),
            })
            .collect()
    }
}

/// What stands at one place of a chart.
#[derive(Clone, Debug)]
pub(super) enum Slot<M> {
    /// A figure and the words of its tooltip.
    Mark(M, String),
    /// It ran and failed, or part of it is missing: the reason.
    Failed(String),
    /// It was not part of this series.
    NotRun,
}

impl<M> Slot<M> {
    /// The figure, if there is one.
    pub(super) fn mark(&self) -> Option<&M> {
        match self {
            Self::Mark(mark, _) => Some(mark),
            Self::Failed(_) | Self::NotRun => None,
        }
    }
}
