//! How many small unary round trips a second the protocol core alone makes, both ends on one
//! thread, octets carried by a copy.
//!
//! `cargo run --release -p corewire-wire --example native_pingpong [SECONDS]`

#![expect(
    clippy::disallowed_methods,
    reason = "a measurement: this program is its own driver"
)]

use bytes::BytesMut;
use corewire_message::{Body, CallKind, Operation, Request, Response};
use corewire_wire::native::{Config, Connection};
use corewire_wire::{Core, Input, Outbox, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ECHO: Operation = Operation::from_static("test.v1.Test/Echo");
const READ: usize = 256 * 1024;

struct Wire {
    outbox: Outbox,
    buffer: BytesMut,
}

impl Wire {
    fn new() -> Self {
        Self {
            outbox: Outbox::new(),
            buffer: BytesMut::with_capacity(READ),
        }
    }

    /// What a driver does, with a copy in place of the socket.
    fn carry(&mut self, from: &mut Connection, to: &mut Connection, now: Instant) {
        while from.poll_transmit(now, &mut self.outbox) {
            while !self.outbox.is_empty() {
                let piece = self.outbox.first();
                let count = piece.len();
                self.buffer.extend_from_slice(piece);
                self.outbox.advance(count);
            }
            loop {
                to.handle_event(now, Input::Octets(&mut self.buffer))
                    .expect("both ends are ours");
                if !to.has_more() {
                    break;
                }
            }
        }
    }
}

fn measure(body: usize, in_flight: usize, deadline: bool, time: Duration) -> f64 {
    let start = Instant::now();
    let mut client = Connection::client(Config::default(), start);
    let kind_of = Arc::new(|_: &Operation| Some(CallKind::Unary));
    let mut server = Connection::server(Config::default(), kind_of, start);
    let (mut up, mut down) = (Wire::new(), Wire::new());
    let body = Body::from(vec![7; body]);
    let mut done = 0u64;
    let mut now = start;
    while now - start < time {
        for _ in 0..1000 {
            for _ in 0..in_flight {
                let mut request = Request::new(ECHO).with_body(body.clone());
                request.deadline = deadline.then(|| now + Duration::from_secs(1));
                client.call(now, request).expect("within the limits");
            }
            up.carry(&mut client, &mut server, now);
            while let Some(output) = server.poll() {
                if let Output::Request { call, request } = output {
                    server.respond(call, Response::ok(request.body));
                }
            }
            down.carry(&mut server, &mut client, now);
            while let Some(output) = client.poll() {
                if matches!(output, Output::Response { .. }) {
                    done += 1;
                }
            }
        }
        now = Instant::now();
    }
    done as f64 / (now - start).as_secs_f64()
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let time = Duration::from_secs_f64(seconds.unwrap_or(1.0));
    println!("body  in flight  deadline  round trips/s");
    for (body, in_flight, deadline) in [
        (0, 1, false),
        (0, 64, false),
        (0, 64, true),
        (32, 64, false),
        (32, 64, true),
        (1000, 64, true),
        (10_000, 16, true),
    ] {
        let rate = measure(body, in_flight, deadline, time);
        println!("{body:5}  {in_flight:9}  {deadline:8}  {rate:13.0}");
    }
}
