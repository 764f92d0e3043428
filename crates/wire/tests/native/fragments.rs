//! Long messages, and what goes in between.

use crate::pair::{ECHO, Pair, drained, outputs};
use bytes::BytesMut;
use corewire_message::{Body, Bytes, Event, Headers, Priority, Request, Response};
use corewire_wire::native::Config;
use corewire_wire::{Core, Input, Outbox, Output};

fn small_frames() -> Config {
    Config::with(|config| {
        config.max_frame = 8192;
        config.max_header_block = 2048;
    })
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n % 251) as u8).collect()
}

#[test]
fn requests_and_answers_of_every_length_around_the_frame_come_whole() {
    let mut headers = Headers::new();
    headers.append("name", vec![b'v'; 1500]).unwrap();
    for chunk in [1000, usize::MAX] {
        let mut pair = Pair::with(small_frames(), small_frames());
        pair.chunk = chunk;
        for length in (0..40)
            .chain(6000..6700)
            .step_by(13)
            .chain(8150..8200)
            .chain([100_000])
        {
            let head = &pattern(length)[..length.min(30)];
            let tail = Bytes::from(pattern(length).split_off(head.len()));
            let request = Request::new(ECHO)
                .with_body(Body::with_head(head, tail))
                .with_headers(headers.clone());
            pair.call(request);
            pair.run();
            let (call, request) = pair.request();
            assert_eq!(request.body, Body::from(pattern(length)));
            assert_eq!(request.headers, headers);
            let answer = Response::ok(request.body).with_headers(headers.clone());
            pair.server.respond(call, answer.clone());
            pair.run();
            match pair.client.poll() {
                Some(Output::Response { response, .. }) => assert_eq!(response, answer),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn a_message_goes_in_one_frame_while_the_frame_has_room() {
    const HEADER: usize = 12;
    for (length, sent) in [
        (8191, HEADER + 8191),
        (8192, HEADER + 8192),
        // In two: the first tells the whole length.
        (8193, 2 * HEADER + 4 + 8193),
    ] {
        let mut pair = Pair::with(small_frames(), small_frames()).greeted();
        pair.call(Request::new(ECHO));
        pair.run();
        let (call, _) = pair.request();
        pair.server.respond(call, Response::ok(vec![0; length]));
        let octets = crate::pair::transmitted(&mut pair.server, pair.now);
        assert_eq!(octets.len(), sent);
    }
}

#[test]
fn short_urgent_calls_overtake_a_long_one() {
    let mut pair = Pair::with(small_frames(), small_frames()).greeted();
    let long = pair.call(
        Request::new(ECHO)
            .with_body(Body::from(pattern(4 << 20)))
            .with_priority(Priority::LOWEST),
    );
    let mut outbox = Outbox::new();
    let mut buffer = BytesMut::new();
    let mut urgent = Vec::new();
    let mut order = Vec::new();
    for turn in 0..100 {
        if turn == 1 {
            for n in 0..3u8 {
                let request = Request::new(ECHO).with_body(Body::from(vec![n]));
                urgent.push(pair.call(request.with_priority(Priority::HIGHEST)));
            }
        }
        pair.client.poll_transmit(pair.now, &mut outbox);
        buffer.extend_from_slice(&drained(&mut outbox));
        pair.server
            .handle_event(pair.now, Input::Octets(&mut buffer))
            .unwrap();
        for output in outputs(&mut pair.server) {
            let Output::Request { call, .. } = output else {
                panic!("{output:?}");
            };
            order.push((turn, call));
        }
    }
    let first: Vec<_> = order[..3].to_vec();
    assert_eq!(
        first,
        urgent.iter().map(|call| (1, *call)).collect::<Vec<_>>()
    );
    assert_eq!((order.len(), order[3].1), (4, long));
}

#[test]
fn long_messages_of_one_priority_take_turns_and_each_stays_in_order() {
    let mut pair = Pair::with(small_frames(), small_frames()).greeted();
    let streams = [pair.open(), pair.open(), pair.open()];
    for n in 0..3u8 {
        for stream in streams {
            let length = 20_000 + 1000 * usize::from(n);
            pair.client
                .send(stream, Body::from(vec![n; length]))
                .unwrap();
        }
    }
    let calls: Vec<_> = (0..3)
        .map(|n| pair.call(Request::new(ECHO).with_body(vec![n; 50_000])))
        .collect();
    pair.run();
    let mut counts = [0u8; 3];
    let mut requests = 0;
    for output in outputs(&mut pair.server) {
        match output {
            Output::Message { call, message } => {
                let stream = streams.iter().position(|id| *id == call).unwrap();
                assert_eq!(message.into_bytes()[0], counts[stream]);
                counts[stream] += 1;
            }
            Output::Request { call, request } => {
                let n = calls.iter().position(|id| *id == call).unwrap();
                assert_eq!(request.body, Body::from(vec![n as u8; 50_000]));
                requests += 1;
            }
            _ => {}
        }
    }
    assert_eq!((counts, requests), ([3; 3], 3));
}

#[test]
fn long_events_keep_their_order_within_a_priority() {
    let mut pair = Pair::with(small_frames(), small_frames()).greeted();
    for n in 0..6u8 {
        let mut event = Event::new(ECHO, vec![n; if n % 2 == 0 { 300_000 } else { 3 }]);
        event.priority = Priority::try_from(n / 3).unwrap();
        pair.client.send_event(pair.now, event).unwrap();
    }
    pair.run();
    let mut seen = [Vec::new(), Vec::new()];
    for output in outputs(&mut pair.server) {
        let Output::Event(event) = output else {
            panic!("{output:?}");
        };
        let first = event.body.into_bytes()[0];
        seen[usize::from(event.priority.value())].push(first);
    }
    assert_eq!(seen, [[0, 1, 2], [3, 4, 5]]);
}

#[test]
fn a_driver_is_told_how_much_of_a_frame_is_missing() {
    let mut pair = Pair::new().greeted();
    pair.call(Request::new(ECHO).with_body(pattern(100_000)));
    let octets = crate::pair::transmitted(&mut pair.client, pair.now);
    let mut buffer = BytesMut::new();
    let mut fed = 0;
    let mut reads = 0;
    while fed < octets.len() {
        let step = pair.server.wants().max(12).min(octets.len() - fed);
        buffer.extend_from_slice(&octets[fed..fed + step]);
        fed += step;
        reads += 1;
        pair.server
            .handle_event(pair.now, Input::Octets(&mut buffer))
            .unwrap();
    }
    assert_eq!((reads, pair.server.wants()), (2, 0));
    pair.request();
}
