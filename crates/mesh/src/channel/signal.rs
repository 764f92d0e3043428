//! How threads wake each other: the reconciler, and calls that wait.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// Wakes the reconciler.
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
    waiting: Mutex<Waiting>,
    bell: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    /// Of futures, by their numbers.
    wakers: BTreeMap<u64, Waker>,
}

impl Waiters {
    /// To be read before one looks, and given to the wait.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(crate) fn wake_all(&self) {
        let wakers = {
            let mut waiting = self.waiting();
            self.generation.fetch_add(1, Ordering::AcqRel);
            self.bell.notify_all();
            std::mem::take(&mut waiting.wakers)
        };
        wakers.into_values().for_each(Waker::wake);
    }

    /// Completes when something happened since `seen` was read.
    pub(crate) const fn happened(&self, seen: u64) -> Happened<'_> {
        Happened {
            waiters: self,
            seen,
            number: None,
        }
    }

    /// Waits until something happened since `seen` was read, at most until then.
    pub(crate) fn wait(&self, seen: u64, until: Instant, clock: impl Fn() -> Instant) {
        let mut waiting = self.waiting();
        while self.generation() == seen {
            let left = until.saturating_duration_since(clock());
            if left.is_zero() {
                return;
            }
            let waited = self.bell.wait_timeout(waiting, left);
            waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The future of [`Waiters::happened`]. Leaves nothing behind when it is dropped.
#[derive(Debug)]
pub(crate) struct Happened<'a> {
    waiters: &'a Waiters,
    seen: u64,
    /// Under which it waits.
    number: Option<u64>,
}

impl Future for Happened<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut waiting = self.waiters.waiting();
        if self.waiters.generation() != self.seen {
            return Poll::Ready(());
        }
        let number = *self.number.get_or_insert_with(|| {
            waiting.next += 1;
            waiting.next
        });
        let before = waiting.wakers.insert(number, cx.waker().clone());
        // Outside of the lock: a waker may hold anything.
        drop(waiting);
        drop(before);
        Poll::Pending
    }
}

impl Drop for Happened<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let waker = self.waiters.waiting().wakers.remove(&number);
            drop(waker);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn who_waits_is_woken_once_and_who_no_longer_does_leaves_nothing_behind() {
        let waiters = Waiters::default();
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut cx = Context::from_waker(&waker);
        let mut happened = Box::pin(waiters.happened(waiters.generation()));
        for _ in 0..3 {
            assert!(happened.as_mut().poll(&mut cx).is_pending());
        }
        let mut given_up = Box::pin(waiters.happened(waiters.generation()));
        assert!(given_up.as_mut().poll(&mut cx).is_pending());
        assert_eq!(waiters.waiting().wakers.len(), 2);
        drop(given_up);
        assert_eq!(waiters.waiting().wakers.len(), 1);
        waiters.wake_all();
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert!(happened.as_mut().poll(&mut cx).is_ready());
        assert!(waiters.waiting().wakers.is_empty());
        // What has happened before it began is not missed.
        assert!(
            Box::pin(waiters.happened(0))
                .as_mut()
                .poll(&mut cx)
                .is_ready()
        );
    }
}
