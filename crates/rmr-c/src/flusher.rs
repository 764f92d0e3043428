//! The thread that writes what was gathered when its sender does not come again.
//!
//! It sleeps while nothing waits anywhere. While a stream gathers and writes by itself, it looks
//! less and less often.

use corewire_driver::clock;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long what was gathered waits at least for its sender to come again.
const LINGER: Duration = Duration::from_micros(30);
/// While senders are at work, the longest time between two looks.
const LONGEST: Duration = Duration::from_micros(250);
/// The same for a peer that does not read: its sender notices room by itself.
const BLOCKED: Duration = Duration::from_millis(1);
/// How often connections are looked after that nobody uses.
const TICK: Duration = Duration::from_millis(100);
/// The same while what they bring is dropped.
const SOON: Duration = Duration::from_millis(2);
/// Something at which messages gather.
pub(crate) trait Gathering {
    /// Writes what waits, if its sender does not; what was gathered within `linger` is its sender's.
    fn maintain(self: &Arc<Self>, linger: Duration) -> Maintained;
}

/// What maintaining came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Maintained {
    /// Nothing waits: forget about it.
    Idle,
    /// What waits is young: its sender is at work.
    Young,
    /// What waited is written.
    Written,
    /// The peer does not read.
    Blocked,
}

/// How links ask to be maintained.
pub(crate) struct Flusher<L> {
    state: Mutex<State<L>>,
    wake: Condvar,
}

struct State<L> {
    armed: Vec<Arc<L>>,
    asleep: bool,
    closing: bool,
}

impl<L> Default for Flusher<L> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                armed: Vec::new(),
                asleep: false,
                closing: false,
            }),
            wake: Condvar::new(),
        }
    }
}

impl<L: Gathering> Flusher<L> {
    /// Something waits at this link.
    pub(crate) fn arm(&self, link: Arc<L>) {
        let mut state = self.state();
        state.armed.push(link);
        if state.asleep {
            state.asleep = false;
            self.wake.notify_one();
        }
    }

    /// Ends [`run`](Self::run).
    pub(crate) fn close(&self) {
        self.state().closing = true;
        self.wake.notify_one();
    }

    /// The thread's body. Calls `tick` now and then; soon again when that says so.
    pub(crate) fn run(&self, tick: impl Fn() -> bool) {
        corewire_sys::sleep_exactly_from_now_on();
        let mut links: Vec<Arc<L>> = Vec::new();
        let mut pause = LINGER;
        let mut ticked = clock();
        let mut due = TICK;
        while self.next(&mut links, pause, due) {
            if ticked.elapsed() >= due {
                due = if tick() { SOON } else { TICK };
                ticked = clock();
            }
            let mut longest = LONGEST;
            let mut written = false;
            links.retain(|link| match link.maintain(LINGER) {
                Maintained::Idle => false,
                Maintained::Young => true,
                Maintained::Written => {
                    written = true;
                    true
                }
                Maintained::Blocked => {
                    longest = BLOCKED;
                    true
                }
            });
            pause = if written {
                LINGER
            } else {
                (pause * 2).min(longest)
            };
            if links.is_empty() {
                pause = LINGER;
            }
        }
    }

    /// Waits until there is something to look at; `false` when it is over.
    fn next(&self, links: &mut Vec<Arc<L>>, pause: Duration, due: Duration) -> bool {
        let mut state = self.state();
        if links.is_empty() {
            if state.armed.is_empty() && !state.closing {
                state.asleep = true;
                let waited = self.wake.wait_timeout(state, due);
                (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
                state.asleep = false;
            }
            if state.armed.is_empty() {
                return !state.closing;
            }
        }
        if state.closing {
            return false;
        }
        let waited = self.wake.wait_timeout(state, pause);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        links.append(&mut state.armed);
        !state.closing
    }

    fn state(&self) -> MutexGuard<'_, State<L>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
