//! Who wakes whom, step by step.

use super::*;
use std::cell::RefCell;
use std::rc::Rc;

const NOBODY: [u32; 0] = [];

/// A thread that notes that it was woken.
#[derive(Clone)]
struct Named(u32, Rc<RefCell<Vec<u32>>>);

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Named {
    fn wake(&self) {
        self.1.borrow_mut().push(self.0);
    }
}

struct Scene {
    turns: LeaderFollower<u32, Named>,
    woken: Rc<RefCell<Vec<u32>>>,
    now: Instant,
}

impl Scene {
    fn new() -> Self {
        Self {
            turns: LeaderFollower::new(),
            woken: Rc::default(),
            now: Instant::now(),
        }
    }

    fn thread(&self, name: u32) -> Named {
        Named(name, Rc::clone(&self.woken))
    }

    fn sleep(&mut self, name: u32) {
        let thread = self.thread(name);
        self.turns.sleep(Some(name), thread, false);
    }

    fn arrive(&mut self, name: u32) {
        let thread = self.thread(name);
        self.turns.arrive(&thread);
    }

    /// Lets go of the lock; gives who was woken.
    fn unlock(&mut self) -> Vec<u32> {
        self.turns.hand_over(false);
        self.turns.take_woken().iter().for_each(Named::wake);
        self.woken.take()
    }

    /// This leader reads the ends of these calls.
    fn reads(&mut self, ended: &[u32]) {
        self.turns.end_to_lead();
        ended.iter().for_each(|call| self.turns.wake(*call));
        self.turns.delivered(self.now);
    }
}

#[test]
fn answers_that_come_together_combine_the_next_requests() {
    let mut scene = Scene::new();
    scene.turns.begin_to_lead(false);
    (1..=4).for_each(|name| scene.sleep(name));
    scene.reads(&[1, 2, 3]);
    // 4 still waits, and is not needed yet.
    assert_eq!(scene.unlock(), [1, 2, 3]);
    for name in 1..=2 {
        scene.arrive(name);
        assert_eq!(scene.unlock(), NOBODY, "{name} took its answer");
        assert!(scene.turns.is_coalescing(scene.now), "{name} calls again");
        scene.sleep(name);
        assert_eq!(scene.unlock(), NOBODY);
    }
    // The last one hands over, to who has waited longest.
    scene.arrive(3);
    assert_eq!(scene.unlock(), [4]);
    assert!(
        scene.turns.is_coalescing(scene.now),
        "3 calls before 4 came"
    );
    scene.sleep(3);
    assert_eq!(scene.unlock(), NOBODY);
    scene.arrive(4);
    assert!(!scene.turns.is_coalescing(scene.now), "4 writes and reads");
}

#[test]
fn who_is_alone_or_in_small_company_writes_at_once() {
    let mut scene = Scene::new();
    assert!(!scene.turns.is_coalescing(scene.now));
    scene.turns.begin_to_lead(false);
    scene.sleep(1);
    scene.sleep(2);
    scene.reads(&[1]);
    // 2 is to lead: this thread may have its own answer and not come again.
    assert_eq!(scene.unlock(), [1, 2]);
    assert!(!scene.turns.is_coalescing(scene.now));
    // It is not done again each time that somebody lets go of the lock.
    scene.arrive(1);
    assert_eq!(scene.unlock(), NOBODY);
}

#[test]
fn who_comes_late_is_not_waited_for() {
    let mut scene = Scene::new();
    scene.turns.begin_to_lead(false);
    (1..=3).for_each(|name| scene.sleep(name));
    scene.reads(&[1, 2]);
    assert_eq!(scene.unlock(), [1, 2]);
    let late = scene.now + WAIT_AT_MOST;
    assert!(scene.turns.is_coalescing(scene.now) && !scene.turns.is_coalescing(late));
    // Who called leads. When they come, nothing is to be done.
    scene.turns.begin_to_lead(false);
    for name in 1..=2 {
        scene.arrive(name);
        assert_eq!(scene.unlock(), NOBODY);
    }
    scene.reads(&[]);
    assert_eq!(scene.unlock(), [3]);
}

#[test]
fn octets_that_wait_find_a_writer_when_the_leader_does_not_see_them() {
    let mut scene = Scene::new();
    scene.turns.begin_to_lead(false);
    scene.sleep(1);
    scene.turns.hand_over(true);
    scene.turns.hand_over(true);
    assert_eq!(scene.turns.take_woken().len(), 1);
    scene.arrive(1);
    let writer = scene.thread(1);
    scene.turns.sleep(Some(1), writer, true);
    assert!(scene.turns.has_writer());
    scene.sleep(2);
    scene.turns.hand_over(true);
    assert!(scene.turns.take_woken().is_empty());
}

#[test]
fn everybody_is_woken_once() {
    let mut scene = Scene::new();
    (1..=3).for_each(|name| scene.sleep(name));
    scene.turns.wake(2);
    scene.turns.wake_all();
    scene.turns.wake_all();
    assert_eq!(scene.unlock(), [2, 1, 3]);
    (1..=3).for_each(|name| scene.arrive(name));
    assert!(scene.turns.asleep() + scene.turns.returning() == 0);
    assert_eq!((scene.turns.returning, scene.turns.successors), (0, 0));
}
