//! Every order in which threads that share a connection can come: nobody sleeps in vain.

use super::{Leader, LeaderFollower};
use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
use loom::thread;
use std::time::Instant;

impl LoomThread {
    fn wake(&self) {
        self.0.unpark();
    }
}

#[derive(Clone)]
struct LoomThread(thread::Thread);

impl PartialEq for LoomThread {
    fn eq(&self, other: &Self) -> bool {
        self.0.id() == other.0.id()
    }
}

/// A connection as [`super::super`] drives it, and a peer that answers what it gets.
struct Shared {
    state: Mutex<State>,
    wire: Mutex<Vec<usize>>,
    came: Condvar,
    now: Instant,
    /// Answers that come with one read.
    at_once: usize,
}

struct State {
    turns: LeaderFollower<usize, LoomThread>,
    calls: usize,
    outbox: Vec<usize>,
    arrived: Vec<usize>,
}

impl Shared {
    fn unlock(mut state: MutexGuard<'_, State>) {
        state.turns.hand_over(false);
        let woken = state.turns.take_woken();
        drop(state);
        woken.iter().for_each(LoomThread::wake);
    }

    fn write(&self, state: &mut State) {
        self.wire.lock().unwrap().append(&mut state.outbox);
        self.came.notify_one();
    }

    fn read(&self) -> Vec<usize> {
        let mut wire = self.wire.lock().unwrap();
        while wire.is_empty() {
            wire = self.came.wait(wire).unwrap();
        }
        let count = wire.len().min(self.at_once);
        wire.drain(..count).collect()
    }

    fn call(&self) {
        let mut state = self.state.lock().unwrap();
        state.calls += 1;
        let call = state.calls;
        state.outbox.push(call);
        if !state.turns.is_coalescing(self.now) {
            self.write(&mut state);
        }
        loop {
            if let Some(place) = state.arrived.iter().position(|name| *name == call) {
                state.arrived.swap_remove(place);
                return Self::unlock(state);
            }
            if state.turns.leader() == Leader::None && !state.turns.is_coalescing(self.now) {
                self.write(&mut state);
                state.turns.begin_to_lead(false);
                Self::unlock(state);
                let answers = self.read();
                state = self.state.lock().unwrap();
                state.turns.end_to_lead();
                for answer in answers {
                    state.arrived.push(answer);
                    state.turns.wake(answer);
                }
                state.turns.delivered(self.now);
            } else {
                let me = LoomThread(thread::current());
                state.turns.sleep(Some(call), me.clone(), false);
                Self::unlock(state);
                thread::park();
                state = self.state.lock().unwrap();
                state.turns.arrive(&me);
            }
        }
    }
}

/// Loom reports a thread that sleeps for ever as a deadlock.
fn everybody_is_answered(calls: [usize; 3], at_once: usize) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                turns: LeaderFollower::new(),
                calls: 0,
                outbox: Vec::new(),
                arrived: Vec::new(),
            }),
            wire: Mutex::new(Vec::new()),
            came: Condvar::new(),
            now: Instant::now(),
            at_once,
        });
        let run = |count: usize| {
            let shared = Arc::clone(&shared);
            move || (0..count).for_each(|_| shared.call())
        };
        let others = [thread::spawn(run(calls[1])), thread::spawn(run(calls[2]))];
        run(calls[0])();
        for other in others {
            other.join().unwrap();
        }
        let state = shared.state.lock().unwrap();
        assert!(state.outbox.is_empty() && state.arrived.is_empty());
        assert_eq!(state.turns.leader(), Leader::None);
        assert!(state.turns.asleep() + state.turns.returning() == 0);
    });
}

#[test]
fn answers_that_come_one_by_one_wake_who_waits_for_them() {
    everybody_is_answered([1, 1, 1], 1);
}

#[test]
fn requests_that_are_left_to_the_next_leader_are_written() {
    everybody_is_answered([2, 2, 1], usize::MAX);
}
