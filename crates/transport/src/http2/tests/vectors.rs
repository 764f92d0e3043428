//! Recorded octets of every released version: what an old end wrote is read as what this one writes.
//! Vectors may be added, never changed. `RECORD_VECTORS=FOLDER cargo test -p corewire-transport
//! vectors` writes those of this version, for a release.

use super::Pair;
use super::pair::{CALL, STREAM};
use crate::http2::Flavour;
use corewire_message::{
    Body, Code, Event, Headers, Operation, Priority, Request, Response, Status,
};
use corewire_wire::{CallId, Core, Output};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Each release with its sessions, one a flavour.
const RELEASES: [(&str, [(Flavour, &str); 2]); 1] = [(
    "v0.1",
    [
        (
            Flavour::Grpc,
            include_str!("../../../tests/vectors/v0.1/grpc.txt"),
        ),
        (
            Flavour::Rest,
            include_str!("../../../tests/vectors/v0.1/rest.txt"),
        ),
    ],
)];

const TURNS: [&str; 10] = [
    "> preface, SETTINGS",
    "< SETTINGS",
    "> request with every field",
    "< answer with headers and body",
    "> request",
    "< failure",
    "> event",
    "< its receipt",
    "> stream with one message, ended",
    "< one message, the stream's end, GOAWAY",
];

fn headers() -> Headers {
    let mut headers = Headers::new();
    headers.append("x-a", "1").unwrap();
    headers.append("x-b-bin", [0xff, 1]).unwrap();
    headers
}

fn act(turn: usize, pair: &mut Pair) {
    let now = pair.now;
    let request = |operation: Operation| Request::new(operation).with_headers(headers());
    match turn {
        2 => {
            let request = request(CALL)
                .with_body(Body::from_static(b"body"))
                .with_deadline(now + Duration::from_millis(1500))
                .with_priority(Priority::try_from(5).unwrap());
            pair.client.core.call(now, request).unwrap();
        }
        3 => {
            let response = Response::ok(Body::from_static(b"answer")).with_headers(headers());
            pair.server.core.respond(CallId::new(1), response);
        }
        4 => drop(pair.client.core.call(now, request(CALL)).unwrap()),
        5 => {
            let status = Status::new(Code::NotFound, "no 100 % ☺");
            let response = Response::failed(status).with_headers(headers());
            pair.server.core.respond(CallId::new(3), response);
        }
        6 => {
            let event = Event::new(CALL, Body::from_static(b"event"));
            pair.client.core.send_event(now, event).unwrap();
        }
        8 => {
            let request = request(STREAM).with_body(Body::from_static(b"first"));
            let call = pair.client.core.open(now, request).unwrap();
            pair.client.core.finish(call);
        }
        9 => {
            let call = CallId::new(7);
            let message = Body::from_static(b"down");
            pair.server.core.send(call, message).unwrap();
            let response = Response::ok(Body::new()).with_headers(headers());
            pair.server.core.respond(call, response);
            pair.server.core.drain();
        }
        _ => {}
    }
}

/// A session; where there is a record, its octets take the place of what is written. Gives what was
/// written, and what both ends told.
fn session(flavour: Flavour, record: Option<&[Vec<u8>]>) -> (Vec<Vec<u8>>, Vec<String>) {
    let mut pair = Pair::new(flavour);
    let (now, mut written, mut told) = (pair.now, Vec::new(), Vec::new());
    for (turn, name) in TURNS.into_iter().enumerate() {
        act(turn, &mut pair);
        let (from, to) = if name.starts_with('>') {
            (&mut pair.client, &mut pair.server)
        } else {
            (&mut pair.server, &mut pair.client)
        };
        let octets = from.transmit(now);
        to.receive(now, record.map_or(&octets, |record| &record[turn]));
        written.push(octets);
        for side in [&mut pair.client, &mut pair.server] {
            assert_eq!(side.fault, None, "{name}");
            side.poll();
            told.extend(side.tells().iter().map(|output| describe(output, now)));
        }
    }
    (written, told)
}

fn describe(output: &Output, now: Instant) -> String {
    let body = |body: &Body| String::from_utf8_lossy(&body.clone().into_bytes()).into_owned();
    let request = |request: &Request| {
        format!(
            "{} {:?} {} {:?} {:?}",
            request.operation,
            request.headers,
            body(&request.body),
            request.deadline.map(|deadline| deadline - now),
            request.priority
        )
    };
    match output {
        Output::Request { call, request: it } => {
            format!("{}: request {}", call.number(), request(it))
        }
        Output::Opened { call, request: it } => {
            format!("{}: opened {}", call.number(), request(it))
        }
        Output::Response { call, response } => format!(
            "{}: {:?} {:?} {}",
            call.number(),
            response.status,
            response.headers,
            body(&response.body)
        ),
        Output::Message { call, message } => {
            format!("{}: message {}", call.number(), body(message))
        }
        Output::Event(event) => format!("event {} {}", event.operation, body(&event.body)),
        other => format!("{other:?}"),
    }
}

fn read(text: &str) -> Vec<Vec<u8>> {
    let mut turns = Vec::new();
    let mut names = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if line.starts_with(['>', '<']) {
            names.push(line);
            turns.push(Vec::new());
            continue;
        }
        let octets = line.split_whitespace();
        let octets = octets.map(|octet| u8::from_str_radix(octet, 16).unwrap());
        turns.last_mut().expect("a turn first").extend(octets);
    }
    assert_eq!(names, TURNS);
    turns
}

#[test]
fn what_was_recorded_is_read_as_what_is_written_now() {
    for (release, flavours) in RELEASES {
        for (flavour, text) in flavours {
            let (_, now) = session(flavour, None);
            let (_, then) = session(flavour, Some(&read(text)));
            assert_eq!(then, now, "{release}, {}", flavour.name());
            // And it is what was said.
            let told = now.join("\n");
            for part in [
                "1: request test.v1.Echo/Call",
                "body Some(1.5s) Priority(5)",
                "no 100 % ☺",
                "event test.v1.Echo/Call event",
                "7: message first",
                "7: message down",
                "Draining",
            ] {
                assert!(told.contains(part), "{part}: {told}");
            }
        }
    }
}

#[test]
fn this_versions_vectors_are_recorded_on_demand() {
    let Some(folder) = std::env::var_os("RECORD_VECTORS") else {
        return;
    };
    for flavour in [Flavour::Grpc, Flavour::Rest] {
        let mut text = "# One session over HTTP/2, turn by turn: crates/transport/src/http2/tests/vectors.rs.\n\
                        # `>` is what the client sends, `<` what the server sends. Never changed.\n"
            .to_owned();
        for (name, octets) in TURNS.iter().zip(session(flavour, None).0) {
            writeln!(text, "{name}").unwrap();
            for line in octets.chunks(32) {
                let line: Vec<_> = line.iter().map(|octet| format!("{octet:02x}")).collect();
                writeln!(text, "{}", line.join(" ")).unwrap();
            }
        }
        let file = std::path::Path::new(&folder).join(format!("{}.txt", flavour.name()));
        std::fs::write(file, text).unwrap();
    }
}
