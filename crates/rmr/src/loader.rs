//! What records mean together: a table or changes to one, begun, filled, ended.
//!
//! Nothing is live before its end has come and its count, if there is one, is right. A record that
//! cannot be read is skipped and reported, as the C library skips it: route managers write such
//! records for names they do not know, and the rest of their table must hold. A wrong count or a
//! limit refuses the whole; the table that is live stays.

use crate::report::{Fault, Report, Why};
use crate::router::Router;
use crate::table::{Builder, MEID_LENGTH, Names, TableTooLarge};
use corewire_wire::rmr::table::{self, Counted, Edge, FaultKind, Line, Record, Records};
use corewire_wire::rmr::table_message::TableState;
use std::sync::Arc;

/// Builds tables of records and makes them live.
#[derive(Debug)]
pub(crate) struct Loader {
    router: Arc<Router>,
    names: Names,
    pending: Option<Pending>,
    /// Whether there was a whole table that changes may build upon.
    has_full: bool,
}

/// What was begun and not ended.
#[derive(Debug)]
struct Pending {
    builder: Builder,
    id: Option<String>,
    /// `rte`, `mse` and `del`.
    updates: u32,
    /// `mme_ar` and `mme_del`.
    meid_updates: u32,
    /// Why it will be refused.
    why: Option<Why>,
    /// Where the next text's lines go on.
    lines: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    New,
    Update,
    MeidMap,
}

/// What came of a text.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Tables that were taken or refused, in their order.
    pub(crate) states: Vec<TableState>,
    /// Whether what is live has changed.
    pub(crate) changed: bool,
    /// Whether routes became live.
    routes: bool,
    pub(crate) reports: Vec<Report>,
}

/// Faults and remarks of one text that are reported; the others are counted.
const MOST_REPORTS: usize = 20;

impl Outcome {
    fn report(&mut self, report: Report) {
        if self.reports.len() < MOST_REPORTS {
            self.reports.push(report);
        } else if let Some(Report::AndMore { count }) = self.reports.last_mut() {
            *count += 1;
        } else {
            self.reports.push(Report::AndMore { count: 1 });
        }
    }
}

impl Loader {
    pub(crate) fn new(router: Arc<Router>) -> Self {
        let names = Names::new(
            Arc::clone(router.identity()),
            Arc::clone(router.endpoints()),
        );
        Self {
            router,
            names,
            pending: None,
            has_full: false,
        }
    }

    /// Whether there was a whole table since [`Loader::forget_full`].
    pub(crate) fn has_full(&self) -> bool {
        self.has_full
    }

    /// What was taken so far is no base for changes: a seed is not what the route manager has.
    pub(crate) fn forget_full(&mut self) {
        self.has_full = false;
    }

    /// Whether something was begun and not ended.
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Drops what was begun and not ended.
    pub(crate) fn abandon(&mut self) {
        self.pending = None;
    }

    /// Reads records, of which the last may be without its end of line; a record is never split
    /// over two texts.
    pub(crate) fn read(&mut self, text: &[u8]) -> Outcome {
        let mut outcome = Outcome::default();
        let first = self.pending.as_ref().map_or(1, |pending| pending.lines);
        let mut records = Records::from_line(text, first);
        for line in records.by_ref() {
            match line {
                Ok(line) => {
                    if let Some(remark) = line.remark {
                        outcome.report(Report::Remark(remark));
                    }
                    self.line(&line, &mut outcome);
                }
                Err(fault) => self.skip(fault, &mut outcome),
            }
        }
        if let Some(pending) = &mut self.pending {
            pending.lines = records.line();
        }
        // Not at the end of the routes: who owns what may follow in the same text, and a program that
        // waits until it is ready would send in between.
        if outcome.routes {
            self.router.set_ready();
        }
        outcome
    }

    fn line(&mut self, line: &Line<'_>, outcome: &mut Outcome) {
        match line.record {
            Record::NewTable(Edge::Start { id }) => self.start(Kind::New, id, outcome),
            Record::Update(Edge::Start { id }) => self.start(Kind::Update, id, outcome),
            Record::MeidMap(Edge::Start { id }) => self.start(Kind::MeidMap, id, outcome),
            Record::NewTable(Edge::End { count }) => self.end(Kind::New, count, line, outcome),
            Record::Update(Edge::End { count }) => self.end(Kind::Update, count, line, outcome),
            Record::MeidMap(Edge::End { count }) => self.end(Kind::MeidMap, count, line, outcome),
            _ => self.entry(line, outcome),
        }
    }

    fn start(&mut self, kind: Kind, id: Option<&str>, outcome: &mut Outcome) {
        if let Some(mut incomplete) = self.pending.take() {
            // What was wrong with it before says more.
            let why = incomplete.why.take().unwrap_or(Why::Incomplete);
            refuse(incomplete.id, why, outcome);
        }
        let limits = self.router.limits();
        let live = self.router.table();
        let builder = match kind {
            Kind::New => Builder::new(&live, limits, id),
            Kind::Update => Builder::of(&live, limits, id),
            // The routes stay, so the table keeps its name.
            Kind::MeidMap => Builder::of(&live, limits, live.id()),
        };
        self.pending = Some(Pending {
            builder,
            id: id.map(str::to_owned),
            updates: 0,
            meid_updates: 0,
            why: (kind == Kind::Update && !self.has_full).then_some(Why::NothingToUpdate),
            lines: 1,
        });
    }

    fn end(&mut self, kind: Kind, count: Option<u32>, line: &Line<'_>, outcome: &mut Outcome) {
        let Some(pending) = self.pending.take() else {
            outcome.report(Report::EndWithoutStart { line: line.number });
            return;
        };
        let got = match kind {
            Kind::New | Kind::Update => pending.updates,
            Kind::MeidMap => pending.meid_updates,
        };
        let missing = count
            .filter(|expected| *expected != got)
            .map(|expected| Why::Missing { expected, got });
        if let Some(why) = pending.why.or(missing) {
            refuse(pending.id, why, outcome);
            return;
        }
        let table = pending.builder.finish();
        outcome.report(Report::Taken {
            id: pending.id.clone(),
            entries: table.len(),
            meids: table.meids(),
        });
        self.router.publish(table);
        // Who owns what alone routes nothing.
        outcome.routes |= kind != Kind::MeidMap;
        self.has_full |= kind == Kind::New;
        outcome.changed = true;
        outcome.states.push(TableState {
            taken: true,
            id: pending.id,
            reason: None,
        });
    }

    fn entry(&mut self, line: &Line<'_>, outcome: &mut Outcome) {
        let Some(pending) = &mut self.pending else {
            outcome.report(Report::OutsideTable { line: line.number });
            return;
        };
        let (builder, names) = (&mut pending.builder, &mut self.names);
        match line.record {
            Record::Route(_) | Record::Delete(_) => pending.updates += 1,
            _ => pending.meid_updates += 1,
        }
        if pending.why.is_some() {
            return;
        }
        let done = match &line.record {
            Record::Route(route) => builder.route(route, names),
            Record::Delete(delete) => {
                builder.delete(delete, names);
                Ok(())
            }
            Record::MeidAdd { owner, meids } => builder.own(owner, meids, names).map(|unusable| {
                if unusable > 0 {
                    outcome.report(Report::LongMeids {
                        line: line.number,
                        count: unusable,
                        max: MEID_LENGTH,
                    });
                }
            }),
            Record::MeidDelete { meids } => {
                builder.disown(meids);
                Ok(())
            }
            Record::NewTable(_) | Record::Update(_) | Record::MeidMap(_) => Ok(()),
        };
        if let Err(limit) = done {
            self.fault(too_large(line, limit), outcome);
        }
    }

    /// Reports a record that cannot be read. It counts as the C library would have counted it.
    fn skip(&mut self, fault: table::Fault, outcome: &mut Outcome) {
        // The end of a table whose count is no number has a wrong count.
        if fault.kind == FaultKind::BadCount {
            self.fault(Fault::Record(fault), outcome);
            if let Some(pending) = self.pending.take()
                && let Some(why) = pending.why
            {
                refuse(pending.id, why, outcome);
            }
            return;
        }
        if let Some(pending) = &mut self.pending {
            match fault.counted {
                Some(Counted::Routes) => pending.updates += 1,
                Some(Counted::Meids) => pending.meid_updates += 1,
                None => {}
            }
        }
        outcome.report(Report::Fault(Fault::Record(fault)));
    }

    /// Refuses what is pending, if anything is; says so in any case.
    fn fault(&mut self, fault: Fault, outcome: &mut Outcome) {
        if let Some(pending) = &mut self.pending
            && pending.why.is_none()
        {
            pending.why = Some(Why::Fault(fault.clone()));
        }
        outcome.report(Report::Fault(fault));
    }
}

fn too_large(line: &Line<'_>, limit: TableTooLarge) -> Fault {
    Fault::TooLarge {
        line: line.number,
        limit,
    }
}

fn refuse(id: Option<String>, why: Why, outcome: &mut Outcome) {
    let state = TableState {
        taken: false,
        id,
        reason: Some(why.to_string()),
    };
    outcome.report(Report::Refused(state.clone()));
    outcome.states.push(state);
}

#[cfg(test)]
mod tests;
