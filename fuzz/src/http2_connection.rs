//! An HTTP/2 connection, either end and either flavour, bears anything: it ends its calls, or
//! names a fault.

use bytes::BytesMut;
use corewire_message::{Body, CallKind, Event, Operation, Request, Response};
use corewire_transport::http2::{Config, Connection, Flavour};
use corewire_wire::{Core, Input, Outbox, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ECHO: Operation = Operation::from_static("test.v1.Test/Echo");
const CHAT: Operation = Operation::from_static("test.v1.Test/Chat");
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// One input: bits 0 and 1 of the first octet choose the end and the flavour, the rest of it how
/// much is fed at once. A server is fed the preface first.
pub(crate) fn run(data: &[u8]) {
    let Some((choice, octets)) = data.split_first() else {
        return;
    };
    let now = Instant::now();
    let mut buffer = BytesMut::new();
    let mut core = match choice & 3 {
        0 | 1 => {
            let kind_of = |operation: &Operation| match operation.method() {
                "Echo" => Some(CallKind::Unary),
                "Chat" => Some(CallKind::Stream),
                _ => None,
            };
            buffer.extend_from_slice(PREFACE);
            Connection::server(config(), Arc::new(kind_of), now)
        }
        2 => calling(Flavour::Rest, now),
        _ => calling(Flavour::Grpc, now),
    };
    let chunk = match choice >> 2 {
        0 => octets.len().max(1),
        chunk => usize::from(chunk),
    };
    for piece in octets.chunks(chunk) {
        buffer.extend_from_slice(piece);
        if core.handle_event(now, Input::Octets(&mut buffer)).is_err() {
            assert!(core.fault().is_some());
            break;
        }
        serve(&mut core);
        discard(&mut core, now);
    }
    discard(&mut core, now);
    core.handle_timeout(now + Duration::from_secs(1000));
    core.handle_event(now, Input::Closed)
        .expect("closing is no fault");
    while core.poll().is_some() {}
    assert_eq!(core.in_flight(), 0);
}

fn config() -> Config {
    let mut config = Config::default();
    config.max_message = 100_000;
    config.max_header_list = 2048;
    config.stream_window = 10_000;
    config.connection_window = 200_000;
    config.max_concurrent_calls = 20;
    config.max_connection_memory = 300_000;
    config
}

/// A client with calls of every kind under way.
fn calling(flavour: Flavour, now: Instant) -> Connection {
    let mut core = Connection::client(config(), flavour, "smf.example", now);
    for size in [0, 100, 20_000] {
        let request = Request::new(ECHO)
            .with_body(vec![1; size])
            .with_deadline(now + Duration::from_secs(1));
        core.call(now, request).expect("within the limits");
        let stream = core
            .open(now, Request::new(CHAT))
            .expect("within the limits");
        core.send(stream, Body::from(vec![2; size]))
            .expect("just opened");
        core.send_event(now, Event::new(ECHO, vec![3; size]))
            .expect("within the limits");
    }
    discard(&mut core, now);
    core
}

/// A service that does a little of everything.
fn serve(core: &mut Connection) {
    while let Some(output) = core.poll() {
        match output {
            Output::Request { call, request } => {
                let response = Response::ok(request.body).with_headers(request.headers);
                core.respond(call, response);
            }
            Output::Message { call, message } => {
                core.consumed(call, message.len());
                if core.room(call).is_some_and(|room| room > 0) {
                    // The call may have ended on this side.
                    let _ = core.send(call, message);
                }
            }
            Output::Finished { call } => core.respond(call, Response::ok(Body::new())),
            _ => {}
        }
    }
}

/// What would be sent goes nowhere.
fn discard(core: &mut Connection, now: Instant) {
    let mut outbox = Outbox::new();
    while core.poll_transmit(now, &mut outbox) {
        let all = outbox.len();
        outbox.advance(all);
    }
}
