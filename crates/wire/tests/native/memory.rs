//! What the calls of a peer may hold here, and what one turn does for it.

use crate::pair::{CHAT, ECHO};
use crate::raw::{self, Lone, define, frame};
use bytes::BytesMut;
use corewire_message::{Body, Response};
use corewire_wire::memory::{CALL_OCTETS, ProcessMemory};
use corewire_wire::native::Config;
use corewire_wire::{Core, Input, Output};

fn limited() -> (Lone, ProcessMemory) {
    let process = ProcessMemory::new(usize::MAX);
    let config = Config::with(|config| {
        config.max_connection_memory = 1 << 20;
        config.process_memory = process.clone();
    });
    let mut lone = Lone::server(config).greeted();
    let echo = define(ECHO.as_str(), b"");
    let chat = define(CHAT.as_str(), b"");
    lone.feed(&frame(raw::EVENT, raw::DEFINE, 0, 0, &echo))
        .unwrap();
    lone.feed(&frame(raw::EVENT, raw::DEFINE, 1, 0, &chat))
        .unwrap();
    assert_eq!(std::iter::from_fn(|| lone.core.poll()).count(), 2);
    (lone, process)
}

/// A header block with one value of so many octets.
fn headers(octets: usize) -> Vec<u8> {
    let length = u32::try_from(octets).unwrap().to_le_bytes();
    [&[1], &length[..3], b"x", &vec![b'y'; octets]].concat()
}

/// A request with 40 KB of headers whose body has not come wholly.
fn open_request(call: u32) -> Vec<u8> {
    let block = headers(40_000);
    let length = u32::try_from(block.len()).unwrap().to_le_bytes();
    let payload = [
        &2000_u32.to_le_bytes()[..],
        &length[..],
        &block[..],
        &[0; 1024],
    ]
    .concat();
    frame(raw::REQUEST, raw::MORE | raw::HEADERS, 0, call, &payload)
}

fn says_no_room(octets: &[u8]) -> bool {
    let text = b"hold as much memory as they may";
    octets.windows(text.len()).any(|part| part == text)
}

#[test]
fn refuses_calls_when_open_headers_fill_their_share() {
    let (mut lone, process) = limited();
    let mut refused = 0;
    for call in 0..300 {
        lone.feed(&open_request(2 * call + 1)).unwrap();
        refused += usize::from(says_no_room(&lone.transmitted()));
        assert!(lone.core.memory() <= (1 << 17) + 300 * 4096);
    }
    assert_eq!(refused, 297);
    assert!(lone.core.poll().is_none());
    for call in 0..300 {
        lone.feed(&frame(raw::CANCEL, 0, 1, 2 * call + 1, &[]))
            .unwrap();
    }
    assert_eq!(lone.core.memory(), 0);
    lone.transmitted();
    assert_eq!(process.held(), 0);
}

#[test]
fn holds_streams_and_bodies_until_they_are_answered() {
    let (mut lone, _) = limited();
    let block = headers(60_000);
    let length = u32::try_from(block.len()).unwrap().to_le_bytes();
    let payload = [&length[..], &block[..]].concat();
    for call in [1, 3, 5] {
        lone.feed(&frame(
            raw::REQUEST,
            raw::STREAM | raw::HEADERS,
            1,
            call,
            &payload,
        ))
        .unwrap();
    }
    assert!(says_no_room(&lone.transmitted()), "two of them are 120 KB");
    assert!(lone.core.memory() > 2 * 60_000);
    for _ in 0..2 {
        let Some(Output::Opened { call, .. }) = lone.core.poll() else {
            panic!("it was not opened")
        };
        lone.core
            .respond(call, Response::ok(Body::from_static(b"x")));
    }
    assert_eq!(lone.core.memory(), 0);
    // 1 MiB less what a call costs beside its body.
    for call in (7..).step_by(2).take(6) {
        lone.feed(&frame(raw::REQUEST, 0, 0, call, &[0; 200_000]))
            .unwrap();
    }
    assert!(says_no_room(&lone.transmitted()));
    assert_eq!(lone.core.memory(), 5 * (200_000 + CALL_OCTETS));
    while let Some(output) = lone.core.poll() {
        let Output::Request { call, .. } = output else {
            panic!("{output:?}")
        };
        assert!(lone.core.memory() > 0, "until it is answered");
        lone.core
            .respond(call, Response::ok(Body::from_static(b"x")));
    }
    assert_eq!(lone.core.memory(), 0);
}

#[test]
fn headers_that_stay_do_not_hold_what_came_with_them() {
    let (mut lone, _) = limited();
    let block = headers(10);
    let length = u32::try_from(block.len()).unwrap().to_le_bytes();
    let payload = [&length[..], &block[..]].concat();
    let mut octets = BytesMut::from(&frame(raw::REQUEST, 6, 1, 1, &payload)[..]);
    octets.reserve(1 << 18);
    let place = octets.as_ptr() as usize;
    lone.core
        .handle_event(lone.now, Input::Octets(&mut octets))
        .unwrap();
    let Some(Output::Opened { request, .. }) = lone.core.poll() else {
        panic!("it was not opened")
    };
    let held = request.headers.as_block().as_ptr() as usize;
    assert!(!(place..place + (1 << 18)).contains(&held));
}

/// A frame counts 256 and a quarter of its octets; the one that goes past the limit is the last.
#[test]
fn a_turn_takes_as_much_work_as_its_limit_says() {
    for (limit, frames) in [(0, 1), (256, 1), (257, 2), (513, 2), (514, 3)] {
        let config = Config::with(|config| config.turn_work = limit);
        let mut lone = Lone::server(config).greeted();
        let credit = frame(raw::CREDIT, 0, 0, 0, &[0; 4]);
        let mut octets = BytesMut::from(&credit.repeat(10)[..]);
        lone.core
            .handle_event(lone.now, Input::Octets(&mut octets))
            .unwrap();
        assert_eq!(octets.len(), (10 - frames) * credit.len(), "{limit}");
        assert!(lone.core.has_more());
    }
}

#[test]
fn a_turn_takes_a_bounded_number_of_frames() {
    let (mut lone, _) = limited();
    let mut octets = BytesMut::new();
    for _ in 0..2000 {
        octets.extend_from_slice(&frame(raw::CREDIT, 0, 0, 0, &[0; 4]));
    }
    let mut turns = 1;
    loop {
        lone.core
            .handle_event(lone.now, Input::Octets(&mut octets))
            .unwrap();
        if !lone.core.has_more() {
            break;
        }
        turns += 1;
    }
    assert!(octets.is_empty() && turns == 4, "{turns}");
}
