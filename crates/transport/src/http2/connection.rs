//! One connection: what both ends share.

use super::body::Arena;
use super::call::Call;
use super::config::{Config, Flavour};
use super::fields::BinaryValues;
use super::header_prefixes::HeaderPrefixCache;
use super::keep_alive::KeepAlive;
use super::operations::Operations;
use super::received::Received;
use super::varying::Varying;
use bytes::BytesMut;
use corewire_message::Body;
use corewire_wire::http2::{self, ErrorCode, Event, INLINE_PIECE, Session, Sink, StreamMap};
use corewire_wire::memory::Account;
use corewire_wire::{CallId, Deadlines, Fault, KindOf, Output, grpc};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::time::Instant;

/// Emptied calls kept for the next ones.
const SPARE_CALLS: usize = 256;

/// One HTTP/2 connection, sans-IO: see [`corewire_wire::Core`].
pub struct Connection {
    pub(super) session: Session,
    pub(super) end: End,
    pub(super) config: Config,
    pub(super) calls: StreamMap<Box<Call>>,
    #[expect(clippy::vec_box, reason = "the boxes are what is kept")]
    pub(super) spare: Vec<Box<Call>>,
    pub(super) outputs: VecDeque<Pending>,
    pub(super) deadlines: Deadlines,
    pub(super) operations: Operations,
    pub(super) arena: Arena,
    pub(super) scratch: Scratch,
    pub(super) varying: Varying,
    pub(super) leads: HeaderPrefixCache,
    pub(super) keep_alive: KeepAlive,
    pub(super) drain: Drain,
    pub(super) peer_drains: bool,
    pub(super) fault: Option<Fault>,
    pub(super) closed: bool,
    /// Client: streams of events that are not wholly written.
    pub(super) events: Vec<u32>,
    /// Octets received.
    pub(super) received: u64,
    /// What is held here for the peer: headers and bodies of calls that have not ended.
    pub(super) memory: Account,
    /// Octets are left because enough was done for one turn.
    pub(super) has_more: bool,
    /// Streams of whole bodies that got octets in this turn.
    pub(super) touched: Vec<u32>,
    /// Server: answered streams whose request shall not go on.
    pub(super) half_open: Vec<u32>,
    /// Streams whose owners were told that they have no room.
    pub(super) blocked: RefCell<Vec<u32>>,
    pub(super) now: Instant,
}

/// Which end this is.
pub(super) enum End {
    Client {
        flavour: Flavour,
        authority: Box<str>,
    },
    Server {
        kind_of: KindOf,
    },
}

/// Something to tell the application, and what it takes with it when it goes.
pub(super) struct Pending {
    pub(super) output: Output,
    /// Octets whose connection credit is given back when it is taken.
    pub(super) cost: usize,
    /// Octets that stop being held then, of headers and of a body.
    pub(super) held: (usize, usize),
}

impl From<Output> for Pending {
    fn from(output: Output) -> Self {
        Self {
            output,
            cost: 0,
            held: (0, 0),
        }
    }
}

/// How far this side is with its farewell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drain {
    No,
    /// A notice was sent; the last word follows at the latest then.
    Noticed(Instant),
    /// Nothing is left to say.
    Said,
}

/// Memory used again from call to call.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) path: Vec<u8>,
    pub(super) message: Vec<u8>,
    pub(super) octets: Vec<u8>,
    pub(super) binary: BinaryValues,
}

impl Connection {
    /// The calling end. `authority` is what the service is called, for example
    /// `smf.example:8080`.
    #[must_use]
    pub fn client(config: Config, flavour: Flavour, authority: &str, now: Instant) -> Self {
        let end = End::Client {
            flavour,
            authority: authority.into(),
        };
        Self::new(config, http2::Role::Client, end, now)
    }

    /// The answering end: both flavours, told apart by content type. `kind_of` tells the shape of
    /// each operation's calls.
    #[must_use]
    pub fn server(config: Config, kind_of: KindOf, now: Instant) -> Self {
        Self::new(config, http2::Role::Server, End::Server { kind_of }, now)
    }

    fn new(config: Config, role: http2::Role, end: End, now: Instant) -> Self {
        let mut limits = config.limits();
        // What HTTP/2 cannot say is brought to the next that it can.
        limits.max_frame = limits.max_frame.clamp(1 << 14, (1 << 24) - 1);
        limits.stream_window = limits.stream_window.min(i32::MAX as u32);
        limits.connection_window = limits.connection_window.clamp(65_535, i32::MAX as u32);
        let session = match Session::new(role, &limits) {
            Ok(session) => session,
            // They are in range.
            Err(error) => panic!("no HTTP/2 session: {error}"),
        };
        Self {
            session,
            end,
            calls: StreamMap::default(),
            spare: Vec::new(),
            outputs: VecDeque::new(),
            deadlines: Deadlines::new(),
            operations: Operations::new(),
            arena: Arena::default(),
            scratch: Scratch::default(),
            varying: Varying::default(),
            leads: HeaderPrefixCache::new(),
            keep_alive: KeepAlive::new(config.keep_alive_interval, config.keep_alive_timeout, now),
            drain: Drain::No,
            peer_drains: false,
            fault: None,
            closed: false,
            events: Vec::new(),
            received: 0,
            memory: Account::new(config.max_connection_memory, config.process_memory.clone()),
            has_more: false,
            touched: Vec::new(),
            half_open: Vec::new(),
            blocked: RefCell::default(),
            now,
            config,
        }
    }

    /// Whether HTTP/2 is through with this connection: nothing more is expected from the peer and
    /// nothing waits to be sent. The driver writes what its outbox holds, then closes.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.closed || !self.session.wants_read() && !self.session.wants_write()
    }

    pub(super) fn tell(&mut self, output: Output) {
        self.outputs.push_back(Pending::from(output));
    }

    pub(super) fn fail(&mut self, what: &'static str) {
        if self.fault.is_none() {
            self.fault = Some(Fault {
                what,
                offset: self.received,
            });
        }
    }

    /// An empty call.
    pub(super) fn new_call(&mut self) -> Box<Call> {
        self.spare.pop().unwrap_or_default()
    }

    /// Takes a call out: it has ended here. Credit that it holds goes back to the connection.
    pub(super) fn remove(&mut self, stream: u32) -> Option<Box<Call>> {
        let mut call = self.calls.remove(stream)?;
        self.memory.release(call.held_headers, call.held_body);
        if let Some(timer) = call.timer.take() {
            self.deadlines.remove(timer);
        }
        if call.unreturned > 0 {
            self.session.consume_connection(call.unreturned);
        }
        if self.calls.is_empty() {
            self.arena.shrink();
        }
        Some(call)
    }

    /// Keeps an emptied call's memory for the next.
    pub(super) fn recycle(&mut self, mut call: Box<Call>) {
        if self.spare.len() < SPARE_CALLS {
            *call = Call::default();
            self.spare.push(call);
        }
    }

    /// Adds a message with its five octets in front to a stream.
    pub(super) fn push_message(&mut self, stream: u32, message: Body) -> bool {
        let Some(prefix) = grpc::prefix(message.len()) else {
            return false;
        };
        let head = message.head();
        let mut inline = [0; INLINE_PIECE];
        inline[..prefix.len()].copy_from_slice(&prefix);
        inline[prefix.len()..][..head.len()].copy_from_slice(head);
        let length = prefix.len() + head.len();
        self.session
            .push(stream, &inline[..length], message.tail().clone());
        true
    }

    /// Adds a body without framing to a stream.
    pub(super) fn push_body(&mut self, stream: u32, body: &Body) {
        self.session.push(stream, body.head(), body.tail().clone());
    }

    /// Takes what the session has to tell of what it received last.
    pub(super) fn take_events(&mut self, mut input: Received<'_>) {
        while let Some(event) = self.session.next_event() {
            match event {
                Event::Headers {
                    stream,
                    kind,
                    fields,
                    oversized,
                } => match self.end {
                    End::Client { .. } => self.answer_head(stream, fields, oversized),
                    End::Server { .. } => self.request_head(stream, kind, fields, oversized),
                },
                Event::Data { stream, octets } => {
                    let ends = self.session.ends_next(stream);
                    self.body_octets(stream, &mut input, octets, ends);
                }
                Event::End { stream } => match self.end {
                    End::Client { .. } => self.answer_end(stream),
                    End::Server { .. } => self.request_end(stream),
                },
                Event::Closed { stream, code } => self.stream_closed(stream, code),
                Event::GoAway { .. } => self.peer_drains(),
                Event::Credit => {}
                Event::Pong => {
                    if let Drain::Noticed(_) = self.drain {
                        self.last_word();
                    }
                }
            }
        }
    }

    fn stream_closed(&mut self, stream: u32, code: ErrorCode) {
        let Some(call) = self.remove(stream) else {
            return;
        };
        match self.end {
            End::Client { .. } => self.answer_closed(stream, &call, code),
            End::Server { .. } => self.request_closed(stream, &call),
        }
        self.recycle(call);
    }

    fn peer_drains(&mut self) {
        if !self.peer_drains {
            self.peer_drains = true;
            self.tell(Output::Draining);
        }
    }

    /// Says which of the peer's streams was the last.
    pub(super) fn last_word(&mut self) {
        self.drain = Drain::Said;
        self.session.go_away(ErrorCode::NO_ERROR);
    }

    /// Lets the session write, and takes what it has to tell of that.
    pub(super) fn write(&mut self, sink: &mut dyn Sink) -> bool {
        // Asked for twice a turn; most often there is nothing.
        if !self.session.wants_write() {
            return false;
        }
        let wrote = self.session.send(sink);
        self.take_events(Received::new(&mut BytesMut::new(), 0));
        wrote
    }

    /// Client: forgets events that are written.
    pub(super) fn forget_written_events(&mut self) {
        let session = &self.session;
        self.events.retain(|stream| {
            self.calls.contains(*stream)
                && (*stream > session.last_request_sent() || session.queued(*stream) > 0)
        });
    }

    /// Server: asks peers to stop sending what nobody will read (RFC 9113, 8.1), once the answer
    /// is written; says whether it asked any.
    pub(super) fn reset_half_open(&mut self) -> bool {
        let mut asked = false;
        let mut streams = std::mem::take(&mut self.half_open);
        streams.retain(|stream| {
            let Some(call) = self.calls.get(*stream) else {
                return false;
            };
            if call.received_all {
                return false;
            }
            if self.session.queued(*stream) > 0 || !self.session.is_finished(*stream) {
                return true;
            }
            self.session.reset(*stream, ErrorCode::NO_ERROR);
            asked = true;
            false
        });
        self.half_open = streams;
        asked
    }

    /// Tells owners of streams that were full of the room they have again.
    pub(super) fn tell_writable(&mut self) {
        if self.blocked.get_mut().is_empty() {
            return;
        }
        let mut blocked = std::mem::take(self.blocked.get_mut());
        blocked.retain(|stream| {
            let Some(call) = self.calls.get(*stream) else {
                return false;
            };
            if self.room_of(*stream, call) == 0 {
                return true;
            }
            call.blocked.set(false);
            let call = CallId::new(*stream);
            self.outputs.push_back(Output::Writable { call }.into());
            false
        });
        *self.blocked.get_mut() = blocked;
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("role", &self.session.role())
            .field("calls", &self.calls.len())
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}
