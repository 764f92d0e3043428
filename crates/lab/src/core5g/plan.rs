//! From what was asked to a list of runs.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::args::{Core5gArgs, Flow, Threads, Transport};
use crate::args::Profile;
use crate::record::{Cell, Mode};
use crate::scenario::{Length, Plan, Step, Turn};

/// Its name on the command line and in the records.
pub(crate) const NAME: &str = "core";

/// Starting and ending a core; seen on a two-core machine.
const STARTING: Duration = Duration::from_millis(900);
/// For one UE to register, open a session and detach among others, and for a round; seen there, too.
const A_UE: Duration = Duration::from_micros(500);
const A_ROUND: Duration = Duration::from_millis(20);
/// Calls of a run that measures discovery, and how long it takes.
const DISCOVERIES: u64 = 5_000;
const DISCOVERING: Duration = Duration::from_secs(1);
/// Profiles that a discovery finds.
const PROFILES: [u32; 2] = [1, 10];
/// More UEs than this come in fewer rounds and repetitions, and with one event loop an NF only.
const MANY: u32 = 100;
/// The setting `flow` of runs that measure discovery.
const DISCOVERY: &str = "discovery";
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
                ([], _) => vec![1, 2, 5, 10, 100, 1000, 10_000],
                (given, _) => given.to_vec(),
            },
            threads: match args.threads.as_slice() {
                [] if smoke => vec![Threads::One],
                [] => Threads::ALL.to_vec(),
                given => given.to_vec(),
            },
            flows: match args.flow.as_slice() {
                [] if smoke => vec![Flow::ThreeGpp],
                [] => vec![Flow::ThreeGpp, Flow::Source3],
                given => given.to_vec(),
            },
            repeat: args.common.repeat,
        }
    }

    fn repetitions(&self) -> u32 {
        // Source 3 ran everything five times.
        self.repeat.unwrap_or(match self.profile {
            Profile::Smoke => 1,
            Profile::Quick | Profile::Full | Profile::Cells | Profile::Floor => 5,
        })
    }

    /// Times that all UEs come and go in one run: enough for a median, and few when UEs are many.
    fn rounds(&self, ues: u32) -> u64 {
        let samples: u32 = match self.profile {
            Profile::Smoke => 10,
            Profile::Quick => 50,
            Profile::Full | Profile::Cells | Profile::Floor => 200,
        };
        let least = if ues > MANY { 1 } else { 2 };
        u64::from((samples / ues).max(least))
    }

    /// Whether a case is left out: what `--profile quick` has no time for, when nobody asked for it.
    fn is_left_out(&self, repetition: u32, flow: Flow, threads: Threads, ues: u32) -> bool {
        // One UE with one loop is both.
        let twice = threads == Threads::Ues && ues == 1 && self.threads.len() > 1;
        if self.profile != Profile::Quick {
            return twice;
        }
        let many = ues >= MANY && (threads == Threads::Ues || flow == Flow::Source3);
        let again = repetition > 1 && (ues > MANY || flow == Flow::Source3);
        twice || (many && self.threads.len() > 1) || (again && self.repeat.is_none())
    }
}

/// What a case measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// UEs that come and go.
    Ues,
    /// Discoveries at the NRF; the UEs are profiles.
    Discovery,
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) what: What,
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
        let flow = cell.settings.get("flow")?;
        Some(Self {
            what: match flow.as_str() {
                DISCOVERY => What::Discovery,
                _ => What::Ues,
            },
            transport: cell.subject.clone(),
            ues: cell.clients,
            threads: cell.settings.get("threads")?.clone(),
            flow: flow.clone(),
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

/// Whether a case is also run with every hop written down: one UE, once.
pub(super) fn is_traced(case: &Case, repetition: u32) -> bool {
    case.what == What::Ues && case.ues == 1 && repetition == 1
}

/// Repetition by repetition, condition by condition, the transports taking turns in an order that is
/// rotated each time.
pub(super) fn make(request: &Request) -> Plan {
    let mut turns = Vec::new();
    for repetition in 1..=request.repetitions() {
        for flow in &request.flows {
            for threads in &request.threads {
                for ues in &request.ues {
                    if !request.is_left_out(repetition, *flow, *threads, *ues) {
                        turns.push(turn(request, repetition, *flow, *threads, *ues));
                    }
                }
            }
        }
        turns.push(discovery(repetition));
    }
    Plan {
        turns,
        budget: None,
        notes: vec![
            "all NFs, the simulated gNB and the UEs share this machine's cores, unpinned"
                .to_owned(),
        ],
        ..Plan::default()
    }
}

fn discovery(repetition: u32) -> Turn {
    let step = |profiles: &u32| Step {
        cell: Case {
            what: What::Discovery,
            transport: Transport::Rest.name().to_owned(),
            ues: *profiles,
            threads: Threads::One.name().to_owned(),
            flow: DISCOVERY.to_owned(),
        }
        .cell(),
        repetition,
        length: Length::Requests(DISCOVERIES),
        expected: DISCOVERING,
        hole: None,
    };
    Turn {
        title: "discovery at the NRF, 1 and 10 profiles".to_owned(),
        steps: PROFILES.iter().map(step).collect(),
        overhead: Duration::ZERO,
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
                what: What::Ues,
                transport: transport.name().to_owned(),
                ues,
                threads: threads.name().to_owned(),
                flow: flow.name().to_owned(),
            };
            let all = u32::try_from(u64::from(ues) * (rounds + 1)).unwrap_or(u32::MAX);
            let each = A_ROUND * u32::try_from(rounds + 1).unwrap_or(u32::MAX);
            let running = STARTING + each + A_UE * all;
            Step {
                cell: case.cell(),
                repetition,
                length: Length::Requests(rounds),
                expected: if is_traced(&case, repetition) {
                    2 * running
                } else {
                    running
                },
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
            what: What::Ues,
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
        // One UE has one loop either way; discovery is behind them.
        assert_eq!(plan.turns.len(), 2 * (3 + 1));
        assert_eq!(plan.turns[0].steps[0].cell.subject, "rest");
        assert_eq!(plan.turns[4].steps[0].cell.subject, "grpc");
        let discovery = Case::of(&plan.turns[3].steps[1].cell).expect("a case");
        assert_eq!((discovery.what, discovery.ues), (What::Discovery, 10));
    }

    #[test]
    fn a_quick_run_has_every_cell_of_the_source_and_ends_in_eight_minutes() {
        let request = Request {
            profile: Profile::Quick,
            transports: Transport::ALL.to_vec(),
            ues: vec![1, 2, 5, 10, 100, 1000, 10_000],
            threads: Threads::ALL.to_vec(),
            flows: vec![Flow::ThreeGpp, Flow::Source3],
            repeat: None,
        };
        let plan = make(&request);
        assert!(
            plan.expected() < Duration::from_secs(8 * 60),
            "{:?}",
            plan.expected()
        );
        let cells: std::collections::BTreeSet<_> = plan
            .turns
            .iter()
            .flat_map(|turn| &turn.steps)
            .filter_map(|step| Case::of(&step.cell))
            .map(|case| (case.flow, case.threads, case.ues))
            .collect();
        for flow in ["3gpp", "source3"] {
            for (threads, ues) in [
                ("1", 1),
                ("1", 2),
                ("1", 5),
                ("1", 10),
                ("ues", 2),
                ("ues", 10),
            ] {
                assert!(cells.contains(&(flow.into(), threads.into(), ues)));
            }
        }
        assert!(cells.contains(&("3gpp".into(), "1".into(), 1000)));
    }
}
