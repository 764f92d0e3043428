//! Our session with the face that nghttp2's has here.

use crate::nghttp2::Settings;
use crate::told::{Field, Message, Told};
use bytes::Bytes;
use corewire_wire::http2::{self, ErrorCode, Event, Limits, Role, Sink};
use std::collections::HashMap;
use std::time::Instant;

pub(crate) struct Session {
    session: http2::Session,
    lead: http2::HeaderPrefix,
    now: Instant,
    /// Octets that came and were not taken.
    input: Vec<u8>,
    /// What of bodies is not pushed yet.
    bodies: HashMap<u32, Body>,
    told: Vec<Told>,
    /// Octets of bodies that came and of which the peer is not told: by stream.
    owed: Vec<(u32, usize)>,
    /// Credit goes back only when the owner says so.
    is_slow: bool,
}

struct Body {
    rest: Bytes,
    piece: usize,
    trailers: Vec<Field>,
}

struct Written {
    octets: Vec<u8>,
    most: usize,
}

impl Sink for Written {
    fn put(&mut self, octets: &[u8]) {
        self.octets.extend_from_slice(octets);
    }

    fn put_shared(&mut self, octets: Bytes) {
        self.octets.extend_from_slice(&octets);
    }

    fn budget(&self) -> usize {
        self.most.saturating_sub(self.octets.len())
    }
}

impl Session {
    pub(crate) fn new(is_client: bool, settings: &Settings, now: Instant, is_slow: bool) -> Self {
        let limits = Limits {
            stream_window: settings.window,
            connection_window: settings.window.max(65_535),
            max_streams: settings.max_streams,
            max_frame: settings.max_frame,
            ..Limits::default()
        };
        let role = if is_client {
            Role::Client
        } else {
            Role::Server
        };
        Self {
            lead: http2::HeaderPrefix::new(),
            session: http2::Session::new(role, &limits).expect("what HTTP/2 can say"),
            now,
            input: Vec::new(),
            bodies: HashMap::new(),
            told: Vec::new(),
            owed: Vec::new(),
            is_slow,
        }
    }

    pub(crate) fn receive(&mut self, octets: &[u8]) {
        self.input.extend_from_slice(octets);
        loop {
            let taken = self.session.receive(self.now, &self.input);
            let taken = taken.expect("nghttp2 speaks HTTP/2");
            while let Some(event) = self.session.next_event() {
                self.take(event);
            }
            self.input.drain(..taken);
            if taken == 0 || self.input.is_empty() {
                break;
            }
        }
        assert_eq!(self.session.terminated(), None, "we give up");
        if !self.is_slow {
            self.consume();
        }
    }

    fn take(&mut self, event: Event) {
        let told = match event {
            Event::Headers {
                stream,
                fields,
                oversized,
                ..
            } => {
                assert!(!oversized);
                let fields = self.session.fields(fields);
                let owned = |(name, value): (&[u8], &[u8])| (name.to_vec(), value.to_vec());
                Told::Fields(stream, fields.map(owned).collect())
            }
            Event::Data { stream, octets } => {
                self.owed.push((stream, octets.len()));
                Told::Data(stream, self.input[octets].to_vec())
            }
            Event::End { stream } => Told::End(stream),
            Event::Closed { stream, code } => {
                self.bodies.remove(&stream);
                Told::Closed(stream, code.0)
            }
            Event::GoAway { code, .. } => Told::GoAway(code.0),
            Event::Pong => Told::Pong,
            Event::Credit => return,
        };
        self.told.push(told);
    }

    /// Gives credit for what has come.
    pub(crate) fn consume(&mut self) {
        for (stream, octets) in self.owed.drain(..) {
            self.session.consume_stream(stream, octets);
            self.session.consume_connection(octets);
        }
    }

    /// What is to be sent: one frame more than so many octets, at most.
    pub(crate) fn send(&mut self, most: usize) -> Vec<u8> {
        let mut sink = Written {
            octets: Vec::new(),
            most,
        };
        self.session.send(&mut sink);
        self.push();
        sink.octets
    }

    /// Adds a piece to each body.
    fn push(&mut self) {
        let session = &mut self.session;
        self.bodies.retain(|stream, body| {
            let piece = body.rest.split_to(body.piece.min(body.rest.len()));
            if !piece.is_empty() {
                let (inline, shared) = (
                    piece.slice(..piece.len().min(3)),
                    piece.slice(piece.len().min(3)..),
                );
                session.push(*stream, &inline, shared);
            }
            if !body.rest.is_empty() {
                return true;
            }
            if body.trailers.is_empty() {
                session.finish(*stream);
            } else {
                session
                    .finish_with_trailers(*stream, &fields(&body.trailers).collect::<Vec<_>>())
                    .expect("short enough");
            }
            false
        });
    }

    pub(crate) fn told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }

    pub(crate) fn request(&mut self, message: &Message) -> u32 {
        let fields: Vec<_> = fields(&message.fields).collect();
        let (own, fields) = (lead(&mut self.lead, &fields), &fields[LEAD..]);
        let stream = self.session.request(Some(own), fields, true);
        let stream = stream.expect("a stream is free");
        self.expect_body(stream, message);
        stream
    }

    pub(crate) fn answer(&mut self, stream: u32, message: &Message) {
        let fields: Vec<_> = fields(&message.fields).collect();
        if self.session.answer(stream, None, &fields, true).is_ok() {
            self.expect_body(stream, message);
        }
    }

    fn expect_body(&mut self, stream: u32, message: &Message) {
        let body = Body {
            rest: message.body.clone().into(),
            piece: message.piece,
            trailers: message.trailers.clone(),
        };
        self.bodies.insert(stream, body);
    }

    pub(crate) fn reset(&mut self, stream: u32, code: u32) {
        self.bodies.remove(&stream);
        self.session.reset(stream, ErrorCode(code));
        while let Some(event) = self.session.next_event() {
            self.take(event);
        }
    }

    pub(crate) fn ping(&mut self) {
        self.session.ping();
    }
}

/// Fields of a request that are kept from one to the next.
const LEAD: usize = 4;

/// What was kept, when the request begins alike.
fn lead<'l>(
    lead: &'l mut http2::HeaderPrefix,
    fields: &[http2::Field<'_>],
) -> &'l mut http2::HeaderPrefix {
    let fields = &fields[..LEAD];
    let parts = |field: http2::Field<'_>| {
        let (name, value) = field.parts();
        (name.to_vec(), value.to_vec())
    };
    if !lead
        .fields()
        .map(parts)
        .eq(fields.iter().copied().map(parts))
    {
        lead.clear();
        for field in fields {
            assert!(lead.put(field));
        }
    }
    lead
}

/// Some are secret, some do not come again.
fn fields(fields: &[Field]) -> impl Iterator<Item = http2::Field<'_>> {
    fields.iter().map(|(name, value)| {
        let field = http2::Field::new(name, value);
        match name.last() {
            Some(b'1') => field.unindexed(),
            Some(b'2') => field.secret(),
            _ => field,
        }
    })
}
