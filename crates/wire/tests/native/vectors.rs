//! Recorded octets of every released version, checked both ways. They may be added to, never changed: a
//! later version must read them, and write the newest as they stand. What a later version may add
//! (features, settings and frames that may be ignored, higher protocol versions) is put between them, so
//! that an old end and a new one understand each other whichever calls.

use crate::pair::{CHAT, ECHO, Pair, feed, outputs, transmitted};
use crate::raw::{CLOSE, HELLO, Lone, frame, hello};
use bytes::BytesMut;
use corewire_message::{Body, Code, Event, Headers, Priority, Request, Response, Status};
use corewire_wire::native::{Config, MAGIC};
use corewire_wire::{CallId, Core, Output};
use std::fmt::Write as _;
use std::time::Duration;

/// One end's turn: `> name` is what the client sends, `< name` what the server sends.
type Section = (String, Vec<u8>);

/// Every released version of Corewire that wrote other octets than the one before it, with its
/// session; the last is what is written now.
const RELEASES: [(&str, &str); 1] = [("v0.1", include_str!("../vectors/v0.1/native.txt"))];

/// The newest release's session.
fn newest() -> Vec<Section> {
    recorded(RELEASES[RELEASES.len() - 1].1)
}

/// The sections of a file.
fn recorded(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap().trim();
        if line.starts_with(['>', '<']) {
            sections.push((line.to_owned(), Vec::new()));
            continue;
        }
        for token in line.split_whitespace() {
            // `ee*100` is a hundred times `ee`.
            let (octet, times) = token.split_once('*').unwrap_or((token, "1"));
            let octet = u8::from_str_radix(octet, 16).unwrap();
            let section = sections.last_mut().expect("a section first");
            section.1.extend(vec![octet; times.parse().unwrap()]);
        }
    }
    sections
}

fn config() -> Config {
    Config::with(|config| {
        config.max_frame = 8192;
        config.max_header_block = 2048;
        config.stream_credit = 40;
        config.keep_alive_interval = Some(Duration::from_secs(1));
    })
}

fn headers() -> Headers {
    let mut headers = Headers::new();
    headers.append("x-a", "1").unwrap();
    headers.append("x-b", [0xff]).unwrap();
    headers
}

/// What the client and the server do, in turns; each turn is one section of the file.
fn turns(turn: usize, pair: &mut Pair) {
    let (unary, stream) = (CallId::new(1), CallId::new(3));
    let now = pair.now;
    match turn {
        0 | 1 => {}
        2 => {
            let request = Request::new(ECHO)
                .with_body(Body::from_static(b"body"))
                .with_headers(headers())
                .with_deadline(now + Duration::from_micros(1_000_000))
                .with_priority(Priority::try_from(5).unwrap());
            pair.client.call(now, request).unwrap();
        }
        3 => {
            let mut response = Response::failed(Status::new(Code::NotFound, "no"));
            response.body = Body::from_static(b"detail");
            pair.server.respond(unary, response.with_headers(headers()));
        }
        4 => {
            let request = Request::new(CHAT).with_body(Body::from_static(b"first"));
            pair.client.open(now, request).unwrap();
            pair.client.finish(stream);
        }
        5 => {
            pair.server.consumed(stream, 5);
            pair.server
                .send(stream, Body::from_static(b"down"))
                .unwrap();
            pair.server.respond(stream, Response::ok(Body::new()));
        }
        6 => {
            let event = Event::new(ECHO, vec![0xee; 8200]);
            pair.client.send_event(now, event).unwrap();
            let call = pair.client.call(now, Request::new(ECHO)).unwrap();
            assert_eq!(call, CallId::new(5));
        }
        7 => pair.server.cancel(CallId::new(5), Code::Aborted),
        8 => {
            pair.client.open(now, Request::new(CHAT)).unwrap();
        }
        9 => {
            pair.server
                .send(CallId::new(7), Body::from(vec![1; 30]))
                .unwrap();
        }
        10 => {
            pair.client.consumed(CallId::new(7), 30);
            pair.client.cancel(CallId::new(7), Code::Cancelled);
            pair.now += Duration::from_secs(1);
            pair.client.handle_timeout(pair.now);
        }
        11 => pair.server.drain(),
        _ => unreachable!("no such turn"),
    }
}

const NAMES: [&str; 12] = [
    "> magic and HELLO",
    "< magic and HELLO",
    "> HELLO with SETTLED; REQUEST with every field",
    "< RESPONSE with every field",
    "> REQUEST that opens a stream, MESSAGE, FINISH",
    "< MESSAGE, RESPONSE that ends the stream",
    "> EVENT, FRAGMENT, REQUEST",
    "< CANCEL by the server",
    "> REQUEST that opens a stream, its operation known",
    "< MESSAGE",
    "> CREDIT, CANCEL by the client, PING",
    "< PONG, DRAIN",
];

#[test]
fn what_is_written_is_what_was_recorded() {
    let mut pair = Pair::with(config(), config());
    let mut buffers = [BytesMut::new(), BytesMut::new()];
    let mut written: Vec<(String, Vec<u8>)> = Vec::new();
    for (turn, name) in NAMES.into_iter().enumerate() {
        turns(turn, &mut pair);
        let (from, to, buffer) = if name.starts_with('>') {
            (&mut pair.client, &mut pair.server, &mut buffers[0])
        } else {
            (&mut pair.server, &mut pair.client, &mut buffers[1])
        };
        let octets = transmitted(from, pair.now);
        feed(to, buffer, &octets, usize::MAX, pair.now).unwrap();
        written.push((name.to_owned(), octets));
        outputs(&mut pair.client);
        outputs(&mut pair.server);
    }
    let recorded = newest();
    for (index, section) in written.iter().enumerate() {
        if recorded.get(index) != Some(section) {
            panic!("not as recorded; now:\n{}", print(&written));
        }
    }
    assert_eq!(recorded.len(), written.len());
}

/// The file's own form, without its comments: each header on a line, its payload below.
fn print(sections: &[(String, Vec<u8>)]) -> String {
    let mut text = String::new();
    for (name, octets) in sections {
        writeln!(text, "{name}").unwrap();
        let mut rest = &octets[..];
        if let Some(after) = rest.strip_prefix(&MAGIC) {
            writeln!(text, "{}", hex(&MAGIC)).unwrap();
            rest = after;
        }
        while let Some((header, after)) = rest.split_at_checked(12) {
            let length = u32::from_le_bytes(header[..4].try_into().unwrap());
            let (payload, after) = after.split_at(length as usize);
            writeln!(text, "{}", hex(header)).unwrap();
            for line in payload
                .chunk_by(|a, b| a == b)
                .collect::<Vec<_>>()
                .chunk_by(short)
            {
                for line in line.concat().chunks(if short(&line[0], &line[0]) {
                    16
                } else {
                    usize::MAX
                }) {
                    writeln!(text, "  {}", hex(line)).unwrap();
                }
            }
            rest = after;
        }
    }
    text
}

/// Whether two runs of equal octets are short enough to be written out.
fn short(a: &&[u8], b: &&[u8]) -> bool {
    a.len() < 20 && b.len() < 20
}

fn hex(octets: &[u8]) -> String {
    if octets.len() >= 20 {
        return format!("{:02x}*{}", octets[0], octets.len());
    }
    let octets: Vec<String> = octets.iter().map(|octet| format!("{octet:02x}")).collect();
    octets.join(" ")
}

#[test]
fn every_release_has_a_folder_and_every_folder_is_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors");
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    assert_eq!(found, RELEASES.map(|(name, _)| name));
}

#[test]
fn what_was_recorded_is_still_understood() {
    for (_, text) in RELEASES {
        understand(recorded(text));
    }
}

/// An old client at a new server, and a new client at an old one: this version's ends stand for the
/// old, and a later version speaks to them as it may.
#[test]
fn what_a_later_version_says_is_understood() {
    for (_, text) in RELEASES {
        for newer in [&['>'][..], &['<'], &['>', '<']] {
            let mut sections = recorded(text);
            for (name, octets) in &mut sections {
                if name.starts_with(newer) {
                    *octets = as_a_later_version(octets);
                }
            }
            understand(sections);
        }
    }
}

/// The same frames from an end that speaks version 1 and later ones: it says so in its HELLO, with
/// features and a setting that are not known yet, and sends frames that may be ignored.
fn as_a_later_version(octets: &[u8]) -> Vec<u8> {
    let mut later = Vec::new();
    let mut rest = octets;
    if let Some(after) = rest.strip_prefix(&MAGIC) {
        later.extend(MAGIC);
        rest = after;
    }
    while let Some((header, after)) = rest.split_at_checked(12) {
        let length = u32::from_le_bytes(header[..4].try_into().unwrap());
        let (payload, after) = after.split_at(length as usize);
        rest = after;
        if header[4] == HELLO && !payload.is_empty() {
            let mut payload = payload.to_vec();
            // Versions 1 to 9, features nobody has, and a setting that may be ignored.
            payload[2..8].copy_from_slice(&[9, 0, 0, 0, 0xff, 0xff]);
            payload.extend(&hello((1, 1), &[(0x8123, b"of a later version")])[8..]);
            later.extend(frame(HELLO, header[5], 0, 0, &payload));
        } else {
            later.extend([header, payload].concat());
        }
        later.extend(frame(0xf0, 0xff, 7, 3, b"a hint of a later version"));
        later.extend(frame(0xff, 0, 0, 0, b""));
    }
    later
}

/// The one frame that the session above does not have: it ends the connection.
#[test]
fn close_is_written_and_read_as_recorded() {
    const RECORDED: &[u8] = b"\x24\0\0\0\x0d\0\0\0\0\0\0\0no common protocol version (octet 4)";
    let mut server = Lone::server(Config::default());
    let greeting = [&MAGIC[..], &frame(HELLO, 0, 0, 0, &hello((2, 7), &[]))].concat();
    server.feed(&greeting).unwrap_err();
    let written = server.transmitted();
    assert!(
        written.ends_with(RECORDED),
        "{}",
        String::from_utf8_lossy(&written).escape_debug()
    );
    assert_eq!(RECORDED[4], CLOSE);
    let mut client = Lone::client(Config::default()).greeted();
    assert!(!client.fault(RECORDED).is_empty());
}

fn understand(sections: Vec<Section>) {
    let mut pair = Pair::with(config(), config());
    let mut buffers = [BytesMut::new(), BytesMut::new()];
    let mut seen: Vec<Output> = Vec::new();
    for (turn, (name, octets)) in sections.into_iter().enumerate() {
        turns(turn, &mut pair);
        // What this version writes is thrown away: the peer is the file.
        transmitted(&mut pair.client, pair.now);
        transmitted(&mut pair.server, pair.now);
        let (to, buffer) = if name.starts_with('>') {
            (&mut pair.server, &mut buffers[0])
        } else {
            (&mut pair.client, &mut buffers[1])
        };
        feed(to, buffer, &octets, usize::MAX, pair.now).unwrap();
        seen.extend(outputs(&mut pair.client));
        seen.extend(outputs(&mut pair.server));
    }
    let mut seen = seen.into_iter();
    let mut next = || seen.next().expect("an output");
    let Output::Request { call, request } = next() else {
        panic!("a request first");
    };
    assert_eq!((call.number(), request.operation), (1, ECHO));
    assert_eq!(request.headers, headers());
    assert_eq!(request.body, Body::from_static(b"body"));
    assert_eq!(request.priority.value(), 5);
    assert!(request.deadline.is_some());
    let Output::Response { response, .. } = next() else {
        panic!("then its answer");
    };
    assert_eq!(response.status, Status::new(Code::NotFound, "no"));
    assert_eq!(response.headers, headers());
    assert_eq!(response.body, Body::from_static(b"detail"));
    assert!(matches!(next(), Output::Opened { .. }));
    assert!(
        matches!(next(), Output::Message { message, .. } if message == Body::from_static(b"first"))
    );
    assert!(matches!(next(), Output::Finished { .. }));
    assert!(
        matches!(next(), Output::Message { message, .. } if message == Body::from_static(b"down"))
    );
    assert!(matches!(next(), Output::Response { response, .. } if response.status.is_ok()));
    assert!(matches!(next(), Output::Event(event) if event.body.len() == 8200));
    assert!(matches!(next(), Output::Request { call, .. } if call.number() == 5));
    assert!(
        matches!(next(), Output::Response { response, .. } if response.status.code() == Code::Aborted)
    );
    assert!(matches!(next(), Output::Opened { call, .. } if call.number() == 7));
    assert!(matches!(next(), Output::Message { message, .. } if message.len() == 30));
    assert!(matches!(next(), Output::Writable { .. }));
    assert!(matches!(
        next(),
        Output::Cancelled {
            code: Code::Cancelled,
            ..
        }
    ));
    assert!(matches!(next(), Output::Draining));
    assert!(seen.next().is_none());
}
