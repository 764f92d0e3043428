//! Calls of more than one message a side.

use crate::{Body, CallError, Code, Headers};
use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

/// Where messages of a stream come from: what a transport implements.
pub trait ReceiveMessages: Send {
    /// The next message; `Ok(None)` when the peer has ended its side well.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Body>, CallError>>;
    /// The headers that came after the last message; empty before.
    fn trailers(&self) -> &Headers;
}

/// Where messages of a stream go: what a transport implements.
pub trait SendMessages: Send {
    /// Ready when the peer has room (credit) for at least one octet more.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>>;
    /// Queues a message; call only after `poll_ready` said so, or memory is not bounded.
    ///
    /// # Errors
    /// When the stream has ended.
    fn send(&mut self, message: Body) -> Result<(), CallError>;
    /// Says headers before the first message, where the protocol has a place for them.
    fn send_headers(&mut self, headers: Headers) {
        let _ = headers;
    }
    /// Ends this side: no more messages follow.
    fn finish(&mut self);
    /// Gives the whole call up.
    fn cancel(&mut self, code: Code);
    /// The application let go of this end without finishing. Gives the call up, unless the
    /// transport knows better (a service ends its calls by returning).
    fn abandon(&mut self) {
        self.cancel(Code::Cancelled);
    }
}

/// The messages that come in. A caller that drops it before its end gives the call up.
pub struct Inbound(Box<dyn ReceiveMessages>);

impl Inbound {
    /// Messages from this source.
    pub fn new(source: impl ReceiveMessages + 'static) -> Self {
        Self(Box::new(source))
    }

    /// The next message; `None` when the peer has ended its side well.
    ///
    /// # Errors
    /// When the call failed; no message follows.
    ///
    /// # Cancel safety
    /// Safe: a message is taken only when this future completes.
    pub async fn message(&mut self) -> Result<Option<Body>, CallError> {
        poll_fn(|cx| self.0.poll_receive(cx)).await
    }

    /// The headers that came after the last message; empty before.
    #[must_use]
    pub fn trailers(&self) -> &Headers {
        self.0.trailers()
    }
}

/// The messages that go out. A caller that drops it without [`finish`](Self::finish) gives the
/// call up; a service may drop it, what it returns ends the call.
pub struct Outbound {
    sink: Box<dyn SendMessages>,
    finished: bool,
}

impl Outbound {
    /// Messages into this sink.
    pub fn new(sink: impl SendMessages + 'static) -> Self {
        Self {
            sink: Box::new(sink),
            finished: false,
        }
    }

    /// Sends a message; waits while the peer has no room for it.
    ///
    /// # Errors
    /// When the call has ended; what was sent before may have been seen.
    ///
    /// # Cancel safety
    /// Safe: dropped while waiting, the message was not sent.
    pub async fn send(&mut self, message: impl Into<Body>) -> Result<(), CallError> {
        poll_fn(|cx| self.sink.poll_ready(cx)).await?;
        self.sink.send(message.into())
    }

    /// Says headers before the first message: for a service whose callers wait for them, as some of
    /// gRPC's do. gRPC and REST have a place for them, once and before the first message; elsewhere,
    /// later, and on the caller's side nothing is said. Headers for every protocol belong into what the
    /// service returns, or into a message.
    pub fn send_headers(&mut self, headers: Headers) {
        self.sink.send_headers(headers);
    }

    /// Ends this side.
    pub fn finish(mut self) {
        self.finished = true;
        self.sink.finish();
    }

    /// Gives the whole call up.
    pub fn cancel(mut self, code: Code) {
        self.finished = true;
        self.sink.cancel(code);
    }
}

impl Drop for Outbound {
    fn drop(&mut self) {
        if !self.finished {
            self.sink.abandon();
        }
    }
}

/// Both sides of an open call, as its caller holds them.
#[derive(Debug)]
pub struct CallStream {
    /// Towards the service.
    pub outbound: Outbound,
    /// From the service. Its end carries the call's status: OK is `None`, a failure an error.
    pub inbound: Inbound,
}

impl fmt::Debug for Inbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inbound")
    }
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outbound")
    }
}
