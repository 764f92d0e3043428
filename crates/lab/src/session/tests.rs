use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::*;
use crate::record::tests::example;
use crate::record::{Failure, Mode};

/// A scenario whose steps do what their payload says: 0 works, 1 fails, 2 asks to stop.
struct Scripted {
    stop: Stop,
    ran: Vec<u64>,
    /// What is probed, one after the other; the last for ever.
    probes: RefCell<Vec<f64>>,
}

impl Scenario for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn holes_are_failures(&self) -> bool {
        false
    }

    fn measures(&self) -> bool {
        false
    }

    fn probe(&self) -> Option<f64> {
        let mut probes = self.probes.borrow_mut();
        match probes.len() {
            0 => None,
            1 => Some(probes[0]),
            _ => Some(probes.remove(0)),
        }
    }

    fn plan(&self) -> Plan {
        Plan::default()
    }

    fn options(&self) -> Map<String, Value> {
        Map::new()
    }

    fn baseline(&mut self, _: &Stop) -> Result<Baseline, Failure> {
        Err(failure("no network"))
    }

    fn run(&mut self, step: &Step, _: &Stop) -> Outcome {
        let what = step.cell.payload_bytes;
        self.ran.push(what);
        let measured = || Box::new(example().measured.expect("complete"));
        match what {
            0 => Outcome::of(Ok(Figures::Complete(measured()))),
            1 => Outcome::failed(failure("it broke")),
            _ => {
                self.stop.ask();
                Outcome::of(Ok(Figures::Partial(measured())))
            }
        }
    }
}

fn failure(what: &str) -> Failure {
    Failure {
        what: what.into(),
        place: "here".into(),
        next: String::new(),
    }
}

fn step(payload: u64, repetition: u32) -> Step {
    Step {
        cell: Cell {
            scenario: "scripted".into(),
            subject: "A".into(),
            mode: Mode::NoRate,
            rate: None,
            payload_bytes: payload,
            clients: 1,
            connections: 1,
            settings: BTreeMap::new(),
        },
        repetition,
        length: Length::Window(Duration::from_secs(1)),
        expected: Duration::from_secs(2),
        hole: None,
    }
}

fn plan(turns: &[&[Step]]) -> Plan {
    Plan {
        turns: turns
            .iter()
            .map(|steps| Turn {
                title: String::new(),
                steps: steps.to_vec(),
                overhead: Duration::ZERO,
            })
            .collect(),
        budget: None,
        notes: Vec::new(),
        ..Plan::default()
    }
}

fn play(plan: Plan, dir: &Path) -> (Tally, Vec<u64>, Vec<String>) {
    play_on(&[], plan, dir, false)
}

/// On a machine where this is probed.
fn play_on(
    probes: &[f64],
    plan: Plan,
    dir: &Path,
    any_state: bool,
) -> (Tally, Vec<u64>, Vec<String>) {
    let stop = Stop::default();
    let mut scenario = Scripted {
        stop: stop.clone(),
        ran: Vec::new(),
        probes: RefCell::new(probes.to_vec()),
    };
    let mut progress = Progress::Silent(Vec::new());
    let tally =
        run(&mut scenario, plan, dir, &stop, &mut progress, any_state).expect("room on disk");
    let Progress::Silent(lines) = progress else {
        panic!("silent");
    };
    (tally, scenario.ran, lines)
}

#[test]
fn a_failed_run_is_a_line_and_a_record_and_the_series_goes_on() {
    let dir = tempfile::tempdir().expect("a directory");
    let (tally, ran, lines) = play(plan(&[&[step(0, 1), step(1, 1), step(0, 2)]]), dir.path());
    assert_eq!(ran, [0, 1, 0]);
    assert_eq!((tally.complete, tally.failed, tally.left_out), (2, 1, 0));
    // The baseline, and the failure.
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines[1].contains("it broke") && lines[1].contains("1 client"),
        "{lines:?}"
    );
    let records = results::read(dir.path()).expect("own output");
    let states: Vec<Status> = records.iter().map(|record| record.status).collect();
    assert_eq!(states, [Status::Complete, Status::Failed, Status::Complete]);
    assert_eq!(records[1].error.as_ref().expect("failed").what, "it broke");
    assert!(records[0].versions.contains_key("corewire"));
}

#[test]
fn a_stop_keeps_what_there_is_and_leaves_out_the_rest() {
    let dir = tempfile::tempdir().expect("a directory");
    let turns: [&[Step]; 2] = [&[step(0, 1), step(2, 1), step(0, 2)], &[step(0, 3)]];
    let (tally, ran, _) = play(plan(&turns), dir.path());
    assert_eq!(ran, [0, 2]);
    assert!(tally.stopped);
    assert_eq!((tally.complete, tally.left_out), (1, 3));
    let records = results::read(dir.path()).expect("own output");
    assert_eq!(records[1].status, Status::Partial);
}

#[test]
fn resuming_runs_what_is_not_complete_and_counts_on() {
    let dir = tempfile::tempdir().expect("a directory");
    let all = plan(&[&[step(0, 1), step(1, 1), step(0, 2)]]);
    play(all.clone(), dir.path());
    let mut rest = all;
    rest.skip(&done(&results::read(dir.path()).expect("own output")));
    assert_eq!(rest.steps(), 1);
    let (_, ran, _) = play(rest, dir.path());
    assert_eq!(ran, [1]);
    let records = results::read(dir.path()).expect("own output");
    // The failed one was done again and stands in for the first.
    assert_eq!(records.len(), 3);
    assert_eq!(records.iter().map(|record| record.sequence).max(), Some(4));
}

#[test]
fn a_hole_is_recorded_without_a_run_and_said_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let hole = |repetition| Step {
        hole: Some(failure("not built")),
        ..step(0, repetition)
    };
    let (tally, ran, lines) = play(plan(&[&[hole(1), hole(2)]]), dir.path());
    assert!(ran.is_empty());
    assert_eq!((tally.holes, tally.failed), (2, 0));
    assert_eq!(
        lines
            .iter()
            .filter(|line| line.contains("not built"))
            .count(),
        1
    );
    assert_eq!(results::read(dir.path()).expect("own output").len(), 2);
}

#[test]
fn windows_are_shortened_when_starting_takes_longer_than_planned() {
    let steps = vec![step(0, 1); 100];
    let mut plan = plan(&[&steps]);
    plan.budget = Some(Duration::from_secs(210));
    let mut pace = Pace::new(&plan);
    let mut turn = plan.turns[0].clone();
    pace.fit(&mut turn);
    assert_eq!(turn.steps[0].length, Length::Window(Duration::from_secs(1)));
    // Starting has cost thrice the plan: 90 s instead of 30 s, so 30 s + 90 s of ballast-weighted
    // time: the 100 s still planned become 200 s, and nothing is left for windows.
    pace.rest_planned = Duration::from_secs(30);
    pace.rest_real = Duration::from_secs(90);
    pace.fit(&mut turn);
    assert_eq!(turn.steps[0].length, Length::Window(SHORTEST_WINDOW));
    assert!(!pace.time_is_up());
}

const NEAR: f64 = 50.0;
const FAR: f64 = 400.0;
/// Two runs near and two far: from then on two states are known, and there is a look before each run and
/// before each turn.
const KNOWN: [f64; 8] = [NEAR, NEAR, NEAR, NEAR, FAR, FAR, FAR, FAR];

/// A turn of so many steps, named after it.
fn turn(name: u32, steps: std::ops::RangeInclusive<u32>) -> Vec<Step> {
    steps
        .map(|at| {
            let mut step = step(0, 1);
            step.cell.clients = name;
            step.cell.subject = format!("{name}.{at}");
            step
        })
        .collect()
}

/// The turns that [`KNOWN`] is probed in, and then these.
fn with_known(turns: &[Vec<Step>]) -> Plan {
    let mut all = vec![turn(1, 1..=2), turn(2, 1..=2)];
    all.extend_from_slice(turns);
    plan(&all.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

fn subjects(dir: &Path) -> Vec<String> {
    let records = results::read(dir).expect("own output");
    records.into_iter().map(|run| run.cell.subject).collect()
}

#[test]
fn a_run_during_which_the_state_changed_is_made_again_and_stands() {
    let dir = tempfile::tempdir().expect("a directory");
    // A look for the turn, one for its first run, and that run; then near for ever.
    let probes = [&KNOWN[..], &[NEAR, NEAR, NEAR, FAR, NEAR]].concat();
    let plan = with_known(&[turn(3, 1..=2)]);
    let (tally, ran, _) = play_on(&probes, plan, dir.path(), false);
    assert_eq!((tally.complete, tally.again, tally.left_out), (6, 1, 0));
    assert_eq!(ran.len(), 7);
    let records = results::read(dir.path()).expect("own output");
    assert_eq!(records.len(), 6);
    let again = records.iter().find(|run| run.cell.subject == "3.1");
    let line = again.and_then(|run| run.line_ns).expect("probed");
    assert_eq!((line.before, line.after), (NEAR, NEAR));
}

#[test]
fn a_turn_waits_for_its_state_while_another_is_run() {
    // Near for a turn and its first run, far for another turn and its two runs, then near for ever.
    let probes = [&KNOWN[..], &[NEAR; 4], &[FAR; 7], &[NEAR]].concat();
    let plan = with_known(&[turn(3, 1..=2), turn(4, 1..=2)]);
    let dir = tempfile::tempdir().expect("a directory");
    let (tally, ..) = play_on(&probes, plan.clone(), dir.path(), false);
    assert_eq!((tally.complete, tally.again, tally.left_out), (8, 0, 0));
    assert_eq!(subjects(dir.path())[4..], ["3.1", "4.1", "4.2", "3.2"]);

    let other = tempfile::tempdir().expect("a directory");
    let (tally, ..) = play_on(&probes, plan, other.path(), true);
    assert_eq!((tally.complete, tally.again), (8, 0));
    assert_eq!(subjects(other.path())[4..], ["3.1", "3.2", "4.1", "4.2"]);
}

#[test]
fn what_was_run_before_says_in_which_state_the_rest_is_run() {
    let dir = tempfile::tempdir().expect("a directory");
    let probes = [&KNOWN[..], &[FAR]].concat();
    play_on(&probes, with_known(&[turn(3, 1..=1)]), dir.path(), false);
    // The third turn was far; the machine is near for two looks at turns and a run, and then far.
    let rest = [turn(3, 2..=2), turn(4, 1..=1)];
    let rest = plan(&[&rest[0], &rest[1]]);
    play_on(
        &[NEAR, NEAR, NEAR, NEAR, NEAR, FAR],
        rest,
        dir.path(),
        false,
    );
    assert_eq!(subjects(dir.path())[5..], ["4.1", "3.2"]);
}
