//! A native connection bears anything: it ends its calls, or names a fault.

use bytes::BytesMut;
use corewire_message::{Body, CallKind, Event, Operation, Request, Response};
use corewire_wire::native::{Config, Connection};
use corewire_wire::{Core, Input, Outbox, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ECHO: Operation = Operation::from_static("test.v1.Test/Echo");
const CHAT: Operation = Operation::from_static("test.v1.Test/Chat");

/// One input: bit 0 of the first octet chooses the end, the rest of it how much is fed at once.
#[expect(
    clippy::disallowed_methods,
    reason = "an instant to count from; only distances matter"
)]
pub(crate) fn run(data: &[u8]) {
    let Some((choice, octets)) = data.split_first() else {
        return;
    };
    let now = Instant::now();
    let mut core = if choice & 1 == 0 {
        let kind_of = |operation: &Operation| match operation.method() {
            "Echo" => Some(CallKind::Unary),
            "Chat" => Some(CallKind::Stream),
            _ => None,
        };
        Connection::server(config(), Arc::new(kind_of), now)
    } else {
        calling(now)
    };
    let chunk = match choice >> 1 {
        0 => octets.len().max(1),
        chunk => usize::from(chunk),
    };
    let mut buffer = BytesMut::new();
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
    Config::with(|config| {
        config.max_message = 100_000;
        config.max_frame = 8192;
        config.max_header_block = 2048;
        config.stream_credit = 10_000;
        config.connection_credit = 200_000;
        config.max_concurrent_calls = 20;
        config.max_operations = 4;
    })
}

/// A client with calls of every kind under way.
fn calling(now: Instant) -> Connection {
    let mut core = Connection::client(config(), now);
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
            Output::Request { call, request } => core.respond(call, Response::ok(request.body)),
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
