//! What the calls of a peer may hold here, and what one turn does for it.

use super::Pair;
use super::pair::{CALL, FLAVOURS, STREAM, Side, unary_and_streams};
use crate::http2::{Config, Connection, Flavour};
use bytes::BytesMut;
use corewire_message::{Body, Code, Headers, Request, Response};
use corewire_wire::memory::{CALL_OCTETS, ProcessMemory};
use corewire_wire::{CallId, Core, Input, Output};
use std::time::Instant;

/// The value that the attack copies: with its name and 32 octets it fills the table.
const VALUE: usize = 4000;
/// How often one request has it.
const COPIES: usize = 15;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A POST whose headers are 60 KB long and sent as few octets (RFC 7541, 6.1). The first one fills the table.
fn copies(stream: u32, flags: u8) -> Vec<u8> {
    const PATH: &[u8] = b"/test.v1.Echo/Call";
    let mut block = vec![0x83, 0x86, 0x01, 1, b'a', 0x04, PATH.len() as u8];
    block.extend(PATH);
    if stream == 1 {
        block.extend([0x40, 1, b'x', 127]);
        let rest = VALUE - 127;
        block.extend([(rest % 128 + 128) as u8, (rest / 128) as u8]);
        block.extend([b'y'; VALUE]);
    }
    block.extend([0x80 | 62; COPIES]);
    frame(1, 4 | flags, stream, &block)
}

fn greeted(config: Config) -> (Side, Instant) {
    let now = Instant::now();
    let core = Connection::server(config, unary_and_streams(), now);
    let mut side = Side::new(core);
    side.receive(now, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    side.receive(now, &frame(4, 0, 0, &[]));
    side.receive(now, &frame(4, 1, 0, &[]));
    side.transmit(now);
    assert!(side.fault.is_none());
    (side, now)
}

fn says(octets: &[u8], what: &[u8]) -> bool {
    octets.windows(what.len()).any(|octets| octets == what)
}

#[test]
fn refuses_calls_when_open_headers_fill_their_share() {
    let process = ProcessMemory::new(usize::MAX);
    let (mut side, now) = greeted(Config::with(|config| {
        config.process_memory = process.clone();
    }));
    for call in 0..4000 {
        side.receive(now, &copies(2 * call + 1, 0));
        side.transmit(now);
        let headers = Config::default().max_connection_memory / 8;
        assert!(side.core.memory.held() <= headers + 4000 * CALL_OCTETS);
    }
    assert!(side.fault.is_none());
    let calls = side.core.calls.iter();
    let held = calls.filter(|(_, call)| !call.answered).count();
    assert!((100..150).contains(&held), "{held} calls of 60 KB");
    assert_eq!(side.told.len(), 0, "none of them has ended");
    // What is given up leaves room.
    for call in 0..4000 {
        side.receive(now, &frame(3, 0, 2 * call + 1, &[0, 0, 0, 8]));
    }
    assert_eq!(side.core.memory.held(), 0);
    side.receive(now, &copies(8001, 1));
    let Output::Request { call, .. } = side.only() else {
        panic!("it was not taken")
    };
    assert!(side.core.memory.held() > 60_000, "until it is answered");
    side.core
        .respond(call, Response::ok(Body::from_static(b"x")));
    assert_eq!(side.core.memory.held(), 0);
    side.transmit(now);
    assert_eq!(process.held(), 0);
}

#[test]
fn refuses_calls_when_the_process_holds_its_limit() {
    let process = ProcessMemory::new(1 << 20);
    let config = Config::with(|config| config.process_memory = process.clone());
    let (mut first, now) = greeted(config.clone());
    let (mut second, _) = greeted(config);
    for call in 0..40 {
        first.receive(now, &copies(2 * call + 1, 0));
    }
    first.transmit(now);
    assert!(process.held() > 900_000 && process.held() <= 1 << 20);
    second.receive(now, &copies(1, 0));
    second.receive(now, &copies(3, 0));
    assert!(says(&second.transmit(now), b"\"status\":503"));
    first.close(now);
    first.transmit(now);
    drop(first);
    second.receive(now, &copies(5, 1));
    assert!(matches!(second.only(), Output::Request { .. }));
    drop(second);
    assert_eq!(process.held(), 0);
}

#[test]
fn tells_the_caller_that_there_is_no_room() {
    for flavour in FLAVOURS {
        let server = Config::with(|config| config.max_connection_memory = 100_000);
        let mut pair = Pair::with(flavour, Config::default(), server);
        let mut headers = Headers::new();
        headers.append("x", vec![b'y'; 20_000]).unwrap();
        let request = Request::new(CALL).with_headers(headers);
        pair.client.core.call(pair.now, request).unwrap();
        pair.run();
        assert_eq!(pair.answered().status.code(), Code::ResourceExhausted);
        assert!(pair.server.tells().is_empty());
        assert_eq!(pair.server.core.memory.held(), 0);
    }
}

#[test]
fn holds_bodies_until_their_calls_are_answered() {
    for flavour in FLAVOURS {
        let server = Config::with(|config| config.max_connection_memory = 100_000);
        let mut pair = Pair::with(flavour, Config::default(), server);
        pair.call(vec![0; 60_000]);
        pair.run();
        let (first, _) = pair.asked();
        pair.call(vec![0; 60_000]);
        pair.run();
        let refused = pair.answered();
        assert_eq!(refused.status.code(), Code::ResourceExhausted);
        pair.server
            .core
            .respond(first, Response::ok(Body::from_static(b"x")));
        pair.run();
        pair.answered();
        pair.call(vec![0; 60_000]);
        pair.run();
        pair.asked();
    }
}

#[test]
fn ends_a_stream_whose_long_messages_are_not_consumed() {
    for flavour in FLAVOURS {
        let server = Config::with(|config| config.max_connection_memory = 4 << 20);
        let mut pair = Pair::with(flavour, Config::default(), server);
        let call = pair
            .client
            .core
            .open(pair.now, Request::new(STREAM))
            .unwrap();
        pair.run();
        let mut sent = 0;
        while pair
            .client
            .core
            .send(call, vec![0; 600 << 10].into())
            .is_ok()
            && sent < 100
        {
            sent += 1;
            pair.run();
        }
        // The window and what may be held.
        assert!(sent < 12, "{flavour:?}: {sent} messages of 600 KiB");
        assert_eq!(pair.server.core.memory.held(), 0);
    }
}

#[test]
fn few_octets_that_stay_do_not_hold_the_memory_of_many_that_go() {
    let (mut side, now) = greeted(Config::default());
    let mut held = Vec::new();
    for call in 0..600 {
        // A small request that stays, and a large one that is answered.
        let small = [
            &[0x83, 0x86, 0x01, 1, b'a', 0x04, 18][..],
            b"/test.v1.Echo/Call",
            &[0, 1, b'a', 1, b'b'],
        ]
        .concat();
        if call > 0 {
            side.receive(now, &frame(1, 5, 4 * call - 1, &small));
        }
        side.receive(now, &copies(4 * call + 1, 5));
        for output in side.tells() {
            let Output::Request { call, request } = output else {
                panic!("{output:?}")
            };
            if request.headers.as_block().len() > 1000 {
                side.core
                    .respond(call, Response::ok(Body::from_static(b"x")));
            } else {
                held.push(request);
            }
        }
        side.transmit(now);
    }
    assert_eq!(held.len(), 599);
    let pieces: std::collections::HashSet<_> = held
        .iter()
        .map(|request| request.headers.as_block().as_ptr() as usize >> 16)
        .collect();
    // Those behind the first pieces have memory of their own, side by side.
    assert!(pieces.len() < 60, "{} pieces of 64 KiB", pieces.len());
}

#[test]
fn a_turn_decodes_a_bounded_amount() {
    let (mut side, now) = greeted(Config::default());
    let mut octets = BytesMut::new();
    for call in 0..1000 {
        octets.extend_from_slice(&copies(2 * call + 1, 1));
    }
    let (mut turns, mut told) = (0, 0);
    while !octets.is_empty() {
        side.core
            .handle_event(now, Input::Octets(&mut octets))
            .unwrap();
        turns += 1;
        let mut requests = 0;
        while let Some(output) = side.core.poll() {
            let Output::Request { call, .. } = output else {
                panic!("{output:?}")
            };
            side.core
                .respond(call, Response::ok(Body::from_static(b"x")));
            requests += 1;
        }
        assert!(requests <= 3, "{requests} requests of 60 KB in a turn");
        assert_eq!(side.core.has_more(), !octets.is_empty());
        told += requests;
        side.transmit(now);
    }
    assert_eq!(told, 1000);
    assert!(turns > 300, "{turns}");
}

#[test]
fn a_turn_takes_a_bounded_number_of_frames() {
    let (mut side, now) = greeted(Config::default());
    let mut octets = BytesMut::new();
    for _ in 0..2000 {
        octets.extend_from_slice(&frame(8, 0, 0, &[0, 0, 0, 1]));
    }
    let mut turns = 1;
    loop {
        side.core
            .handle_event(now, Input::Octets(&mut octets))
            .unwrap();
        if !side.core.has_more() {
            break;
        }
        turns += 1;
    }
    assert!(octets.is_empty() && turns == 4, "{turns}");
}

#[test]
fn repeated_oversized_headers_end_the_connection() {
    let (mut side, now) = greeted(Config::with(|config| config.oversized_headers = (5, 1)));
    let mut block = copies(1, 5).split_off(9);
    block.extend([0x80 | 62; 10]);
    let mut sent = 0;
    while side.fault.is_none() && sent < 100 {
        side.receive(now, &frame(1, 5, 2 * sent + 1, &block));
        let answer = side.transmit(now);
        assert_eq!(says(&answer, b"\"status\":431"), side.fault.is_none());
        block = vec![0x83, 0x86, 0x01, 1, b'a', 0x04, 1, b'/'];
        block.extend([0x80 | 62; 30]);
        sent += 1;
    }
    assert_eq!(sent, 6);
    assert_eq!(side.fault.unwrap().what, "ENHANCE_YOUR_CALM");
}

#[test]
fn a_client_holds_its_servers_headers_within_its_limit() {
    let client = Config::with(|config| config.max_connection_memory = 100_000);
    let mut pair = Pair::with(Flavour::Rest, client, Config::default());
    pair.call("x".to_owned());
    pair.run();
    let (call, _) = pair.asked();
    let mut headers = Headers::new();
    headers.append("x", vec![b'y'; 20_000]).unwrap();
    pair.server.core.respond(
        call,
        Response::ok(Body::from_static(b"x")).with_headers(headers),
    );
    pair.run();
    assert_eq!(
        pair.failed().kind(),
        corewire_message::ErrorKind::Overloaded
    );
    assert_eq!(pair.client.core.memory.held(), 0);
    assert!(pair.client.core.room(CallId::new(1)).is_none());
}
