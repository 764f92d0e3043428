//! How threads find each other: the keeper is rung, calls that wait are woken.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// Rings the keeper.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    raised: AtomicBool,
    stopped: AtomicBool,
    lock: Mutex<()>,
    bell: Condvar,
}

impl Signal {
    /// Something changed. Cheap when it was rung already.
    pub(crate) fn raise(&self) {
        if !self.raised.swap(true, Ordering::AcqRel) {
            self.ring();
        }
    }

    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.ring();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    fn ring(&self) {
        // Under the lock: whoever is about to wait has looked before or is waiting.
        let _lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.bell.notify_all();
    }

    /// Waits until it is rung, or until then.
    pub(crate) fn wait(&self, until: Option<Instant>, clock: impl Fn() -> Instant) {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.raised.swap(false, Ordering::AcqRel) && !self.is_stopped() {
            lock = match until {
                None => self.bell.wait(lock).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.saturating_duration_since(clock());
                    if left.is_zero() {
                        return;
                    }
                    let waited = self.bell.wait_timeout(lock, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

/// Calls that wait for a connection or for what the control plane has not said yet. They are few
/// and short, so that all of them are woken and look for themselves.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    generation: AtomicU64,
    wakers: Mutex<Vec<Waker>>,
    bell: Condvar,
}

impl Waiters {
    /// To be read before one looks, and given to the wait.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(crate) fn wake_all(&self) {
        let wakers = {
            let mut wakers = self.wakers.lock().unwrap_or_else(PoisonError::into_inner);
            self.generation.fetch_add(1, Ordering::AcqRel);
            self.bell.notify_all();
            std::mem::take(&mut *wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Ready when something happened since `seen` was read.
    pub(crate) fn poll(&self, seen: u64, cx: &mut Context<'_>) -> Poll<()> {
        let mut wakers = self.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        if self.generation() != seen {
            return Poll::Ready(());
        }
        if !wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
            wakers.push(cx.waker().clone());
        }
        Poll::Pending
    }

    /// Waits until something happened since `seen` was read, at most until then.
    pub(crate) fn wait(&self, seen: u64, until: Instant, clock: impl Fn() -> Instant) {
        let mut wakers = self.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        while self.generation() == seen {
            let left = until.saturating_duration_since(clock());
            if left.is_zero() {
                return;
            }
            let waited = self.bell.wait_timeout(wakers, left);
            wakers = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
