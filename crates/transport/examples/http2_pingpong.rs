//! What a unary call over HTTP/2 costs both protocol cores, both ends on one thread, octets carried by a
//! copy: no socket, no loop. Run under `valgrind --tool=callgrind` it counts instructions, which are the
//! same on a busy machine.
//!
//! `cargo run --release -p corewire-transport --example http2_pingpong [rest|grpc [CALLS [IN_FLIGHT [WHAT]]]]`
//!
//! `WHAT` is `sbi`, 1 KB answered by 256 B with two headers that change (the default); `alike`, the same
//! without those; or a number, so many octets that are sent back, without headers.

use bytes::BytesMut;
use corewire_message::{Body, CallKind, Headers, Operation, Request, Response};
use corewire_transport::http2::{Config, Connection, Flavour};
use corewire_wire::{Core, Input, Outbox, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

const CREATE: Operation = Operation::from_static("nsmf-pdusession/v1/sm-contexts");
const REQUEST_OCTETS: usize = 1024;
const ANSWER_OCTETS: usize = 256;

/// What is sent.
#[derive(Clone, Copy)]
enum What {
    Sbi,
    Alike,
    Echo(usize),
}

impl What {
    fn headers(self, varying: &[(&str, u64)]) -> Headers {
        let json = [("content-type", "application/json")];
        match self {
            Self::Sbi => headers(&json, varying),
            Self::Alike => headers(&json, &[]),
            Self::Echo(_) => Headers::new(),
        }
    }
}

struct Wire {
    outbox: Outbox,
    buffer: BytesMut,
}

impl Wire {
    fn new() -> Self {
        Self {
            outbox: Outbox::new(),
            buffer: BytesMut::with_capacity(256 * 1024),
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

/// Headers as a network function sends them: one the same in every message, the others never.
fn headers(fixed: &[(&str, &str)], varying: &[(&str, u64)]) -> Headers {
    let mut headers = Headers::new();
    for (name, value) in fixed {
        headers.append(name, value).expect("a header");
    }
    for (name, value) in varying {
        headers
            .append(name, format!("{value:019}"))
            .expect("a header");
    }
    headers
}

fn run(flavour: Flavour, calls: u64, in_flight: u64, what: What) -> Duration {
    let now = Instant::now();
    let mut client = Connection::client(Config::default(), flavour, "127.0.0.1:8080", now);
    let kind_of = Arc::new(|_: &Operation| Some(CallKind::Unary));
    let mut server = Connection::server(Config::default(), kind_of, now);
    let (mut up, mut down) = (Wire::new(), Wire::new());
    let (asked, answered) = match what {
        What::Echo(octets) => (octets, octets),
        _ => (REQUEST_OCTETS, ANSWER_OCTETS),
    };
    let asked = Body::from(vec![b'0'; asked]);
    let answered = Body::from(vec![b'0'; answered]);
    let (mut begun, mut done) = (0, 0);
    while done < calls {
        for _ in 0..in_flight {
            begun += 1;
            let varying = [
                ("3gpp-sbi-correlation-info", begun),
                ("x-sent-ns", begun * 1_000_003),
            ];
            let request = Request::new(CREATE)
                .with_headers(what.headers(&varying))
                .with_body(asked.clone())
                .with_deadline(now + Duration::from_secs(10));
            client.call(now, request).expect("within the limits");
        }
        up.carry(&mut client, &mut server, now);
        while let Some(output) = server.poll() {
            if let Output::Request { call, request } = output {
                let sent = request.headers.get("x-sent-ns").map_or(0, <[u8]>::len);
                let varying = [("x-one-way-ns", begun * 31 + sent as u64)];
                let body = match what {
                    What::Echo(_) => request.body,
                    _ => answered.clone(),
                };
                let response = Response::ok(body).with_headers(what.headers(&varying));
                server.respond(call, response);
            }
        }
        down.carry(&mut server, &mut client, now);
        while let Some(output) = client.poll() {
            if matches!(output, Output::Response { .. }) {
                done += 1;
            }
        }
    }
    now.elapsed()
}

fn main() {
    let mut words = std::env::args().skip(1);
    let flavour = match words.next().as_deref() {
        Some("grpc") => Flavour::Grpc,
        _ => Flavour::Rest,
    };
    let mut number = |default| {
        let text = words.next();
        text.and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (calls, in_flight) = (number(300_000), number(2));
    let what = match words.next().as_deref() {
        None | Some("sbi") => What::Sbi,
        Some("alike") => What::Alike,
        Some(octets) => What::Echo(octets.parse().expect("sbi, alike, or a number of octets")),
    };
    let took = run(flavour, calls, in_flight, what);
    let each = took.as_nanos() as f64 / calls as f64;
    println!("{calls} calls, {in_flight} at a time: {each:.0} ns a call, both ends");
}
