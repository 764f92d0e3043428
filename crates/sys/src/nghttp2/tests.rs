//! Two sessions and the octets between them.

use super::{ErrorCode, Event, Field, HeadersKind, Limits, Role, Session, Sink};
use bytes::Bytes;

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
    from.send(&mut sink).unwrap();
    while from.next_event().is_some() {}
    to.receive(&sink.octets).unwrap();
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

#[test]
fn a_request_and_its_answer_with_trailers() {
    let mut pair = Pair::new();
    let value = vec![b'v'; 300];
    let own = Field::named("x-own", &value);
    let fields = [
        &REQUEST[..],
        &[own.unindexed(), Field::new(b"x-empty", b"")],
    ]
    .concat();
    let stream = pair.client.request(&fields, true).unwrap();
    drop(fields);
    assert_eq!(stream, 1);
    assert_eq!(pair.client.last_request_sent(), 0);
    pair.client
        .push(stream, &[7; 3], Bytes::from_static(&[7; 4]));
    pair.client.finish(stream);
    pair.client.push(stream, &[9], Bytes::new());
    let value = String::from_utf8(value).unwrap();
    let expected = pairs(&[
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "x"),
        (":path", "/a/b"),
        ("x-own", &value),
        ("x-empty", ""),
    ]);
    assert_eq!(
        pair.up(),
        [
            Told::Headers(1, HeadersKind::Leading, expected, false),
            Told::Data(1, 7),
            Told::End(1)
        ]
    );
    assert_eq!(pair.client.last_request_sent(), 1);
    assert!(pair.client.is_finished(1));

    pair.server
        .answer(1, &[Field::fixed(":status", "200")], true)
        .unwrap();
    assert_eq!(
        pair.down(),
        [Told::Headers(
            1,
            HeadersKind::Leading,
            pairs(&[(":status", "200")]),
            false
        )]
    );
    pair.server.push(1, &[7; 60], Bytes::from_static(&[7]));
    assert_eq!(pair.down(), [Told::Data(1, 61)]);
    let trailers = [(&b"x-end"[..], &b"yes"[..])];
    pair.server.finish_with_trailers(1, trailers).unwrap();
    assert_eq!(
        pair.down(),
        [
            Told::Headers(1, HeadersKind::Later, pairs(&[("x-end", "yes")]), false),
            Told::End(1),
            Told::Closed(1, ErrorCode::NO_ERROR)
        ]
    );
}

#[test]
fn large_bodies_keep_to_windows_and_budget() {
    let mut pair = Pair::new();
    pair.budget = 100_000;
    let length = 40 << 20;
    let stream = pair.client.request(&REQUEST, true).unwrap();
    pair.client.push(stream, &[], Bytes::from(vec![7; length]));
    pair.client.finish(stream);
    let mut got = 0;
    for _ in 0..10_000 {
        for told in pair.up() {
            if let Told::Data(_, count) = told {
                got += count;
            }
        }
        assert_eq!(pair.client.queued_total(), pair.client.queued(stream));
        pair.down();
        if got == length {
            break;
        }
    }
    assert_eq!(got, length);
    assert_eq!(pair.client.queued_total(), 0);
}

#[test]
fn what_is_not_consumed_stops_the_sender() {
    let mut pair = Pair::new();
    let stream = pair.client.request(&REQUEST, true).unwrap();
    pair.client.push(stream, &[], Bytes::from(vec![7; 2 << 20]));
    let mut sink = Written {
        octets: Vec::new(),
        shared: 0,
        budget: usize::MAX,
    };
    assert!(pair.client.send(&mut sink).unwrap());
    assert!(sink.octets.len() < (1 << 20) + 1000);
    assert!(sink.shared > 0);
    assert_eq!(pair.client.credit(stream), 0);
    assert!(!pair.client.wants_write());
    let before = sink.octets.len();
    assert!(!pair.client.send(&mut sink).unwrap());
    assert_eq!(sink.octets.len(), before);
}

#[test]
fn streams_end_early_from_either_side() {
    let mut pair = Pair::new();
    let first = pair.client.request(&REQUEST, true).unwrap();
    let second = pair.client.request(&REQUEST, true).unwrap();
    pair.up();
    pair.client.reset(first, ErrorCode::CANCEL);
    assert_eq!(pair.up(), [Told::Closed(first, ErrorCode::CANCEL)]);
    pair.server.reset(second, ErrorCode::REFUSED_STREAM);
    assert_eq!(
        pair.down(),
        [Told::Closed(second, ErrorCode::REFUSED_STREAM)]
    );
    // One that never left.
    let third = pair.client.request(&REQUEST, true).unwrap();
    pair.client.push(third, &[7], Bytes::new());
    pair.client.reset(third, ErrorCode::CANCEL);
    assert_eq!(pair.up(), []);
    assert_eq!(pair.client.queued_total(), 0);
}

#[test]
fn a_farewell_names_the_last_stream() {
    let mut pair = Pair::new();
    let first = pair.client.request(&REQUEST, false).unwrap();
    pair.up();
    pair.server.shutdown_notice();
    assert_eq!(
        pair.down(),
        [Told::GoAway(0x7fff_ffff, ErrorCode::NO_ERROR)]
    );
    pair.server.go_away(ErrorCode::NO_ERROR);
    assert_eq!(pair.down(), [Told::GoAway(first, ErrorCode::NO_ERROR)]);
    assert_eq!(pair.server.terminated(), None);
    assert!(pair.server.wants_read());
    pair.server
        .answer(first, &[Field::fixed(":status", "204")], false)
        .unwrap();
    pair.down();
    assert!(!pair.server.wants_read() && !pair.server.wants_write());
}

#[test]
fn too_many_fields_are_dropped_and_reported() {
    let limits = Limits {
        max_header_list: 1000,
        ..Limits::default()
    };
    let mut pair = Pair::with(&limits);
    let long = "n".repeat(256);
    let fields = [&REQUEST[..], &[Field::new(long.as_bytes(), b"v")]].concat();
    pair.client.request(&fields, false).unwrap();
    let told = pair.up();
    let Told::Headers(_, _, fields, true) = &told[0] else {
        panic!("{told:?}")
    };
    assert_eq!(fields.len(), 4);
    let many: Vec<_> = std::iter::repeat_n(Field::fixed("x", "y"), 100).collect();
    pair.client
        .request(&[&REQUEST[..], &many].concat(), false)
        .unwrap();
    let told = pair.up();
    let Told::Headers(_, _, fields, true) = &told[0] else {
        panic!("{told:?}")
    };
    assert!(fields.len() < 30, "{}", fields.len());
}

#[test]
fn a_sink_that_panics_ends_the_session_and_nothing_else() {
    struct Panics(usize);
    impl Sink for Panics {
        fn put(&mut self, octets: &[u8]) {
            // The frame header of DATA is written inside the library.
            assert!(octets.len() != 9, "no room");
            self.0 += octets.len();
        }
        fn put_shared(&mut self, _: Bytes) {}
        fn budget(&self) -> usize {
            1 << 20
        }
    }
    let mut pair = Pair::new();
    let stream = pair.client.request(&REQUEST, true).unwrap();
    pair.client.push(stream, &[7], Bytes::new());
    let error = pair.client.send(&mut Panics(0)).unwrap_err();
    assert!(error.is_fatal(), "{error}");
}

#[test]
fn what_is_not_http2_is_an_error() {
    let mut server = Session::new(Role::Server, &Limits::default()).unwrap();
    let error = server.receive(b"GET / HTTP/1.1\r\n\r\n").unwrap_err();
    assert!(error.is_fatal());
    assert_eq!(error.text(), "Received bad client magic byte string");
}

#[test]
fn limits_that_http2_cannot_say_are_errors() {
    for limits in [
        Limits {
            stream_window: u32::MAX,
            ..Limits::default()
        },
        Limits {
            connection_window: u32::MAX,
            ..Limits::default()
        },
        Limits {
            max_frame: 1,
            ..Limits::default()
        },
    ] {
        assert!(Session::new(Role::Client, &limits).is_err(), "{limits:?}");
    }
}

#[test]
fn a_session_may_move_between_threads() {
    let mut pair = Pair::new();
    let stream = pair.client.request(&REQUEST, true).unwrap();
    let told = std::thread::spawn(move || {
        pair.client.push(stream, &[7; 5], Bytes::new());
        pair.up()
    });
    assert_eq!(told.join().unwrap().len(), 2);
}
