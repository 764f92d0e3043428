use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::record::{Cell, Mode};
use crate::scenario::Length;

const NEAR: f64 = 50.0;
const FAR: f64 = 420.0;

fn step(name: &str) -> Step {
    Step {
        cell: Cell {
            scenario: "scripted".into(),
            subject: name.into(),
            mode: Mode::NoRate,
            rate: None,
            payload_bytes: 0,
            clients: 1,
            connections: 1,
            settings: BTreeMap::new(),
        },
        repetition: 1,
        length: Length::Window(Duration::from_secs(1)),
        expected: Duration::from_secs(1),
        hole: None,
    }
}

/// Turns of steps named `a1 a2 ...`, `b1 ...`.
fn order(turns: usize, steps: usize) -> Order {
    let name = |turn: usize, step| format!("{}{step}", (b'a' + turn as u8) as char);
    Order::of(
        (0..turns)
            .map(|turn| Turn {
                title: String::new(),
                steps: (1..=steps).map(|at| step(&name(turn, at))).collect(),
                overhead: Duration::ZERO,
            })
            .collect(),
    )
}

fn two_states() -> States {
    States::of([NEAR, NEAR, NEAR, NEAR, FAR, FAR, FAR, FAR])
}

/// Plays until the end; `machine` says what is probed at each look. Each run looks twice more. Gives the
/// names of what was run with the state at its beginning, and how often was waited.
fn play(
    order: &mut Order,
    states: &States,
    mut machine: impl FnMut() -> Option<f64>,
) -> (Vec<String>, usize) {
    let (mut ran, mut waited) = (Vec::new(), 0);
    loop {
        let next = match order.next(states, machine()) {
            Next::Wait if waited < 5 => {
                waited += 1;
                continue;
            }
            Next::Wait => Order::anyway(),
            next => next,
        };
        match next {
            Next::End => return (ran, waited),
            Next::Begin => {
                let turn = order.coming().expect("there is one");
                order.begin(OpenTurn::new(turn, None, Vec::new()));
            }
            Next::Run(at) => {
                let (due, _) = order.take(at).expect("it has a step");
                ran.push(due.step.cell.subject.clone());
                let line = machine().zip(machine());
                let line = line.map(|(before, after)| LineNs { before, after });
                order.done(at, due, line, true, states);
            }
            Next::Wait => unreachable!("handled above"),
        }
        assert!(ran.len() < 1_000, "it ends");
    }
}

#[test]
fn one_state_or_none_known_is_the_plans_order() {
    let planned = ["a1", "a2", "a3", "b1", "b2", "b3"];
    // Probes that jump as they like: where there is one state they say nothing.
    let mut probes = [NEAR, FAR, 90.0, 1e4].into_iter().cycle();
    let (ran, waited) = play(&mut order(2, 3), &States::default(), || probes.next());
    assert_eq!(
        (ran.as_slice(), waited),
        (planned.map(String::from).as_slice(), 0)
    );
    let (ran, waited) = play(&mut order(2, 3), &two_states(), || None);
    assert_eq!(
        (ran.as_slice(), waited),
        (planned.map(String::from).as_slice(), 0)
    );
    let (ran, waited) = play(&mut order(2, 3), &two_states(), || Some(FAR));
    assert_eq!(
        (ran.as_slice(), waited),
        (planned.map(String::from).as_slice(), 0)
    );
}

#[test]
fn a_turn_is_put_aside_while_the_state_is_another() {
    // A look to begin, then three a run: begin, a1, then far for b, then near again.
    let mut looks = 0;
    let (ran, waited) = play(&mut order(2, 2), &two_states(), || {
        looks += 1;
        Some(if looks <= 4 || looks > 12 { NEAR } else { FAR })
    });
    assert_eq!(ran, ["a1", "b1", "b2", "a2"]);
    assert_eq!(waited, 1);
}

#[test]
fn a_state_that_never_comes_back_is_not_waited_for_without_end() {
    let mut looks = 0;
    let (ran, waited) = play(&mut order(1, 3), &two_states(), || {
        looks += 1;
        Some(if looks <= 4 { NEAR } else { FAR })
    });
    // a2 is run in the other state, and again as often as allowed; then most of the turn is far.
    assert_eq!(ran[0], "a1");
    assert_eq!(
        ran.iter().filter(|name| *name == "a2").count(),
        1 + AGAIN as usize
    );
    assert_eq!(ran.last().map(String::as_str), Some("a3"));
    assert_eq!(waited, 5);
}

#[test]
fn a_run_that_met_a_change_is_made_again() {
    let mut looks = 0;
    let (ran, _) = play(&mut order(1, 2), &two_states(), || {
        looks += 1;
        // The fourth look is the one after the first run.
        Some(if looks == 4 { FAR } else { NEAR })
    });
    assert_eq!(ran, ["a1", "a1", "a2"]);
}

#[test]
fn a_resumed_turn_keeps_its_state() {
    let mut order = order(2, 1);
    let far = LineNs {
        before: FAR,
        after: FAR,
    };
    let turn = order.coming().expect("two");
    order.begin(OpenTurn::new(turn, None, vec![far]));
    assert_eq!(order.next(&two_states(), Some(NEAR)), Next::Begin);
    assert_eq!(order.next(&two_states(), Some(FAR)), Next::Run(0));
}

#[test]
fn what_is_given_up_is_counted_once() {
    let mut order = order(3, 2);
    let turn = order.coming().expect("three");
    order.begin(OpenTurn::new(turn, None, Vec::new()));
    let (due, _) = order.take(0).expect("two steps");
    let changed = LineNs {
        before: NEAR,
        after: FAR,
    };
    assert!(order.done(0, due, Some(changed), true, &two_states()));
    // One step of the first turn was run, if to be run again; two turns were not begun.
    assert_eq!(order.drop_all(), 1 + 4);
    assert_eq!(order.next(&two_states(), Some(NEAR)), Next::End);
}
