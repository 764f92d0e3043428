//! Giving a call up, in every state it can be in.

use crate::pair::{ECHO, Pair, outputs, transmitted};
use corewire_message::{Body, Code, Request, Response};
use corewire_wire::native::Config;
use corewire_wire::{Core, Output};

#[test]
fn before_the_first_octet_nothing_is_sent() {
    let mut pair = Pair::new().greeted();
    let call = pair.call(Request::new(ECHO));
    pair.client.cancel(call, Code::Cancelled);
    assert!(transmitted(&mut pair.client, pair.now).is_empty());
    assert_eq!(pair.client.in_flight(), 0);
    assert_eq!((pair.client.backlog(), pair.client.queued()), (0, 0));
    assert!(pair.client.poll().is_none());
}

#[test]
fn while_the_service_works_it_is_told() {
    let mut pair = Pair::new();
    let call = pair.call(Request::new(ECHO));
    pair.run();
    let (id, _) = pair.request();
    pair.client.cancel(call, Code::DeadlineExceeded);
    pair.run();
    match pair.server.poll() {
        Some(Output::Cancelled { call, code }) => {
            assert_eq!((call, code), (id, Code::DeadlineExceeded));
        }
        other => panic!("{other:?}"),
    }
    pair.server.respond(id, Response::ok(Body::new()));
    pair.run();
    assert!(pair.client.poll().is_none());
    assert_eq!((pair.client.in_flight(), pair.server.in_flight()), (0, 0));
}

#[test]
fn crossing_the_answer_neither_end_is_confused() {
    let mut pair = Pair::new();
    let call = pair.call(Request::new(ECHO));
    pair.run();
    let (id, _) = pair.request();
    pair.server
        .respond(id, Response::ok(Body::from(vec![1; 5000])));
    pair.client.cancel(call, Code::Cancelled);
    pair.run();
    assert!(pair.client.poll().is_none() && pair.server.poll().is_none());
    pair.call(Request::new(ECHO));
    pair.run();
    pair.request();
}

#[test]
fn in_the_middle_of_a_request_the_service_never_sees_it() {
    let small = Config::with(|config| {
        config.max_frame = 8192;
        config.max_header_block = 1024;
    });
    let mut pair = Pair::with(small.clone(), small).greeted();
    let call = pair.call(Request::new(ECHO).with_body(Body::from(vec![1; 1 << 20])));
    // One turn of the outbox is a part of it.
    let mut outbox = corewire_wire::Outbox::new();
    pair.client.poll_transmit(pair.now, &mut outbox);
    let first = crate::pair::drained(&mut outbox);
    assert!(first.len() > 8192 && first.len() < 1 << 20);
    let mut buffer = bytes::BytesMut::from(&first[..]);
    let now = pair.now;
    pair.server
        .handle_event(now, corewire_wire::Input::Octets(&mut buffer))
        .unwrap();
    assert_eq!(pair.server.in_flight(), 1);
    pair.client.cancel(call, Code::Cancelled);
    pair.run();
    assert!(outputs(&mut pair.server).is_empty());
    assert_eq!((pair.client.in_flight(), pair.server.in_flight()), (0, 0));
    assert_eq!(pair.client.backlog(), 0);
}

#[test]
fn a_service_may_give_up_and_the_caller_gets_the_code() {
    let mut pair = Pair::new();
    let unary = pair.call(Request::new(ECHO));
    let stream = pair.open();
    pair.run();
    outputs(&mut pair.server);
    pair.server.cancel(unary, Code::Aborted);
    pair.server.cancel(stream, Code::Internal);
    pair.run();
    let codes: Vec<Code> = outputs(&mut pair.client)
        .into_iter()
        .map(|output| match output {
            Output::Response { response, .. } => response.status.code(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(codes, [Code::Aborted, Code::Internal]);
    assert_eq!(pair.server.in_flight(), 0);
}

#[test]
fn nothing_more_is_told_of_a_call_that_was_given_up() {
    let mut pair = Pair::new();
    let call = pair.open();
    pair.run();
    outputs(&mut pair.server);
    pair.server.send(call, Body::from_static(b"m")).unwrap();
    pair.down().unwrap();
    pair.client.cancel(call, Code::Cancelled);
    assert!(pair.client.poll().is_none());
    pair.run();
    assert!(matches!(pair.server.poll(), Some(Output::Cancelled { .. })));
}
