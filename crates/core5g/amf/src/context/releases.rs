//! User planes that are to be taken down because their UEs have lost their connections: each SMF is
//! told, some at a time, again and again until it has taken it (TS 23.502, 4.2.6; TS 23.527, 5.3).
//!
//! A gNB that dies takes thousands of connections with it. Every UE becomes idle at once; what is to be
//! said to its SMFs stands in a [`WorkList`].

use super::work_list::{Pace, WorkList};
use crate::ports::Clock;
use corewire_core5g_ngap::AmfUeNgapId;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// 64 UEs at a time: an SMF serves them within milliseconds, and other UEs' calls find room beside
/// them.
const PACE: Pace = Pace {
    at_once: 64,
    first_wait: Duration::from_millis(100),
    longest_wait: Duration::from_secs(5),
};
/// The UEs whose SMFs are to be told.
pub(crate) struct Releases(Mutex<Inner>);

struct Inner {
    list: WorkList<AmfUeNgapId>,
    /// Grows with each change of the list.
    changes: u64,
    waiting: Option<Waker>,
}

impl Releases {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Inner {
            list: WorkList::new(PACE),
            changes: 0,
            waiting: None,
        }))
    }

    /// This UE's SMFs are to be told.
    pub(crate) fn push(&self, ue: AmfUeNgapId) {
        self.change(|list| list.push(ue));
    }

    /// UEs whose SMFs do not all know it yet.
    pub(crate) fn len(&self) -> usize {
        self.lock().list.len()
    }

    /// How often the list has changed: [`changed`](Self::changed) waits for the next time.
    pub(crate) fn changes(&self) -> u64 {
        self.lock().changes
    }

    /// The turn of a UE that is due, if another may be in progress.
    pub(crate) fn next_turn(self: &Arc<Self>, clock: &Arc<dyn Clock>) -> Option<Turn> {
        let ue = self.lock().list.poll(clock.now())?;
        Some(Turn {
            releases: Arc::clone(self),
            clock: Arc::clone(clock),
            ue,
            is_over: false,
        })
    }

    /// When to look again although the list has not changed.
    pub(crate) fn timeout(&self) -> Option<Instant> {
        self.lock().list.poll_timeout()
    }

    /// Completes when the list has changed since it had changed `seen` times, or when `timeout` does.
    ///
    /// # Cancel safety
    /// Safe: it only waits. One waits at a time.
    pub(crate) async fn changed(&self, seen: u64, timeout: impl Future<Output = ()>) {
        let mut timeout = pin!(timeout);
        poll_fn(|cx| {
            let mut inner = self.lock();
            if inner.changes != seen {
                return Poll::Ready(());
            }
            inner.waiting = Some(cx.waker().clone());
            drop(inner);
            timeout.as_mut().poll(cx)
        })
        .await
    }

    fn change(&self, change: impl FnOnce(&mut WorkList<AmfUeNgapId>)) {
        let mut inner = self.lock();
        change(&mut inner.list);
        inner.changes += 1;
        let waiting = inner.waiting.take();
        drop(inner);
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A UE's turn. Dropped without an outcome it counts as failed: the UE's task has not come to it.
pub(crate) struct Turn {
    releases: Arc<Releases>,
    clock: Arc<dyn Clock>,
    pub(crate) ue: AmfUeNgapId,
    is_over: bool,
}

impl Turn {
    /// Whether all SMFs of the UE have taken what they were told.
    pub(crate) fn end(mut self, is_done: bool) {
        self.settle(is_done);
    }

    fn settle(&mut self, is_done: bool) {
        self.is_over = true;
        let (ue, now) = (self.ue, self.clock.now());
        self.releases.change(|list| {
            if is_done {
                list.done(ue)
            } else {
                list.failed(now, ue)
            }
        });
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.is_over {
            self.settle(false);
        }
    }
}
