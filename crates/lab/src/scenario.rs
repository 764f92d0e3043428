//! What every scenario is made of. A scenario says *what* is to be run and runs one step of it;
//! the [session](crate::session) does the rest in the same way for all: order, time left, results,
//! Ctrl-C, resuming.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::neighbour::Neighbour;
use crate::process::CpuPlan;
use crate::record::{Baseline, Cell, Failure, MachineLoad, Measured};
use crate::stop::Stop;

/// A family of measurements, such as the GUTI evaluation.
pub(crate) trait Scenario {
    /// As in the records: `guti`.
    fn name(&self) -> &'static str;

    /// Makes what the runs need in the folder of the results. Before anything else.
    ///
    /// # Errors
    /// When that cannot be made; nothing is run then.
    fn prepare(&mut self, _dir: &Path) -> anyhow::Result<()> {
        Ok(())
    }

    /// Everything to be run, in order.
    fn plan(&self) -> Plan;

    /// Whether the user named what has holes: then a hole is a failure of the command.
    fn holes_are_failures(&self) -> bool;

    /// Every option, given or resolved, for the records.
    fn options(&self) -> Map<String, Value>;

    /// Whether its steps measure, so that no other lab may do so at the same time.
    fn measures(&self) -> bool {
        true
    }

    /// How far apart the cores are between which messages go ([`crate::probe`]); `None` where that does
    /// not matter, or is not known.
    fn probe(&self) -> Option<f64> {
        None
    }

    /// The cores of the processes that it starts, where it says which those are.
    fn cpus(&mut self) -> Option<&mut CpuPlan> {
        None
    }

    /// Whether anything is compared with the network alone.
    fn has_baseline(&self) -> bool {
        true
    }

    /// Measures the network alone, with the same pinning.
    fn baseline(&mut self, stop: &Stop) -> Result<Baseline, Failure>;

    /// Runs one step. When the user asks to stop, it comes back soon, with what it has.
    fn run(&mut self, step: &Step, stop: &Stop) -> Outcome;
}

/// One run to come.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    pub(crate) cell: Cell,
    /// From 1.
    pub(crate) repetition: u32,
    pub(crate) length: Length,
    /// How long it will take in all, with starting, warm-up and ending.
    pub(crate) expected: Duration,
    /// Why it cannot be run, where that is known beforehand: it becomes a failed record at once,
    /// so that the report shows the hole.
    pub(crate) hole: Option<Failure>,
}

/// When a run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// After a time that may be shortened when the series falls behind its budget.
    Window(Duration),
    /// After exactly this time.
    Fixed(Duration),
    /// After so many requests.
    Requests(u64),
}

/// Steps that take turns on one cell: a series. The network baseline is measured before it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Turn {
    /// For the progress line.
    pub(crate) title: String,
    pub(crate) steps: Vec<Step>,
    /// Time for the baseline.
    pub(crate) overhead: Duration,
}

/// All turns of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Plan {
    pub(crate) turns: Vec<Turn>,
    /// The time that the session promises to keep to, where it does.
    pub(crate) budget: Option<Duration>,
    /// What the user should know: what was thinned, what will take longer.
    pub(crate) notes: Vec<String>,
    /// Beside which each cell is run; none where it is alone.
    pub(crate) neighbours: Vec<Neighbour>,
}

impl Plan {
    /// How long it will take.
    pub(crate) fn expected(&self) -> Duration {
        self.turns.iter().map(Turn::expected).sum()
    }

    /// Runs to come.
    pub(crate) fn steps(&self) -> usize {
        self.turns.iter().map(|turn| turn.steps.len()).sum()
    }

    /// Leaves out what is there already.
    pub(crate) fn skip(&mut self, done: &BTreeSet<(Cell, u32)>) {
        for turn in &mut self.turns {
            turn.steps
                .retain(|step| !done.contains(&(step.cell.clone(), step.repetition)));
        }
        self.turns.retain(|turn| !turn.steps.is_empty());
    }
}

impl Turn {
    /// How long it will take.
    pub(crate) fn expected(&self) -> Duration {
        self.overhead
            + self
                .steps
                .iter()
                .map(|step| step.expected)
                .sum::<Duration>()
    }
}

/// What came of a step.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) result: Result<Figures, Failure>,
    pub(crate) machine_load: Option<MachineLoad>,
    /// The scenario's own figures.
    pub(crate) extra: Map<String, Value>,
    /// Of the programs and libraries under test.
    pub(crate) versions: BTreeMap<String, String>,
}

/// Why a run has no result.
#[derive(Debug)]
pub(crate) enum NoResult {
    Failed(Failure),
    /// The user stopped it before there was anything.
    Stopped,
}

impl From<Failure> for NoResult {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// What a step that did not fail has to show.
#[derive(Debug)]
pub(crate) enum Figures {
    Complete(Box<Measured>),
    /// Nothing was to be measured: what came of it is among the scenario's own.
    Checked,
    /// Stopped by the user before its time.
    Partial(Box<Measured>),
    /// Stopped by the user before there was anything.
    Nothing,
}

impl Outcome {
    /// A step that failed before anything could be learnt.
    pub(crate) fn failed(failure: Failure) -> Self {
        Self::of(Err(failure))
    }

    /// A result with nothing beside it.
    pub(crate) fn of(result: Result<Figures, Failure>) -> Self {
        Self {
            result,
            machine_load: None,
            extra: Map::new(),
            versions: BTreeMap::new(),
        }
    }
}
