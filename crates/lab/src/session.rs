//! One session of a scenario: every step in its [order](crate::order), every outcome on disk at once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use crate::clock::span;
use crate::machine;
use crate::neighbour::{self, AtWork, Neighbour};
use crate::order::{Due, Next, OpenTurn, Order};
use crate::progress::Progress;
use crate::quiet::LabLock;
use crate::record::{Baseline, Cell, Failure, Host, LineNs, Record, SCHEMA, Status};
use crate::results::{self, Appender};
use crate::scenario::{Figures, Length, Outcome, Plan, Scenario, Step, Turn};
use crate::states::States;
use crate::stop::Stop;
use corewire_observe::utc::rfc3339;

/// Of this build; with the commit when the build was told (`COREWIRE_GIT_DESCRIBE`).
const VERSION: &str = match option_env!("COREWIRE_GIT_DESCRIBE") {
    Some(describe) => describe,
    None => env!("CARGO_PKG_VERSION"),
};

/// Windows are not shortened below this: fewer requests would say nothing.
pub(crate) const SHORTEST_WINDOW: Duration = Duration::from_millis(100);

/// What came of the session.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) complete: usize,
    pub(crate) failed: usize,
    /// Known beforehand that they could not be run.
    pub(crate) holes: usize,
    /// Left out because the time was up or the user stopped it.
    pub(crate) left_out: usize,
    pub(crate) stopped: bool,
    /// Made again because the machine's state was another.
    pub(crate) again: usize,
}

/// Runs what `dir` does not hold yet; in the plan's order and each once if in `any_state`.
///
/// # Errors
/// When results cannot be written or read. What goes wrong within a step is a failed record.
pub(crate) fn run(
    scenario: &mut dyn Scenario,
    plan: Plan,
    dir: &Path,
    stop: &Stop,
    progress: &mut Progress,
    any_state: bool,
) -> anyhow::Result<Tally> {
    let appender = Appender::open(dir)?;
    let before = results::read(dir)?;
    let mut earlier = BTreeMap::<Series, Vec<LineNs>>::new();
    for record in before.iter().filter(|record| record.complete().is_some()) {
        if let Some(line) = record.line_ns {
            let series = series_of(&record.cell, record.repetition);
            earlier.entry(series).or_default().push(line);
        }
    }
    let lines = before.iter().filter_map(|record| record.line_ns);
    let mut session = Session {
        scenario,
        appender,
        host: machine::host(),
        stop,
        progress,
        sequence: before
            .iter()
            .map(|record| record.sequence)
            .max()
            .unwrap_or(0),
        tally: Tally::default(),
        warned_of_baseline: false,
        holes_shown: BTreeSet::new(),
        probes: lines.flat_map(|line| [line.before, line.after]).collect(),
        earlier,
        any_state,
        spare: Duration::ZERO,
        neighbours: serde_json::to_value(&plan.neighbours)?,
    };
    session.run(plan)?;
    Ok(session.tally)
}

/// Runs that are compared: of a cell but for its subject, in one repetition.
type Series = (Cell, u32);

fn series_of(cell: &Cell, repetition: u32) -> Series {
    let nobody = Cell {
        subject: String::new(),
        connections: 0,
        ..cell.clone()
    };
    (nobody, repetition)
}

/// The runs that need not be done again: complete ones.
pub(crate) fn done(records: &[Record]) -> BTreeSet<(Cell, u32)> {
    records
        .iter()
        .filter(|record| record.status == Status::Complete)
        .map(|record| (record.cell.clone(), record.repetition))
        .collect()
}

/// How long another lab on this machine is waited for.
const OTHERS: Duration = Duration::from_secs(120);
/// What waiting for the machine's state and running again may take in all, as a share of what the plan
/// takes, and at most.
const SPARE_SHARE: f64 = 0.2;
const MOST_SPARE: Duration = Duration::from_secs(240);
/// Between two looks at the state.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

struct Session<'a> {
    scenario: &'a mut dyn Scenario,
    appender: Appender,
    host: Host,
    stop: &'a Stop,
    progress: &'a mut Progress,
    sequence: u32,
    tally: Tally,
    warned_of_baseline: bool,
    /// Subjects whose hole has had its line.
    holes_shown: BTreeSet<String>,
    /// Of all runs, of earlier sessions too.
    probes: Vec<f64>,
    /// What was probed in earlier sessions, by what is compared.
    earlier: BTreeMap<Series, Vec<LineNs>>,
    /// Whether the machine's state is not looked at.
    any_state: bool,
    /// What may still be spent on waiting for a state and on running again.
    spare: Duration,
    /// As the records have them.
    neighbours: Value,
}

impl Session<'_> {
    fn run(&mut self, plan: Plan) -> anyhow::Result<()> {
        let mut pace = Pace::new(&plan);
        if !self.any_state {
            self.spare = plan.expected().mul_f64(SPARE_SHARE).min(MOST_SPARE);
        }
        self.progress.begin(plan.steps());
        let mut order = Order::of(plan.turns);
        loop {
            if self.stop.asked() {
                self.tally.left_out += order.drop_all();
            } else if pace.time_is_up() {
                self.tally.left_out += order.drop_coming();
            }
            let states = States::of(self.probes.iter().copied());
            let now = match states.count() {
                1 => None,
                _ if self.any_state => None,
                _ => self.scenario.probe(),
            };
            let next = match order.next(&states, now) {
                Next::Wait if self.spare.is_zero() => Order::anyway(),
                next => next,
            };
            match next {
                Next::End => break,
                Next::Begin => {
                    if let Some(turn) = order.coming() {
                        order.begin(self.turn(turn, &mut pace));
                    }
                }
                Next::Run(at) => self.run_next(&mut order, at, &mut pace)?,
                Next::Wait => {
                    thread::sleep(LOOK_AGAIN);
                    self.spare = self.spare.saturating_sub(LOOK_AGAIN);
                    pace.unplanned();
                }
            }
        }
        self.tally.stopped = self.stop.asked();
        self.progress.end();
        Ok(())
    }

    fn turn(&mut self, mut turn: Turn, pace: &mut Pace) -> OpenTurn {
        pace.fit(&mut turn);
        self.progress.turn(&turn.title, pace.left());
        let baseline = self.baseline();
        pace.spent_on_overhead(&turn);
        let series: BTreeSet<Series> = turn
            .steps
            .iter()
            .map(|step| series_of(&step.cell, step.repetition))
            .collect();
        let lines = series.iter().filter_map(|one| self.earlier.get(one));
        let lines = lines.flatten().copied().collect();
        OpenTurn::new(turn, baseline, lines)
    }

    fn run_next(&mut self, order: &mut Order, at: usize, pace: &mut Pace) -> anyhow::Result<()> {
        let Some((due, baseline)) = order.take(at) else {
            return Ok(());
        };
        self.progress.step(&due.step.cell, pace.left());
        let line = self.step(&due, baseline)?;
        if due.tries == 0 {
            pace.spent_on(&due.step);
            self.progress.step_done();
        } else {
            pace.unplanned();
            self.tally.again += 1;
            self.spare = self.spare.saturating_sub(due.step.expected);
        }
        let states = States::of(self.probes.iter().copied());
        let may_again = due.step.expected <= self.spare;
        order.done(at, due, line, may_again, &states);
        Ok(())
    }

    /// Runs a step while no other lab measures on this machine.
    fn run_alone(&mut self, step: &Step) -> (Outcome, Option<LineNs>) {
        let turn = if self.scenario.measures() {
            LabLock::pass(OTHERS, self.stop)
        } else {
            Ok(None)
        };
        match turn {
            Ok(_turn) => {
                let before = self.scenario.probe();
                let outcome = self.run_beside(step);
                let line = before.zip(self.scenario.probe());
                (
                    outcome,
                    line.map(|(before, after)| LineNs { before, after }),
                )
            }
            Err(what) => {
                let failure = Failure {
                    what,
                    place: "before a run".to_owned(),
                    next: "wait for it; then --resume runs what is left".to_owned(),
                };
                (Outcome::failed(failure), None)
            }
        }
    }

    /// Runs a step beside its neighbour.
    fn run_beside(&mut self, step: &Step) -> Outcome {
        let outcome = match AtWork::begin(Neighbour::of(&step.cell), self.scenario.cpus()) {
            Ok(_neighbour) => self.scenario.run(step, self.stop),
            Err(failure) => Outcome::failed(failure),
        };
        // The network alone, which is measured next, has no bound.
        if let Some(ends) = self.scenario.cpus() {
            ends.unbound();
        }
        outcome
    }

    fn baseline(&mut self) -> Option<Baseline> {
        if !self.scenario.has_baseline() {
            return None;
        }
        match self.scenario.baseline(self.stop) {
            Ok(baseline) => Some(baseline),
            Err(failure) => {
                if !self.warned_of_baseline && !self.stop.asked() {
                    self.warned_of_baseline = true;
                    self.progress
                        .line(&format!("no network baseline: {failure}"));
                }
                None
            }
        }
    }

    /// Runs a step and writes it down; gives what was probed around a run that came to its end.
    fn step(&mut self, due: &Due, baseline: Option<Baseline>) -> anyhow::Result<Option<LineNs>> {
        let step = &due.step;
        let started_at = rfc3339(SystemTime::now());
        let (outcome, line_ns) = match &step.hole {
            Some(hole) => (Outcome::failed(hole.clone()), None),
            None => self.run_alone(step),
        };
        let Outcome {
            result,
            machine_load,
            extra,
            versions,
        } = outcome;
        let (status, measured, error) = match result {
            Ok(Figures::Complete(measured)) => (Status::Complete, Some(*measured), None),
            Ok(Figures::Checked) => (Status::Complete, None, None),
            Ok(Figures::Partial(measured)) => (Status::Partial, Some(*measured), None),
            Ok(Figures::Nothing) => {
                self.tally.left_out += usize::from(due.tries == 0);
                return Ok(None);
            }
            Err(failure) => (Status::Failed, None, Some(failure)),
        };
        if due.tries > 0 && status != Status::Complete {
            // The run that was to be made better stands.
            return Ok(None);
        }
        match status {
            Status::Complete => self.tally.complete += usize::from(due.tries == 0),
            Status::Partial => self.tally.left_out += 1,
            Status::Failed if step.hole.is_some() => self.tally.holes += 1,
            Status::Failed => self.tally.failed += 1,
        }
        match (&error, &step.hole) {
            (Some(_), Some(hole)) => {
                if self.holes_shown.insert(step.cell.subject.clone()) {
                    self.progress.line(&format!("not run: {hole}"));
                }
            }
            (Some(failure), None) => {
                self.progress
                    .line(&format!("failed: {}: {failure}", step.cell));
            }
            (None, _) => {}
        }
        self.sequence += 1;
        let mut options = self.scenario.options();
        match step.length {
            Length::Window(window) | Length::Fixed(window) => {
                options.insert("run_duration_s".into(), window.as_secs_f64().into());
            }
            Length::Requests(requests) => {
                options.insert("run_requests".into(), requests.into());
            }
        }
        options.insert(neighbour::OPTION.into(), self.neighbours.clone());
        let mut all_versions = versions;
        all_versions.insert("corewire".into(), VERSION.into());
        self.appender.append(&Record {
            schema: SCHEMA,
            cell: step.cell.clone(),
            repetition: step.repetition,
            sequence: self.sequence,
            started_at,
            status,
            error,
            measured,
            baseline_us: baseline,
            machine_load,
            line_ns,
            extra,
            options,
            versions: all_versions,
            host: self.host.clone(),
        })?;
        let line = line_ns.filter(|_| status == Status::Complete);
        self.probes
            .extend(line.iter().flat_map(|line| [line.before, line.after]));
        Ok(line)
    }
}

/// Keeps the session within its budget, and knows the time left.
///
/// The plan guesses what starting and ending the processes costs; here it is seen. When the rest
/// would take longer than is left, the windows to come are shortened alike for all subjects of a
/// turn, so that pairs stay pairs.
#[derive(Debug)]
struct Pace {
    begun: Instant,
    budget: Option<Duration>,
    mark: Instant,
    /// Planned time of what is to come, split in what can be shortened and the rest.
    windows_left: Duration,
    rest_left: Duration,
    /// Real and planned time of the rest so far.
    rest_real: Duration,
    rest_planned: Duration,
    shrink: f64,
}

impl Pace {
    fn new(plan: &Plan) -> Self {
        let expected = plan.expected();
        let windows = plan
            .turns
            .iter()
            .flat_map(|turn| &turn.steps)
            .map(window_of)
            .sum();
        let now = Instant::now();
        Self {
            begun: now,
            // A plan that is over its budget from the start was asked for so: it is not cut.
            budget: plan.budget.filter(|budget| expected <= *budget),
            mark: now,
            windows_left: windows,
            rest_left: expected.saturating_sub(windows),
            rest_real: Duration::ZERO,
            rest_planned: Duration::ZERO,
            shrink: 1.0,
        }
    }

    fn time_is_up(&self) -> bool {
        self.budget
            .is_some_and(|budget| self.begun.elapsed() >= budget)
    }

    /// How much longer than planned starting and ending takes.
    fn stretch(&self) -> f64 {
        // Half a minute of the plan's own guess as ballast, so that the first runs do not shout.
        let ballast = 30.0;
        (self.rest_real.as_secs_f64() + ballast) / (self.rest_planned.as_secs_f64() + ballast)
    }

    fn left(&self) -> Duration {
        self.rest_left.mul_f64(self.stretch()) + self.windows_left.mul_f64(self.shrink)
    }

    /// Shortens the windows of a turn as far as the budget demands.
    fn fit(&mut self, turn: &mut Turn) {
        let Some(budget) = self.budget else { return };
        let rest = self.rest_left.mul_f64(self.stretch());
        let room = budget
            .saturating_sub(self.begun.elapsed())
            .saturating_sub(rest);
        self.shrink = if self.windows_left.is_zero() {
            1.0
        } else {
            (room.as_secs_f64() / self.windows_left.as_secs_f64()).min(1.0)
        };
        for step in &mut turn.steps {
            if let Length::Window(window) = step.length {
                let shortened = window.mul_f64(self.shrink).max(SHORTEST_WINDOW.min(window));
                step.length = Length::Window(shortened);
                // The books are kept in planned time.
                step.expected = step.expected.saturating_sub(window) + shortened;
                self.windows_left = self.windows_left.saturating_sub(window) + shortened;
            }
        }
    }

    fn spent_on_overhead(&mut self, turn: &Turn) {
        self.spent(turn.overhead, Duration::ZERO);
    }

    fn spent_on(&mut self, step: &Step) {
        let window = window_of(step);
        self.spent(step.expected.saturating_sub(window), window);
    }

    /// What has passed since is in no plan: it does not count.
    fn unplanned(&mut self) {
        self.mark = Instant::now();
    }

    fn spent(&mut self, rest: Duration, window: Duration) {
        let now = Instant::now();
        let real = now.duration_since(std::mem::replace(&mut self.mark, now));
        self.rest_real += real.saturating_sub(window);
        self.rest_planned += rest;
        self.rest_left = self.rest_left.saturating_sub(rest);
        self.windows_left = self.windows_left.saturating_sub(window);
    }
}

fn window_of(step: &Step) -> Duration {
    match step.length {
        Length::Window(window) => window,
        Length::Fixed(_) | Length::Requests(_) => Duration::ZERO,
    }
}

/// The line before the start.
pub(crate) fn announcement(plan: &Plan, dir: &Path) -> String {
    let mut text = format!(
        "{} runs, about {}; results in {}",
        plan.steps(),
        span(plan.expected()),
        dir.display()
    );
    for note in &plan.notes {
        text.push_str("\nnote: ");
        text.push_str(note);
    }
    text
}

#[cfg(test)]
mod tests;
