//! From what was asked to a list of runs.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::NAME;
use super::args::{Core5gArgs, Flow, Threads, Transport};
use crate::args::Profile;
use crate::record::{Cell, Mode};
use crate::scenario::{Length, Plan, Step, Turn};

/// Starting and ending a core; seen on a two-core machine.
const STARTING: Duration = Duration::from_secs(2);
/// For one UE to register, open a session and detach, at most.
const A_UE: Duration = Duration::from_millis(20);
/// The most event loops in an NF: more threads than that help no machine.
pub(super) const MOST_THREADS: u32 = 64;

/// What was asked: enough to make the same plan again for `--resume`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Request {
    profile: Profile,
    transports: Vec<Transport>,
    ues: Vec<u32>,
    threads: Vec<Threads>,
    flows: Vec<Flow>,
    repeat: Option<u32>,
}

impl Request {
    pub(super) fn new(args: &Core5gArgs) -> Self {
        let or_all = |given: &[Transport]| match given {
            [] => Transport::ALL.to_vec(),
            given => given.to_vec(),
        };
        let smoke = args.common.profile == Profile::Smoke;
        Self {
            profile: args.common.profile,
            transports: or_all(&args.transport),
            ues: match (args.ues.as_slice(), args.common.profile) {
                ([], Profile::Smoke) => vec![1, 10],
                ([], Profile::Quick) => vec![1, 2, 5, 10],
                ([], Profile::Full) => vec![1, 2, 5, 10, 100, 1000, 10_000],
                (given, _) => given.to_vec(),
            },
            threads: match args.threads.as_slice() {
                [] if smoke => vec![Threads::One],
                [] => Threads::ALL.to_vec(),
                given => given.to_vec(),
            },
            flows: match args.flow.as_slice() {
                [] => vec![Flow::ThreeGpp],
                given => given.to_vec(),
            },
            repeat: args.common.repeat,
        }
    }

    fn repetitions(&self) -> u32 {
        // Source 3 ran everything five times.
        self.repeat.unwrap_or(match self.profile {
            Profile::Smoke => 1,
            Profile::Quick => 3,
            Profile::Full | Profile::Cells | Profile::Floor => 5,
        })
    }

    /// Times that all UEs come and go in one run: enough for a median, and few when UEs are many.
    fn rounds(&self, ues: u32) -> u64 {
        let samples: u32 = match self.profile {
            Profile::Smoke => 10,
            Profile::Quick => 50,
            Profile::Full | Profile::Cells | Profile::Floor => 200,
        };
        u64::from((samples / ues).max(2))
    }
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) transport: String,
    pub(super) ues: u32,
    /// `1` or `ues`.
    pub(super) threads: String,
    pub(super) flow: String,
}

impl Case {
    fn cell(&self) -> Cell {
        Cell {
            scenario: NAME.to_owned(),
            subject: self.transport.clone(),
            mode: Mode::NoRate,
            rate: None,
            payload_bytes: 0,
            clients: self.ues,
            connections: 1,
            settings: BTreeMap::from([
                ("flow".to_owned(), self.flow.clone()),
                ("threads".to_owned(), self.threads.clone()),
            ]),
        }
    }

    pub(super) fn of(cell: &Cell) -> Option<Self> {
        Some(Self {
            transport: cell.subject.clone(),
            ues: cell.clients,
            threads: cell.settings.get("threads")?.clone(),
            flow: cell.settings.get("flow")?.clone(),
        })
    }

    /// Event loops in each NF.
    pub(super) fn loops(&self) -> u32 {
        match self.threads.as_str() {
            "ues" => self.ues.min(MOST_THREADS),
            _ => 1,
        }
    }
}

/// Repetition by repetition, condition by condition, the transports taking turns in an order that is
/// rotated each time.
pub(super) fn make(request: &Request) -> Plan {
    let mut turns = Vec::new();
    for repetition in 1..=request.repetitions() {
        for flow in &request.flows {
            for threads in &request.threads {
                for ues in &request.ues {
                    // One UE with one loop is both.
                    if *threads == Threads::Ues && *ues == 1 && request.threads.len() > 1 {
                        continue;
                    }
                    turns.push(turn(request, repetition, *flow, *threads, *ues));
                }
            }
        }
    }
    Plan {
        turns,
        budget: None,
        notes: vec![
            "all NFs, the simulated gNB and the UEs share this machine's cores, unpinned"
                .to_owned(),
        ],
    }
}

fn turn(request: &Request, repetition: u32, flow: Flow, threads: Threads, ues: u32) -> Turn {
    let mut transports = request.transports.clone();
    let rotate = (repetition as usize - 1) % transports.len().max(1);
    transports.rotate_left(rotate);
    let rounds = request.rounds(ues);
    let steps = transports
        .iter()
        .map(|transport| {
            let case = Case {
                transport: transport.name().to_owned(),
                ues,
                threads: threads.name().to_owned(),
                flow: flow.name().to_owned(),
            };
            let ues = u32::try_from(u64::from(ues) * (rounds + 1)).unwrap_or(u32::MAX);
            Step {
                cell: case.cell(),
                repetition,
                length: Length::Requests(rounds),
                expected: STARTING + A_UE * ues,
                hole: None,
            }
        })
        .collect();
    Turn {
        title: format!(
            "{ues} UEs, threads {}, flow {}",
            threads.name(),
            flow.name()
        ),
        steps,
        overhead: Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_read_from_its_cell() {
        let case = Case {
            transport: "grpc".into(),
            ues: 100,
            threads: "ues".into(),
            flow: "3gpp".into(),
        };
        assert_eq!(Case::of(&case.cell()), Some(case.clone()));
        assert_eq!(case.loops(), MOST_THREADS);
    }

    #[test]
    fn transports_take_turns() {
        let request = Request {
            profile: Profile::Smoke,
            transports: Transport::ALL.to_vec(),
            ues: vec![1, 10],
            threads: Threads::ALL.to_vec(),
            flows: vec![Flow::ThreeGpp],
            repeat: Some(2),
        };
        let plan = make(&request);
        // One UE has one loop either way.
        assert_eq!(plan.turns.len(), 2 * 3);
        assert_eq!(plan.turns[0].steps[0].cell.subject, "rest");
        assert_eq!(plan.turns[3].steps[0].cell.subject, "grpc");
    }
}
