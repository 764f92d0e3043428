//! One stream, between the loop that drives it and the task that reads and writes it.

use super::arena::Key;
use super::buffers::COPIED_BELOW;
use super::inbox::{Command, Shared};
use corewire_message::{
    Body, CallError, Code, Headers, Inbound, Origin, Outbound, ReceiveMessages, SendMessages,
};
use corewire_wire::CallId;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// What the loop and the task both know of a stream.
pub(crate) struct StreamShared {
    pub(crate) shared: Arc<Shared>,
    state: Mutex<StreamState>,
}

#[derive(Default)]
struct StreamState {
    /// Where the stream is, once it is open.
    at: Option<(Key, CallId)>,
    /// Messages that came in; bounded by the credit given for them.
    messages: VecDeque<Body>,
    /// How the peer ended its side, after the messages.
    end: Option<Result<(), CallError>>,
    trailers: Headers,
    receiver: Option<Waker>,
    /// What the core has room for, and how much of it is on its way there.
    room: usize,
    on_the_way: usize,
    /// The call has ended: nothing can be sent.
    ended: bool,
    sender: Option<Waker>,
    opener: Option<Waker>,
}

impl StreamShared {
    pub(crate) fn new(shared: Arc<Shared>, at: Option<(Key, CallId)>, room: usize) -> Arc<Self> {
        let state = Mutex::new(StreamState {
            at,
            room,
            ..StreamState::default()
        });
        Arc::new(Self { shared, state })
    }

    fn with<T>(&self, f: impl FnOnce(&mut StreamState) -> T) -> T {
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
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

/// The task's two ends of a stream.
pub(crate) fn ends(stream: &Arc<StreamShared>, side: Side) -> (Outbound, Inbound) {
    let outbound = Outbound::new(Sender {
        stream: Arc::clone(stream),
        side,
    });
    let inbound = Inbound::new(Receiver {
        stream: Arc::clone(stream),
        side,
        trailers: Headers::new(),
        over: false,
    });
    (outbound, inbound)
}

/// Which side of the call the task is on. A service that lets go of its ends has not given the
/// call up: what it returns ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Caller,
    Service,
}

struct Sender {
    stream: Arc<StreamShared>,
    side: Side,
}

impl SendMessages for Sender {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        self.stream.with(|state| {
            if state.ended {
                return Poll::Ready(Err(over()));
            }
            if state.room > state.on_the_way {
                return Poll::Ready(Ok(()));
            }
            state.sender = Some(cx.waker().clone());
            Poll::Pending
        })
    }

    fn send(&mut self, message: Body) -> Result<(), CallError> {
        // An empty message takes no credit but must not be free: it counts as one octet here.
        let octets = message.len().max(1);
        self.stream.with(|state| {
            state.on_the_way += octets;
            if state.ended { Err(over()) } else { Ok(()) }
        })?;
        let stream = Arc::clone(&self.stream);
        let send = Command::StreamSend { stream, message };
        self.stream
            .shared
            .push(send)
            .map_err(|_| super::call::loop_ended())
    }

    fn lead(&mut self, headers: Headers) {
        let stream = Arc::clone(&self.stream);
        let lead = Command::StreamLead { stream, headers };
        let _ended_already = self.stream.shared.push(lead);
    }

    fn finish(&mut self) {
        let stream = Arc::clone(&self.stream);
        let _ended_already = self.stream.shared.push(Command::StreamFinish { stream });
    }

    fn cancel(&mut self, code: Code) {
        let stream = Arc::clone(&self.stream);
        let _ended_already = self
            .stream
            .shared
            .push(Command::StreamCancel { stream, code });
    }

    fn abandon(&mut self) {
        if self.side == Side::Caller && !self.stream.with(|state| state.ended) {
            self.cancel(Code::Cancelled);
        }
    }
}

struct Receiver {
    stream: Arc<StreamShared>,
    side: Side,
    trailers: Headers,
    over: bool,
}

impl ReceiveMessages for Receiver {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Body>, CallError>> {
        if self.over {
            return Poll::Ready(Ok(None));
        }
        let (message, end) = self.stream.with(|state| {
            if let Some(message) = state.messages.pop_front() {
                return (Some(message), None);
            }
            if let Some(end) = state.end.take() {
                return (
                    None,
                    Some(end.map(|()| std::mem::take(&mut state.trailers))),
                );
            }
            state.receiver = Some(cx.waker().clone());
            (None, None)
        });
        if let Some(message) = message {
            let (stream, octets) = (Arc::clone(&self.stream), message.len());
            let _ended_already = self
                .stream
                .shared
                .push(Command::StreamConsumed { stream, octets });
            return Poll::Ready(Ok(Some(message)));
        }
        match end {
            None => Poll::Pending,
            Some(end) => {
                self.over = true;
                self.trailers = end?;
                Poll::Ready(Ok(None))
            }
        }
    }

    fn trailers(&self) -> &Headers {
        &self.trailers
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let given_up = self.side == Side::Caller
            && !self.over
            && !self.stream.with(|state| state.ended || state.end.is_some());
        if given_up {
            let stream = Arc::clone(&self.stream);
            let code = Code::Cancelled;
            let _ended_already = self
                .stream
                .shared
                .push(Command::StreamCancel { stream, code });
        }
    }
}

fn over() -> CallError {
    CallError::cancelled(
        Origin::Peer,
        "the call has ended; its end is told by the receiving side",
    )
}
