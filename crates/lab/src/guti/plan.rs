//! From what was asked to a list of runs, with an estimate of their time.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::bail;
use serde::{Deserialize, Serialize};

use super::adapters::Subject;
use super::own::OwnPeer;
use super::profile::{Amount, Group, Spec};
use crate::args::{Between, Profile, Sharing};
use crate::clock::span;
use crate::record::{Cell, Mode};
use crate::scenario::{Length, Plan, Step, Turn};
use crate::session::SHORTEST_WINDOW;
use crate::statistics::PAIRS_NEEDED;
use crate::units::{Rate, show_bytes};

/// Starting and ending both processes of a run: 16 to 25 ms at the median and 40 at most on a two-core
/// machine, with room for a slower one.
const STARTING: Duration = Duration::from_millis(60);

/// What was asked: enough to make the same plan again for `--resume`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) profile: Profile,
    /// As given; none means every adapter.
    pub(super) adapters: Vec<String>,
    pub(super) clients: Vec<u32>,
    pub(super) payloads: Vec<u64>,
    pub(super) modes: Vec<Mode>,
    /// Requests a second; `None` for `max`.
    pub(super) rates: Vec<Option<u64>>,
    pub(super) repeat: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) minutes: Option<u32>,
    pub(super) connections: Sharing,
    pub(super) server_cpu: Option<usize>,
    pub(super) listen: String,
    #[serde(default)]
    pub(super) network: Between,
    #[serde(default)]
    pub(super) one_core: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) peers: Vec<OwnPeer>,
}

impl Request {
    /// Rates as the command line has them.
    pub(super) fn rates_of(rates: &[Rate]) -> Vec<Option<u64>> {
        rates
            .iter()
            .map(|rate| match rate {
                Rate::Max => None,
                Rate::PerSecond(rate) => Some(*rate),
            })
            .collect()
    }

    /// Refuses what contradicts itself.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let rates = self.rates.iter().flatten().count();
        if !self.modes.is_empty() && !self.modes.contains(&Mode::Rate) && rates > 0 {
            bail!("--rate needs --mode rate, but --mode no-rate was given; leave one of them out");
        }
        if !self.modes.is_empty()
            && !self.modes.contains(&Mode::NoRate)
            && self.rates.contains(&None)
        {
            bail!("--rate max means no-rate, but --mode rate was given; leave one of them out");
        }
        if let Some(repeat) = self.repeat
            && !(1..=1000).contains(&repeat)
        {
            bail!("--repeat {repeat}: from 1 to 1000");
        }
        if let Some(clients) = self
            .clients
            .iter()
            .find(|clients| !(1..=1024).contains(*clients))
        {
            bail!("--clients {clients}: from 1 to 1024");
        }
        Ok(())
    }

    /// Whether the profile says what is measured.
    fn takes_own_grid(&self) -> bool {
        self.clients.is_empty() && self.payloads.is_empty() && self.rates.is_empty()
    }

    /// Everything to be measured: the profile's own grid, or the product of what was given.
    fn groups(&self, spec: &Spec) -> Vec<Group> {
        let repeat = |repetitions: u32| self.repeat.unwrap_or(repetitions);
        let wanted = |mode| self.modes.is_empty() || self.modes.contains(&mode);
        if self.takes_own_grid() {
            let own = spec.groups.iter().filter(|group| wanted(group.mode));
            return own
                .map(|group| Group {
                    repetitions: repeat(group.repetitions),
                    ..group.clone()
                })
                .collect();
        }
        let rates: Vec<u64> = self.rates.iter().copied().flatten().collect();
        let no_rate = if self.modes.is_empty() {
            rates.is_empty() || self.rates.contains(&None)
        } else {
            wanted(Mode::NoRate)
        };
        let rated = !rates.is_empty() || self.modes.contains(&Mode::Rate);
        let payloads = or_else(&self.payloads, &spec.payloads);
        let mut groups = Vec::new();
        if no_rate {
            for &payload in payloads {
                for &clients in or_else(&self.clients, &spec.clients) {
                    groups.push(Group {
                        mode: Mode::NoRate,
                        rate: None,
                        payload,
                        clients,
                        repetitions: repeat(spec.repetitions),
                        amount: spec.no_rate,
                        only_shared: false,
                    });
                }
            }
        }
        if rated {
            for &rate in or_else(&rates, &spec.rates) {
                for &payload in or_else(&self.payloads, &[0]) {
                    for &clients in or_else(&self.clients, &[1]) {
                        groups.push(Group {
                            mode: Mode::Rate,
                            rate: Some(rate),
                            payload,
                            clients,
                            repetitions: repeat(spec.repetitions),
                            amount: spec.rated,
                            only_shared: false,
                        });
                    }
                }
            }
        }
        let mut once = Vec::new();
        for group in groups {
            if !once.contains(&group) {
                once.push(group);
            }
        }
        once
    }
}

fn or_else<'a, T>(given: &'a [T], open: &'a [T]) -> &'a [T] {
    if given.is_empty() { open } else { given }
}

/// Makes the plan: repetition by repetition, cell by cell, the subjects taking turns in an order
/// that is rotated each time, so that none is always first.
pub(super) fn make(request: &Request, subjects: &[Subject]) -> Plan {
    let mut spec = Spec::of(request.profile);
    if let Some(minutes) = request.minutes {
        spec.budget = Some(Duration::from_secs(60) * minutes);
    }
    let groups = request.groups(&spec);
    let grid_note = request.takes_own_grid().then_some(spec.grid_note);
    let mut notes: Vec<String> = [grid_note, spec.note]
        .into_iter()
        .flatten()
        .map(str::to_owned)
        .collect();
    let share = share_of_budget(&spec, &groups, subjects, &mut notes);

    let mut turns = Vec::new();
    let repetitions = groups
        .iter()
        .map(|group| group.repetitions)
        .max()
        .unwrap_or(0);
    for repetition in 1..=repetitions {
        let due = groups
            .iter()
            .filter(|group| group.repetitions >= repetition);
        for (at, group) in due.enumerate() {
            let mut order: Vec<&Subject> = subjects
                .iter()
                // A missing one is recorded once, so that the hole is seen, and not again.
                .filter(|subject| subject.hole.is_none() || repetition == 1)
                .filter(|subject| suits(subject, group))
                .collect();
            if !order.is_empty() {
                let by = (repetition as usize - 1 + at) % order.len();
                order.rotate_left(by);
            }
            turns.push(Turn {
                title: title(group, repetition),
                overhead: spec.baseline + STARTING,
                steps: order
                    .iter()
                    .map(|subject| step(&spec, group, subject, repetition, share))
                    .collect(),
            });
        }
    }
    turns.retain(|turn: &Turn| !turn.steps.is_empty());
    let plan = Plan {
        turns,
        budget: spec.budget,
        notes,
        ..Plan::default()
    };
    with_last_notes(plan, request, &groups)
}

fn suits(subject: &Subject, group: &Group) -> bool {
    subject.suits(group.clients) && (subject.is_named_shared() || !group.only_shared)
}

/// The window of each run that shares the budget.
fn share_of_budget(
    spec: &Spec,
    groups: &[Group],
    subjects: &[Subject],
    notes: &mut Vec<String>,
) -> Duration {
    let Some(budget) = spec.budget else {
        return spec.longest_window;
    };
    let present: Vec<&Subject> = subjects
        .iter()
        .filter(|subject| subject.hole.is_none())
        .collect();
    let mut sharing = 0_u32;
    let mut taken = Duration::ZERO;
    for group in groups {
        let present = present
            .iter()
            .filter(|subject| suits(subject, group))
            .count();
        let runs = u32::try_from(present)
            .unwrap_or(u32::MAX)
            .saturating_mul(group.repetitions);
        taken += (spec.baseline + STARTING) * group.repetitions + (STARTING + spec.warmup) * runs;
        match fixed_length(group) {
            Some(length) => taken += length * runs,
            None => sharing = sharing.saturating_add(runs),
        }
    }
    if sharing == 0 {
        return spec.longest_window;
    }
    // A tenth is kept back for what goes slower than thought.
    let share = (budget.mul_f64(0.9).saturating_sub(taken)) / sharing;
    if share < SHORTEST_WINDOW {
        notes.push(format!(
            "what was asked does not fit in the {} of this profile; every window is {} and the \
             run takes longer",
            span(budget),
            span(SHORTEST_WINDOW)
        ));
    }
    share.clamp(SHORTEST_WINDOW, spec.longest_window)
}

/// The window of a run where it does not depend on the budget.
fn fixed_length(group: &Group) -> Option<Duration> {
    match group.amount {
        Amount::Share => None,
        Amount::Each(each) => Some(each),
        Amount::Total(total) => Some(total / group.repetitions.max(1)),
        Amount::Requests(requests) => Some(nominal(group.payload) * share(requests, group)),
    }
}

/// A part of so many requests; `u32` holds any million.
fn share(requests: u64, group: &Group) -> u32 {
    u32::try_from(requests.div_ceil(u64::from(group.repetitions.max(1)))).unwrap_or(u32::MAX)
}

/// A call of a middling adapter with one client; only for the estimate.
fn nominal(payload: u64) -> Duration {
    Duration::from_nanos(50_000 + 2 * payload)
}

fn step(spec: &Spec, group: &Group, subject: &Subject, repetition: u32, window: Duration) -> Step {
    let length = match group.amount {
        Amount::Share => Length::Window(window),
        Amount::Each(each) => Length::Fixed(each),
        Amount::Total(total) => Length::Fixed(total / group.repetitions.max(1)),
        Amount::Requests(requests) => Length::Requests(u64::from(share(requests, group))),
    };
    let expected = if subject.hole.is_some() {
        Duration::ZERO
    } else {
        STARTING + spec.warmup + fixed_length(group).unwrap_or(window)
    };
    Step {
        cell: Cell {
            scenario: super::NAME.to_owned(),
            subject: subject.name.clone(),
            mode: group.mode,
            rate: group.rate,
            payload_bytes: group.payload,
            clients: group.clients,
            connections: subject.connections(group.clients),
            settings: BTreeMap::new(),
        },
        repetition,
        length,
        expected,
        hole: subject.hole.clone(),
    }
}

fn title(group: &Group, repetition: u32) -> String {
    let plural = if group.clients == 1 { "" } else { "s" };
    let mode = group
        .rate
        .map_or_else(|| "no-rate".to_owned(), |rate| format!("{rate}/s"));
    format!(
        "repetition {repetition} of {}: {}, {} client{plural}, {mode}",
        group.repetitions,
        show_bytes(group.payload),
        group.clients
    )
}

fn with_last_notes(mut plan: Plan, request: &Request, groups: &[Group]) -> Plan {
    if let Some(budget) = plan.budget
        && plan.expected() > budget
    {
        plan.notes.push(format!(
            "about {} are needed, more than the {} of this profile",
            span(plan.expected()),
            span(budget)
        ));
    }
    let fewest = groups
        .iter()
        .map(|group| group.repetitions)
        .min()
        .unwrap_or(0);
    if request.repeat.is_some() && (fewest as usize) < PAIRS_NEEDED {
        plan.notes.push(format!(
            "no winner can be named below {PAIRS_NEEDED} interleaved repetitions"
        ));
    }
    plan
}

#[cfg(test)]
mod tests;
