//! A gate that opens once: who comes before waits, without a timer.

use std::future::poll_fn;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::task::{Poll, Waker};

/// Who waits before more are not let wait.
const MAX_WAITING: usize = 4096;

/// A value that comes later.
pub(super) struct Gate<T> {
    value: OnceLock<T>,
    waiting: Mutex<Vec<Waker>>,
}

impl<T> Gate<T> {
    pub(super) const fn closed() -> Self {
        Self {
            value: OnceLock::new(),
            waiting: Mutex::new(Vec::new()),
        }
    }

    /// The value is there from now on; the first stays.
    pub(super) fn open(&self, value: T) {
        let _already = self.value.set(value);
        let waiting = std::mem::take(&mut *self.lock());
        waiting.into_iter().for_each(Waker::wake);
    }

    /// The value, if it is there.
    pub(super) fn now(&self) -> Option<&T> {
        self.value.get()
    }

    /// The value, when it is there; `None` when too many wait for it.
    ///
    /// # Cancel safety
    /// Nothing is lost.
    pub(super) async fn wait(&self) -> Option<&T> {
        poll_fn(|cx| {
            if self.value.get().is_none() {
                let mut waiting = self.lock();
                // Opened between the look and the lock: those who wait are woken under it.
                if self.value.get().is_none() {
                    if waiting.len() >= MAX_WAITING {
                        return Poll::Ready(None);
                    }
                    waiting.push(cx.waker().clone());
                    return Poll::Pending;
                }
            }
            Poll::Ready(self.value.get())
        })
        .await
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Waker>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future as _;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Wake};

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn who_comes_before_it_opens_is_let_in_when_it_does() {
        let gate = Gate::closed();
        let woken = Arc::new(Woken::default());
        let waker = Arc::clone(&woken).into();
        let mut cx = Context::from_waker(&waker);
        let mut early = pin!(gate.wait());
        assert!(early.as_mut().poll(&mut cx).is_pending());
        gate.open(7);
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        assert_eq!(early.as_mut().poll(&mut cx), Poll::Ready(Some(&7)));
        let mut late = pin!(gate.wait());
        assert_eq!(late.as_mut().poll(&mut cx), Poll::Ready(Some(&7)));
    }
}
