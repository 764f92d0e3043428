//! Calls in flight: futures that one task polls, each only when it was woken. Their places are used
//! again, so that a call costs no allocation here.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Futures of one kind.
#[derive(Debug)]
pub(super) struct InFlight<F> {
    places: Vec<Place<F>>,
    free: Vec<usize>,
    ready: Arc<Ready>,
    /// Taken from `ready`, to be polled.
    turn: Vec<usize>,
}

#[derive(Debug)]
struct Place<F> {
    future: Pin<Box<Option<F>>>,
    woken: Arc<Woken>,
    waker: Waker,
}

/// Who was woken, and who polls them.
#[derive(Debug, Default)]
struct Ready(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    places: Vec<usize>,
    task: Option<Waker>,
}

impl Ready {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // No code that can panic runs under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct Woken {
    place: usize,
    queued: AtomicBool,
    ready: Arc<Ready>,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.queued.swap(true, Ordering::AcqRel) {
            return;
        }
        let task = {
            let mut queue = self.ready.lock();
            queue.places.push(self.place);
            queue.task.clone()
        };
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl<F: Future> InFlight<F> {
    pub(super) fn new() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            ready: Arc::default(),
            turn: Vec::new(),
        }
    }

    /// How many have not ended.
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Begins one and polls it at once, so that a call leaves in the turn in which it was begun;
    /// gives what it ended with, if it has.
    pub(super) fn begin(&mut self, future: F) -> Option<F::Output> {
        let place = self.free.pop().unwrap_or_else(|| {
            let place = self.places.len();
            let woken = Arc::new(Woken {
                place,
                queued: AtomicBool::new(false),
                ready: Arc::clone(&self.ready),
            });
            self.places.push(Place {
                future: Box::pin(None),
                waker: Waker::from(Arc::clone(&woken)),
                woken,
            });
            place
        });
        self.places[place].future.set(Some(future));
        self.poll(place)
    }

    /// Polls those that were woken; `ended` is called with what each has ended with. The task of
    /// `cx` is woken when there is more to poll.
    pub(super) fn poll_woken(&mut self, cx: &Context<'_>, mut ended: impl FnMut(F::Output)) {
        let mut turn = std::mem::take(&mut self.turn);
        {
            let mut queue = self.ready.lock();
            match &mut queue.task {
                Some(task) => task.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
            std::mem::swap(&mut queue.places, &mut turn);
        }
        for place in turn.drain(..) {
            // Cleared before the poll: a wake during it asks for another.
            self.places[place]
                .woken
                .queued
                .swap(false, Ordering::AcqRel);
            if let Some(output) = self.poll(place) {
                ended(output);
            }
        }
        self.turn = turn;
    }

    fn poll(&mut self, index: usize) -> Option<F::Output> {
        let place = &mut self.places[index];
        let future = place.future.as_mut().as_pin_mut()?;
        match future.poll(&mut Context::from_waker(&place.waker)) {
            Poll::Pending => None,
            Poll::Ready(output) => {
                place.future.set(None);
                self.free.push(index);
                Some(output)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{poll_fn, ready};

    #[test]
    fn what_is_ready_at_once_ends_at_once_and_leaves_its_place() {
        let mut calls = InFlight::new();
        assert_eq!(calls.begin(ready(1)), Some(1));
        assert_eq!(calls.begin(ready(2)), Some(2));
        assert_eq!((calls.len(), calls.places.len()), (0, 1));
    }

    #[test]
    fn only_the_woken_are_polled() {
        let wakers: Arc<Mutex<Vec<Waker>>> = Arc::default();
        let mut calls = InFlight::new();
        for number in 0..3 {
            let wakers = Arc::clone(&wakers);
            let mut polls = 0;
            let waits = poll_fn(move |cx| {
                wakers.lock().unwrap().push(cx.waker().clone());
                polls += 1;
                if polls == 2 {
                    Poll::Ready(number)
                } else {
                    Poll::Pending
                }
            });
            assert_eq!(calls.begin(waits), None);
        }
        let cx = Context::from_waker(Waker::noop());
        let mut ended = Vec::new();
        calls.poll_woken(&cx, |number| ended.push(number));
        assert!(ended.is_empty());
        wakers.lock().unwrap()[1].wake_by_ref();
        wakers.lock().unwrap()[1].wake_by_ref();
        calls.poll_woken(&cx, |number| ended.push(number));
        assert_eq!((ended.as_slice(), calls.len()), (&[1][..], 2));
        calls.poll_woken(&cx, |number| ended.push(number));
        assert_eq!(ended, [1]);
    }
}
