//! The runs of the GUTI scenario, by condition and subject.

use std::collections::{BTreeMap, BTreeSet};

use super::metric::Metric;
use super::versus::is_contender;
use crate::record::{Mode, Record, Status};
use crate::report::{format, palette};
use crate::states::States;
use crate::statistics::{Ranking, Samples, Summary, rank};

/// What must be equal for two subjects to be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Condition {
    pub(super) mode: Mode,
    /// Requests a second; `None` in no-rate mode.
    pub(super) rate: Option<u64>,
    pub(super) payload: u64,
    pub(super) clients: u32,
}

impl Condition {
    /// As fast as possible.
    pub(super) const fn no_rate(payload: u64, clients: u32) -> Self {
        Self {
            mode: Mode::NoRate,
            rate: None,
            payload,
            clients,
        }
    }

    /// One client at a rate.
    pub(super) const fn rate(rate: u64, payload: u64) -> Self {
        Self {
            mode: Mode::Rate,
            rate: Some(rate),
            payload,
            clients: 1,
        }
    }

    /// In words: `10 kB, 4 clients` or `0 B, 1 client, 100/s`.
    pub(super) fn words(self) -> String {
        let plural = if self.clients == 1 { "" } else { "s" };
        let payload = format::bytes(self.payload);
        let rate = self
            .rate
            .map_or_else(String::new, |rate| format!(", {rate}/s"));
        format!("{payload}, {} client{plural}{rate}", self.clients)
    }
}

/// What became of one subject under one condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// At least one complete repetition.
    Measured,
    /// Only failed or cut-off ones: why.
    Failed(String),
    /// None.
    NotRun,
}

/// All runs, indexed.
#[derive(Debug)]
pub(super) struct Runs<'a> {
    cells: BTreeMap<(Condition, String), Vec<&'a Record>>,
    subjects: Vec<String>,
    states: States,
}

impl<'a> Runs<'a> {
    /// Indexes the records of this scenario.
    pub(super) fn new(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let records: Vec<&'a Record> = records.into_iter().collect();
        let states = States::of_records(records.iter().copied());
        let mut cells: BTreeMap<_, Vec<&'a Record>> = BTreeMap::new();
        for record in records {
            let cell = &record.cell;
            let condition = Condition {
                mode: cell.mode,
                rate: cell.rate,
                payload: cell.payload_bytes,
                clients: cell.clients,
            };
            cells
                .entry((condition, subject_of(record)))
                .or_default()
                .push(record);
        }
        let names: BTreeSet<&String> = cells.keys().map(|(_, subject)| subject).collect();
        let mut subjects: Vec<String> = names.into_iter().cloned().collect();
        palette::sort(&mut subjects);
        Self {
            cells,
            subjects,
            states,
        }
    }

    /// Every subject with a run, failed ones too, in the order of the figures.
    pub(super) fn subjects(&self) -> &[String] {
        &self.subjects
    }

    /// The subjects that may win a cell.
    pub(super) fn contenders(&self) -> Vec<String> {
        // Who shares a connection answers another question, unless it was asked of all.
        let shares = |subject: &&String| subject.contains(" on ");
        let all_share = self.subjects.iter().all(|subject| shares(&subject));
        let all = self.subjects.iter();
        all.filter(|subject| is_contender(subject) && (all_share || !shares(subject)))
            .cloned()
            .collect()
    }

    /// Every subject with a complete run, in the order of the figures.
    pub(super) fn measured_subjects(&self) -> impl Iterator<Item = &String> {
        self.subjects.iter().filter(|subject| {
            self.cells.iter().any(|((_, name), records)| {
                name == *subject && records.iter().any(|record| record.complete().is_some())
            })
        })
    }

    /// Every condition with a run.
    pub(super) fn conditions(&self) -> BTreeSet<Condition> {
        self.cells.keys().map(|(condition, _)| *condition).collect()
    }

    /// Every condition and subject with its runs, in the order of the figures.
    pub(super) fn cells(&self) -> impl Iterator<Item = (Condition, &str, &[&'a Record])> {
        self.conditions().into_iter().flat_map(move |condition| {
            self.subjects.iter().filter_map(move |subject| {
                let runs = self.cells.get(&(condition, subject.clone()))?;
                Some((condition, subject.as_str(), runs.as_slice()))
            })
        })
    }

    /// The runs of one cell, failed ones too.
    pub(super) fn records(&self, condition: Condition, subject: &str) -> &[&'a Record] {
        self.cells
            .get(&(condition, subject.to_owned()))
            .map_or(&[], Vec::as_slice)
    }

    /// A quantity over the complete repetitions of a cell. Of a repetition that was run again the
    /// last one counts.
    pub(super) fn samples(&self, condition: Condition, subject: &str, metric: Metric) -> Samples {
        self.records(condition, subject)
            .iter()
            .filter_map(|record| {
                let state = self.states.of_run(record);
                Some((record.repetition, metric.of(record)?, state))
            })
            .collect()
    }

    /// Its median and spread.
    pub(super) fn summary(
        &self,
        condition: Condition,
        subject: &str,
        metric: Metric,
    ) -> Option<Summary> {
        self.samples(condition, subject, metric).summary()
    }

    /// What became of a cell.
    pub(super) fn state(&self, condition: Condition, subject: &str) -> State {
        let records = self.records(condition, subject);
        if records.iter().any(|record| record.complete().is_some()) {
            return State::Measured;
        }
        match records.last() {
            Some(record) => State::Failed(reason(record)),
            None => State::NotRun,
        }
    }

    /// Ranks those of `subjects` that have figures under `condition`.
    pub(super) fn rank(
        &self,
        condition: Condition,
        subjects: &[String],
        metric: Metric,
    ) -> Option<Ranking> {
        let samples: Vec<(String, Samples)> = subjects
            .iter()
            .map(|subject| (subject.clone(), self.samples(condition, subject, metric)))
            .collect();
        rank(&samples, metric.better())
    }

    /// The values that `of` takes over the conditions for which `wanted` holds, ascending.
    pub(super) fn values<T: Ord>(
        &self,
        wanted: impl Fn(&Condition) -> bool,
        of: impl Fn(&Condition) -> T,
    ) -> Vec<T> {
        let found: BTreeSet<T> = self
            .conditions()
            .iter()
            .filter(|c| wanted(c))
            .map(of)
            .collect();
        found.into_iter().collect()
    }
}

/// The name under which a run is shown: a subject whose clients share connections is another
/// subject, since it answers another question.
fn subject_of(record: &Record) -> String {
    let cell = &record.cell;
    if cell.connections == cell.clients {
        cell.subject.clone()
    } else {
        format!("{} on {}", cell.subject, cell.connections)
    }
}

/// Why a run has no figures to show.
pub(super) fn reason(record: &Record) -> String {
    match (&record.error, record.status) {
        (Some(error), _) => error.to_string(),
        (None, Status::Partial) => "stopped before its end".to_owned(),
        (None, _) => "no reason was recorded".to_owned(),
    }
}
