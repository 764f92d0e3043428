//! Octets that no honest peer sends.

use super::Pair;
use super::pair::{CALL, FLAVOURS, STREAM, Side, text, unary_and_streams};
use crate::http2::{Config, Connection, Flavour};
use corewire_message::{Body, Code, Headers, Request, Response, Status};
use corewire_wire::{Core, Output};
use proptest::prelude::*;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A header section without compression.
fn fields(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut section = Vec::new();
    for (name, value) in fields {
        section.push(0);
        for text in [name, value] {
            let length = u8::try_from(text.len()).unwrap();
            assert!(length < 127);
            section.push(length);
            section.extend(text.as_bytes());
        }
    }
    section
}

fn post(stream: u32, flags: u8, more: &[(&str, &str)]) -> Vec<u8> {
    let own = [
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "x"),
        (":path", "/test.v1.Echo/Call"),
    ];
    frame(1, 4 | flags, stream, &fields(&[&own[..], more].concat()))
}

/// A server that has greeted a client.
fn greeted() -> (Side, Instant) {
    let now = Instant::now();
    let core = Connection::server(Config::default(), unary_and_streams(), now);
    let mut side = Side::new(core);
    side.transmit(now);
    side.receive(now, PREFACE);
    side.receive(now, &frame(4, 0, 0, &[]));
    side.transmit(now);
    assert!(side.fault.is_none());
    (side, now)
}

#[test]
fn frames_that_no_stream_can_have_are_refused() {
    let ended = post(1, 1, &[]);
    for (octets, name) in [
        // DATA and HEADERS behind the client's own end of the stream.
        (
            [&ended[..], &frame(0, 0, 1, b"x")].concat(),
            "STREAM_CLOSED",
        ),
        ([&ended[..], &post(1, 1, &[])].concat(), "STREAM_CLOSED"),
        (
            [
                post(1, 0, &[]),
                frame(3, 0, 1, &[0, 0, 0, 8]),
                frame(0, 0, 1, b"x"),
            ]
            .concat(),
            "STREAM_CLOSED",
        ),
        // A stream number that was left out.
        (
            [post(5, 1, &[]), post(3, 1, &[])].concat(),
            "PROTOCOL_ERROR",
        ),
        // PRIORITY of no stream, and of a stream that depends on itself.
        (frame(2, 0, 0, &[0, 0, 0, 1, 9]), "PROTOCOL_ERROR"),
        (frame(2, 0, 3, &[0, 0, 0, 3, 9]), "PROTOCOL_ERROR"),
    ] {
        for pieces in [octets.len(), 1] {
            let (mut side, now) = greeted();
            for piece in octets.chunks(pieces) {
                side.receive(now, piece);
            }
            let what = side.fault.as_ref().map(|fault| fault.what);
            assert_eq!(what, Some(name), "{octets:?}");
        }
    }
}

/// grpc-go names its own last stream when it closes a connection.
#[test]
fn a_client_that_goes_away_breaks_nothing() {
    for last in [0x7fff_ffff_u32, 803, 0] {
        let payload = [&last.to_be_bytes()[..], &[0; 4], b"bye"].concat();
        let goaway = frame(7, 0, 0, &payload);
        for pieces in [goaway.len(), 1] {
            let (mut side, now) = greeted();
            for piece in goaway.chunks(pieces) {
                side.receive(now, piece);
            }
            assert!(side.fault.is_none(), "{last}: {:?}", side.fault);
        }
    }
}

#[test]
fn a_streams_window_that_grows_too_wide_ends_the_stream_only() {
    let widen = frame(8, 0, 1, &[0x7f, 255, 255, 255]);
    let octets = [post(1, 0, &[]), widen, frame(6, 0, 0, b"12345678")].concat();
    for pieces in [octets.len(), 1] {
        let (mut side, now) = greeted();
        for piece in octets.chunks(pieces) {
            side.receive(now, piece);
        }
        assert!(side.fault.is_none());
        let sent = side.transmit(now);
        let reset = frame(3, 0, 1, &[0, 0, 0, 3]);
        let pong = frame(6, 1, 0, b"12345678");
        for expected in [reset, pong] {
            assert!(
                sent.windows(expected.len()).any(|part| part == expected),
                "{sent:?}"
            );
        }
    }
}

#[test]
fn a_client_that_says_goodbye_is_over_when_its_calls_are() {
    let (mut side, now) = greeted();
    side.receive(now, &post(1, 1, &[]));
    side.receive(now, &frame(7, 0, 0, &[0; 8]));
    assert!(!side.core.is_over());
    side.core
        .respond(corewire_wire::CallId::new(1), Response::ok(Body::new()));
    assert!(!side.core.is_over());
    side.transmit(now);
    assert!(side.core.is_over());
}

#[test]
fn what_is_not_http2_is_a_fault_at_once() {
    let now = Instant::now();
    for octets in [
        &b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"[..],
        &[0; 100],
        &[255; 100],
    ] {
        let core = Connection::server(Config::default(), unary_and_streams(), now);
        let mut side = Side::new(core);
        side.receive(now, octets);
        let fault = side.fault.clone().unwrap();
        assert_eq!(fault.what, "the peer does not begin as HTTP/2 does");
        assert_eq!(side.core.fault(), Some(&fault));
    }
    let core = Connection::client(Config::default(), Flavour::Rest, "x", now);
    let mut side = Side::new(core);
    side.transmit(now);
    side.receive(now, b"HTTP/1.1 426 Upgrade Required\r\n\r\n");
    assert!(side.fault.is_some());
}

#[test]
fn connection_errors_are_named_and_the_peer_is_told() {
    for (octets, code, name) in [
        // SETTINGS of five octets.
        (frame(4, 0, 0, &[0; 5]), 6u8, "FRAME_SIZE_ERROR"),
        // A frame longer than was announced.
        (frame(0, 0, 1, &[0; (256 << 10) + 1]), 6, "FRAME_SIZE_ERROR"),
        // DATA on a stream that was never opened.
        (frame(0, 0, 1, b"x"), 1, "PROTOCOL_ERROR"),
        // A stream number that is the server's.
        (post(2, 1, &[]), 1, "PROTOCOL_ERROR"),
        // A header block that does not decode.
        (frame(1, 5, 1, &[0xff; 20]), 9, "COMPRESSION_ERROR"),
        // CONTINUATION of nothing.
        (frame(9, 4, 1, b""), 1, "PROTOCOL_ERROR"),
        // A window that grows beyond 2^31 - 1.
        (
            frame(8, 0, 0, &[0x7f, 255, 255, 255]),
            3,
            "FLOW_CONTROL_ERROR",
        ),
        // PUSH_PROMISE by a client.
        (frame(5, 4, 1, &[0, 0, 0, 2]), 1, "PROTOCOL_ERROR"),
    ] {
        let (mut side, now) = greeted();
        side.receive(now, &octets);
        assert_eq!(
            side.fault.as_ref().map(|fault| fault.what),
            Some(name),
            "{octets:?}"
        );
        let last = side.transmit(now);
        let goaway = last.len() - last.iter().rev().take(1000).count();
        assert!(
            last[goaway..]
                .windows(9)
                .any(|frame| frame[3] == 7 && frame[5..9] == [0; 4]),
            "a GOAWAY: {last:?}"
        );
        assert!(last.windows(4).any(|octets| octets == [0, 0, 0, code]));
        assert!(side.core.is_finished());
        // Nothing more is read.
        side.receive(now, &post(1, 1, &[]));
        assert!(side.tells().is_empty());
        side.close(now);
        assert_eq!(side.core.in_flight(), 0);
    }
}

#[test]
fn malformed_requests_end_the_stream_and_leave_the_connection_alive() {
    let mut bad = vec![
        post(1, 1, &[("Upper", "x")]),
        post(1, 1, &[("connection", "close")]),
        post(1, 1, &[("te", "gzip")]),
        post(1, 1, &[("content-length", "5")]),
        post(1, 1, &[(":path", "/again")]),
        // Shorter and longer than was said.
        [
            post(1, 0, &[("content-length", "5")]),
            frame(0, 1, 1, b"four"),
        ]
        .concat(),
        [
            post(1, 0, &[("content-length", "3")]),
            frame(0, 0, 1, b"four"),
        ]
        .concat(),
        // Trailers that do not end the stream, and some with a pseudo-header field.
        [post(1, 0, &[]), frame(1, 4, 1, &fields(&[("x", "y")]))].concat(),
        [post(1, 0, &[]), frame(1, 5, 1, &fields(&[(":path", "/")]))].concat(),
        // A stream that depends on itself.
        frame(
            1,
            0x25,
            1,
            &[&[0, 0, 0, 1, 9][..], &post(1, 1, &[])[9..]].concat(),
        ),
        frame(
            1,
            5,
            1,
            &fields(&[(":method", "POST"), (":scheme", "http")]),
        ),
    ];
    for value in ["a\x01", " a", "a "] {
        bad.push(post(1, 1, &[("x", value)]));
    }
    for (number, bad) in bad.iter().enumerate() {
        let (mut side, now) = greeted();
        side.receive(now, bad);
        assert!(side.fault.is_none(), "{number}: {:?}", side.fault);
        assert!(side.tells().is_empty(), "{number}");
        let answer = side.transmit(now);
        let reset = frame(3, 0, 1, &[0, 0, 0, 1]);
        assert!(
            answer.windows(reset.len()).any(|part| part == reset),
            "{number}: {answer:?}"
        );
        // The stream was ended by this side: what was on its way is let pass.
        if matches!(number, 6 | 7) {
            side.receive(now, &frame(0, 0, 1, b"more"));
        }
        side.receive(now, &post(3, 1, &[]));
        assert!(matches!(side.only(), Output::Request { .. }), "{number}");
        assert_eq!(side.core.in_flight(), 1);
    }
}

#[test]
fn who_sends_malformed_requests_only_is_cut_off() {
    let (mut side, now) = greeted();
    let mut sent = 0;
    while side.fault.is_none() {
        side.receive(now, &post(2 * sent + 1, 1, &[("Upper", "x")]));
        side.transmit(now);
        sent += 1;
        assert!(sent < 2000);
    }
    assert_eq!(side.fault.unwrap().what, "ENHANCE_YOUR_CALM");
}

#[test]
fn a_strangers_metadata_is_shown_and_can_be_sent_back() {
    let (mut side, now) = greeted();
    let more = [
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        ("user-agent", "grpc-c++/1.51.1"),
        ("grpc-accept-encoding", "identity, gzip"),
        ("grpc-trace-bin", "AAAN,Cg=="),
        ("grpc-timeout", "1S"),
    ];
    side.receive(now, &post(1, 0, &more));
    side.receive(now, &frame(0, 1, 1, &[0; 5]));
    let Output::Request { call, request } = side.only() else {
        panic!("no request")
    };
    let shown: Vec<_> = request.headers.iter().collect();
    let expected = [
        ("user-agent", &b"grpc-c++/1.51.1"[..]),
        ("grpc-trace-bin", &[0, 0, b'\r']),
        ("grpc-trace-bin", b"\n"),
    ];
    assert_eq!(shown, expected);
    assert_eq!(request.deadline, Some(now + Duration::from_secs(1)));
    let response = Response::ok(text("x")).with_headers(request.headers.clone());
    side.core.respond(call, response);
    let answer = side.transmit(now);
    assert!(
        answer
            .windows(6)
            .any(|octets| octets == [0, 0, 0, 0, 1, b'x'])
    );
}

#[test]
fn floods_end_the_connection() {
    // PINGs whose answers are not read.
    let (mut side, now) = greeted();
    for _ in 0..2000 {
        side.receive(now, &frame(6, 0, 0, &[0; 8]));
        if side.fault.is_some() {
            break;
        }
    }
    assert!(side.fault.is_some());
    assert!(side.core.backlog() < 100_000);

    // Calls opened and given up.
    let (mut side, now) = greeted();
    let mut given_up = 0u32;
    while side.fault.is_none() && given_up < 10_000 {
        let stream = given_up * 2 + 1;
        side.receive(now, &post(stream, 0, &[]));
        side.receive(now, &frame(3, 0, stream, &[0, 0, 0, 8]));
        side.transmit(now);
        given_up += 1;
    }
    assert!((4000..6000).contains(&given_up), "{given_up}");
    assert_eq!(side.core.in_flight(), 0);

    // A header section that never ends.
    let (mut side, now) = greeted();
    side.receive(now, &frame(1, 0, 1, &fields(&[(":method", "POST")])));
    for _ in 0..20 {
        side.receive(now, &frame(9, 0, 1, &fields(&[("x-a", "b")])));
    }
    assert!(side.fault.is_some());

    // A small table entry named ten thousand times.
    let (mut side, now) = greeted();
    let mut section = fields(&[
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "x"),
        (":path", "/test.v1.Echo/Call"),
    ]);
    section.extend([0x40, 1, b'x', 100]);
    section.extend([b'y'; 100]);
    section.extend([0x80 | 62; 10_000]);
    side.receive(now, &frame(1, 5, 1, &section));
    assert!(side.fault.is_none());
    assert!(side.tells().is_empty());
    let answer = side.transmit(now);
    let document = b"{\"status\":431,";
    assert!(
        answer
            .windows(document.len())
            .any(|octets| octets == document)
    );
}

/// What a service would do: answer everything.
fn serve(side: &mut Side) {
    for output in side.tells() {
        match output {
            Output::Request { call, request } => {
                let response = match request.body.len() % 3 {
                    0 => Response::failed(Status::new(Code::NotFound, "no")),
                    _ => Response::ok(request.body).with_headers(request.headers),
                };
                side.core.respond(call, response);
            }
            Output::Message { call, message } => {
                side.core.consumed(call, message.len());
                if side.core.room(call).is_some() {
                    let _ended = side.core.send(call, message);
                }
            }
            Output::Finished { call } => side.core.respond(call, Response::ok(Body::new())),
            _ => {}
        }
    }
}

/// The calls of the recorded exchange.
fn make_calls(side: &mut Side, now: Instant) {
    let mut headers = Headers::new();
    headers.append("x-a", "b").unwrap();
    headers.append("x-b-bin", [1u8, 200]).unwrap();
    for length in [0, 1, 20, 3000, 30_001] {
        let request = Request::new(CALL)
            .with_body(vec![length as u8; length])
            .with_headers(headers.clone())
            .with_deadline(now + Duration::from_secs(5));
        side.core.call(now, request).unwrap();
    }
    for _ in 0..2 {
        let call = side.core.open(now, Request::new(STREAM)).unwrap();
        for length in [0, 7, 2000] {
            side.core.send(call, vec![3; length].into()).unwrap();
        }
        side.core.finish(call);
    }
    let event = corewire_message::Event::new(CALL, text("event").into_bytes());
    side.core.send_event(now, event).unwrap();
}

/// An honest exchange: what the client sent and what the server sent.
fn recorded(flavour: Flavour) -> (Vec<u8>, Vec<u8>) {
    static REST: OnceLock<(Vec<u8>, Vec<u8>)> = OnceLock::new();
    static GRPC: OnceLock<(Vec<u8>, Vec<u8>)> = OnceLock::new();
    let place = match flavour {
        Flavour::Rest => &REST,
        Flavour::Grpc => &GRPC,
    };
    place.get_or_init(|| record(flavour)).clone()
}

fn record(flavour: Flavour) -> (Vec<u8>, Vec<u8>) {
    let mut pair = Pair::new(flavour);
    make_calls(&mut pair.client, pair.now);
    for _ in 0..10 {
        pair.run();
        serve(&mut pair.server);
    }
    pair.run();
    assert_eq!(
        (pair.client.core.in_flight(), pair.server.core.in_flight()),
        (0, 0)
    );
    (pair.client.transcript, pair.server.transcript)
}

#[derive(Clone, Debug)]
enum Mutation {
    Flip(usize, u8),
    Cut(usize, usize),
    Repeat(usize, usize),
    Insert(usize, Vec<u8>),
}

fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    let mutation = prop_oneof![
        4 => (any::<usize>(), 1u8..).prop_map(|(at, bits)| Mutation::Flip(at, bits)),
        1 => (any::<usize>(), 1usize..200).prop_map(|(at, n)| Mutation::Cut(at, n)),
        1 => (any::<usize>(), 1usize..200).prop_map(|(at, n)| Mutation::Repeat(at, n)),
        1 => (any::<usize>(), prop::collection::vec(any::<u8>(), 1..30))
            .prop_map(|(at, octets)| Mutation::Insert(at, octets)),
    ];
    prop::collection::vec(mutation, 1..6)
}

fn mutate(transcript: &[u8], mutations: &[Mutation], from: usize) -> Vec<u8> {
    let mut octets = transcript.to_vec();
    for mutation in mutations {
        if octets.len() <= from {
            break;
        }
        let place = |at: usize| from + at % (octets.len() - from);
        match mutation {
            Mutation::Flip(at, bits) => {
                let at = place(*at);
                octets[at] ^= bits;
            }
            Mutation::Cut(at, count) => {
                let at = place(*at);
                let end = (at + count).min(octets.len());
                octets.drain(at..end);
            }
            Mutation::Repeat(at, count) => {
                let at = place(*at);
                let end = (at + count).min(octets.len());
                let again = octets[at..end].to_vec();
                octets.splice(at..at, again);
            }
            Mutation::Insert(at, inserted) => {
                let at = place(*at);
                octets.splice(at..at, inserted.iter().copied());
            }
        }
    }
    octets
}

fn held_to_its_promises(side: &mut Side, now: Instant) {
    assert!(side.core.memory.held() <= Config::default().max_connection_memory);
    side.core.handle_timeout(now + Duration::from_secs(3600));
    side.poll();
    serve(side);
    side.transmit(now);
    side.close(now);
    side.tells();
    assert_eq!(side.core.in_flight(), 0);
    assert_eq!(side.core.memory.held(), 0);
    assert!(side.core.poll().is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_client_breaks_a_server(
        mutations in mutations(),
        chunk in prop_oneof![Just(1usize), 2usize..50, Just(usize::MAX)],
        rest in any::<bool>(),
    ) {
        let flavour = if rest { Flavour::Rest } else { Flavour::Grpc };
        // Behind the preface: what comes instead of it is another test's.
        let octets = mutate(&recorded(flavour).0, &mutations, PREFACE.len());
        let now = Instant::now();
        let core = Connection::server(Config::default(), unary_and_streams(), now);
        let mut side = Side::new(core);
        for octets in octets.chunks(chunk) {
            side.receive(now, octets);
            serve(&mut side);
            side.transmit(now);
        }
        held_to_its_promises(&mut side, now);
    }

    #[test]
    fn no_server_breaks_a_client(
        mutations in mutations(),
        chunk in prop_oneof![Just(1usize), 2usize..50, Just(usize::MAX)],
        rest in any::<bool>(),
    ) {
        let flavour = if rest { Flavour::Rest } else { Flavour::Grpc };
        let octets = mutate(&recorded(flavour).1, &mutations, 0);
        let now = Instant::now();
        let core = Connection::client(Config::default(), flavour, "smf.example:80", now);
        let mut side = Side::new(core);
        make_calls(&mut side, now);
        side.transmit(now);
        for octets in octets.chunks(chunk) {
            side.receive(now, octets);
            serve(&mut side);
            side.transmit(now);
        }
        held_to_its_promises(&mut side, now);
    }
}

#[test]
fn the_recorded_exchange_is_taken_as_it_is() {
    for flavour in FLAVOURS {
        let now = Instant::now();
        let (up, down) = recorded(flavour);
        for chunk in [1, usize::MAX] {
            let core = Connection::client(Config::default(), flavour, "smf.example:80", now);
            let mut side = Side::new(core);
            make_calls(&mut side, now);
            side.transmit(now);
            down.chunks(chunk)
                .for_each(|octets| side.receive(now, octets));
            assert!(side.fault.is_none());
            assert_eq!(side.core.in_flight(), 0);

            let core = Connection::server(Config::default(), unary_and_streams(), now);
            let mut side = Side::new(core);
            up.chunks(chunk)
                .for_each(|octets| side.receive(now, octets));
            assert!(side.fault.is_none());
            let requests = side.tells();
            let count = |is: fn(&Output) -> bool| requests.iter().filter(|o| is(o)).count();
            assert_eq!(count(|o| matches!(o, Output::Request { .. })), 5);
            assert_eq!(count(|o| matches!(o, Output::Opened { .. })), 2);
            assert_eq!(count(|o| matches!(o, Output::Message { .. })), 6);
            assert_eq!(count(|o| matches!(o, Output::Event(_))), 1);
        }
    }
}
