//! Answers that no Corewire server gives.

use super::pair::{CALL, STREAM, Side};
use crate::http2::{Config, Connection, Flavour};
use corewire_message::{CallError, Code, ErrorKind, Request, Response};
use corewire_wire::http2::{Event, Field, Limits, Role, Session, Sink};
use corewire_wire::{Core, Output};
use std::time::Instant;

struct Written(Vec<u8>);

impl Sink for Written {
    fn put(&mut self, octets: &[u8]) {
        self.0.extend_from_slice(octets);
    }

    fn put_shared(&mut self, octets: bytes::Bytes) {
        self.put(&octets);
    }

    fn budget(&self) -> usize {
        usize::MAX
    }
}

/// Sends one call, or opens one stream, and answers it by hand: fields, body, trailers.
fn answered(
    flavour: Flavour,
    is_stream: bool,
    fields: &[(&str, &str)],
    body: &[u8],
    trailers: &[(&str, &str)],
) -> Vec<Output> {
    let now = Instant::now();
    let core = Connection::client(Config::default(), flavour, "x", now);
    let mut client = Side::new(core);
    if is_stream {
        client.core.open(now, Request::new(STREAM)).unwrap();
    } else {
        client.core.call(now, Request::new(CALL)).unwrap();
    }
    let mut server = Session::new(Role::Server, &Limits::default()).unwrap();
    server.receive(now, &client.transmit(now)).unwrap();
    while let Some(event) = server.next_event() {
        let Event::Headers { stream, .. } = event else {
            continue;
        };
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| Field::new(name.as_bytes(), value.as_bytes()))
            .collect();
        server.answer(stream, None, &fields, true).unwrap();
        server.push(stream, body, bytes::Bytes::new());
        if trailers.is_empty() {
            server.finish(stream);
        } else {
            let trailers = trailers
                .iter()
                .map(|(name, value)| Field::new(name.as_bytes(), value.as_bytes()))
                .collect::<Vec<_>>();
            server.finish_with_trailers(stream, &trailers).unwrap();
        }
    }
    let mut written = Written(Vec::new());
    server.send(&mut written);
    client.receive(now, &written.0);
    assert!(client.fault.is_none());
    assert_eq!(client.core.in_flight(), 0);
    client.tells()
}

fn response(mut told: Vec<Output>) -> Response {
    assert_eq!(told.len(), 1, "{told:?}");
    match told.remove(0) {
        Output::Response { response, .. } => response,
        other => panic!("no response: {other:?}"),
    }
}

fn failure(mut told: Vec<Output>) -> CallError {
    match told.remove(0) {
        Output::Failed { error, .. } => error,
        other => panic!("no failure: {other:?}"),
    }
}

const GRPC: (&str, &str) = ("content-type", "application/grpc");
const OK: (&str, &str) = (":status", "200");
const MESSAGE: &[u8] = b"\0\0\0\0\x02hi";

#[test]
fn grpc_answers_without_a_grpc_status() {
    for (status, code) in [
        ("200", Code::Unknown),
        ("400", Code::Internal),
        ("401", Code::Unauthenticated),
        ("404", Code::Unimplemented),
        ("500", Code::Unknown),
        ("503", Code::Unavailable),
    ] {
        let fields = [(":status", status), ("content-type", "text/html")];
        for is_stream in [false, true] {
            let told = answered(Flavour::Grpc, is_stream, &fields, b"<html>", &[]);
            assert_eq!(response(told).status.code(), code, "{status}");
        }
    }
    let told = answered(Flavour::Grpc, false, &[OK, GRPC], MESSAGE, &[]);
    assert_eq!(response(told).status.code(), Code::Unknown);
}

#[test]
fn grpc_answers_of_other_implementations() {
    let end = [("grpc-status", "0")];
    let proto = ("content-type", "application/grpc+proto; charset=x");
    let told = answered(
        Flavour::Grpc,
        false,
        &[OK, proto, ("x-a", "1")],
        MESSAGE,
        &end,
    );
    let answer = response(told);
    assert!(answer.status.is_ok());
    assert_eq!(answer.headers.get_str("x-a"), Some("1"));
    assert_eq!(answer.body.into_bytes(), &b"hi"[..]);

    let end = [
        ("grpc-status", "99"),
        ("grpc-message", "odd%21"),
        ("x-b", "2"),
    ];
    let answer = response(answered(Flavour::Grpc, false, &[OK, GRPC], b"", &end));
    assert_eq!(answer.status.code(), Code::Unknown);
    assert_eq!(answer.status.message(), "odd!");
    assert_eq!(answer.headers.get_str("x-b"), Some("2"));

    // Done, but with no message, a compressed one, or two.
    let end = [("grpc-status", "0")];
    let two = [MESSAGE, MESSAGE].concat();
    for body in [&b""[..], b"\x01\0\0\0\x02hi", &two, b"\0\0\0\0\x03hi"] {
        let error = failure(answered(Flavour::Grpc, false, &[OK, GRPC], body, &end));
        assert_eq!(error.kind(), ErrorKind::Protocol, "{body:?}");
        assert!(error.may_have_executed());
    }
}

#[test]
fn rest_answers_of_other_implementations() {
    let problem = ("content-type", "application/problem+json; charset=utf-8");
    let document = br#"{"title":"Conflict","status":409,"cause":"ALREADY_EXISTS"}"#;
    let fields = [(":status", "409"), problem];
    let answer = response(answered(Flavour::Rest, false, &fields, document, &[]));
    assert_eq!(answer.status.code(), Code::AlreadyExists);
    assert_eq!(answer.status.message(), "Conflict");
    assert_eq!(answer.body.into_bytes(), &document[..]);
    assert_eq!(answer.headers.get_str("content-type"), Some(problem.1));

    // A cause that does not fit the status is none.
    let document = br#"{"cause":"ALREADY_EXISTS","detail":"x"}"#;
    let fields = [(":status", "403"), problem];
    let answer = response(answered(Flavour::Rest, false, &fields, document, &[]));
    assert_eq!(answer.status.code(), Code::PermissionDenied);

    let fields = [(":status", "302"), ("location", "/elsewhere")];
    let answer = response(answered(Flavour::Rest, false, &fields, b"", &[]));
    assert_eq!(answer.status.code(), Code::FailedPrecondition);
    assert_eq!(answer.headers.get_str("location"), Some("/elsewhere"));
    assert_eq!(answer.headers.get_str("corewire-http-status"), Some("302"));

    // A stream that is answered with one plain body.
    let fields = [OK, ("content-type", "text/plain")];
    let told = answered(Flavour::Rest, true, &fields, b"plain", &[]);
    let [
        Output::Message { message, .. },
        Output::Response { response, .. },
    ] = &told[..]
    else {
        panic!("{told:?}")
    };
    assert_eq!(message.tail(), &b"plain"[..]);
    assert!(response.status.is_ok());

    // One whose framing stops short.
    let fields = [OK, ("content-type", "application/corewire-stream")];
    let error = failure(answered(
        Flavour::Rest,
        true,
        &fields,
        b"\0\0\0\0\x03hi",
        &[],
    ));
    assert_eq!(error.kind(), ErrorKind::Protocol);
}
