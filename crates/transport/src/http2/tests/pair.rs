//! Two connections and the octets between them.

use crate::http2::{Config, Connection, Flavour};
use bytes::BytesMut;
use corewire_message::{Body, CallKind, Operation, Request};
use corewire_wire::{CallId, Core, Fault, Input, KindOf, Outbox, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) const CALL: Operation = Operation::from_static("test.v1.Echo/Call");
pub(crate) const STREAM: Operation = Operation::from_static("test.v1.Echo/Stream");
pub(crate) const UNKNOWN: Operation = Operation::from_static("test.v1.Echo/Nothing");

/// Turns that any exchange in these tests needs at most.
const MOST_TURNS: usize = 10_000;

/// One connection and what it told.
pub(crate) struct Side {
    pub(crate) core: Connection,
    pub(crate) told: Vec<Output>,
    pub(crate) fault: Option<Fault>,
    /// Every octet it sent.
    pub(crate) transcript: Vec<u8>,
    unread: BytesMut,
}

/// A client, a server and a clock.
pub(crate) struct Pair {
    pub(crate) client: Side,
    pub(crate) server: Side,
    pub(crate) now: Instant,
    /// Octets that are delivered at a time.
    pub(crate) chunk: usize,
}

pub(crate) fn unary_and_streams() -> KindOf {
    Arc::new(|operation: &Operation| match operation {
        operation if *operation == CALL => Some(CallKind::Unary),
        operation if *operation == STREAM => Some(CallKind::Stream),
        _ => None,
    })
}

impl Side {
    pub(crate) fn new(core: Connection) -> Self {
        Self {
            core,
            told: Vec::new(),
            fault: None,
            transcript: Vec::new(),
            unread: BytesMut::new(),
        }
    }

    /// One turn: everything it wants to write, in one outbox.
    pub(crate) fn transmit(&mut self, now: Instant) -> Vec<u8> {
        let mut written = Vec::new();
        let mut outbox = Outbox::new();
        while self.core.poll_transmit(now, &mut outbox) {
            while !outbox.is_empty() {
                written.extend_from_slice(outbox.first());
                outbox.advance(outbox.first().len());
            }
        }
        self.transcript.extend_from_slice(&written);
        written
    }

    pub(crate) fn receive(&mut self, now: Instant, octets: &[u8]) {
        self.unread.extend_from_slice(octets);
        loop {
            if let Err(fault) = self.core.handle_event(now, Input::Octets(&mut self.unread)) {
                self.fault.get_or_insert(fault);
            }
            self.poll();
            if !self.core.has_more() {
                return;
            }
        }
    }

    pub(crate) fn close(&mut self, now: Instant) {
        let _ended = self.core.handle_event(now, Input::Closed);
        self.poll();
    }

    pub(crate) fn poll(&mut self) {
        while let Some(output) = self.core.poll() {
            self.told.push(output);
        }
    }

    pub(crate) fn tells(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.told)
    }

    /// The one thing it told.
    pub(crate) fn only(&mut self) -> Output {
        let mut told = self.tells();
        assert_eq!(told.len(), 1, "{told:?}");
        told.remove(0)
    }
}

impl Pair {
    pub(crate) fn new(flavour: Flavour) -> Self {
        Self::with(flavour, Config::default(), Config::default())
    }

    pub(crate) fn with(flavour: Flavour, client: Config, server: Config) -> Self {
        let now = Instant::now();
        let client = Connection::client(client, flavour, "smf.example:80", now);
        let server = Connection::server(server, unary_and_streams(), now);
        Self {
            client: Side::new(client),
            server: Side::new(server),
            now,
            chunk: usize::MAX,
        }
    }

    /// Carries octets both ways until there are none.
    pub(crate) fn run(&mut self) {
        for _ in 0..MOST_TURNS {
            let up = self.client.transmit(self.now);
            for octets in up.chunks(self.chunk) {
                self.server.receive(self.now, octets);
            }
            let down = self.server.transmit(self.now);
            for octets in down.chunks(self.chunk) {
                self.client.receive(self.now, octets);
            }
            if up.is_empty() && down.is_empty() {
                return;
            }
        }
        panic!("the two never come to rest");
    }

    /// Lets time pass: timeouts that come up are handled, then octets carried.
    pub(crate) fn pass(&mut self, time: Duration) {
        self.now += time;
        for side in [&mut self.client, &mut self.server] {
            for _ in 0..MOST_TURNS {
                if side.core.poll_timeout().is_none_or(|at| at > self.now) {
                    break;
                }
                side.core.handle_timeout(self.now);
                side.poll();
            }
        }
        self.run();
    }

    pub(crate) fn call(&mut self, body: impl Into<Body>) -> CallId {
        let request = Request::new(CALL).with_body(body);
        self.client.core.call(self.now, request).unwrap()
    }

    /// The request that the server was told of alone.
    pub(crate) fn asked(&mut self) -> (CallId, Request) {
        match self.server.only() {
            Output::Request { call, request } | Output::Opened { call, request } => (call, request),
            other => panic!("no request: {other:?}"),
        }
    }

    /// The response that the client was told of alone.
    pub(crate) fn answered(&mut self) -> corewire_message::Response {
        match self.client.only() {
            Output::Response { response, .. } => response,
            other => panic!("no response: {other:?}"),
        }
    }

    /// The failure that the client was told of alone.
    pub(crate) fn failed(&mut self) -> corewire_message::CallError {
        match self.client.only() {
            Output::Failed { error, .. } => error,
            other => panic!("no failure: {other:?}"),
        }
    }
}

/// Both flavours.
pub(crate) const FLAVOURS: [Flavour; 2] = [Flavour::Rest, Flavour::Grpc];

pub(crate) const fn text(text: &'static str) -> Body {
    Body::from_static(text.as_bytes())
}
