//! Which step is next.
//!
//! On a machine with one state: the plan's order. On one with [several](crate::states) the runs of a
//! turn are to be made in one state, so that they are compared alike. A turn keeps the state in which it
//! was begun; when the machine changes, it is put aside and the next one is begun, until the machine
//! changes back. So nothing is waited for but, at the end, the state of the turns that are still aside,
//! and that for a bounded time. A run during which the state changed is made again.

use std::collections::VecDeque;

use crate::record::{Baseline, LineNs};
use crate::scenario::{Step, Turn};
use crate::states::{RunState, States};

/// How often a run is made again because it met another state than the rest of its turn.
const AGAIN: u32 = 2;

/// A turn that has been begun.
#[derive(Debug)]
pub(crate) struct OpenTurn {
    pub(crate) baseline: Option<Baseline>,
    /// Still to be run.
    steps: VecDeque<Due>,
    /// Of its runs so far.
    lines: Vec<LineNs>,
}

/// A step that is due.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Due {
    pub(crate) step: Step,
    /// How often it was run already.
    pub(crate) tries: u32,
}

impl OpenTurn {
    /// With what was probed of its runs in an earlier session.
    pub(crate) fn new(turn: Turn, baseline: Option<Baseline>, lines: Vec<LineNs>) -> Self {
        let due = |step| Due { step, tries: 0 };
        Self {
            baseline,
            steps: turn.steps.into_iter().map(due).collect(),
            lines,
        }
    }

    /// The state in which most of its runs were made, of equals the first; `None` as long as it has none.
    fn state(&self, states: &States) -> Option<usize> {
        let mut counts: Vec<(usize, usize)> = Vec::new();
        for line in &self.lines {
            if let RunState::Steady(state) = states.between(*line) {
                match counts.iter_mut().find(|(known, _)| *known == state) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((state, 1)),
                }
            }
        }
        let most = counts.iter().map(|(_, count)| *count).max()?;
        let first = counts.iter().find(|(_, count)| *count == most);
        first.map(|(state, _)| *state)
    }

    /// Whether its next step may be run in the state `now`.
    fn suits(&self, states: &States, now: usize) -> bool {
        let needs_none = self
            .steps
            .front()
            .is_some_and(|due| due.step.hole.is_some());
        needs_none || self.state(states).is_none_or(|state| state == now)
    }
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Run the first step of this turn.
    Run(usize),
    /// Begin the next turn.
    Begin,
    /// The state is not that of any turn: wait for another, or [`Order::anyway`].
    Wait,
    /// Nothing is left.
    End,
}

/// The steps of a session.
#[derive(Debug)]
pub(crate) struct Order {
    coming: VecDeque<Turn>,
    open: Vec<OpenTurn>,
}

impl Order {
    pub(crate) fn of(turns: Vec<Turn>) -> Self {
        Self {
            coming: turns.into(),
            open: Vec::new(),
        }
    }

    /// What to do next; `now` is the last probe, where there is one.
    pub(crate) fn next(&self, states: &States, now: Option<f64>) -> Next {
        let now = now.map(|ns| states.at(ns));
        let suits = |turn: &OpenTurn| now.is_none_or(|now| turn.suits(states, now));
        match self.open.iter().position(suits) {
            Some(at) => Next::Run(at),
            None if !self.coming.is_empty() => Next::Begin,
            None if self.open.is_empty() => Next::End,
            None => Next::Wait,
        }
    }

    /// What to do when waiting is no longer worth it.
    pub(crate) fn anyway() -> Next {
        Next::Run(0)
    }

    /// The turn to begin.
    pub(crate) fn coming(&mut self) -> Option<Turn> {
        self.coming.pop_front()
    }

    pub(crate) fn begin(&mut self, turn: OpenTurn) {
        if !turn.steps.is_empty() {
            self.open.push(turn);
        }
    }

    /// The next step of a turn, which is left without it, and the network's time before that turn.
    pub(crate) fn take(&mut self, at: usize) -> Option<(Due, Option<Baseline>)> {
        let turn = self.open.get_mut(at)?;
        Some((turn.steps.pop_front()?, turn.baseline))
    }

    /// Notes how a step that was taken from the turn `at` went; `line` is what was probed around a run
    /// that came to its end. Says whether it is to be run again, which it is if it `may`.
    pub(crate) fn done(
        &mut self,
        at: usize,
        due: Due,
        line: Option<LineNs>,
        may: bool,
        states: &States,
    ) -> bool {
        let turn = &mut self.open[at];
        let mut again = false;
        if let Some(line) = line {
            again = may
                && due.tries < AGAIN
                && match (states.between(line), turn.state(states)) {
                    (RunState::Changing, _) => true,
                    (RunState::Steady(now), state) => state.is_some_and(|state| state != now),
                };
            if again {
                turn.steps.push_front(Due {
                    tries: due.tries + 1,
                    ..due
                });
            } else {
                turn.lines.push(line);
            }
        }
        if turn.steps.is_empty() {
            self.open.remove(at);
        }
        again
    }

    /// Gives up the turns that have not been begun; says how many steps they had.
    pub(crate) fn drop_coming(&mut self) -> usize {
        self.coming.drain(..).map(|turn| turn.steps.len()).sum()
    }

    /// Gives up everything; says how many steps had not been run.
    pub(crate) fn drop_all(&mut self) -> usize {
        let open = self.open.drain(..).flat_map(|turn| turn.steps);
        let never_run = open.filter(|due| due.tries == 0).count();
        never_run + self.drop_coming()
    }
}

#[cfg(test)]
mod tests;
