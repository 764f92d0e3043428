//! The runs by condition: medians over the repetitions of what the records hold.

use serde_json::Value;

use crate::record::{Record, Status};
use crate::states::States;
use crate::statistics::{Samples, Summary};

/// The flows that UEs are measured by, in the order of the tables.
pub(super) const FLOWS: [&str; 2] = ["3gpp", "source3"];

/// The runs that were completed, and the states of the machine that they met.
pub(super) struct Cells<'a>(Vec<&'a Record>, States);

/// A condition with UEs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row {
    pub(super) flow: String,
    /// `1` or `ues`.
    pub(super) threads: String,
    pub(super) transport: String,
}

pub(super) fn row_of(record: &Record) -> Row {
    let setting = |name: &str| record.cell.settings.get(name).cloned().unwrap_or_default();
    Row {
        flow: setting("flow"),
        threads: setting("threads"),
        transport: record.cell.subject.clone(),
    }
}

impl<'a> Cells<'a> {
    pub(super) fn new(records: &[&'a Record]) -> Self {
        let complete = |record: &&Record| record.status == Status::Complete;
        Self(
            records.iter().copied().filter(complete).collect(),
            States::of_records(records.iter().copied()),
        )
    }

    /// Every condition with UEs that was run, sorted.
    pub(super) fn rows(&self) -> Vec<Row> {
        let of_ues = |row: &Row| FLOWS.contains(&row.flow.as_str());
        let mut rows: Vec<Row> = self.0.iter().map(|record| row_of(record)).collect();
        rows.retain(of_ues);
        rows.sort();
        rows.dedup();
        rows
    }

    /// Every number of UEs that was run.
    pub(super) fn ues(&self) -> Vec<u32> {
        let of_ues = |record: &&&Record| FLOWS.contains(&row_of(record).flow.as_str());
        let mut ues: Vec<u32> = self
            .0
            .iter()
            .filter(of_ues)
            .map(|record| record.cell.clients)
            .collect();
        ues.sort_unstable();
        ues.dedup();
        ues
    }

    /// The runs of a condition. One UE with one event loop is also one with a loop a UE.
    fn of(&self, row: &Row, ues: u32) -> Vec<&'a Record> {
        let same = |record: &&Record| {
            let found = row_of(record);
            let threads = found.threads == row.threads || ues == 1;
            let subject = found.flow == row.flow && found.transport == row.transport;
            record.cell.clients == ues && threads && subject
        };
        self.0.iter().copied().filter(same).collect()
    }

    /// A figure over the repetitions of a condition.
    pub(super) fn summary(
        &self,
        row: &Row,
        ues: u32,
        of: impl Fn(&Record) -> Option<f64>,
    ) -> Option<Summary> {
        Summary::of(
            self.of(row, ues)
                .into_iter()
                .filter_map(of)
                .collect::<Vec<_>>(),
        )
    }

    /// The same to be compared by pairs.
    pub(super) fn samples(
        &self,
        row: &Row,
        ues: u32,
        of: impl Fn(&Record) -> Option<f64>,
    ) -> Samples {
        let figure = |record: &Record| {
            let state = self.1.of_run(record);
            Some((record.repetition, of(record)?, state))
        };
        self.of(row, ues).into_iter().filter_map(figure).collect()
    }

    /// Its median.
    pub(super) fn median(
        &self,
        row: &Row,
        ues: u32,
        of: impl Fn(&Record) -> Option<f64>,
    ) -> Option<f64> {
        self.summary(row, ues, of).map(|summary| summary.median)
    }

    /// What discoveries of this many profiles cost the NRF, microseconds of CPU time.
    pub(super) fn discovery(&self, profiles: u32) -> Option<f64> {
        let of = |record: &&&Record| {
            row_of(record).flow == "discovery" && record.cell.clients == profiles
        };
        let found = self.0.iter().filter(of);
        let values: Vec<f64> = found
            .filter_map(|record| record.extra.get("discovery_cpu_us")?.as_f64())
            .collect();
        Summary::of(values).map(|summary| summary.median)
    }

    /// The runs that wrote down their hops, by their condition.
    pub(super) fn hops(&self) -> Vec<(Row, &'a Vec<Value>)> {
        let mut found: Vec<(Row, &Vec<Value>)> = self
            .0
            .iter()
            .filter_map(|record| Some((row_of(record), record.extra.get("hops")?.as_array()?)))
            .collect();
        found.sort_by(|one, other| one.0.cmp(&other.0));
        found
    }
}

/// A field of a procedure's times, milliseconds: `mean`, `p50` or `p99`.
pub(super) fn time(record: &Record, procedure: &str, of: &str) -> Option<f64> {
    record.extra.get(procedure)?.get(of)?.as_f64()
}

/// The sum over all NFs of a field that has a number for each.
pub(super) fn sum(record: &Record, field: &str) -> Option<f64> {
    let each = record.extra.get(field)?.as_object()?;
    Some(each.values().filter_map(Value::as_f64).sum())
}

/// A field that is one number.
pub(super) fn number(record: &Record, field: &str) -> Option<f64> {
    record.extra.get(field)?.as_f64()
}
