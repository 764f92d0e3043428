//! The runs of the mesh, by condition and path.

use std::collections::{BTreeMap, BTreeSet};

use super::metric::Metric;
use crate::record::{Record, Status};
use crate::report::palette;
use crate::states::States;
use crate::statistics::{Comparison, Samples, Summary, compare_interleaved};

/// The paper's greatest rate, at which paths are compared.
pub(super) const PAPER_RATE: u64 = 1_500;
/// The paper's number of replicas.
const PAPER_REPLICAS: u32 = 30;

/// What must be equal for two paths to be compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Condition {
    /// Requests a second; `None` at saturation.
    pub(super) rate: Option<u64>,
    pub(super) replicas: u32,
    pub(super) hops: u32,
    pub(super) gateways: u32,
    /// Every other setting, as it stands in the cell.
    pub(super) rest: BTreeMap<String, String>,
}

impl Condition {
    fn of(record: &Record) -> Self {
        let mut rest = record.cell.settings.clone();
        let mut take = |name: &str, default: u32| {
            let value = rest.remove(name).and_then(|text| text.parse().ok());
            value.unwrap_or(default)
        };
        Self {
            rate: record.cell.rate,
            replicas: take("replicas", 0),
            hops: take("hops", 1),
            gateways: record.cell.clients,
            rest,
        }
    }

    /// Whether something else than requests is measured.
    pub(super) fn is_special(&self) -> bool {
        self.rest.contains_key("measure")
    }

    /// A single hop from a single gateway under load.
    fn is_plain(&self) -> bool {
        self.hops == 1 && self.gateways == 1 && !self.is_special()
    }

    /// In words: `1500/s, 30 replicas`.
    pub(super) fn words(&self) -> String {
        let mut words = match self.rate {
            Some(rate) => format!("{rate}/s"),
            None => "saturated".to_owned(),
        };
        words.push_str(&format!(", {} replicas", self.replicas));
        if self.hops > 1 {
            words.push_str(&format!(", {} hops", self.hops));
        }
        if self.gateways > 1 {
            words.push_str(&format!(", {} gateways", self.gateways));
        }
        for (name, value) in &self.rest {
            words.push_str(&format!(", {name} {value}"));
        }
        words
    }
}

/// All runs, indexed.
#[derive(Debug)]
pub(super) struct Runs<'a> {
    cells: BTreeMap<Condition, BTreeMap<String, Vec<&'a Record>>>,
    subjects: Vec<String>,
    states: States,
}

impl<'a> Runs<'a> {
    /// Indexes the records of this scenario.
    pub(super) fn new(records: &[&'a Record]) -> Self {
        let mut cells: BTreeMap<Condition, BTreeMap<String, Vec<&'a Record>>> = BTreeMap::new();
        for record in records {
            cells
                .entry(Condition::of(record))
                .or_default()
                .entry(record.cell.subject.clone())
                .or_default()
                .push(record);
        }
        let names: BTreeSet<&String> = cells.values().flat_map(BTreeMap::keys).collect();
        let mut subjects: Vec<String> = names.into_iter().cloned().collect();
        palette::sort(&mut subjects);
        Self {
            cells,
            subjects,
            states: States::of_records(records.iter().copied()),
        }
    }

    /// Every path with a run, failed ones too, in the order of the figures.
    pub(super) fn subjects(&self) -> &[String] {
        &self.subjects
    }

    /// Every condition with a run.
    pub(super) fn conditions(&self) -> impl Iterator<Item = &Condition> {
        self.cells.keys()
    }

    /// The runs of one cell, failed ones too.
    pub(super) fn records(&self, condition: &Condition, subject: &str) -> &[&'a Record] {
        self.cells
            .get(condition)
            .and_then(|subjects| subjects.get(subject))
            .map_or(&[], Vec::as_slice)
    }

    pub(super) fn samples(&self, condition: &Condition, subject: &str, metric: Metric) -> Samples {
        self.records(condition, subject)
            .iter()
            .filter_map(|record| {
                let state = self.states.of_run(record);
                Some((record.repetition, metric.of(record)?, state))
            })
            .collect()
    }

    /// Median and spread of a quantity over the complete repetitions of a cell.
    pub(super) fn summary(
        &self,
        condition: &Condition,
        subject: &str,
        metric: Metric,
    ) -> Option<Summary> {
        self.samples(condition, subject, metric).summary()
    }

    /// Two paths pair by pair; `None` when one of them has no figures.
    pub(super) fn compare(
        &self,
        condition: &Condition,
        ours: &str,
        theirs: &str,
        metric: Metric,
    ) -> Option<Comparison> {
        let ours = self.samples(condition, ours, metric);
        let theirs = self.samples(condition, theirs, metric);
        (!ours.is_empty() && !theirs.is_empty()).then(|| compare_interleaved(&ours, &theirs))
    }

    /// Where paths are compared at a rate: the paper's, or what comes nearest to it among the runs.
    pub(super) fn at_rate(&self) -> Option<&Condition> {
        self.plain(|condition| condition.rate.is_some())
    }

    /// Where paths are compared at saturation.
    pub(super) fn saturated(&self) -> Option<&Condition> {
        self.plain(|condition| condition.rate.is_none())
    }

    /// Where this is measured instead of requests.
    pub(super) fn measure(&self, what: &str) -> Option<&Condition> {
        let mut conditions = self.conditions();
        conditions.find(|condition| condition.rest.get("measure").is_some_and(|it| it == what))
    }

    fn plain(&self, wanted: impl Fn(&Condition) -> bool) -> Option<&Condition> {
        self.conditions()
            .filter(|condition| condition.is_plain() && wanted(condition))
            .min_by_key(|condition| {
                (
                    condition.rate.map(|rate| rate.abs_diff(PAPER_RATE)),
                    condition.replicas.abs_diff(PAPER_REPLICAS),
                    condition.rest.len(),
                )
            })
    }

    /// Conditions that differ from `base` in one thing only, ascending by it.
    pub(super) fn sweep<T: Ord + Copy>(
        &self,
        base: &Condition,
        value: impl Fn(&Condition) -> T,
        is_sibling: impl Fn(&Condition, &Condition) -> bool,
    ) -> Vec<&Condition> {
        let mut found: Vec<&Condition> = self
            .conditions()
            .filter(|condition| condition.rest == base.rest && is_sibling(condition, base))
            .collect();
        found.sort_by_key(|condition| value(condition));
        found
    }

    /// Why a cell has no figures; `None` when it has some, or was never tried.
    pub(super) fn failure(&self, condition: &Condition, subject: &str) -> Option<String> {
        let records = self.records(condition, subject);
        if records.iter().any(|record| record.complete().is_some()) {
            return None;
        }
        let last = records.last()?;
        Some(match (&last.status, &last.error) {
            (_, Some(error)) => error.to_string(),
            (Status::Partial, None) => "stopped before its time".to_owned(),
            (_, None) => "no reason was recorded".to_owned(),
        })
    }
}
