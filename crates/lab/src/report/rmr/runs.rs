//! The runs of the RMR scenario, by condition and subject, and the quantities that are compared.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::record::{Record, Status};
use crate::report::{format, palette};
use crate::rmr::Condition;
use crate::states::States;
use crate::statistics::{Comparison, Samples, Summary, compare_interleaved};

/// One quantity of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Metric {
    /// Messages delivered a second.
    Rate,
    P50,
    P95,
    P99,
    P999,
    P9999,
    Max,
    /// CPU time of the senders for a message, microseconds.
    SenderCpu,
    /// CPU time of the receivers for a message, microseconds.
    ReceiverCpu,
}

impl Metric {
    /// The figure of `record`, unless it failed or did not record it.
    pub(super) fn of(self, record: &Record) -> Option<f64> {
        let measured = record.complete()?;
        let latency = &measured.latency_us;
        match self {
            Self::Rate => Some(measured.qps),
            Self::P50 => Some(latency.p50),
            Self::P95 => Some(latency.p95),
            Self::P99 => Some(latency.p99),
            Self::P999 => Some(latency.p999),
            Self::P9999 => Some(latency.p9999),
            Self::Max => Some(latency.max),
            Self::SenderCpu => measured.cpu_us_per_request.client,
            Self::ReceiverCpu => measured.cpu_us_per_request.server,
        }
    }

    /// Its name in a sentence.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Rate => "messages a second",
            Self::P50 => "median latency",
            Self::P95 => "95th percentile",
            Self::P99 => "99th percentile",
            Self::P999 => "99.9th percentile",
            Self::P9999 => "99.99th percentile",
            Self::Max => "highest latency",
            Self::SenderCpu => "sender CPU a message",
            Self::ReceiverCpu => "receiver CPU a message",
        }
    }

    /// A value with its unit.
    pub(super) fn show(self, value: f64) -> String {
        match self {
            Self::Rate => format!("{}/s", format::compact(value)),
            _ => format::micros(value),
        }
    }
}

/// What became of one subject under one condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Measured,
    /// Only failed or cut-off ones: why.
    Failed(String),
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
    pub(super) fn new(records: &[&'a Record]) -> Self {
        let mut cells: BTreeMap<_, Vec<&'a Record>> = BTreeMap::new();
        for record in records {
            let key = (Condition::of(&record.cell), record.cell.subject.clone());
            cells.entry(key).or_default().push(record);
        }
        let names: BTreeSet<&String> = cells.keys().map(|(_, subject)| subject).collect();
        let mut subjects: Vec<String> = names.into_iter().cloned().collect();
        palette::sort(&mut subjects);
        Self {
            cells,
            subjects,
            states: States::of_records(records.iter().copied()),
        }
    }

    /// Every subject with a run, failed ones too, in the order of the figures.
    pub(super) fn subjects(&self) -> &[String] {
        &self.subjects
    }

    /// Every condition with a run.
    pub(super) fn conditions(&self) -> BTreeSet<Condition> {
        self.cells
            .keys()
            .map(|(condition, _)| condition.clone())
            .collect()
    }

    /// Conditions for which `wanted` holds and under which anyone has figures.
    pub(super) fn measured_where(&self, wanted: impl Fn(&Condition) -> bool) -> Vec<Condition> {
        self.conditions()
            .into_iter()
            .filter(|condition| {
                wanted(condition)
                    && self
                        .subjects
                        .iter()
                        .any(|subject| self.state(condition, subject) == State::Measured)
            })
            .collect()
    }

    /// Every condition and subject with its runs.
    pub(super) fn cells(&self) -> impl Iterator<Item = (&Condition, &str, &[&'a Record])> {
        self.cells
            .iter()
            .map(|((condition, subject), runs)| (condition, subject.as_str(), runs.as_slice()))
    }

    /// The runs of one cell, failed ones too.
    pub(super) fn records(&self, condition: &Condition, subject: &str) -> &[&'a Record] {
        self.cells
            .get(&(condition.clone(), subject.to_owned()))
            .map_or(&[], Vec::as_slice)
    }

    /// A quantity over the complete repetitions of a cell.
    pub(super) fn samples(&self, condition: &Condition, subject: &str, metric: Metric) -> Samples {
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
        condition: &Condition,
        subject: &str,
        metric: Metric,
    ) -> Option<Summary> {
        self.samples(condition, subject, metric).summary()
    }

    /// Its median.
    pub(super) fn median(
        &self,
        condition: &Condition,
        subject: &str,
        metric: Metric,
    ) -> Option<f64> {
        Some(self.summary(condition, subject, metric)?.median)
    }

    /// Two cells beside each other, by the pairs of their repetitions.
    pub(super) fn compare(
        &self,
        metric: Metric,
        (condition, subject): (&Condition, &str),
        (other_condition, other): (&Condition, &str),
    ) -> Comparison {
        compare_interleaved(
            &self.samples(condition, subject, metric),
            &self.samples(other_condition, other, metric),
        )
    }

    /// What became of a cell.
    pub(super) fn state(&self, condition: &Condition, subject: &str) -> State {
        let records = self.records(condition, subject);
        if records.iter().any(|record| record.complete().is_some()) {
            return State::Measured;
        }
        match records.last() {
            Some(record) => State::Failed(reason(record)),
            None => State::NotRun,
        }
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

/// A count among the figures that only this scenario has.
pub(super) fn extra_count(record: &Record, name: &str) -> Option<u64> {
    record.extra.get(name).and_then(Value::as_u64)
}
