//! Two connections wired in memory, with a clock that stands until it is set.

use bytes::BytesMut;
use corewire_message::{CallKind, Operation, Request};
use corewire_wire::native::{Config, Connection};
use corewire_wire::{CallId, Core, Fault, Input, Outbox, Output};
use std::io::IoSlice;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) const ECHO: Operation = Operation::from_static("test.v1.Test/Echo");
pub(crate) const CHAT: Operation = Operation::from_static("test.v1.Test/Chat");
pub(crate) const UNKNOWN: Operation = Operation::from_static("test.v1.Test/Unknown");

/// `Echo` is unary, `Chat` a stream, nothing else is known.
pub(crate) fn kind_of(operation: &Operation) -> Option<CallKind> {
    match operation.as_str() {
        "test.v1.Test/Echo" => Some(CallKind::Unary),
        "test.v1.Test/Chat" => Some(CallKind::Stream),
        _ => None,
    }
}

pub(crate) struct Pair {
    pub(crate) client: Connection,
    pub(crate) server: Connection,
    pub(crate) now: Instant,
    /// Octets handed over at once.
    pub(crate) chunk: usize,
    to_client: BytesMut,
    to_server: BytesMut,
}

impl Pair {
    pub(crate) fn new() -> Self {
        Self::with(Config::default(), Config::default())
    }

    pub(crate) fn with(client: Config, server: Config) -> Self {
        let now = Instant::now();
        Self {
            client: Connection::client(client, now),
            server: Connection::server(server, Arc::new(kind_of), now),
            now,
            chunk: usize::MAX,
            to_client: BytesMut::new(),
            to_server: BytesMut::new(),
        }
    }

    /// Both have read each other's HELLO.
    pub(crate) fn greeted(mut self) -> Self {
        self.run();
        self
    }

    /// Carries octets both ways until neither has any.
    pub(crate) fn run(&mut self) {
        for _ in 0..10_000 {
            let up = self.up().expect("the client breaks nothing");
            let down = self.down().expect("the server breaks nothing");
            if !up && !down {
                return;
            }
        }
        panic!("the two never fall silent");
    }

    /// Carries what the client has to the server.
    pub(crate) fn up(&mut self) -> Result<bool, Fault> {
        let octets = transmitted(&mut self.client, self.now);
        let (core, buffer) = (&mut self.server, &mut self.to_server);
        feed(core, buffer, &octets, self.chunk, self.now)?;
        Ok(!octets.is_empty())
    }

    /// Carries what the server has to the client.
    pub(crate) fn down(&mut self) -> Result<bool, Fault> {
        let octets = transmitted(&mut self.server, self.now);
        let (core, buffer) = (&mut self.client, &mut self.to_client);
        feed(core, buffer, &octets, self.chunk, self.now)?;
        Ok(!octets.is_empty())
    }

    /// Moves the clock and fires what is due.
    pub(crate) fn pass(&mut self, time: Duration) {
        self.now += time;
        for core in [&mut self.client, &mut self.server] {
            if core.poll_timeout().is_some_and(|at| at <= self.now) {
                core.handle_timeout(self.now);
            }
        }
    }

    pub(crate) fn call(&mut self, request: Request) -> CallId {
        self.client.call(self.now, request).unwrap()
    }

    pub(crate) fn open(&mut self) -> CallId {
        self.client.open(self.now, Request::new(CHAT)).unwrap()
    }

    pub(crate) fn close_both(&mut self) {
        for core in [&mut self.client, &mut self.server] {
            core.handle_event(self.now, Input::Closed).unwrap();
        }
    }

    pub(crate) fn request(&mut self) -> (CallId, Request) {
        match self.server.poll() {
            Some(Output::Request { call, request }) => (call, request),
            other => panic!("not a request: {other:?}"),
        }
    }
}

/// Everything a core wants to send.
pub(crate) fn transmitted(core: &mut Connection, now: Instant) -> Vec<u8> {
    let mut outbox = Outbox::new();
    let mut all = Vec::new();
    while core.poll_transmit(now, &mut outbox) {
        all.extend(drained(&mut outbox));
    }
    all
}

pub(crate) fn drained(outbox: &mut Outbox) -> Vec<u8> {
    let mut all = Vec::new();
    while !outbox.is_empty() {
        let mut slices = [IoSlice::new(&[]); 64];
        let count = outbox.slices(&mut slices);
        let turn: Vec<u8> = slices[..count].iter().flat_map(|s| s.to_vec()).collect();
        outbox.advance(turn.len());
        all.extend(turn);
    }
    all
}

/// Feeds octets in pieces of at most `chunk`.
pub(crate) fn feed(
    core: &mut Connection,
    buffer: &mut BytesMut,
    octets: &[u8],
    chunk: usize,
    now: Instant,
) -> Result<(), Fault> {
    for piece in octets.chunks(chunk.max(1)) {
        buffer.extend_from_slice(piece);
        core.handle_event(now, Input::Octets(buffer))?;
        while core.has_more() {
            core.handle_event(now, Input::Octets(buffer))?;
        }
    }
    Ok(())
}

pub(crate) fn outputs(core: &mut Connection) -> Vec<Output> {
    std::iter::from_fn(|| core.poll()).collect()
}
