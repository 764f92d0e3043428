//! The blocking driver: the calling thread drives the socket itself.
//!
//! A call writes, then reads until its answer is there: two system calls and no hand-over. Threads
//! that share a client share its connection: one of them reads for all (the leader), the others sleep
//! until their answer has come or the lead is handed to them. When the answers of several come
//! together, their next requests go together too, with one write (`corewire_driver::LeaderFollower`).
//!
//! Between calls nobody reads, so keep-alive pings are answered only while a call waits; the peer
//! is told so when the connection is made.

mod connecting;
mod link;
mod state;
mod stream;

use crate::{ClientOptions, Endpoint};
use connecting::Connecting;
use corewire_driver::{after, clock};
use corewire_message::blocking::{CallStream, Caller};
use corewire_message::{CallError, Event, Request, Response};
use link::Link;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A client of one service for threads that wait. Connects at the first call and again when the
/// connection is lost. Any number of threads may use it at once.
#[derive(Debug)]
pub struct Client {
    endpoint: Endpoint,
    options: ClientOptions,
    connecting: Connecting,
}

impl Client {
    /// A client that connects at its first call.
    #[must_use]
    pub fn new(endpoint: Endpoint, mut options: ClientOptions) -> Self {
        // Between calls nobody reads: the peer is not to expect answers to pings then.
        options.native.passive = true;
        options.native.keep_alive_interval = None;
        options.http2.keep_alive_interval = None;
        let connecting = Connecting::new(&endpoint, &options);
        Self {
            endpoint,
            options,
            connecting,
        }
    }

    /// A client that is connected.
    ///
    /// # Errors
    /// When connecting fails or takes too long.
    pub fn connect(endpoint: Endpoint, options: ClientOptions) -> Result<Self, CallError> {
        let client = Self::new(endpoint, options);
        let now = clock();
        // Nobody waits for a call's end yet: only `connect_timeout` bounds it.
        client.link(now, after(now, Duration::MAX))?;
        Ok(client)
    }

    /// Where its service is.
    #[must_use]
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn link(&self, now: Instant, deadline: Instant) -> Result<(Arc<Link>, Instant), CallError> {
        self.connecting
            .link(&self.endpoint, &self.options, now, deadline)
    }
}

impl Caller for Client {
    fn call(&self, mut request: Request) -> Result<Response, CallError> {
        let now = clock();
        let deadline = || after(now, self.options.call_timeout);
        let deadline = *request.deadline.get_or_insert_with(deadline);
        let (link, now) = self.link(now, deadline)?;
        link.call(now, request)
    }

    fn send(&self, event: Event) -> Result<(), CallError> {
        let now = clock();
        let deadline = after(now, self.options.call_timeout);
        let (link, now) = self.link(now, deadline)?;
        link.send_event(now, event, deadline)
    }

    fn open(&self, mut request: Request) -> Result<CallStream, CallError> {
        let now = clock();
        let deadline = || after(now, self.options.call_timeout);
        let deadline = *request.deadline.get_or_insert_with(deadline);
        let (link, now) = self.link(now, deadline)?;
        stream::open(link, now, request).map(CallStream::new)
    }
}
