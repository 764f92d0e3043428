//! A place that is either data or a task: the context is parked while nothing happens, and an event
//! begins a task with it.
//!
//! ```text
//!   deliver(event) ─▶ parked?  ── yes ─▶ Begin(context, event): the caller starts a task
//!                        └──── no ──▶ mailbox ─▶ the task that runs takes it by `next`
//! ```

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// Events that may wait; what is beyond is dropped: a UE that floods harms itself only.
const CAPACITY: usize = 64;

/// An event that may wait in a [`Mailbox`].
pub(crate) trait Mail {
    /// Whether it is taken however much waits.
    fn must_arrive(&self) -> bool;
}

/// A context `C` while nothing happens, events `E` for its task while something does.
pub(crate) struct Mailbox<C, E>(Mutex<Inner<C, E>>);

struct Inner<C, E> {
    stage: Stage<C>,
    events: VecDeque<E>,
    waker: Option<Waker>,
}

enum Stage<C> {
    Parked(C),
    Running,
    Closed,
}

/// What became of an event.
pub(crate) enum Delivered<C, E> {
    /// The task that runs takes it.
    Queued,
    /// No task runs: one is to begin with these.
    Begin(C, E),
    /// The mailbox is closed or full.
    Dropped,
}

impl<C, E: Mail> Mailbox<C, E> {
    /// A mailbox whose task runs, or is about to.
    pub(crate) fn running() -> Self {
        Self(Mutex::new(Inner {
            stage: Stage::Running,
            events: VecDeque::new(),
            waker: None,
        }))
    }

    /// Takes an event for the task that runs, or for one that is to begin.
    pub(crate) fn deliver(&self, event: E) -> Delivered<C, E> {
        let mut inner = self.lock();
        match std::mem::replace(&mut inner.stage, Stage::Running) {
            Stage::Parked(context) => Delivered::Begin(context, event),
            Stage::Closed => {
                inner.stage = Stage::Closed;
                Delivered::Dropped
            }
            Stage::Running => {
                if inner.events.len() >= CAPACITY && !event.must_arrive() {
                    return Delivered::Dropped;
                }
                inner.events.push_back(event);
                let waker = inner.waker.take();
                drop(inner);
                if let Some(waker) = waker {
                    waker.wake();
                }
                Delivered::Queued
            }
        }
    }

    /// The task has nothing to do: parks the context. Gives it back with the event that came meanwhile.
    pub(crate) fn park(&self, context: C) -> Option<(C, E)> {
        let mut inner = self.lock();
        if let Some(event) = inner.events.pop_front() {
            return Some((context, event));
        }
        // Most contexts are parked most of the time: what only a task needs is not kept for them.
        inner.events = VecDeque::new();
        inner.waker = None;
        inner.stage = Stage::Parked(context);
        None
    }

    /// Takes nothing more; gives what was taken and will not be served.
    pub(crate) fn close(&self) -> VecDeque<E> {
        let mut inner = self.lock();
        inner.stage = Stage::Closed;
        std::mem::take(&mut inner.events)
    }

    /// The event that has waited longest, if any waits.
    pub(crate) fn try_next(&self) -> Option<E> {
        self.lock().events.pop_front()
    }

    /// The next event; `None` when there is none before `timeout` completes.
    ///
    /// # Cancel safety
    /// Safe: an event that was not given stays in the mailbox.
    pub(crate) async fn next(&self, timeout: impl Future<Output = ()>) -> Option<E> {
        let mut timeout = pin!(timeout);
        poll_fn(|cx| {
            let mut inner = self.lock();
            if let Some(event) = inner.events.pop_front() {
                return Poll::Ready(Some(event));
            }
            inner.waker = Some(cx.waker().clone());
            drop(inner);
            timeout.as_mut().poll(cx).map(|()| None)
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, Inner<C, E>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewire_core5g_sbi::asking::now;

    impl Mail for u32 {
        fn must_arrive(&self) -> bool {
            *self >= 1000
        }
    }

    #[test]
    fn an_event_for_a_parked_context_begins_its_task_and_later_ones_wait_for_it() {
        let mailbox = Mailbox::running();
        assert_eq!(mailbox.park("context"), None);
        let begun = mailbox.deliver(1);
        assert!(matches!(begun, Delivered::Begin("context", 1)));
        assert!(matches!(mailbox.deliver(2), Delivered::Queued));
        assert_eq!(now(mailbox.next(std::future::pending())), Some(2));
        assert!(matches!(mailbox.deliver(3), Delivered::Queued));
        assert_eq!(mailbox.park("context"), Some(("context", 3)));
        assert_eq!(now(mailbox.next(async {})), None);
    }

    #[test]
    fn a_full_mailbox_drops_what_need_not_arrive() {
        let mailbox = Mailbox::<(), _>::running();
        for event in 0..CAPACITY as u32 {
            assert!(matches!(mailbox.deliver(event), Delivered::Queued));
        }
        assert!(matches!(mailbox.deliver(100), Delivered::Dropped));
        assert!(matches!(mailbox.deliver(1000), Delivered::Queued));
        assert_eq!(mailbox.close().len(), CAPACITY + 1);
        assert!(matches!(mailbox.deliver(1000), Delivered::Dropped));
    }
}
