//! Calls of many messages, and their back pressure.

use super::Pair;
use super::pair::{CALL, FLAVOURS, STREAM, text};
use crate::http2::{Config, Flavour};
use corewire_message::{Body, Code, Headers, Request, Response, Status};
use corewire_wire::memory::CALL_OCTETS;
use corewire_wire::{CallId, Core, Output};

fn open(pair: &mut Pair) -> CallId {
    let call = pair
        .client
        .core
        .open(pair.now, Request::new(STREAM))
        .unwrap();
    pair.run();
    assert_eq!(pair.asked().0, call);
    call
}

fn messages(told: Vec<Output>) -> Vec<Vec<u8>> {
    told.into_iter()
        .map(|output| match output {
            Output::Message { message, .. } => message.into_bytes().to_vec(),
            other => panic!("no message: {other:?}"),
        })
        .collect()
}

#[test]
fn messages_go_both_ways_in_order_and_the_end_carries_status_and_trailers() {
    for flavour in FLAVOURS {
        for chunk in [1, 100, usize::MAX] {
            let mut pair = Pair::new(flavour);
            pair.chunk = chunk;
            let mut headers = Headers::new();
            headers.append("x-asked", "1").unwrap();
            let request = Request::new(STREAM)
                .with_headers(headers.clone())
                .with_body(text("first"));
            let call = pair.client.core.open(pair.now, request).unwrap();
            pair.run();
            let mut told = pair.server.tells();
            let Output::Opened {
                call: opened,
                request,
            } = told.remove(0)
            else {
                panic!("{told:?}")
            };
            assert_eq!((opened, &request.operation), (call, &STREAM));
            assert_eq!(request.headers, headers);
            assert!(request.body.is_empty());
            assert_eq!(messages(told), [b"first"]);

            for number in 0..20u8 {
                let body =
                    Body::with_head(&[number], vec![number; usize::from(number) * 50].into());
                pair.client.core.send(call, body.clone()).unwrap();
                pair.server.core.send(call, body).unwrap();
            }
            pair.run();
            let up = messages(pair.server.tells());
            assert_eq!(up.len(), 20);
            assert!(
                up.iter()
                    .enumerate()
                    .all(|(n, m)| m == &vec![n as u8; n * 50 + 1])
            );
            assert_eq!(messages(pair.client.tells()), up);

            pair.client.core.finish(call);
            pair.run();
            assert!(matches!(pair.server.only(), Output::Finished { .. }));
            let mut trailers = Headers::new();
            trailers.append("x-end", "2").unwrap();
            let end = Response {
                status: Status::new(Code::DataLoss, "gone"),
                headers: trailers,
                body: text("last"),
            };
            pair.server.core.respond(call, end.clone());
            pair.run();
            let mut told = pair.client.tells();
            let Some(Output::Response { response, .. }) = told.pop() else {
                panic!("{told:?}")
            };
            assert_eq!(messages(told), [b"last"]);
            assert_eq!(
                (response.status, response.headers),
                (end.status, end.headers)
            );
            assert!(response.body.is_empty());
            assert_eq!(
                (pair.client.core.in_flight(), pair.server.core.in_flight()),
                (0, 0)
            );
        }
    }
}

#[test]
fn the_end_of_a_stream_over_grpc_carries_what_http_has_words_for() {
    for has_messages in [false, true] {
        let mut pair = Pair::new(Flavour::Grpc);
        let call = open(&mut pair);
        if has_messages {
            pair.server.core.send(call, text("one")).unwrap();
        }
        let mut headers = Headers::new();
        for (name, value) in [
            ("corewire-method", "PUT"),
            ("corewire-query", "a=b"),
            ("corewire-http-status", "418"),
        ] {
            headers.append(name, value).unwrap();
        }
        let end = Response {
            status: Status::new(Code::FailedPrecondition, "a teapot"),
            headers: headers.clone(),
            body: Body::new(),
        };
        pair.server.core.respond(call, end);
        pair.run();
        let mut told = pair.client.tells();
        let Some(Output::Response { response, .. }) = told.pop() else {
            panic!("{told:?}")
        };
        assert_eq!(response.headers, headers, "messages: {has_messages}");
    }
}

#[test]
fn a_stream_may_end_without_a_message_from_the_service() {
    for flavour in FLAVOURS {
        for status in [Status::OK, Status::new(Code::NotFound, "no")] {
            let mut pair = Pair::new(flavour);
            let call = open(&mut pair);
            pair.server
                .core
                .respond(call, Response::failed(status.clone()));
            pair.run();
            assert_eq!(pair.answered().status, status);
            // The client had not finished: both ends know that the call is over all the same.
            assert_eq!(
                (pair.client.core.in_flight(), pair.server.core.in_flight()),
                (0, 0)
            );
            assert!(pair.client.core.send(call, text("late")).is_err());
            assert_eq!(pair.client.core.room(call), None);
        }
    }
}

#[test]
fn empty_messages_are_messages() {
    for flavour in FLAVOURS {
        let mut pair = Pair::new(flavour);
        let call = open(&mut pair);
        for _ in 0..3 {
            pair.client.core.send(call, Body::new()).unwrap();
        }
        pair.run();
        assert_eq!(messages(pair.server.tells()), [b"", b"", b""]);
    }
}

#[test]
fn a_sender_feels_that_its_receiver_does_not_consume() {
    for flavour in FLAVOURS {
        for up in [true, false] {
            let mut pair = Pair::new(flavour);
            let call = open(&mut pair);
            let mut sent = 0;
            for _ in 0..10_000 {
                let (sender, receiver) = if up {
                    (&mut pair.client, &mut pair.server)
                } else {
                    (&mut pair.server, &mut pair.client)
                };
                assert!(receiver.told.len() <= 2000);
                if sender.core.room(call) == Some(0) {
                    break;
                }
                sender.core.send(call, vec![0; 1000].into()).unwrap();
                sent += 1;
                pair.run();
            }
            // A window of 1 MiB and no more than one message beyond.
            assert!((1040..=1060).contains(&sent), "{sent}");
            let (sender, receiver) = if up {
                (&mut pair.client, &mut pair.server)
            } else {
                (&mut pair.server, &mut pair.client)
            };
            assert!(sender.tells().is_empty());
            let got = messages(receiver.tells()).len();
            assert!(got >= sent - 1, "{got} of {sent}");
            receiver.core.consumed(call, got * 1000);
            pair.run();
            let sender = if up {
                &mut pair.client
            } else {
                &mut pair.server
            };
            assert!(matches!(sender.only(), Output::Writable { call: id } if id == call));
            assert!(sender.core.room(call).unwrap() > 1000);
            // Told once only.
            pair.run();
            let sender = if up {
                &mut pair.client
            } else {
                &mut pair.server
            };
            assert!(
                sender
                    .tells()
                    .iter()
                    .all(|o| matches!(o, Output::Message { .. }))
            );
        }
    }
}

#[test]
fn messages_longer_than_every_window_arrive_and_credit_stays_right() {
    for flavour in FLAVOURS {
        let mut pair = Pair::new(flavour);
        let call = open(&mut pair);
        for round in 0..3u8 {
            for length in [600 << 10, 3 << 20, 16 << 20, 10] {
                pair.client
                    .core
                    .send(call, vec![round; length].into())
                    .unwrap();
                pair.run();
                let got = messages(pair.server.tells());
                assert_eq!(got.len(), 1, "{flavour:?} {length}");
                assert!(got[0] == vec![round; length]);
                pair.server.core.consumed(call, length);
                pair.run();
                assert!(pair.server.core.memory.held() < 2 * CALL_OCTETS);
                let call = pair.server.core.calls.get(call.number()).unwrap();
                assert_eq!((call.early, call.outstanding, call.unreturned), (0, 0, 0));
            }
        }
        // What was not consumed holds the sender back after a long message too.
        let mut sent = 0;
        while pair.client.core.room(call) != Some(0) && sent < 10_000 {
            pair.client.core.send(call, vec![0; 1000].into()).unwrap();
            sent += 1;
            pair.run();
        }
        // Credit is announced when half a window of it has gathered.
        assert!((520..=1060).contains(&sent), "{sent}");
    }
}

#[test]
fn streams_that_are_not_consumed_leave_the_others_their_credit_when_they_end() {
    for flavour in FLAVOURS {
        let mut pair = Pair::new(flavour);
        // Sixteen times a stream's window is the connection's.
        for round in 0..40 {
            let call = open(&mut pair);
            pair.client
                .core
                .send(call, vec![0; 1_000_000].into())
                .unwrap();
            pair.run();
            assert_eq!(messages(pair.server.tells()).len(), 1, "round {round}");
            if round % 2 == 0 {
                pair.client.core.cancel(call, Code::Cancelled);
            } else {
                pair.server.core.respond(call, Response::ok(Body::new()));
            }
            pair.run();
            pair.client.tells();
            pair.server.tells();
            pair.server.core.consumed(call, 1_000_000);
        }
    }
}

#[test]
fn broken_framing_fails_the_call_and_not_the_connection() {
    let config = Config {
        max_message: 100,
        ..Config::default()
    };
    for flavour in FLAVOURS {
        let mut pair = Pair::with(flavour, Config::default(), config.clone());
        let call = open(&mut pair);
        pair.client.core.send(call, vec![0; 101].into()).unwrap();
        pair.run();
        assert!(matches!(pair.server.only(), Output::Cancelled { .. }));
        assert_eq!(pair.answered().status.code(), Code::ResourceExhausted);

        let call = open(&mut pair);
        pair.server
            .core
            .send(call, vec![0; 101].into())
            .unwrap_err();
        // Half a prefix, and the end.
        pair.client
            .core
            .session
            .push(call.number(), &[0, 0], bytes::Bytes::new());
        pair.client.core.finish(call);
        pair.run();
        assert!(matches!(pair.server.only(), Output::Cancelled { .. }));
        assert_eq!(pair.answered().status.code(), Code::Internal);

        let call = open(&mut pair);
        let compressed = [1, 0, 0, 0, 1, 9];
        pair.client
            .core
            .session
            .push(call.number(), &compressed, bytes::Bytes::new());
        pair.run();
        assert!(matches!(pair.server.only(), Output::Cancelled { .. }));
        assert_eq!(pair.answered().status.code(), Code::Unimplemented);

        pair.call(text("alive"));
        pair.run();
        pair.asked();
    }
}

#[test]
fn a_client_refuses_an_answer_that_is_no_sequence_of_messages() {
    for flavour in FLAVOURS {
        let mut pair = Pair::new(flavour);
        let call = open(&mut pair);
        pair.server.core.send(call, text("one")).unwrap();
        pair.server
            .core
            .session
            .push(call.number(), &[7, 0, 0, 0, 0], bytes::Bytes::new());
        pair.run();
        let told = pair.client.tells();
        assert!(
            matches!(&told[..], [Output::Message { .. }, Output::Failed { .. }]),
            "{told:?}"
        );
        assert!(matches!(pair.server.only(), Output::Cancelled { .. }));
    }
    // Two messages answer a unary call.
    let mut pair = Pair::new(Flavour::Grpc);
    pair.client
        .core
        .call(pair.now, Request::new(STREAM))
        .unwrap();
    pair.run();
    let Output::Opened { call, .. } = pair.server.tells().remove(0) else {
        panic!("not opened")
    };
    pair.server.core.send(call, text("one")).unwrap();
    pair.server.core.respond(call, Response::ok(text("two")));
    pair.run();
    assert_eq!(pair.failed().kind(), corewire_message::ErrorKind::Protocol);
    let _ = CALL;
}
