//! From what was asked to a list of runs, with an estimate of their time.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use serde::{Deserialize, Serialize};

use super::condition::{Condition, Exchange, Nagle, Pin, SILENCE};
use super::profile::{Amount, Group, Spec, usual};
use super::subjects::Subject;
use crate::args::Profile;
use crate::clock::span;
use crate::scenario::{Length, Plan, Step, Turn};
use crate::session::SHORTEST_WINDOW;
use crate::statistics::PAIRS_NEEDED;

/// Starting and ending the processes of a run; seen on a two-core machine.
const STARTING: Duration = Duration::from_millis(250);
/// For each process beyond two, and for the silence that ends a run of several receivers.
const STARTING_MORE: Duration = Duration::from_millis(80);

/// What was asked: enough to make the same plan again for `--resume`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) profile: Profile,
    /// By name; all of them once a session has begun.
    pub(super) transports: Vec<String>,
    /// Messages a second; `None` for `max`.
    pub(super) rates: Vec<Option<u64>>,
    pub(super) sizes: Vec<u64>,
    pub(super) nagle: Vec<Nagle>,
    pub(super) pin: Vec<Pin>,
    pub(super) mtu: Vec<u32>,
    pub(super) senders: Vec<u32>,
    pub(super) receivers: Vec<u32>,
    pub(super) routes: Vec<u32>,
    pub(super) swaps_per_s: Vec<u32>,
    pub(super) exchange: Vec<Exchange>,
    pub(super) repeat: Option<u32>,
    pub(super) server_cpu: Option<usize>,
    /// The user's libraries, as `--rmr-lib` takes them.
    #[serde(default)]
    pub(super) libraries: Vec<String>,
    #[serde(default)]
    pub(super) sender_library: Option<PathBuf>,
    #[serde(default)]
    pub(super) receiver_library: Option<PathBuf>,
}

impl Request {
    /// Refuses what contradicts itself.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let swaps = self.swaps_per_s.iter().any(|&swaps| swaps > 0);
        if swaps && !self.mtu.is_empty() {
            bail!("--swaps-per-s and --mtu cannot be combined: the route manager is on loopback");
        }
        let calls = self.exchange.iter().any(|&one| one != Exchange::Send);
        if calls && self.receivers.iter().any(|&receivers| receivers > 1) {
            bail!("--exchange call and rts take one receiver");
        }
        Ok(())
    }

    /// Whether the profile says what is measured.
    fn takes_own_grid(&self) -> bool {
        self.rates.is_empty()
            && self.sizes.is_empty()
            && self.nagle.is_empty()
            && self.pin.is_empty()
            && self.mtu.is_empty()
            && self.senders.is_empty()
            && self.receivers.is_empty()
            && self.routes.is_empty()
            && self.swaps_per_s.is_empty()
            && self.exchange.is_empty()
    }

    /// Everything to be measured: the profile's own grid, or the product of what was given.
    pub(super) fn groups(&self, spec: &Spec) -> Vec<Group> {
        if self.takes_own_grid() {
            let own = spec.groups.iter().cloned();
            return own
                .map(|group| Group {
                    repetitions: self.repeat.unwrap_or(group.repetitions),
                    ..group
                })
                .collect();
        }
        // One dimension after the other: what is left open is as in the plain condition.
        let mut conditions = vec![Condition::plain(None, 1000)];
        let rates = or_else(&self.rates, &[Some(10_000), None]);
        conditions = varied(conditions, rates, |c, rate| c.rate = *rate);
        conditions = varied(conditions, &self.sizes, |c, size| c.size = *size);
        conditions = varied(conditions, &self.senders, |c, n| c.senders = *n);
        conditions = varied(conditions, &self.receivers, |c, n| c.receivers = *n);
        conditions = varied(conditions, &self.routes, |c, n| c.routes = *n);
        conditions = varied(conditions, &self.swaps_per_s, |c, n| c.swaps_per_s = *n);
        conditions = varied(conditions, &self.nagle, |c, nagle| c.nagle = *nagle);
        conditions = varied(conditions, &self.pin, |c, pin| c.pin = *pin);
        conditions = varied(conditions, &self.mtu, |c, mtu| c.mtu = Some(*mtu));
        conditions = varied(conditions, &self.exchange, |c, e| c.exchange = *e);
        let mut groups: Vec<Group> = Vec::new();
        for condition in conditions {
            let (repetitions, amount) = usual(condition.rate, spec);
            let group = Group {
                condition,
                subjects: &[],
                repetitions: self.repeat.unwrap_or(repetitions),
                amount,
            };
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        groups
    }
}

fn or_else<'a, T>(given: &'a [T], open: &'a [T]) -> &'a [T] {
    if given.is_empty() { open } else { given }
}

/// Each condition with each of the values; as they are when there are none.
fn varied<T>(
    conditions: Vec<Condition>,
    values: &[T],
    set: impl Fn(&mut Condition, &T),
) -> Vec<Condition> {
    if values.is_empty() {
        return conditions;
    }
    let mut all = Vec::new();
    for condition in conditions {
        for value in values {
            let mut condition = condition.clone();
            set(&mut condition, value);
            all.push(condition);
        }
    }
    all
}

/// Makes the plan: repetition by repetition, condition by condition, the subjects taking turns in
/// an order that is rotated each time, so that none is always first.
pub(super) fn make(request: &Request, subjects: &[Subject]) -> Plan {
    let spec = Spec::of(request.profile);
    let groups = request.groups(&spec);
    let mut notes = Vec::new();
    if request.takes_own_grid() {
        notes.push(spec.grid_note.to_owned());
    }
    let window = share_of_budget(&spec, &groups, subjects, &mut notes);
    let mut turns = Vec::new();
    let most = groups
        .iter()
        .map(|group| group.repetitions)
        .max()
        .unwrap_or(0);
    for repetition in 1..=most {
        let due = groups
            .iter()
            .filter(|group| group.repetitions >= repetition);
        for (at, group) in due.enumerate() {
            let mut order: Vec<&Subject> = taking_part(group, subjects)
                // A missing one is recorded once, so that the hole is seen, and not again.
                .filter(|subject| subject.ends.is_ok() || repetition == 1)
                .collect();
            if order.is_empty() {
                continue;
            }
            let by = (repetition as usize - 1 + at) % order.len();
            order.rotate_left(by);
            turns.push(Turn {
                title: format!(
                    "repetition {repetition} of {}: {}",
                    group.repetitions, group.condition
                ),
                overhead: spec.baseline + Duration::from_millis(110),
                steps: order
                    .iter()
                    .map(|subject| step(&spec, group, subject, repetition, window))
                    .collect(),
            });
        }
    }
    let plan = Plan {
        turns,
        budget: spec.budget,
        notes,
        ..Plan::default()
    };
    with_last_notes(plan, request)
}

fn taking_part<'a>(group: &'a Group, subjects: &'a [Subject]) -> impl Iterator<Item = &'a Subject> {
    subjects.iter().filter(|subject| {
        group.subjects.is_empty() || group.subjects.contains(&subject.name.as_str())
    })
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
    let mut sharing = 0_u32;
    let mut taken = Duration::ZERO;
    for group in groups {
        let present = taking_part(group, subjects)
            .filter(|subject| subject.ends.is_ok())
            .count();
        let runs = u32::try_from(present)
            .unwrap_or(u32::MAX)
            .saturating_mul(group.repetitions);
        taken += (spec.baseline + STARTING) * group.repetitions;
        taken += (starting(&group.condition) + spec.warm_up) * runs;
        match group.amount {
            Amount::Share => sharing = sharing.saturating_add(runs),
            Amount::Each(each) => taken += each * runs,
        }
    }
    if sharing == 0 {
        return spec.longest_window;
    }
    // A tenth is kept back for what goes slower than thought.
    let share = budget.mul_f64(0.9).saturating_sub(taken) / sharing;
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

fn starting(condition: &Condition) -> Duration {
    let more = condition.senders + condition.receivers - 2 + u32::from(condition.swaps_per_s > 0);
    let silence = if condition.receivers > 1 {
        SILENCE
    } else {
        Duration::ZERO
    };
    STARTING + STARTING_MORE * more + silence
}

fn step(spec: &Spec, group: &Group, subject: &Subject, repetition: u32, window: Duration) -> Step {
    let (length, measured) = match group.amount {
        Amount::Share => (Length::Window(window), window),
        Amount::Each(each) => (Length::Fixed(each), each),
    };
    let hole = subject.ends.as_ref().err().cloned();
    let expected = if hole.is_some() {
        Duration::ZERO
    } else {
        starting(&group.condition) + spec.warm_up + measured
    };
    Step {
        cell: group.condition.cell(&subject.name),
        repetition,
        length,
        expected,
        hole,
    }
}

fn with_last_notes(mut plan: Plan, request: &Request) -> Plan {
    if let Some(budget) = plan.budget
        && plan.expected() > budget
    {
        plan.notes.push(format!(
            "about {} are needed, more than the {} of this profile",
            span(plan.expected()),
            span(budget)
        ));
    }
    if request
        .repeat
        .is_some_and(|repeat| (repeat as usize) < PAIRS_NEEDED)
    {
        plan.notes.push(format!(
            "no winner can be named below {PAIRS_NEEDED} interleaved repetitions"
        ));
    }
    plan
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::subjects::End;
    use super::*;
    use crate::record::Failure;

    pub(in crate::rmr) fn request(profile: Profile) -> Request {
        Request {
            profile,
            transports: Vec::new(),
            rates: Vec::new(),
            sizes: Vec::new(),
            nagle: Vec::new(),
            pin: Vec::new(),
            mtu: Vec::new(),
            senders: Vec::new(),
            receivers: Vec::new(),
            routes: Vec::new(),
            swaps_per_s: Vec::new(),
            exchange: Vec::new(),
            repeat: None,
            server_cpu: None,
            libraries: Vec::new(),
            sender_library: None,
            receiver_library: None,
        }
    }

    fn subjects(names: &[&str]) -> Vec<Subject> {
        let end = End {
            library: "/x.so".into(),
            environment: Vec::new(),
        };
        names
            .iter()
            .map(|&name| Subject {
                name: name.to_owned(),
                ends: Ok((end.clone(), end.clone())),
            })
            .collect()
    }

    const ALL: [&str; 9] = [
        "si95",
        "native",
        "nng",
        "nng-raw",
        "grpc",
        "grpc-hint",
        "rmr",
        "rmr-to-si95",
        "si95-to-rmr",
    ];

    #[test]
    fn quick_fits_in_its_minutes_with_every_subject() {
        let plan = make(&request(Profile::Quick), &subjects(&ALL));
        let expected = plan.expected();
        assert!(expected < Duration::from_secs(600), "{expected:?}");
        assert!(
            plan.notes.iter().all(|note| !note.contains("not fit")),
            "{:?}",
            plan.notes
        );
    }

    #[test]
    fn what_was_asked_is_multiplied_and_the_subjects_take_turns() {
        let request = Request {
            rates: vec![None],
            sizes: vec![16, 1000],
            nagle: vec![Nagle::On, Nagle::Off],
            ..request(Profile::Quick)
        };
        let plan = make(&request, &subjects(&["si95", "rmr"]));
        assert_eq!(plan.turns.len(), 2 * 2 * 5);
        assert_eq!(plan.steps(), 2 * 2 * 5 * 2);
        let first: Vec<&str> = plan
            .turns
            .iter()
            .map(|turn| turn.steps[0].cell.subject.as_str())
            .collect();
        assert!(
            first.contains(&"si95") && first.contains(&"rmr"),
            "{first:?}"
        );
    }

    #[test]
    fn a_hole_is_recorded_once_a_condition() {
        let mut subjects = subjects(&["si95", "shm"]);
        subjects[1].ends = Err(Failure {
            what: "not built yet".into(),
            place: String::new(),
            next: String::new(),
        });
        let request = Request {
            rates: vec![None],
            ..request(Profile::Quick)
        };
        let plan = make(&request, &subjects);
        let holes = plan.turns.iter().flat_map(|turn| &turn.steps);
        assert_eq!(holes.filter(|step| step.hole.is_some()).count(), 1);
    }

    #[test]
    fn contradictions_are_refused() {
        let mut request = request(Profile::Quick);
        request.swaps_per_s = vec![10];
        request.check().expect("fine on loopback");
        request.mtu = vec![1500];
        assert!(request.check().is_err());
    }
}
