//! Two sessions and the octets between them; and one session that is given octets by hand.
#![expect(
    clippy::disallowed_methods,
    reason = "a test has to begin at some time"
)]

mod frames;
mod hostile;
mod pair;
mod ready;

use super::frame::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEAD, HEADERS, Head, PADDED, PING,
    RST_STREAM, SETTINGS, WINDOW_UPDATE,
};
use super::session::PREFACE;
use super::{Error, ErrorCode, Event, Field, HeadersKind, Limits, Role, Session, Sink};
use bytes::Bytes;
use std::time::Instant;

/// Keeps what is written; takes `budget` octets a turn.
struct Written {
    octets: Vec<u8>,
    shared: usize,
    budget: usize,
}

impl Sink for Written {
    fn put(&mut self, octets: &[u8]) {
        self.octets.extend_from_slice(octets);
    }

    fn put_shared(&mut self, octets: Bytes) {
        self.shared += 1;
        self.octets.extend_from_slice(&octets);
    }

    fn budget(&self) -> usize {
        self.budget.saturating_sub(self.octets.len())
    }
}

struct Pair {
    client: Session,
    server: Session,
    budget: usize,
}

const REQUEST: [Field<'static>; 4] = [
    Field::fixed(":method", "POST"),
    Field::fixed(":scheme", "http"),
    Field::fixed(":authority", "x"),
    Field::fixed(":path", "/a/b"),
];

impl Pair {
    fn new() -> Self {
        Self::with(&Limits::default())
    }

    fn with(limits: &Limits) -> Self {
        let mut pair = Self {
            client: Session::new(Role::Client, limits).unwrap(),
            server: Session::new(Role::Server, limits).unwrap(),
            budget: usize::MAX,
        };
        // SETTINGS and WINDOW_UPDATE from both, then the answers to SETTINGS.
        for _ in 0..2 {
            assert!(pair.down().iter().all(|told| *told == Told::Other));
            assert!(pair.up().iter().all(|told| *told == Told::Other));
        }
        pair
    }

    /// Carries what the client has to send; gives what the server then tells.
    fn up(&mut self) -> Vec<Told> {
        carry(&mut self.client, &mut self.server, self.budget)
    }

    fn down(&mut self) -> Vec<Told> {
        carry(&mut self.server, &mut self.client, self.budget)
    }
}

/// An event with what it points at.
#[derive(Debug, PartialEq)]
enum Told {
    Headers(u32, HeadersKind, Vec<(String, String)>, bool),
    Data(u32, usize),
    End(u32),
    Closed(u32, ErrorCode),
    GoAway(u32, ErrorCode),
    Other,
}

fn carry(from: &mut Session, to: &mut Session, budget: usize) -> Vec<Told> {
    let mut sink = Written {
        octets: Vec::new(),
        shared: 0,
        budget,
    };
    from.send(&mut sink);
    while from.next_event().is_some() {}
    assert_eq!(
        to.receive(Instant::now(), &sink.octets),
        Ok(sink.octets.len())
    );
    let mut told: Vec<Told> = Vec::new();
    while let Some(event) = to.next_event() {
        told.push(match event {
            Event::Headers {
                stream,
                kind,
                fields,
                oversized,
            } => {
                let text = |octets: &[u8]| String::from_utf8(octets.to_vec()).unwrap();
                let fields = to.fields(fields).map(|(n, v)| (text(n), text(v)));
                Told::Headers(stream, kind, fields.collect(), oversized)
            }
            Event::Data { stream, octets } => {
                let count = octets.len();
                assert!(sink.octets[octets].iter().all(|octet| *octet == 7));
                to.consume_stream(stream, count);
                to.consume_connection(count);
                Told::Data(stream, count)
            }
            Event::End { stream } => Told::End(stream),
            Event::Closed { stream, code } => Told::Closed(stream, code),
            Event::GoAway { last_stream, code } => Told::GoAway(last_stream, code),
            Event::Credit | Event::Pong => Told::Other,
        });
    }
    told
}

fn pairs(fields: &[(&str, &str)]) -> Vec<(String, String)> {
    fields
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// Octets given to a session by hand.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let head = Head {
        length: payload.len(),
        kind,
        flags,
        stream,
    };
    [&head.write()[..], payload].concat()
}

/// A header block without compression.
fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            block.push(text.len() as u8);
            block.extend(text.as_bytes());
        }
    }
    block
}

fn post(stream: u32, flags: u8) -> Vec<u8> {
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "x"),
        (":path", "/a/b"),
    ];
    frame(HEADERS, END_HEADERS | flags, stream, &block(&fields))
}

/// A server that has heard a client's greeting.
fn greeted(limits: &Limits) -> Session {
    let mut server = Session::new(Role::Server, limits).unwrap();
    let greeting = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    assert_eq!(tell(&mut server, &greeting), [Event::Credit]);
    sent(&mut server);
    server
}

fn tell(session: &mut Session, octets: &[u8]) -> Vec<Event> {
    assert_eq!(session.receive(Instant::now(), octets), Ok(octets.len()));
    std::iter::from_fn(|| session.next_event()).collect()
}

fn sent(session: &mut Session) -> Vec<u8> {
    let mut sink = Written {
        octets: Vec::new(),
        shared: 0,
        budget: usize::MAX,
    };
    session.send(&mut sink);
    sink.octets
}

/// The heads of frames.
fn heads(mut octets: &[u8]) -> Vec<Head> {
    let mut heads = Vec::new();
    while let Some((head, rest)) = octets.split_first_chunk() {
        let head = Head::read(*head);
        octets = &rest[head.length..];
        heads.push(head);
    }
    heads
}
