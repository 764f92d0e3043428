//! The two ends of a stream as the task has them that reads and writes it.

use super::inbox::{Command, Shared, loop_ended};
use super::stream_slot::StreamSlot;
use corewire_message::{
    Body, CallError, Code, Headers, Inbound, Origin, Outbound, ReceiveMessages, SendMessages,
};
use std::sync::Arc;
use std::task::{Context, Poll};

/// The task's two ends of a stream.
pub(crate) fn ends(
    shared: &Arc<Shared>,
    stream: &Arc<StreamSlot>,
    side: Side,
) -> (Outbound, Inbound) {
    let outbound = Outbound::new(Sender {
        shared: Arc::clone(shared),
        stream: Arc::clone(stream),
        side,
    });
    let inbound = Inbound::new(Receiver {
        shared: Arc::clone(shared),
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
    shared: Arc<Shared>,
    stream: Arc<StreamSlot>,
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
        self.shared.push(send).map_err(|_| loop_ended())
    }

    fn send_headers(&mut self, headers: Headers) {
        let stream = Arc::clone(&self.stream);
        let lead = Command::StreamHeaders { stream, headers };
        let _ended_already = self.shared.push(lead);
    }

    fn finish(&mut self) {
        let stream = Arc::clone(&self.stream);
        let _ended_already = self.shared.push(Command::StreamFinish { stream });
    }

    fn cancel(&mut self, code: Code) {
        let stream = Arc::clone(&self.stream);
        let _ended_already = self.shared.push(Command::StreamCancel { stream, code });
    }

    fn abandon(&mut self) {
        if self.side == Side::Caller && !self.stream.with(|state| state.ended) {
            self.cancel(Code::Cancelled);
        }
    }
}

struct Receiver {
    shared: Arc<Shared>,
    stream: Arc<StreamSlot>,
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
            let _ended_already = self.shared.push(Command::StreamConsumed { stream, octets });
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
            let _ended_already = self.shared.push(Command::StreamCancel { stream, code });
        }
    }
}

fn over() -> CallError {
    CallError::cancelled(
        Origin::Peer,
        "the call has ended; its end is told by the receiving side",
    )
}
