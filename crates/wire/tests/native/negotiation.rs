//! Old and new peers.

use crate::pair::{ECHO, Pair, outputs};
use crate::raw::{self, HELLO, Lone, frame, hello};
use corewire_message::{Body, ErrorKind, Request};
use corewire_wire::native::{Config, MAGIC};
use corewire_wire::{Core, Output};

fn greet(lone: &mut Lone, payload: &[u8]) -> Result<(), corewire_wire::Fault> {
    lone.feed(&[&MAGIC[..], &frame(HELLO, 0, 0, 0, payload)].concat())
}

#[test]
fn a_newer_peer_that_still_speaks_version_1_is_welcome() {
    let mut lone = Lone::server(Config::default());
    let settings: [(u16, &[u8]); 2] = [(0x8123, b"unknown, ignorable"), (1, &[0, 4, 0, 0])];
    greet(&mut lone, &hello((1, 7), &settings)).unwrap();
    // A frame of unknown type that may be skipped, then a request.
    lone.feed(&frame(0xf0, 0xff, 1, 2, b"new things")).unwrap();
    let payload = raw::define(ECHO.as_str(), b"");
    lone.feed(&frame(raw::REQUEST, raw::DEFINE, 0, 1, &payload))
        .unwrap();
    assert!(matches!(lone.core.poll(), Some(Output::Request { .. })));
}

#[test]
fn a_peer_that_speaks_only_later_versions_is_told_so() {
    let mut lone = Lone::server(Config::default());
    let fault = greet(&mut lone, &hello((2, 7), &[])).unwrap_err();
    assert_eq!(fault.what, "no common protocol version");
    let told = lone.transmitted();
    let told = String::from_utf8_lossy(&told[12..]);
    assert!(told.starts_with(fault.what), "{told}");
}

#[test]
fn what_is_unknown_and_not_ignorable_is_a_fault() {
    let mut lone = Lone::server(Config::default());
    let fault = greet(&mut lone, &hello((1, 1), &[(8, b"")])).unwrap_err();
    assert!(fault.what.contains("not ignorable"));
    let mut lone = Lone::server(Config::default()).greeted();
    let what = lone.fault(&frame(0x70, 0, 0, 0, &[]));
    assert!(what.contains("not ignorable"));
}

#[test]
fn both_obey_the_smaller_limit() {
    let small = Config::with(|config| config.max_message = 1000);
    for (client, server) in [
        (small.clone(), Config::default()),
        (Config::default(), small),
    ] {
        let mut pair = Pair::with(client, server).greeted();
        let request = Request::new(ECHO).with_body(vec![0; 1001]);
        let error = pair.client.call(pair.now, request).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsendable);
        pair.call(Request::new(ECHO).with_body(vec![0; 1000]));
        pair.run();
        let (call, _) = pair.request();
        let long = corewire_message::Response::ok(vec![0; 1001]);
        pair.server.respond(call, long);
        pair.run();
        match pair.client.poll() {
            Some(Output::Response { response, .. }) => {
                assert!(response.status.message().contains("longer"));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn an_answer_may_be_as_long_as_the_caller_takes() {
    let small = Config::with(|config| {
        config.max_message = 1000;
        config.max_header_block = 100;
    });
    for (body, value, is_sent) in [
        (1000, 0, true),
        (1001, 0, false),
        (0, 100 - 5, true),
        (0, 100 - 4, false),
    ] {
        let mut pair = Pair::with(small.clone(), Config::default()).greeted();
        pair.call(Request::new(ECHO));
        pair.run();
        let (call, _) = pair.request();
        let mut answer = corewire_message::Response::ok(vec![0; body]);
        answer.headers.append("x", vec![b'y'; value]).unwrap();
        pair.server.respond(call, answer);
        pair.run();
        match pair.client.poll() {
            Some(Output::Response { response, .. }) => {
                assert_eq!(response.status.is_ok(), is_sent, "{body}, {value}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_a_client_sends_before_it_knows_smaller_limits_is_borne() {
    let small = Config::with(|config| {
        config.max_message = 1000;
        config.max_frame = 8192;
        config.max_header_block = 100;
        config.connection_credit = 2000;
        config.stream_credit = 500;
        config.max_operations = 0;
    });
    let mut pair = Pair::with(Config::default(), small);
    let stream = pair.open();
    for _ in 0..20 {
        pair.call(Request::new(ECHO).with_body(vec![0; 100_000]));
        pair.client
            .send(stream, Body::from(vec![0; 10_000]))
            .unwrap();
    }
    pair.up().unwrap();
    assert_eq!(outputs(&mut pair.server).len(), 41);
    // From here on it knows; what waits and does not fit fails.
    pair.call(Request::new(ECHO).with_body(vec![0; 100_000]));
    pair.client
        .send_event(pair.now, corewire_message::Event::new(ECHO, vec![0; 2000]))
        .unwrap();
    pair.down().unwrap();
    pair.run();
    match &outputs(&mut pair.client)[..] {
        [Output::Failed { error, .. }] => assert_eq!(error.kind(), ErrorKind::Unsendable),
        other => panic!("{other:?}"),
    }
    assert_eq!(pair.client.room(stream), Some(0));
    for _ in 0..20 {
        pair.server.consumed(stream, 10_000);
    }
    pair.run();
    pair.call(Request::new(ECHO).with_body(vec![0; 1000]));
    pair.run();
    assert!(matches!(pair.server.poll(), Some(Output::Request { .. })));
    assert_eq!((pair.client.backlog(), pair.client.queued()), (0, 0));
}

/// What a client takes for granted before it has read HELLO is 1 MiB for each stream.
#[test]
fn a_full_stream_may_go_on_when_the_server_turns_out_to_allow_more() {
    for (allowed, finished, goes_on) in [
        (2 << 20, false, true),
        (2 << 20, true, false),
        (1 << 20, false, false),
        (1 << 19, false, false),
    ] {
        let server = Config::with(|config| config.stream_credit = allowed);
        let mut pair = Pair::with(Config::default(), server);
        let (full, empty) = (pair.open(), pair.open());
        pair.client
            .send(full, Body::from(vec![0; 1 << 20]))
            .unwrap();
        if finished {
            pair.client.finish(full);
        }
        assert_eq!(pair.client.room(full), Some(0));
        pair.down().unwrap();
        let told = outputs(&mut pair.client);
        assert_eq!(told.len(), usize::from(goes_on), "{allowed}: {told:?}");
        assert!(pair.client.room(empty).is_some_and(|room| room > 0));
    }
}

#[test]
fn names_beyond_the_dictionary_still_get_through() {
    let config = Config::with(|config| config.max_operations = 1);
    let mut pair = Pair::with(Config::default(), config).greeted();
    for operation in [ECHO, crate::pair::UNKNOWN, ECHO, crate::pair::UNKNOWN] {
        let event = corewire_message::Event::new(operation, Body::new());
        pair.client.send_event(pair.now, event).unwrap();
    }
    pair.run();
    let names: Vec<_> = outputs(&mut pair.server)
        .into_iter()
        .map(|output| match output {
            Output::Event(event) => event.operation,
            other => panic!("{other:?}"),
        })
        .collect();
    let unknown = crate::pair::UNKNOWN;
    assert_eq!(names, [ECHO, unknown.clone(), ECHO, unknown]);
}

#[test]
fn a_message_that_waits_when_less_credit_becomes_known_goes_on_waiting() {
    let small = Config::with(|config| config.stream_credit = 1000);
    let mut pair = Pair::with(Config::default(), small);
    let stream = pair.open();
    pair.client.send(stream, Body::from(vec![0; 984])).unwrap();
    pair.up().unwrap();
    pair.client.send(stream, Body::new()).unwrap();
    pair.down().unwrap();
    pair.run();
    assert_eq!(outputs(&mut pair.server).len(), 2);
    pair.server.consumed(stream, 984);
    pair.run();
    assert_eq!(outputs(&mut pair.server).len(), 1);
}

#[test]
fn a_stream_whose_message_does_not_fit_fails_as_perhaps_executed() {
    let small = Config::with(|config| config.max_message = 1000);
    let mut pair = Pair::with(Config::default(), small);
    let stream = pair.open();
    pair.up().unwrap();
    pair.client.send(stream, Body::from(vec![0; 1001])).unwrap();
    pair.down().unwrap();
    match pair.client.poll() {
        Some(Output::Failed { error, .. }) => {
            assert_eq!(error.kind(), ErrorKind::Unsendable);
            assert!(error.may_have_executed());
        }
        other => panic!("{other:?}"),
    }
    pair.run();
    let told = outputs(&mut pair.server);
    assert!(matches!(
        told[..],
        [Output::Opened { .. }, Output::Cancelled { .. }]
    ));
}
