//! The states of a machine that has several, told by how far apart its cores were before and after
//! each run ([`LineNs`]).
//!
//! Nothing here knows a machine's figures: states are what the session's own probes fall into. They are
//! cut in two where there is a wide gap between them with next to nothing in it, and enough on either side
//! to be no strays; then each half in the same way. A machine whose probes only scatter has one state.

use crate::record::{LineNs, Record};

/// How wide the gap between two states is at least.
const APART: f64 = 1.5;
/// Probes of a state, at least.
const FEWEST: usize = 4;
/// And their share: rarer than this, medians do not see them.
const RAREST: f64 = 0.05;
/// Of so many as make a state, the share that may lie in the gap on each side.
const STRAYS: f64 = 0.2;

/// In which state a run was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "closed: in one, or in several")]
pub enum RunState {
    /// In this one from its beginning to its end; 0 is that of the nearest cores.
    Steady(usize),
    /// It began in one and ended in another.
    Changing,
}

/// The states of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct States {
    /// Between one state and the next, ascending, nanoseconds.
    bounds: Vec<f64>,
}

impl States {
    /// Of the probes of a session.
    #[must_use]
    pub fn of(probes: impl IntoIterator<Item = f64>) -> Self {
        let mut logs: Vec<f64> = probes
            .into_iter()
            .filter(|ns| ns.is_finite() && *ns > 0.0)
            .map(f64::ln)
            .collect();
        logs.sort_by(f64::total_cmp);
        let fewest = FEWEST.max((logs.len() as f64 * RAREST).ceil() as usize);
        let mut bounds = Vec::new();
        cut(&logs, fewest, &mut bounds);
        Self { bounds }
    }

    /// Of records that have probes.
    #[must_use]
    pub fn of_records<'r>(records: impl IntoIterator<Item = &'r Record>) -> Self {
        let probes = records.into_iter().filter_map(|record| record.line_ns);
        Self::of(probes.flat_map(|line| [line.before, line.after]))
    }

    /// How many there are; one where nothing is known.
    #[must_use]
    pub fn count(&self) -> usize {
        self.bounds.len() + 1
    }

    /// The state that a probe shows.
    #[must_use]
    pub fn at(&self, ns: f64) -> usize {
        self.bounds.partition_point(|bound| *bound < ns)
    }

    /// The state between two probes.
    #[must_use]
    pub fn between(&self, line: LineNs) -> RunState {
        match (self.at(line.before), self.at(line.after)) {
            (before, after) if before == after => RunState::Steady(before),
            _ => RunState::Changing,
        }
    }

    /// The state of a run; `None` where it was not probed.
    #[must_use]
    pub fn of_run(&self, record: &Record) -> Option<RunState> {
        record.line_ns.map(|line| self.between(line))
    }
}

/// Finds the bounds within ascending logarithms.
fn cut(logs: &[f64], fewest: usize, bounds: &mut Vec<f64>) {
    let Some(at) = best_cut(logs, fewest) else {
        return;
    };
    let (near, far) = logs.split_at(at);
    cut(near, fewest, bounds);
    bounds.push(((near[at - 1] + far[0]) / 2.0).exp());
    cut(far, fewest, bounds);
}

/// Where to cut, if anywhere: so many go to the first half.
fn best_cut(logs: &[f64], fewest: usize) -> Option<usize> {
    let strays = (fewest as f64 * STRAYS) as usize;
    let last = logs.len().checked_sub(fewest)?;
    let gap = |at: usize, strays: usize| logs[at + strays] - logs[at - 1 - strays];
    let widest = |places: std::ops::RangeInclusive<usize>, strays| {
        places.max_by(|one, other| gap(*one, strays).total_cmp(&gap(*other, strays)))
    };
    let at = widest(fewest..=last, strays)?;
    if gap(at, strays) < APART.ln() {
        return None;
    }
    // Strays go to the nearer side.
    widest(fewest.max(at - strays)..=last.min(at + strays), 0)
}

/// How many runs were made in which state.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Census {
    /// Of each state: runs, and the middle of their probes in nanoseconds.
    pub(crate) steady: Vec<(usize, f64)>,
    /// Runs that began in one state and ended in another.
    pub(crate) changing: usize,
}

impl Census {
    /// Of the complete runs; `None` where none was probed.
    pub(crate) fn of<'r>(records: impl IntoIterator<Item = &'r Record> + Clone) -> Option<Self> {
        let states = States::of_records(records.clone());
        let mut probes = vec![Vec::new(); states.count()];
        let mut changing = 0;
        for record in records {
            match (record.complete().and(record.line_ns), states.of_run(record)) {
                (Some(line), Some(RunState::Steady(state))) => {
                    probes[state].push((line.before + line.after) / 2.0);
                }
                (Some(_), Some(RunState::Changing)) => changing += 1,
                _ => {}
            }
        }
        if changing == 0 && probes.iter().all(Vec::is_empty) {
            return None;
        }
        let steady = probes
            .into_iter()
            .map(|mut ns| {
                ns.sort_by(f64::total_cmp);
                (ns.len(), ns.get(ns.len() / 2).copied().unwrap_or(f64::NAN))
            })
            .collect();
        Some(Self { steady, changing })
    }

    /// Whether there is more to tell than one figure.
    pub(crate) fn has_several(&self) -> bool {
        self.steady.len() > 1
    }

    /// In a sentence.
    pub(crate) fn words(&self) -> String {
        if let [(runs, ns)] = self.steady[..] {
            return format!(
                "a cache line went from core to core and back in {ns:.0} ns, {runs} runs in one state"
            );
        }
        let each: Vec<String> = self
            .steady
            .iter()
            .map(|(runs, ns)| {
                if ns.is_nan() {
                    "no run in one of the states".to_owned()
                } else {
                    format!("{runs} runs at {ns:.0} ns")
                }
            })
            .collect();
        format!(
            "the cores were at {} distances (a cache line there and back): {}; {} runs began at one and \
             ended at another. Pairs of runs at different distances are left out of comparisons",
            self.steady.len(),
            each.join(", "),
            self.changing
        )
    }
}

#[cfg(test)]
mod tests;
