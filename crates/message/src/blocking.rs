//! The calling side for threads: the same nouns, the same errors, no futures.
//!
//! A blocking caller drives its own socket; no other thread takes part, so nothing is handed over
//! and back. May be called from any thread that may block, never from an event loop.

use crate::{Body, CallError, Code, Event, Headers, Request, Response};
use std::fmt;
use std::sync::Arc;

/// Who carries messages for a thread that waits: the blocking face of [`crate::Caller`].
pub trait Caller: Send + Sync {
    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// When it was answered with a failure or not answered: see [`CallError`].
    fn call(&self, request: Request) -> Result<Response, CallError>;

    /// Sends an event; returns when it is written to the connection.
    ///
    /// # Errors
    /// When it could not be written.
    fn send(&self, event: Event) -> Result<(), CallError>;

    /// Opens a stream. The request's body is its first message unless it is empty.
    ///
    /// # Errors
    /// When there is no connection or no room for another call.
    fn open(&self, request: Request) -> Result<CallStream, CallError>;
}

/// One stream, as a transport implements it for a thread.
pub trait StreamDriver: Send {
    /// Sends a message; waits while the peer has no room for it.
    ///
    /// # Errors
    /// When the call has ended.
    fn send(&mut self, message: Body) -> Result<(), CallError>;
    /// Ends the caller's side.
    ///
    /// # Errors
    /// When the call has ended.
    fn finish(&mut self) -> Result<(), CallError>;
    /// The next message; `None` when the service ended the call well.
    ///
    /// # Errors
    /// When the call failed.
    fn receive(&mut self) -> Result<Option<Body>, CallError>;
    /// The headers that came after the last message; empty before.
    fn trailers(&self) -> &Headers;
    /// Gives the call up.
    fn cancel(&mut self, code: Code);
}

/// An open call, held by one thread. Dropping it before its end gives the call up.
pub struct CallStream(Box<dyn StreamDriver>);

impl CallStream {
    /// A stream driven by this.
    pub fn new(driver: impl StreamDriver + 'static) -> Self {
        Self(Box::new(driver))
    }

    /// Sends a message; waits while the peer has no room for it.
    ///
    /// # Errors
    /// When the call has ended.
    pub fn send(&mut self, message: impl Into<Body>) -> Result<(), CallError> {
        self.0.send(message.into())
    }

    /// Ends the caller's side.
    ///
    /// # Errors
    /// When the call has ended.
    pub fn finish(&mut self) -> Result<(), CallError> {
        self.0.finish()
    }

    /// The next message; `None` when the service ended the call well.
    ///
    /// # Errors
    /// When the call failed.
    pub fn receive(&mut self) -> Result<Option<Body>, CallError> {
        self.0.receive()
    }

    /// The headers that came after the last message; empty before.
    #[must_use]
    pub fn trailers(&self) -> &Headers {
        self.0.trailers()
    }

    /// Gives the call up.
    pub fn cancel(mut self, code: Code) {
        self.0.cancel(code);
    }
}

impl fmt::Debug for CallStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallStream")
    }
}

/// A way to a service whose transport was chosen at run time. Clones share it.
#[derive(Clone)]
pub struct Channel(Arc<dyn Caller>);

impl Channel {
    /// A channel over this caller.
    pub fn new(caller: impl Caller + 'static) -> Self {
        Self(Arc::new(caller))
    }
}

impl Caller for Channel {
    fn call(&self, request: Request) -> Result<Response, CallError> {
        self.0.call(request)
    }

    fn send(&self, event: Event) -> Result<(), CallError> {
        self.0.send(event)
    }

    fn open(&self, request: Request) -> Result<CallStream, CallError> {
        self.0.open(request)
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("blocking::Channel")
    }
}
