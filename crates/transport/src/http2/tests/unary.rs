//! Calls with one message each way.

use super::Pair;
use super::pair::{CALL, FLAVOURS, STREAM, UNKNOWN, text};
use crate::http2::{Config, Flavour};
use corewire_message::{
    Body, Code, ErrorKind, Event, Headers, Priority, Request, Response, Status,
};
use corewire_wire::{Core, Output};
use std::time::Duration;

fn headers(entries: &[(&str, &[u8])]) -> Headers {
    let mut headers = Headers::new();
    for (name, value) in entries {
        headers.append(name, value).unwrap();
    }
    headers
}

#[test]
fn a_call_is_answered_with_all_that_it_carries() {
    for flavour in FLAVOURS {
        for chunk in [1, 7, usize::MAX] {
            let mut pair = Pair::new(flavour);
            pair.chunk = chunk;
            let sent = headers(&[
                ("x-first", b"1"),
                ("content-type", b"application/json"),
                ("x-twice", b"a"),
                ("x-twice", b"b"),
                ("x-empty", b""),
                // Last: gRPC's answers have it behind the message.
                ("x-data-bin", &[0x80, 255, 1, 7, 0, b'\n']),
            ]);
            let request = Request::new(CALL)
                .with_body(Body::with_head(b"in", "side".into()))
                .with_headers(sent.clone())
                .with_priority(Priority::try_from(3).unwrap())
                .with_deadline(pair.now + Duration::from_millis(50));
            let call = pair.client.core.call(pair.now, request).unwrap();
            pair.run();
            let (asked, request) = pair.asked();
            assert_eq!(asked, call);
            assert_eq!(request.operation, CALL);
            assert_eq!(request.body, Body::from_static(b"inside"));
            assert_eq!(request.headers, sent, "{flavour:?}");
            assert_eq!(request.priority.value(), 3);
            assert_eq!(request.deadline, Some(pair.now + Duration::from_millis(50)));

            let response =
                Response::ok(Body::with_head(b"he", "llo".into())).with_headers(sent.clone());
            pair.server.core.respond(asked, response.clone());
            assert_eq!(pair.client.core.in_flight(), 1);
            pair.run();
            assert_eq!(pair.answered(), response);
            assert_eq!(pair.client.core.in_flight(), 0);
            assert_eq!(pair.server.core.in_flight(), 0);
            assert!(pair.server.tells().is_empty());
        }
    }
}

#[test]
fn every_code_survives_with_its_sentence_headers_and_body() {
    for flavour in FLAVOURS {
        let mut pair = Pair::new(flavour);
        for code in Code::ALL {
            for (message, body) in [
                ("", ""),
                ("100% \u{fc}ber\n", ""),
                ("", "detail"),
                ("why", "{}"),
            ] {
                pair.call(text("x"));
                pair.run();
                let (call, _) = pair.asked();
                let response = Response {
                    status: Status::new(code, message),
                    headers: headers(&[("x-why", b"because")]),
                    body: Body::from_static(body.as_bytes()),
                };
                pair.server.core.respond(call, response.clone());
                pair.run();
                assert_eq!(pair.answered(), response, "{flavour:?}");
            }
        }
    }
}

#[test]
fn long_bodies_pass_every_window() {
    for flavour in FLAVOURS {
        let mut pair = Pair::new(flavour);
        for length in [0usize, 1, 4095, 16_384, 65_536, 1 << 20, 16 << 20] {
            let octets: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            pair.call(octets.clone());
            pair.run();
            let (call, request) = pair.asked();
            assert!(
                request.body == octets.clone().into(),
                "{flavour:?} {length}"
            );
            pair.server.core.respond(call, Response::ok(request.body));
            pair.run();
            assert!(
                pair.answered().body == octets.into(),
                "{flavour:?} {length}"
            );
            for side in [&pair.client, &pair.server] {
                assert_eq!(side.core.memory.held(), 0);
                assert_eq!(side.core.backlog(), 0);
            }
        }
    }
}

#[test]
fn many_long_bodies_at_once_do_not_lock_each_other() {
    for flavour in FLAVOURS {
        let mut pair = Pair::new(flavour);
        for _ in 0..40 {
            pair.call(vec![7; 1 << 20]);
        }
        pair.run();
        let asked = pair.server.tells();
        assert_eq!(asked.len(), 40);
        for output in asked {
            let Output::Request { call, request } = output else {
                panic!("{output:?}")
            };
            pair.server.core.respond(call, Response::ok(request.body));
        }
        pair.run();
        assert_eq!(pair.client.tells().len(), 40);
    }
}

#[test]
fn a_message_that_is_too_long_is_refused_on_both_ends() {
    for flavour in FLAVOURS {
        let server = Config {
            max_message: 1000,
            ..Config::default()
        };
        let mut pair = Pair::with(flavour, Config::default(), server);
        pair.call(vec![0; 1000]);
        pair.run();
        let (call, _) = pair.asked();
        pair.server.core.respond(call, Response::ok(vec![0; 1001]));
        pair.run();
        assert_eq!(pair.answered().status.code(), Code::Internal);

        pair.call(vec![0; 1001]);
        pair.run();
        assert!(pair.server.tells().is_empty());
        assert_eq!(pair.answered().status.code(), Code::ResourceExhausted);

        let client = Config {
            max_message: 10,
            ..Config::default()
        };
        let mut pair = Pair::with(flavour, client, Config::default());
        let request = Request::new(CALL).with_body(vec![0; 11]);
        let error = pair.client.core.call(pair.now, request).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsendable);
        pair.call(vec![0; 10]);
        pair.run();
        let (call, _) = pair.asked();
        pair.server.core.respond(call, Response::ok(vec![0; 11]));
        pair.run();
        assert_eq!(pair.failed().kind(), ErrorKind::Overloaded);
    }
}

#[test]
fn operations_that_are_not_known_are_refused() {
    for flavour in FLAVOURS {
        let mut pair = Pair::new(flavour);
        pair.client
            .core
            .call(pair.now, Request::new(UNKNOWN))
            .unwrap();
        pair.run();
        assert!(pair.server.tells().is_empty());
        let response = pair.answered();
        assert_eq!(
            response.status,
            Status::new(Code::Unimplemented, "no such operation")
        );
        assert!(response.body.is_empty());
        // HTTP's own word for it is another than the code's.
        let named = response.headers.get_str("corewire-http-status");
        assert_eq!(named, (flavour == Flavour::Rest).then_some("404"));
        pair.client
            .core
            .open(pair.now, Request::new(UNKNOWN))
            .unwrap();
        pair.run();
        assert_eq!(pair.answered().status.code(), Code::Unimplemented);
        assert_eq!(
            (pair.client.core.in_flight(), pair.server.core.in_flight()),
            (0, 0)
        );
    }
}

#[test]
fn a_unary_call_of_a_stream_and_a_stream_of_a_unary_operation() {
    let mut pair = Pair::new(Flavour::Rest);
    for (operation, is_stream) in [(STREAM, false), (CALL, true)] {
        let request = Request::new(operation).with_body(text("x"));
        if is_stream {
            pair.client.core.open(pair.now, request).unwrap();
        } else {
            pair.client.core.call(pair.now, request).unwrap();
        }
        pair.run();
        assert_eq!(pair.answered().status.code(), Code::InvalidArgument);
    }
    // gRPC's unary calls are streams of one message: the server's shape counts.
    let mut pair = Pair::new(Flavour::Grpc);
    let request = Request::new(STREAM).with_body(text("x"));
    pair.client.core.call(pair.now, request).unwrap();
    pair.run();
    let told = pair.server.tells();
    assert!(
        matches!(
            &told[..],
            [
                Output::Opened { .. },
                Output::Message { .. },
                Output::Finished { .. }
            ]
        ),
        "{told:?}"
    );
}

#[test]
fn events_are_delivered_and_their_answers_are_not() {
    for flavour in FLAVOURS {
        let mut pair = Pair::new(flavour);
        for number in 0..3u8 {
            let mut event = Event::new(CALL, vec![number]);
            event.headers = headers(&[("x", b"y")]);
            event.priority = Priority::HIGHEST;
            pair.client.core.send_event(pair.now, event).unwrap();
        }
        assert_eq!(pair.client.core.in_flight(), 3);
        pair.run();
        assert_eq!(pair.client.core.in_flight(), 0);
        assert!(pair.client.tells().is_empty());
        let told = pair.server.tells();
        assert_eq!(told.len(), 3);
        for (number, output) in told.into_iter().enumerate() {
            let Output::Event(event) = output else {
                panic!("{output:?}")
            };
            assert_eq!(event.operation, CALL);
            assert_eq!(event.body, vec![number as u8].into());
            assert_eq!(event.headers, headers(&[("x", b"y")]));
            assert_eq!(event.priority, Priority::HIGHEST);
        }
    }
}

#[test]
fn an_event_that_waits_for_credit_keeps_its_sender_reading() {
    for flavour in FLAVOURS {
        let mut pair = Pair::new(flavour);
        // Before it knows the server's windows it has the 65,535 octets of RFC 9113.
        let event = Event::new(CALL, vec![0; 100_000]);
        pair.client.core.send_event(pair.now, event).unwrap();
        let up = pair.client.transmit(pair.now);
        assert!(up.len() < 70_000);
        assert_eq!(pair.client.core.backlog(), 1);
        pair.server.receive(pair.now, &up);
        pair.run();
        assert_eq!(pair.client.core.backlog(), 0);
        assert!(matches!(pair.server.only(), Output::Event(_)));
    }
}

#[test]
fn headers_that_cannot_be_carried_are_refused_with_their_name() {
    for flavour in FLAVOURS {
        let mut pair = Pair::new(flavour);
        for (name, value) in [
            ("te", &b"x"[..]),
            ("connection", b"close"),
            ("content-length", b"5"),
            ("grpc-status", b"0"),
            ("corewire-status", b"0"),
            ("3gpp-sbi-message-priority", b"1"),
            ("x-control", b"\x01"),
            ("x-space", b" x"),
        ] {
            let request = Request::new(CALL).with_headers(headers(&[(name, value)]));
            let error = pair.client.core.call(pair.now, request).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsendable, "{name}");
            assert!(error.to_string().contains(name), "{error}");
            assert!(!error.may_have_executed());

            pair.call(text("x"));
            pair.run();
            let (call, _) = pair.asked();
            let response = Response::ok(text("x")).with_headers(headers(&[(name, value)]));
            pair.server.core.respond(call, response);
            pair.run();
            let status = pair.answered().status;
            assert_eq!(status.code(), Code::Internal);
            assert!(status.message().contains(name), "{status}");
        }
    }
}

#[test]
fn more_headers_than_are_taken_are_refused() {
    for flavour in FLAVOURS {
        let client = Config {
            max_header_list: 1 << 20,
            ..Config::default()
        };
        let mut pair = Pair::with(flavour, client, Config::default());
        let big = headers(&[("x-big", &[b'a'; 60_000])]);
        pair.client
            .core
            .call(pair.now, Request::new(CALL).with_headers(big.clone()))
            .unwrap();
        pair.run();
        let (call, request) = pair.asked();
        assert_eq!(request.headers, big);
        pair.server.core.respond(call, Response::ok(text("x")));
        pair.run();
        pair.answered();

        let many: Vec<_> = (0..40).map(|_| ("x-many", &[b'a'; 1700][..])).collect();
        let request = Request::new(CALL).with_headers(headers(&many));
        pair.client.core.call(pair.now, request).unwrap();
        pair.run();
        assert!(pair.server.tells().is_empty());
        assert_eq!(pair.answered().status.code(), Code::ResourceExhausted);
        pair.call(text("still alive"));
        pair.run();
        pair.asked();
    }
}
