//! What the loop that drives a stream and the task that reads and writes it both know.

use super::arena::Key;
use corewire_driver::COPIED_BELOW;
use corewire_message::{Body, CallError, Headers};
use corewire_wire::CallId;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// What the loop and the task both know of a stream.
pub(crate) struct StreamSlot(Mutex<StreamState>);

#[derive(Default)]
pub(super) struct StreamState {
    /// Where the stream is, once it is open.
    at: Option<(Key, CallId)>,
    /// Messages that came in; bounded by the credit given for them.
    pub(super) messages: VecDeque<Body>,
    /// How the peer ended its side, after the messages.
    pub(super) end: Option<Result<(), CallError>>,
    pub(super) trailers: Headers,
    pub(super) receiver: Option<Waker>,
    /// What the core has room for, and how much of it is on its way there.
    pub(super) room: usize,
    pub(super) on_the_way: usize,
    /// The call has ended: nothing can be sent.
    pub(super) ended: bool,
    pub(super) sender: Option<Waker>,
    opener: Option<Waker>,
}

impl StreamSlot {
    pub(crate) fn new(at: Option<(Key, CallId)>, room: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(StreamState {
            at,
            room,
            ..StreamState::default()
        })))
    }

    pub(super) fn with<T>(&self, f: impl FnOnce(&mut StreamState) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn at(&self) -> Option<(Key, CallId)> {
        self.with(|state| state.at)
    }

    pub(crate) fn opened(&self, connection: Key, call: CallId, room: usize) {
        wake(self.with(|state| {
            state.at = Some((connection, call));
            state.room = room;
            state.opener.take()
        }));
    }

    pub(crate) fn deliver(&self, message: Body) {
        wake(self.with(|state| {
            // One that is taken at once stays where it came. One that waits would hold a whole read
            // buffer back for as long as its reader likes.
            let waits = state.receiver.is_none() && message.tail().len() < COPIED_BELOW;
            state
                .messages
                .push_back(if waits && !message.tail().is_empty() {
                    Body::copy_from_slice(&message.into_bytes())
                } else {
                    message
                });
            state.receiver.take()
        }));
    }

    /// The peer's side ended; with `whole`, the call did.
    pub(crate) fn end(&self, end: Result<Headers, CallError>, whole: bool) {
        let wakers = self.with(|state| {
            if state.end.is_none() {
                state.end = Some(end.map(|trailers| state.trailers = trailers));
            }
            state.ended |= whole;
            [
                state.receiver.take(),
                state.sender.take(),
                state.opener.take(),
            ]
        });
        wakers.into_iter().for_each(wake);
    }

    /// The core took `octets` and has this much room now.
    pub(crate) fn applied(&self, octets: usize, room: Option<usize>) {
        wake(self.with(|state| {
            state.on_the_way = state.on_the_way.saturating_sub(octets);
            state.room = room.unwrap_or(0);
            (state.room > state.on_the_way)
                .then(|| state.sender.take())
                .flatten()
        }));
    }

    /// Completes when the stream is open, or has failed to open.
    pub(crate) fn poll_open(&self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        self.with(|state| {
            if state.at.is_some() {
                return Poll::Ready(Ok(()));
            }
            if let Some(Err(error)) = state.end.take() {
                return Poll::Ready(Err(error));
            }
            state.opener = Some(cx.waker().clone());
            Poll::Pending
        })
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}
