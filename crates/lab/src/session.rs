//! One session of a scenario: every step in its order, every outcome on disk at once.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use crate::clock::{rfc3339, span};
use crate::machine;
use crate::progress::Progress;
use crate::quiet::Turnstile;
use crate::record::{Baseline, Cell, Failure, Host, Record, SCHEMA, Status};
use crate::results::{self, Appender};
use crate::scenario::{Figures, Length, Outcome, Plan, Scenario, Step, Turn};
use crate::stop::Stop;

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
}

/// Runs what `dir` does not hold yet.
///
/// # Errors
/// When results cannot be written or read. What goes wrong within a step is a failed record.
pub(crate) fn run(
    scenario: &mut dyn Scenario,
    plan: Plan,
    dir: &Path,
    stop: &Stop,
    progress: &mut Progress,
) -> anyhow::Result<Tally> {
    let appender = Appender::open(dir)?;
    let sequence = results::read(dir)?
        .iter()
        .map(|record| record.sequence)
        .max()
        .unwrap_or(0);
    let mut session = Session {
        scenario,
        appender,
        host: machine::host(),
        stop,
        progress,
        sequence,
        tally: Tally::default(),
        warned_of_baseline: false,
        holes_shown: BTreeSet::new(),
    };
    session.run(plan)?;
    Ok(session.tally)
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
}

impl Session<'_> {
    fn run(&mut self, plan: Plan) -> anyhow::Result<()> {
        let mut pace = Pace::new(&plan);
        self.progress.begin(plan.steps());
        for mut turn in plan.turns {
            if self.stop.asked() || pace.time_is_up() {
                self.tally.left_out += turn.steps.len();
                continue;
            }
            pace.fit(&mut turn);
            self.turn(&turn, &mut pace)?;
        }
        self.tally.stopped = self.stop.asked();
        self.progress.end();
        Ok(())
    }

    fn turn(&mut self, turn: &Turn, pace: &mut Pace) -> anyhow::Result<()> {
        self.progress.turn(&turn.title, pace.left());
        let baseline = self.baseline();
        pace.spent_on_overhead(turn);
        for step in &turn.steps {
            if self.stop.asked() {
                self.tally.left_out += 1;
                continue;
            }
            self.progress.step(&step.cell, pace.left());
            self.step(step, baseline)?;
            pace.spent_on(step);
            self.progress.step_done();
        }
        Ok(())
    }

    /// Runs a step while no other lab measures on this machine.
    fn run_alone(&mut self, step: &Step) -> Outcome {
        let turn = match self.scenario.measures() {
            true => Turnstile::pass(OTHERS, self.stop),
            false => Ok(None),
        };
        match turn {
            Ok(_turn) => self.scenario.run(step, self.stop),
            Err(what) => Outcome::failed(Failure {
                what,
                place: "before a run".to_owned(),
                next: "wait for it; then --resume runs what is left".to_owned(),
            }),
        }
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

    fn step(&mut self, step: &Step, baseline: Option<Baseline>) -> anyhow::Result<()> {
        let started_at = rfc3339(SystemTime::now());
        let outcome = match &step.hole {
            Some(hole) => Outcome::failed(hole.clone()),
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
                self.tally.left_out += 1;
                return Ok(());
            }
            Err(failure) => (Status::Failed, None, Some(failure)),
        };
        match status {
            Status::Complete => self.tally.complete += 1,
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
        let mut all_versions = versions;
        all_versions.insert("corewire".into(), crate::VERSION.into());
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
            extra,
            options,
            versions: all_versions,
            host: self.host.clone(),
        })
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
