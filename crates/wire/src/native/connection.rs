//! One connection's state, and the verbs by which it is driven.

use super::Config;
use super::calls;
use super::calls::Calls;
use super::control::Control;
use super::credit::{ReceiveCredit, SendCredit};
use super::fault::Violation;
use super::hello::{Hello, Limits};
use super::keep_alive::{Due, KeepAlive};
use super::operations::{KnownOperations, SentOperations};
use super::reassembly::Partial;
use super::send_queue::SendQueue;
use crate::memory::Account;
use crate::{CallId, Core, Deadlines, Fault, Input, KindOf, Outbox, Output};
use corewire_message::{Body, CallError, CallKind, Code, Event, Request, Response};
use std::collections::VecDeque;
use std::fmt;
use std::time::Instant;

/// One end of one connection that speaks the native protocol.
///
/// Calls go from client to server; frames are the same both ways, so that a later version may let
/// both call.
pub struct Connection {
    pub(super) role: Role,
    pub(super) config: Config,
    /// What this end announced.
    pub(super) own: Limits,
    /// What this end obeys when it sends.
    pub(super) limits: Limits,
    /// What this end holds its peer to.
    pub(super) enforced: Limits,
    pub(super) calls: Calls,
    /// The slots in which events wait, one a priority, once there was one.
    pub(super) lanes: [u32; 32],
    pub(super) queue: SendQueue,
    /// What the messages in `queue` weigh (not those that lack their stream's credit).
    pub(super) queued: usize,
    /// What all messages that wait weigh.
    pub(super) waiting: usize,
    pub(super) control: Control,
    pub(super) outputs: VecDeque<Pending>,
    pub(super) deadlines: Deadlines,
    pub(super) send_credit: SendCredit,
    pub(super) receive_credit: ReceiveCredit,
    pub(super) sent_operations: SentOperations,
    pub(super) known_operations: KnownOperations,
    /// Events that came in part, by priority.
    pub(super) partial_events: Vec<(u8, Box<Partial>)>,
    pub(super) keep_alive: KeepAlive,
    pub(super) greeting: Greeting,
    /// Client: the number of the next call. Server: the highest number seen.
    pub(super) number: u32,
    /// This end takes no more calls.
    pub(super) draining: bool,
    /// Client: the last call that the server takes.
    pub(super) peer_drains: Option<u32>,
    pub(super) fault: Option<Fault>,
    pub(super) close_reason: Option<String>,
    pub(super) closed: bool,
    /// Octets of whole frames taken in.
    pub(super) offset: u64,
    pub(super) wants: usize,
    /// Frames are left because enough was done for one turn.
    pub(super) has_more: bool,
    /// What is held here for the peer: headers and bodies of calls that have not ended.
    pub(super) memory: Account,
    /// Where a frame's header and fields are put together.
    pub(super) scratch: Vec<u8>,
}

/// Which end this is.
pub(super) enum Role {
    Client,
    Server(KindOf),
}

/// How far the preface has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Greeting {
    Magic,
    Hello,
    Done,
}

/// An output and the credit that comes back once it is taken.
pub(super) struct Pending {
    pub(super) output: Output,
    pub(super) cost: u32,
}

impl Connection {
    /// The end that calls.
    #[must_use]
    pub fn client(config: Config, now: Instant) -> Self {
        let mut connection = Self::new(Role::Client, config, now);
        connection.number = 1;
        connection
    }

    /// The end that answers. `kind_of` tells which operations it knows and their shape.
    #[must_use]
    pub fn server(config: Config, kind_of: KindOf, now: Instant) -> Self {
        let mut connection = Self::new(Role::Server(kind_of), config, now);
        connection.enforced = connection.own.or_larger(Limits::VERSION_1);
        connection
    }

    fn new(role: Role, config: Config, now: Instant) -> Self {
        let hello = Hello::of(&config);
        let own = hello.limits;
        let limits = own.towards(Limits::VERSION_1);
        let interval = config.keep_alive_interval;
        Self {
            role,
            own,
            limits,
            enforced: own,
            calls: Calls::new(),
            lanes: [calls::NONE; 32],
            queue: SendQueue::new(),
            queued: 0,
            waiting: 0,
            control: Control::new(hello.preface()),
            outputs: VecDeque::new(),
            deadlines: Deadlines::new(),
            send_credit: SendCredit::new(limits.connection_credit),
            receive_credit: ReceiveCredit::new(own.connection_credit),
            sent_operations: SentOperations::default(),
            known_operations: KnownOperations::default(),
            partial_events: Vec::new(),
            keep_alive: KeepAlive::new(interval, config.keep_alive_timeout, now),
            greeting: Greeting::Magic,
            number: 0,
            draining: false,
            peer_drains: None,
            fault: None,
            close_reason: None,
            closed: false,
            offset: 0,
            wants: 0,
            has_more: false,
            memory: Account::new(config.max_connection_memory, config.process_memory.clone()),
            scratch: Vec::new(),
            config,
        }
    }

    /// How many octets of the current frame have not come yet: a driver may make room for as many
    /// and read them in one go.
    #[must_use]
    pub const fn wants(&self) -> usize {
        self.wants
    }

    /// Why the connection ends, once it does; also set when the peer is silent for too long.
    #[must_use]
    pub const fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// What the peer said when it closed the connection because of a fault of ours.
    #[must_use]
    pub fn close_reason(&self) -> Option<&str> {
        self.close_reason.as_deref()
    }

    /// What the connection's credit still lets this end send, in octets; below zero when a message
    /// overdrew it. For diagnosis.
    #[must_use]
    pub const fn send_credit(&self) -> i64 {
        self.send_credit.octets()
    }

    /// What the connection's credit still lets the peer send, in octets, as it has been told.
    #[must_use]
    pub const fn receive_credit(&self) -> i64 {
        self.receive_credit.balance()
    }

    /// Octets of memory that calls in progress hold here. For diagnosis.
    #[must_use]
    pub const fn memory(&self) -> usize {
        self.memory.held()
    }

    /// What the peer sent that the application has not taken or consumed, in octets (with 16 for
    /// each message). For diagnosis: an application that holds much slows its peer down.
    #[must_use]
    pub fn held(&self) -> i64 {
        self.receive_credit.held()
    }

    pub(super) fn tell(&mut self, output: Output) {
        self.outputs.push_back(Pending { output, cost: 0 });
    }

    /// Whether an event waits, be it for credit. It counts as one octet of the backlog: enough for
    /// a blocking sender to go on reading, since nothing else would make it.
    fn events_wait(&self) -> bool {
        let mut lanes = self.lanes.iter().filter(|slot| **slot != calls::NONE);
        lanes.any(|slot| self.calls.get(*slot).front.is_some())
    }

    /// Something that the peer sent was taken.
    pub(super) fn give_back(&mut self, cost: u32) {
        if cost > 0
            && self.fault.is_none()
            && let Some(octets) = self.receive_credit.give(cost)
        {
            self.control.credit(0, octets);
        }
    }
}

impl Core for Connection {
    fn handle_event(&mut self, now: Instant, input: Input<'_>) -> Result<(), Fault> {
        match input {
            Input::Octets(octets) => self.receive(now, octets),
            Input::Closed => {
                self.close();
                Ok(())
            }
        }
    }

    fn has_more(&self) -> bool {
        self.has_more
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(slot) = self.deadlines.pop_due(now) {
            self.calls.get_mut(slot).deadline = None;
            match self.role {
                Role::Client => self.client_deadline(slot),
                Role::Server(_) => self.server_deadline(slot),
            }
        }
        if self.fault.is_some() || self.closed {
            return;
        }
        match self.keep_alive.handle_timeout(now) {
            Due::Nothing => {}
            Due::Ping => self.control.ping(),
            Due::Dead => {
                self.fail(Violation::Silent);
                self.fail_all();
            }
        }
    }

    fn poll_transmit(&mut self, now: Instant, outbox: &mut Outbox) -> bool {
        self.memory.settle();
        self.transmit(now, outbox)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.fault.is_some() || self.closed {
            return self.deadlines.next();
        }
        match (self.deadlines.next(), self.keep_alive.next()) {
            (Some(deadline), Some(keep_alive)) => Some(deadline.min(keep_alive)),
            (deadline, keep_alive) => deadline.or(keep_alive),
        }
    }

    fn poll(&mut self) -> Option<Output> {
        let pending = self.outputs.pop_front()?;
        self.give_back(pending.cost);
        Some(pending.output)
    }

    fn call(&mut self, _now: Instant, request: Request) -> Result<CallId, CallError> {
        self.start(request, CallKind::Unary)
    }

    fn open(&mut self, _now: Instant, request: Request) -> Result<CallId, CallError> {
        self.start(request, CallKind::Stream)
    }

    fn send_event(&mut self, _now: Instant, event: Event) -> Result<(), CallError> {
        self.queue_event(event)
    }

    fn room(&self, call: CallId) -> Option<usize> {
        let slot = self.calls.find(call.number())?;
        let stream = self.calls.get(slot).stream.as_deref()?;
        if self.send_credit.may_begin() {
            Some(stream.room())
        } else {
            Some(0)
        }
    }

    fn send(&mut self, call: CallId, message: Body) -> Result<(), CallError> {
        self.queue_message(call, message)
    }

    fn finish(&mut self, call: CallId) {
        self.queue_finish(call);
    }

    fn respond(&mut self, call: CallId, response: Response) {
        self.queue_response(call, response);
    }

    fn cancel(&mut self, call: CallId, code: Code) {
        self.give_up(call, code);
    }

    fn consumed(&mut self, call: CallId, octets: usize) {
        self.consume(call, octets);
    }

    fn drain(&mut self) {
        self.start_draining();
    }

    fn in_flight(&self) -> usize {
        self.calls.count()
    }

    fn queued(&self) -> usize {
        self.control.octets().len() + self.waiting
    }

    fn backlog(&self) -> usize {
        let messages = if self.queue.is_ready(self.send_credit.may_begin()) {
            self.queued
        } else {
            0
        };
        self.control.octets().len() + messages + usize::from(self.events_wait())
    }

    fn wants(&self) -> usize {
        Self::wants(self)
    }

    fn fault(&self) -> Option<&Fault> {
        Self::fault(self)
    }

    fn protocol(&self) -> &'static str {
        "native"
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("in_flight", &self.calls.count())
            .field("waiting", &self.waiting)
            .field("outputs", &self.outputs.len())
            .field("draining", &self.draining)
            .field("fault", &self.fault)
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}
