//! Work that falls due for many UEs at the same moment: paced, repeated, done to the end.
//!
//! ```text
//!   push ─▶ due ─▶ poll ─▶ in progress (at_once at most) ── done ─▶ gone
//!            ▲                     │ failed
//!            └── after a wait ─────┘  (doubled each time, up to a longest one)
//! ```
//!
//! How many are in progress adapts to the peer: a failure halves it, each item that is done adds one.
//!
//! A sans-IO core: time is an argument. An item is known by its key and stands in the list once, so
//! the list is never longer than there are keys.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::Hash;
use std::time::{Duration, Instant};

/// How a list is paced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Items in progress at a time, at most.
    pub(crate) at_once: usize,
    /// The wait after the first failure of an item.
    pub(crate) first_wait: Duration,
    /// The longest wait between two attempts.
    pub(crate) longest_wait: Duration,
}

/// Items to be worked on, by key.
#[derive(Debug)]
pub(crate) struct WorkList<K> {
    pace: Pace,
    items: HashMap<K, Item>,
    due: VecDeque<K>,
    later: BTreeSet<(Instant, K)>,
    in_progress: usize,
    /// Items that may be in progress now: 1 to `at_once`.
    window: usize,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    state: State,
    /// Failures in a row.
    failures: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Due,
    InProgress,
    /// In progress, and pushed again meanwhile: it is due once more when it is done.
    InProgressAndDue,
    Later,
}

impl<K: Copy + Eq + Hash + Ord> WorkList<K> {
    pub(crate) fn new(pace: Pace) -> Self {
        Self {
            pace,
            items: HashMap::new(),
            due: VecDeque::new(),
            later: BTreeSet::new(),
            in_progress: 0,
            window: pace.at_once,
        }
    }

    /// Puts an item into the list. One that waits for its next attempt keeps its time.
    pub(crate) fn push(&mut self, key: K) {
        match self.items.get_mut(&key) {
            None => {
                let item = Item {
                    state: State::Due,
                    failures: 0,
                };
                self.items.insert(key, item);
                self.due.push_back(key);
            }
            Some(item) if item.state == State::InProgress => item.state = State::InProgressAndDue,
            Some(_) => {}
        }
    }

    /// The next item to work on, when one is due and fewer than the limit are in progress. Each must
    /// be followed by [`done`](Self::done) or [`failed`](Self::failed).
    pub(crate) fn poll(&mut self, now: Instant) -> Option<K> {
        while let Some((at, key)) = self.later.first().copied()
            && at <= now
        {
            self.later.remove(&(at, key));
            self.due.push_back(key);
        }
        if self.in_progress >= self.window {
            return None;
        }
        let key = self.due.pop_front()?;
        let item = self.items.get_mut(&key)?;
        item.state = State::InProgress;
        self.in_progress += 1;
        Some(key)
    }

    /// The item is done.
    pub(crate) fn done(&mut self, key: K) {
        let Some(item) = self.items.get_mut(&key) else {
            return;
        };
        match item.state {
            State::InProgress => {
                self.items.remove(&key);
            }
            State::InProgressAndDue => {
                *item = Item {
                    state: State::Due,
                    failures: 0,
                };
                self.due.push_back(key);
            }
            State::Due | State::Later => return,
        }
        self.in_progress -= 1;
        self.window = (self.window + 1).min(self.pace.at_once);
    }

    /// The item is to be tried again, later.
    pub(crate) fn failed(&mut self, now: Instant, key: K) {
        let Some(item) = self.items.get_mut(&key) else {
            return;
        };
        if matches!(item.state, State::Due | State::Later) {
            return;
        }
        let doubled = 1_u32.checked_shl(item.failures).unwrap_or(u32::MAX);
        let wait = self.pace.first_wait.saturating_mul(doubled);
        item.state = State::Later;
        item.failures = item.failures.saturating_add(1).min(31);
        self.later
            .insert((now + wait.min(self.pace.longest_wait), key));
        self.in_progress -= 1;
        self.window = (self.window / 2).max(1);
    }

    /// When to poll again although nothing was pushed, done or failed.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.later.first().map(|(at, _)| *at)
    }

    /// Items that are not done.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace {
        at_once: 64,
        first_wait: Duration::from_millis(100),
        longest_wait: Duration::from_secs(5),
    };

    #[test]
    fn works_on_as_many_at_once_as_allowed() {
        let now = Instant::now();
        let mut list = WorkList::new(Pace { at_once: 2, ..PACE });
        (0..3).for_each(|key| list.push(key));
        assert_eq!((list.poll(now), list.poll(now)), (Some(0), Some(1)));
        assert_eq!(list.poll(now), None);
        list.done(0);
        assert_eq!((list.poll(now), list.len()), (Some(2), 2));
    }

    #[test]
    fn waits_twice_as_long_after_each_failure_up_to_the_longest_wait() {
        let mut now = Instant::now();
        let mut list = WorkList::new(PACE);
        list.push(7);
        for expected in [100, 200, 400, 800, 1600, 3200, 5000, 5000] {
            assert_eq!(list.poll(now), Some(7));
            list.failed(now, 7);
            let next = list.poll_timeout().expect("another attempt");
            assert_eq!(next - now, Duration::from_millis(expected));
            assert_eq!(list.poll(next - Duration::from_millis(1)), None);
            now = next;
        }
        assert_eq!(list.poll(now), Some(7));
        list.done(7);
        assert_eq!((list.len(), list.poll_timeout()), (0, None));
    }

    #[test]
    fn an_item_pushed_twice_is_worked_on_once_and_again_when_pushed_in_progress() {
        let now = Instant::now();
        let mut list = WorkList::new(PACE);
        list.push(1);
        list.push(1);
        assert_eq!((list.poll(now), list.poll(now)), (Some(1), None));
        list.push(1);
        assert_eq!(list.poll(now), None);
        list.done(1);
        assert_eq!(list.poll(now), Some(1));
        list.done(1);
        list.done(1);
        assert_eq!((list.poll(now), list.len()), (None, 0));
    }

    /// 4,500 UEs lose their gNB; the SMF takes 40 calls at a time, 5 ms each, and is away for the
    /// first 2 s.
    #[test]
    fn every_item_is_done_although_the_peer_refuses_most_attempts() {
        let began = Instant::now();
        let (mut now, back) = (began, began + Duration::from_secs(2));
        let mut list = WorkList::new(PACE);
        (0..4500).for_each(|key| list.push(key));
        let mut calls: VecDeque<(Instant, u32)> = VecDeque::new();
        let (mut refused, mut done) = (0, 0);
        while list.len() > 0 {
            assert!(now < began + Duration::from_secs(60), "{} left", list.len());
            while let Some((at, key)) = calls.front().copied()
                && at <= now
            {
                calls.pop_front();
                list.done(key);
                done += 1;
            }
            while let Some(key) = list.poll(now) {
                assert!(calls.len() <= PACE.at_once);
                if now < back || calls.len() >= 40 {
                    list.failed(now, key);
                    refused += 1;
                } else {
                    calls.push_back((now + Duration::from_millis(5), key));
                }
            }
            let next_end = calls.front().map(|(at, _)| *at);
            now = match (next_end, list.poll_timeout()) {
                (Some(one), Some(two)) => one.min(two).max(now + Duration::from_micros(100)),
                (one, two) => one.or(two).unwrap_or(now),
            };
        }
        assert_eq!(done, 4500);
        assert!(
            refused > 4500,
            "every UE was refused while the SMF was away"
        );
    }
}
