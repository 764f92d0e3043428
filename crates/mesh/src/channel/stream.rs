//! Open streams of callers that await: recorded when they end.

use super::attempts::StreamHold;
use super::chance::{ThreadRandom, clock};
use super::message::Reply;
use super::permit::local;
use super::shared::Shared;
use crate::policy::outcome::Outcome;
use corewire_message::{
    Body, CallError, CallStream, Code, ErrorKind, Headers, Inbound, Outbound, ReceiveMessages,
    Response, SendMessages,
};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The stream, recorded when it ends.
pub(super) fn recorded(stream: CallStream, hold: StreamHold, shared: &Arc<Shared>) -> CallStream {
    let recorded = Recorded {
        inbound: stream.inbound,
        end: RecordedEnd::new(hold, shared),
    };
    CallStream {
        outbound: stream.outbound,
        inbound: Inbound::new(recorded),
    }
}

/// What is recorded once, when a stream ends or is dropped before.
pub(super) struct RecordedEnd(Option<(StreamHold, Arc<Shared>)>);

impl RecordedEnd {
    pub(super) fn new(hold: StreamHold, shared: &Arc<Shared>) -> Self {
        Self(Some((hold, Arc::clone(shared))))
    }

    pub(super) fn ended(&mut self, outcome: Outcome) {
        if let Some((hold, shared)) = self.0.take() {
            hold.ended(&shared.env, clock(), outcome, &mut ThreadRandom);
        }
    }

    /// Records the end that a received message shows, if it does.
    pub(super) fn received(&mut self, received: &Result<Option<Body>, CallError>) {
        match received {
            Ok(Some(_)) => {}
            Ok(None) => self.ended(Outcome::answered(Code::Ok)),
            Err(error) => self.ended(Outcome::of_error(error)),
        }
    }
}

impl Drop for RecordedEnd {
    fn drop(&mut self) {
        self.ended(Outcome::Own);
    }
}

struct Recorded {
    inbound: Inbound,
    end: RecordedEnd,
}

impl ReceiveMessages for Recorded {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Body>, CallError>> {
        // Cancel safe: a message that is not ready is not lost with this future.
        let received = pin!(self.inbound.message()).poll(cx);
        if let Poll::Ready(received) = &received {
            self.end.received(received);
        }
        received
    }

    fn trailers(&self) -> &Headers {
        self.inbound.trailers()
    }
}

impl Reply for CallStream {
    /// A stream that a policy answers: its first message is the answer.
    fn of_answer(answer: Result<Response, CallError>) -> Result<Self, CallError> {
        let (first, trailers) = match answer {
            Ok(response) => (Ok(Some(response.body)), response.headers),
            Err(error) => (Err(error), Headers::new()),
        };
        Ok(Self {
            outbound: Outbound::new(Answered(None, Headers::new())),
            inbound: Inbound::new(Answered(Some(first), trailers)),
        })
    }
}

struct Answered(Option<Result<Option<Body>, CallError>>, Headers);

impl ReceiveMessages for Answered {
    fn poll_receive(&mut self, _: &mut Context<'_>) -> Poll<Result<Option<Body>, CallError>> {
        Poll::Ready(self.0.take().unwrap_or(Ok(None)))
    }

    fn trailers(&self) -> &Headers {
        &self.1
    }
}

impl SendMessages for Answered {
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Err(over()))
    }

    fn send(&mut self, _: Body) -> Result<(), CallError> {
        Err(over())
    }

    fn finish(&mut self) {}

    fn cancel(&mut self, _: Code) {}
}

fn over() -> CallError {
    let why = "the call was answered by the mesh's policy";
    local(ErrorKind::Cancelled, why.into())
}
