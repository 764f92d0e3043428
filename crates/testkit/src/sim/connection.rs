//! One simulated connection: two ends, each with a core, and a pipe either way.

use super::executor::TaskId;
use super::{NodeId, SimService};
use bytes::{Bytes, BytesMut};
use corewire_message::{Body, CallContext, CallError, Headers, Response};
use corewire_wire::{CallId, Core, Outbox};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Instant;

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Client,
    Server,
}

impl Side {
    pub(super) const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

pub(super) struct Connection {
    pub(super) client: End,
    pub(super) server: End,
    /// The channel that made it.
    pub(super) channel: usize,
    /// The client knows that the server took it: octets may be sent.
    pub(super) established: bool,
}

impl Connection {
    pub(super) fn end(&mut self, side: Side) -> &mut End {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Octets on the way to this side or unread there: what fills the buffers of both sockets.
    pub(super) fn occupied(&mut self, side: Side) -> usize {
        let end = self.end(side);
        end.on_the_way + end.arrived.len()
    }
}

/// One end: what a driver holds for a connection, and the pipe that leads here.
pub(super) struct End {
    pub(super) node: NodeId,
    pub(super) peer: NodeId,
    /// Absent before the server took the connection and after this end closed it.
    pub(super) core: Option<Box<dyn Core + Send>>,
    pub(super) outbox: Outbox,
    pub(super) role: Role,
    pub(super) streams: BTreeMap<CallId, SharedStream>,
    /// When this end's timeout will be looked at.
    pub(super) timer: Option<Instant>,
    /// Closes once nothing is in flight and nothing waits to be written.
    pub(super) close_when_idle: bool,

    /// What is on the way here; octets or, last, the end.
    pub(super) coming: VecDeque<Segment>,
    pub(super) on_the_way: usize,
    /// When the last segment gets here: none overtakes another.
    pub(super) last_arrival: Instant,
    /// Until when the line here is taken by segments that were sent.
    pub(super) sending_until: Instant,
    /// What is here and was not read.
    pub(super) arrived: BytesMut,
    /// What was read and holds no whole frame.
    pub(super) partial: BytesMut,
    /// The peer's end has come, behind what has arrived.
    pub(super) end_arrived: bool,
    /// A read is due.
    pub(super) reading: bool,
}

impl End {
    pub(super) fn new(node: NodeId, peer: NodeId, role: Role, now: Instant) -> Self {
        Self {
            node,
            peer,
            core: None,
            outbox: Outbox::new(),
            role,
            streams: BTreeMap::new(),
            timer: None,
            close_when_idle: false,
            coming: VecDeque::new(),
            on_the_way: 0,
            last_arrival: now,
            sending_until: now,
            arrived: BytesMut::new(),
            partial: BytesMut::new(),
            end_arrived: false,
            reading: false,
        }
    }

    /// Octets that wait to be written.
    pub(super) fn backlog(&self) -> usize {
        self.outbox.len() + self.core.as_ref().map_or(0, |core| core.backlog())
    }

    /// Calls whose end was not told.
    pub(super) fn waiting(&self) -> usize {
        match &self.role {
            Role::Client { calls } => calls.len() + self.streams.len(),
            // A stream is a task here.
            Role::Server { tasks, .. } => tasks.len(),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.outbox.is_empty()
            && self
                .core
                .as_ref()
                .is_none_or(|core| core.in_flight() == 0 && core.backlog() == 0)
    }
}

pub(super) struct Segment {
    pub(super) at: Instant,
    /// `None`: the sender closed.
    pub(super) octets: Option<Bytes>,
}

pub(super) enum Role {
    Client {
        calls: BTreeMap<CallId, SharedCall>,
    },
    Server {
        service: Arc<dyn SimService>,
        context: CallContext,
        tasks: BTreeMap<CallId, TaskId>,
    },
}

/// The end of a unary call, for the future that awaits it.
#[derive(Clone, Default)]
pub(super) struct SharedCall(Arc<Mutex<CallState>>);

#[derive(Default)]
pub(super) struct CallState {
    pub(super) result: Option<Result<Response, CallError>>,
    pub(super) waker: Option<Waker>,
}

impl SharedCall {
    pub(super) fn lock(&self) -> MutexGuard<'_, CallState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn complete(&self, result: Result<Response, CallError>) {
        let mut state = self.lock();
        state.result = Some(result);
        let waker = state.waker.take();
        drop(state);
        wake(waker);
    }
}

/// What came in on a stream, for the task that reads it.
#[derive(Clone, Default)]
pub(super) struct SharedStream(Arc<Mutex<StreamState>>);

#[derive(Default)]
pub(super) struct StreamState {
    pub(super) messages: VecDeque<Body>,
    /// How the peer ended its side, behind the messages.
    pub(super) end: Option<Result<Headers, CallError>>,
    /// The whole call has ended.
    pub(super) ended: bool,
    pub(super) receiver: Option<Waker>,
    pub(super) sender: Option<Waker>,
}

impl SharedStream {
    pub(super) fn lock(&self) -> MutexGuard<'_, StreamState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn deliver(&self, message: Body) {
        let mut state = self.lock();
        state.messages.push_back(message);
        let waker = state.receiver.take();
        drop(state);
        wake(waker);
    }

    pub(super) fn writable(&self) {
        let waker = self.lock().sender.take();
        wake(waker);
    }

    /// The peer's side has ended; with `whole`, the call has.
    pub(super) fn end(&self, end: Result<Headers, CallError>, whole: bool) {
        let mut state = self.lock();
        state.end.get_or_insert(end);
        state.ended |= whole;
        let wakers = (state.receiver.take(), state.sender.take());
        drop(state);
        wake(wakers.0);
        wake(wakers.1);
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}
