//! User planes that are to be taken down because their UEs have lost their connections: each SMF is
//! told, some at a time, again and again until it has taken it (TS 23.502, 4.2.6; TS 23.527, 5.3).
//!
//! A gNB that dies takes thousands of connections with it. Every UE becomes idle at once; what is to be
//! said to its SMFs stands in a [`WorkList`].

use super::Amf;
use super::ue::Event;
use super::ues::Delivery;
use super::work_list::{Pace, WorkList};
use crate::ngap::AmfUeNgapId;
use std::future::{Future as _, poll_fn};
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
/// How long nothing is looked at while nothing is due.
const LOOK: Duration = Duration::from_secs(60);

/// The UEs whose SMFs are to be told.
pub(super) struct Releases(Mutex<Inner>);

struct Inner {
    list: WorkList<AmfUeNgapId>,
    /// Grows with each change of the list.
    changes: u64,
    waiting: Option<Waker>,
}

impl Releases {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Inner {
            list: WorkList::new(PACE),
            changes: 0,
            waiting: None,
        }))
    }

    /// This UE's SMFs are to be told.
    pub(super) fn push(&self, ue: AmfUeNgapId) {
        self.change(|list| list.push(ue));
    }

    /// UEs whose SMFs do not all know it yet.
    fn len(&self) -> usize {
        self.lock().list.len()
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
pub(super) struct Turn {
    amf: Arc<Amf>,
    ue: AmfUeNgapId,
    is_over: bool,
}

impl Turn {
    /// Whether all SMFs of the UE have taken what they were told.
    pub(super) fn end(mut self, is_done: bool) {
        self.settle(is_done);
    }

    fn settle(&mut self, is_done: bool) {
        self.is_over = true;
        let ue = self.ue;
        self.amf.releases.change(|list| match is_done {
            true => list.done(ue),
            false => list.failed(Instant::now(), ue),
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

/// Gives UEs their turns until the process ends.
pub(super) fn work(amf: &Arc<Amf>) {
    let task = Arc::clone(amf);
    let gauge = amf.runtime.gauge("releases-waiting");
    amf.runtime.spawn(0, async move {
        let event_loop = &task.runtime.loops()[0];
        while !event_loop.has_ended() {
            let seen = task.releases.lock().changes;
            let now = Instant::now();
            loop {
                // The lock is not held while the UE is reached: it may end its turn at once.
                let next = task.releases.lock().list.poll(now);
                let Some(ue) = next else { break };
                give(&task, ue);
            }
            gauge.set(task.releases.len() as u64);
            let until = task.releases.lock().list.poll_timeout();
            let mut sleep = pin!(event_loop.sleep_until(until.unwrap_or(now + LOOK)));
            poll_fn(|cx| {
                let mut inner = task.releases.lock();
                if inner.changes != seen {
                    return Poll::Ready(());
                }
                inner.waiting = Some(cx.waker().clone());
                drop(inner);
                sleep.as_mut().poll(cx)
            })
            .await;
        }
    });
}

fn give(amf: &Arc<Amf>, ue: AmfUeNgapId) {
    let turn = Turn {
        amf: Arc::clone(amf),
        ue,
        is_over: false,
    };
    match amf.ues.by_id(ue) {
        Some(slot) => {
            if slot.deliver(Event::TakeDown(turn)) == Delivery::Dropped {
                tracing::debug!(name: "ue-gone", "a UE went before its SMFs were told that it is idle");
            }
        }
        // Deregistered meanwhile: its sessions are released.
        None => turn.end(true),
    }
}
