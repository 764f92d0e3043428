//! An association as its user sees it: a bounded queue of what came, and a way to send.

use corewire_driver::clock;
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use bytes::Bytes;

/// Messages that wait for their reader; then the peer is not read any more.
pub const MAX_QUEUED_MESSAGES: usize = 1024;
/// Octets that wait, in either direction; a peer that does not read gets [`SendError::Full`].
pub const MAX_QUEUED_OCTETS: usize = 4 * 1024 * 1024;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// On which stream it came.
    pub stream: u16,
    /// What it is: 60 for NGAP.
    pub ppid: u32,
    /// It.
    pub bytes: Bytes,
}

/// Why nothing more will come.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an association ends in one of two ways"
)]
pub enum Ended {
    /// One side shut it down.
    Shutdown,
    /// The peer is gone, or broke the protocol.
    Lost(String),
}

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a caller acts on each")]
pub enum SendError {
    /// Too much waits already: the peer does not read. Try later, or give it up.
    Full,
    /// The association is over.
    Ended,
    /// The message is longer than [`super::MAX_MESSAGE`].
    TooLong,
}

/// What a carrier does for one association. None of it blocks.
pub(super) trait Line: Send + Sync {
    fn send(&self, stream: u16, ppid: u32, payload: &[u8]) -> Result<(), SendError>;
    fn shutdown(&self);
    /// Ends it at once, whatever the peer does.
    fn abort(&self);
    /// The queue has room again.
    fn resume(&self);
    fn peer(&self) -> Option<SocketAddr>;
    fn streams(&self) -> u16;
}

/// A queue with one reader that waits as a future or as a thread.
pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    arrived: Condvar,
}

struct State<T> {
    items: VecDeque<T>,
    octets: usize,
    paused: bool,
    /// Nobody will read any more: what comes is taken in and forgotten.
    forgets: bool,
    ended: Option<Ended>,
    reader: Option<Waker>,
}

/// What a reader took, and whether the carrier may go on receiving.
type Taken<T> = (Result<T, Ended>, bool);

impl<T> Queue<T> {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                items: VecDeque::new(),
                octets: 0,
                paused: false,
                forgets: false,
                ended: None,
                reader: None,
            }),
            arrived: Condvar::new(),
        })
    }

    /// Queues; false when the queue is full now and the carrier is to pause.
    pub(super) fn push(&self, item: T, octets: usize) -> bool {
        let mut state = self.lock();
        if state.forgets {
            return true;
        }
        state.items.push_back(item);
        state.octets += octets;
        state.paused =
            state.items.len() >= MAX_QUEUED_MESSAGES || state.octets >= MAX_QUEUED_OCTETS;
        let open = !state.paused;
        self.wake(state);
        open
    }

    /// The reader is gone.
    pub(super) fn forget(&self) {
        let mut state = self.lock();
        state.forgets = true;
        state.paused = false;
        state.octets = 0;
        state.items = VecDeque::new();
    }

    /// Nothing more will come; the first reason stays.
    pub(super) fn end(&self, why: Ended) {
        let mut state = self.lock();
        state.ended.get_or_insert(why);
        self.wake(state);
    }

    fn wake(&self, mut state: MutexGuard<'_, State<T>>) {
        let reader = state.reader.take();
        drop(state);
        self.arrived.notify_one();
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    fn take(&self, size: impl Fn(&T) -> usize) -> Option<Taken<T>> {
        self.lock().take(&size)
    }

    fn poll(&self, context: &Context<'_>, size: impl Fn(&T) -> usize) -> Poll<Taken<T>> {
        let mut state = self.lock();
        if let Some(taken) = state.take(&size) {
            return Poll::Ready(taken);
        }
        state.reader = Some(context.waker().clone());
        Poll::Pending
    }

    fn wait(&self, deadline: Instant, size: impl Fn(&T) -> usize) -> Option<Taken<T>> {
        let mut state = self.lock();
        loop {
            if let Some(taken) = state.take(&size) {
                return Some(taken);
            }
            let left = deadline.checked_duration_since(clock())?;
            state = self
                .arrived
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> State<T> {
    fn take(&mut self, size: &impl Fn(&T) -> usize) -> Option<Taken<T>> {
        let Some(item) = self.items.pop_front() else {
            return self.ended.clone().map(|ended| (Err(ended), false));
        };
        self.octets -= size(&item);
        let resume = self.paused
            && self.items.len() <= MAX_QUEUED_MESSAGES / 2
            && self.octets <= MAX_QUEUED_OCTETS / 2;
        if resume {
            self.paused = false;
        }
        Some((Ok(item), resume))
    }
}

/// An association. Dropping it shuts it down.
pub struct Association {
    queue: Arc<Queue<Message>>,
    sender: AssociationSender,
}

/// Sends on an association; any number of them, on any threads.
#[derive(Clone)]
pub struct AssociationSender(Arc<dyn Line>);

impl Association {
    pub(super) fn new(queue: Arc<Queue<Message>>, line: Arc<dyn Line>) -> Self {
        Self {
            queue,
            sender: AssociationSender(line),
        }
    }

    /// The next message.
    ///
    /// # Errors
    /// The association is over; every message that came before was given out.
    ///
    /// # Cancel safety
    /// Nothing is lost: a message is taken when the future is ready, not before.
    pub async fn receive(&mut self) -> Result<Message, Ended> {
        let taken = poll_fn(|context| self.queue.poll(context, size)).await;
        self.taken(taken)
    }

    /// The next message, as [`Self::receive`], by a thread that waits until `deadline`.
    ///
    /// # Errors
    /// As [`Self::receive`].
    pub fn receive_until(&mut self, deadline: Instant) -> Option<Result<Message, Ended>> {
        let taken = self.queue.wait(deadline, size)?;
        Some(self.taken(taken))
    }

    /// The next message if it is there.
    ///
    /// # Errors
    /// As [`Self::receive`].
    pub fn try_receive(&mut self) -> Option<Result<Message, Ended>> {
        let taken = self.queue.take(size)?;
        Some(self.taken(taken))
    }

    /// Another end to send on.
    #[must_use]
    pub fn sender(&self) -> AssociationSender {
        self.sender.clone()
    }

    /// As [`AssociationSender::send`].
    ///
    /// # Errors
    /// As there.
    pub fn send(&self, stream: u16, ppid: u32, payload: &[u8]) -> Result<(), SendError> {
        self.sender.send(stream, ppid, payload)
    }

    fn taken(&self, (taken, resume): Taken<Message>) -> Result<Message, Ended> {
        if resume {
            self.sender.0.resume();
        }
        taken
    }
}

fn size(message: &Message) -> usize {
    message.bytes.len()
}

impl Drop for Association {
    fn drop(&mut self) {
        self.sender.shutdown();
        // Nobody reads any more: what still comes is taken in and forgotten.
        self.queue.forget();
        self.sender.0.resume();
    }
}

impl AssociationSender {
    /// Sends a message: it is on its way, or queued behind others.
    ///
    /// # Errors
    /// It was not taken.
    pub fn send(&self, stream: u16, ppid: u32, payload: &[u8]) -> Result<(), SendError> {
        if payload.len() > super::MAX_MESSAGE {
            return Err(SendError::TooLong);
        }
        self.0.send(stream, ppid, payload)
    }

    /// Ends the association in order: what was sent arrives, then [`Ended::Shutdown`].
    pub fn shutdown(&self) {
        self.0.shutdown();
    }

    /// Ends the association without waiting for the peer: what was not sent yet is lost. Its reader
    /// gets [`Ended::Shutdown`]. For a peer that may never answer a shutdown.
    pub fn abort(&self) {
        self.0.abort();
    }

    /// The streams that may be sent by, numbered from 0: as many as the peer takes. None when the
    /// association is over.
    #[must_use]
    pub fn streams(&self) -> u16 {
        self.0.streams()
    }

    /// The peer's address, as far as it is known.
    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        self.0.peer()
    }
}

impl fmt::Debug for Association {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Association({:?})", self.sender.peer())
    }
}

impl fmt::Debug for AssociationSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AssociationSender({:?})", self.peer())
    }
}

/// Where associations come in.
pub struct Acceptor {
    queue: Arc<Queue<Association>>,
    address: SocketAddr,
    /// Ends listening when it is dropped.
    _listening: Box<dyn Send + Sync>,
}

impl Acceptor {
    pub(super) fn new(
        queue: Arc<Queue<Association>>,
        address: SocketAddr,
        listening: Box<dyn Send + Sync>,
    ) -> Self {
        Self {
            queue,
            address,
            _listening: listening,
        }
    }

    /// Where it listens; a port asked for as 0 is the one that was chosen.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next association.
    ///
    /// # Errors
    /// Listening has ended.
    ///
    /// # Cancel safety
    /// Nothing is lost.
    pub async fn accept(&mut self) -> Result<Association, Ended> {
        poll_fn(|context| self.queue.poll(context, |_| 0)).await.0
    }

    /// The next association, by a thread that waits until `deadline`.
    ///
    /// # Errors
    /// Listening has ended.
    pub fn accept_until(&mut self, deadline: Instant) -> Option<Result<Association, Ended>> {
        Some(self.queue.wait(deadline, |_| 0)?.0)
    }
}

impl fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Acceptor({})", self.address)
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shutdown => f.write_str("the association was shut down"),
            Self::Lost(why) => write!(f, "the association is lost: {why}"),
        }
    }
}

impl std::error::Error for Ended {}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the peer does not read: too much waits to be sent",
            Self::Ended => "the association is over",
            Self::TooLong => "the message is too long",
        })
    }
}

impl std::error::Error for SendError {}
