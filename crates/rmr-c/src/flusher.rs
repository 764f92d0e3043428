//! The thread that writes what was gathered when its sender does not come again.
//!
//! It sleeps while nothing waits anywhere. While a stream gathers and writes by itself, it looks
//! less and less often.

use crate::link::{Link, Tended};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

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
/// Lets the kernel wake the thread when it is asked to, not up to 50 us later.
const TIMER_SLACK_NANOS: libc::c_ulong = 1000;

/// How links ask to be looked after.
#[derive(Default)]
pub(crate) struct Flusher {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    armed: Vec<Arc<Link>>,
    asleep: bool,
    closing: bool,
}

impl Flusher {
    /// Something waits at this link.
    pub(crate) fn arm(&self, link: Arc<Link>) {
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
        // SAFETY: this option of prctl takes a number and touches no memory.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, TIMER_SLACK_NANOS) };
        let mut links: Vec<Arc<Link>> = Vec::new();
        let mut pause = LINGER;
        let mut ticked = Instant::now();
        let mut due = TICK;
        while self.next(&mut links, pause, due) {
            if ticked.elapsed() >= due {
                due = if tick() { SOON } else { TICK };
                ticked = Instant::now();
            }
            let mut longest = LONGEST;
            let mut written = false;
            links.retain(|link| match link.tend(LINGER) {
                Tended::Idle => false,
                Tended::Young => true,
                Tended::Written => {
                    written = true;
                    true
                }
                Tended::Blocked => {
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
    fn next(&self, links: &mut Vec<Arc<Link>>, pause: Duration, due: Duration) -> bool {
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
