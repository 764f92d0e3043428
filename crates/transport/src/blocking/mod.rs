//! The blocking driver: the calling thread drives the socket itself.
//!
//! A call writes, then reads until its answer is there: two system calls and no hand-over. Threads
//! that share a client share its connection: each writes for itself, one of them reads for all
//! (the leader), the others sleep until their answer has come or the lead is handed to them.
//!
//! Between calls nobody reads, so keep-alive pings are answered only while a call waits; the peer
//! is told so when the connection is made.

mod link;
mod patience;
mod stream;

use crate::event_loop::clock;
use crate::{ClientOptions, Endpoint};
use corewire_message::blocking::{CallStream, Caller};
use corewire_message::{CallError, ErrorKind, Event, Origin, Request, Response};
use corewire_sys::Socket;
use link::Link;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A connection unused for so long is looked at before a call is sent on it: a peer that drains or
/// has gone meanwhile is noticed before and not after, when the call's fate would be unknown. Costs
/// one system call; callers in a tight loop do not pay it.
const LOOK_AFTER: Duration = Duration::from_millis(1);

/// A client of one service for threads that wait. Connects at the first call and again when the
/// connection is lost. Any number of threads may use it at once.
#[derive(Debug)]
pub struct Client {
    endpoint: Endpoint,
    options: ClientOptions,
    link: Mutex<Option<Arc<Link>>>,
}

impl Client {
    /// A client that connects at its first call.
    #[must_use]
    pub fn new(endpoint: Endpoint, mut options: ClientOptions) -> Self {
        // Between calls nobody reads: the peer is not to expect answers to pings then.
        options.native.passive = true;
        options.native.keep_alive_interval = None;
        options.http2.keep_alive_interval = None;
        Self {
            endpoint,
            options,
            link: Mutex::new(None),
        }
    }

    /// A client that is connected.
    ///
    /// # Errors
    /// When connecting fails or takes too long.
    pub fn connect(endpoint: Endpoint, options: ClientOptions) -> Result<Self, CallError> {
        let client = Self::new(endpoint, options);
        client.link(clock())?;
        Ok(client)
    }

    /// Where its service is.
    #[must_use]
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn link(&self, now: Instant) -> Result<Arc<Link>, CallError> {
        let mut current = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(link) = &*current
            && link.is_usable(now, LOOK_AFTER)
        {
            return Ok(Arc::clone(link));
        }
        *current = None;
        let endpoint = &self.endpoint;
        let socket = Socket::connect(endpoint.address(), self.options.connect_timeout);
        let socket = socket.map_err(|error| {
            let context = format!("{endpoint} could not be reached");
            CallError::new(ErrorKind::NotSent, Origin::Transport, false, context).with_source(error)
        })?;
        let core = crate::event_loop::client_core(endpoint, &self.options, now);
        let link = Arc::new(Link::new(socket, core, &self.options, now));
        *current = Some(Arc::clone(&link));
        Ok(link)
    }
}

impl Caller for Client {
    fn call(&self, mut request: Request) -> Result<Response, CallError> {
        let now = clock();
        request
            .deadline
            .get_or_insert(now + self.options.call_timeout);
        self.link(now)?.call(now, request)
    }

    fn send(&self, event: Event) -> Result<(), CallError> {
        let now = clock();
        self.link(now)?
            .send_event(now, event, now + self.options.call_timeout)
    }

    fn open(&self, mut request: Request) -> Result<CallStream, CallError> {
        let now = clock();
        request
            .deadline
            .get_or_insert(now + self.options.call_timeout);
        let link = self.link(now)?;
        stream::open(link, now, request).map(CallStream::new)
    }
}
