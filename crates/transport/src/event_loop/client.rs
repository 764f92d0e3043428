//! The calling side on a loop: channels, their connections, and the handle that callers hold.

use super::arena::Key;
use super::call::CallFuture;
use super::inbox::{Command, Completion, Shared, loop_ended};
use super::stream::{Side, ends};
use super::stream_slot::StreamSlot;
use super::watcher::ConnectionWatcher;
use crate::client_core::client_core;
use crate::names::Addresses;
use crate::{ClientOptions, Endpoint};
use corewire_driver::after;
use corewire_message::{CallError, CallStream, Caller, Event, Origin, Request, Response};
use corewire_sys::{Address, Socket};
use corewire_wire::Core;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// First wait after connecting failed; doubles up to [`LONGEST_BACKOFF`].
const FIRST_BACKOFF: Duration = Duration::from_millis(20);
/// Longest wait between two attempts to connect, where the options do not say.
const LONGEST_BACKOFF: Duration = Duration::from_secs(2);

/// A channel as its loop knows it.
pub(crate) struct Channel {
    pub(crate) endpoint: Endpoint,
    pub(crate) options: Box<ClientOptions>,
    pub(crate) connection: Option<Key>,
    addresses: Addresses,
    /// Those of the host's addresses that the attempt to connect has left.
    untried: std::vec::IntoIter<Address>,
    /// When that attempt must have ended, with the handshake.
    pub(crate) settle_by: Instant,
    watcher: Option<Arc<dyn ConnectionWatcher>>,
    failures: u32,
    not_before: Option<Instant>,
    last_failure: String,
}

impl Channel {
    pub(crate) fn new(
        endpoint: Endpoint,
        options: Box<ClientOptions>,
        watcher: Option<Arc<dyn ConnectionWatcher>>,
        now: Instant,
    ) -> Self {
        Self {
            addresses: Addresses::of(&endpoint, &options.resolver),
            untried: Vec::new().into_iter(),
            settle_by: now,
            endpoint,
            options,
            connection: None,
            watcher,
            failures: 0,
            not_before: None,
            last_failure: String::new(),
        }
    }

    /// The protocol core of a new connection.
    ///
    /// # Errors
    /// When the options do not go with the endpoint.
    pub(crate) fn new_core(&self, now: Instant) -> Result<Box<dyn Core + Send>, CallError> {
        client_core(&self.endpoint, &self.options, now)
    }

    /// Begins to connect, and says until when that may take: by shared memory where it is wanted and
    /// offered, else to the first of the host's addresses.
    pub(crate) fn begin_connect(&mut self, now: Instant) -> io::Result<(Socket, Instant)> {
        self.settle_by = after(now, self.options.connect_timeout);
        let offered = self.options.memory_of(&self.endpoint);
        if let Some(Ok(socket)) = offered.map(|address| Socket::begin_connect(&address)) {
            self.untried = Vec::new().into_iter();
            return Ok((socket, self.settle_by));
        }
        let mut addresses = self.addresses.known().to_vec();
        // The first may take connections and then fail them.
        let turn = self.failures as usize % addresses.len();
        addresses.rotate_left(turn);
        self.untried = addresses.into_iter();
        self.connect_elsewhere(now)
    }

    /// The same with the next address of this attempt, which gets its share of the time that is left.
    ///
    /// # Errors
    /// When there is none, or none that can be tried.
    pub(crate) fn connect_elsewhere(&mut self, now: Instant) -> io::Result<(Socket, Instant)> {
        let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
        loop {
            let share = u32::try_from(self.untried.len()).unwrap_or(u32::MAX);
            let Some(address) = self.untried.next() else {
                return Err(failure);
            };
            let left = self.settle_by.saturating_duration_since(now);
            match Socket::begin_connect(&address) {
                Ok(socket) => return Ok((socket, now + left / share)),
                Err(error) => failure = error,
            }
        }
    }

    /// Whether an attempt to connect may be made now.
    pub(crate) fn may_connect(&self, now: Instant) -> Result<(), CallError> {
        match self.not_before {
            Some(at) if now < at => {
                let endpoint = &self.endpoint;
                Err(CallError::not_sent(
                    Origin::Transport,
                    format!("{endpoint} could not be reached: {}", self.last_failure),
                ))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn connected(&mut self) {
        self.failures = 0;
        self.not_before = None;
        if let Some(watcher) = &self.watcher {
            watcher.connected();
        }
    }

    /// Its connection takes no more calls.
    pub(crate) fn disconnected(&mut self, why: &str) {
        self.connection = None;
        if let Some(watcher) = &self.watcher {
            watcher.disconnected(why);
        }
    }

    /// The peer of its connection takes no more calls there.
    pub(crate) fn draining(&mut self) {
        self.connection = None;
        if let Some(watcher) = &self.watcher {
            watcher.draining();
        }
    }

    /// Notes that connecting failed. The wait is spread by the instant's own low digits, so that
    /// many callers of one lost service do not come back in step.
    pub(crate) fn failed(&mut self, now: Instant, why: String, spread: u32) {
        let full = FIRST_BACKOFF
            .saturating_mul(1 << self.failures.min(10))
            .min(self.options.longest_backoff.unwrap_or(LONGEST_BACKOFF));
        let wait = full / 2 + full.mul_f64(f64::from(spread % 1000) / 2000.0);
        self.failures += 1;
        self.not_before = Some(now + wait);
        self.last_failure = why;
        self.addresses.look_up_again();
    }
}

/// A client of one service, driven by an event loop. Usable from any thread and any runtime;
/// clones share the connection, which is made at the first call and again after it is lost.
#[derive(Clone, Debug)]
pub struct Client(Arc<Handle>);

#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
    channel: usize,
}

impl Client {
    pub(crate) fn new(
        shared: Arc<Shared>,
        endpoint: Endpoint,
        options: ClientOptions,
        watcher: Option<Arc<dyn ConnectionWatcher>>,
    ) -> Self {
        let channel = shared.new_channel();
        let options = Box::new(options);
        // When the loop has ended, every call will say so.
        let _ended = shared.push(Command::AddChannel {
            channel,
            endpoint,
            options,
            watcher,
        });
        Self(Arc::new(Handle { shared, channel }))
    }

    /// Makes the connection now unless there is one, so that the first call need not wait for it.
    /// How that ends is told to the client's watcher; connecting again too soon after it failed
    /// fails at once.
    ///
    /// # Errors
    /// When the loop has ended.
    pub fn prepare(&self) -> Result<(), CallError> {
        let channel = self.0.channel;
        let prepare = Command::Prepare { channel };
        self.0.shared.push(prepare).map_err(|_| loop_ended())
    }

    /// Sends a request; `completion` is called with its end on the loop's thread, where it must
    /// not block. The calls of one thread leave in order.
    ///
    /// When the loop has ended already, `completion` is called on this thread before `call_then`
    /// returns: hold no lock here that it takes. A panic in it is caught and told to nobody.
    pub fn call_then(
        &self,
        request: Request,
        completion: impl FnOnce(Result<Response, CallError>) + Send + 'static,
    ) {
        let completion = Completion::Callback(Box::new(completion));
        let call = Command::Call {
            channel: self.0.channel,
            request,
            completion,
        };
        if let Err(command) = self.0.shared.push(call)
            && let Command::Call { completion, .. } = *command
        {
            completion.complete(Err(loop_ended()));
        }
    }
}

impl Caller for Client {
    async fn call(&self, request: Request) -> Result<Response, CallError> {
        CallFuture::call(&self.0.shared, self.0.channel, request).await
    }

    async fn send(&self, event: Event) -> Result<(), CallError> {
        let channel = self.0.channel;
        let send = |completion| Command::SendEvent {
            channel,
            event,
            completion,
        };
        CallFuture::start(&self.0.shared, send).await.map(drop)
    }

    async fn open(&self, request: Request) -> Result<CallStream, CallError> {
        let stream = StreamSlot::new(None, 0);
        // Made before the wait: if this future is dropped meanwhile, their end gives the call up.
        let (outbound, inbound) = ends(&self.0.shared, &stream, Side::Caller);
        let open = Command::Open {
            channel: self.0.channel,
            request,
            stream: Arc::clone(&stream),
        };
        self.0.shared.push(open).map_err(|_| loop_ended())?;
        poll_fn(|cx| stream.poll_open(cx)).await?;
        Ok(CallStream { outbound, inbound })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let _ended_already = self.shared.push(Command::RemoveChannel {
            channel: self.channel,
        });
    }
}
