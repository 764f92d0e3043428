//! Calls of one message each way.

use crate::pair::{ECHO, Pair, UNKNOWN, outputs};
use corewire_message::{
    Body, Code, ErrorKind, Event, Headers, Priority, Request, Response, Status,
};
use corewire_wire::native::Config;
use corewire_wire::{Core, Output};
use std::time::Duration;

fn echo(body: impl Into<Body>) -> Request {
    Request::new(ECHO).with_body(body)
}

fn headers() -> Headers {
    let mut headers = Headers::new();
    headers.append("3gpp-sbi-correlation-info", "a").unwrap();
    headers
}

#[test]
fn a_call_needs_no_round_trip_before_it() {
    let mut pair = Pair::new();
    let call = pair.call(echo(Body::from_static(b"payload")).with_headers(headers()));
    pair.up().unwrap();
    let (id, request) = pair.request();
    assert_eq!(id, call);
    assert_eq!(request.operation, ECHO);
    assert_eq!(request.headers, headers());
    assert_eq!(request.body, Body::from_static(b"payload"));
    assert_eq!(
        (request.deadline, request.priority),
        (None, Priority::NORMAL)
    );
    let answer = Response::ok(request.body).with_headers(headers());
    pair.server.respond(id, answer.clone());
    pair.run();
    match pair.client.poll() {
        Some(Output::Response { call: id, response }) => {
            assert_eq!(id, call);
            assert_eq!(response, answer);
        }
        other => panic!("{other:?}"),
    }
    assert!(pair.client.poll().is_none());
    assert_eq!((pair.client.in_flight(), pair.server.in_flight()), (0, 0));
}

#[test]
fn calls_are_told_apart_and_may_be_answered_in_any_order() {
    for chunk in [1, 7, usize::MAX] {
        let mut pair = Pair::new();
        pair.chunk = chunk;
        let calls: Vec<_> = (0..100u8).map(|n| pair.call(echo(vec![n; 10]))).collect();
        pair.run();
        let mut requests: Vec<_> = (0..100).map(|_| pair.request()).collect();
        requests.reverse();
        for (call, request) in requests {
            pair.server.respond(call, Response::ok(request.body));
        }
        pair.run();
        for output in outputs(&mut pair.client) {
            let Output::Response { call, response } = output else {
                panic!("{output:?}");
            };
            let n = calls.iter().position(|known| *known == call).unwrap();
            assert_eq!(response.body, Body::from(vec![n as u8; 10]));
        }
        assert_eq!(pair.client.in_flight(), 0);
    }
}

#[test]
fn status_text_and_detail_come_through() {
    let mut pair = Pair::new();
    pair.call(echo(Body::new()));
    pair.run();
    let (call, _) = pair.request();
    let mut answer = Response::failed(Status::new(Code::NotFound, "no such GUTI"));
    answer.body = Body::from_static(b"{}");
    pair.server.respond(call, answer.clone());
    pair.run();
    match pair.client.poll() {
        Some(Output::Response { response, .. }) => assert_eq!(response, answer),
        other => panic!("{other:?}"),
    }
}

#[test]
fn deadline_and_priority_travel() {
    let mut pair = Pair::new();
    let deadline = pair.now + Duration::from_micros(1500);
    let urgent = Priority::try_from(3).unwrap();
    pair.call(
        echo(Body::new())
            .with_deadline(deadline)
            .with_priority(urgent),
    );
    pair.run();
    let (_, request) = pair.request();
    assert_eq!(request.deadline, Some(deadline));
    assert_eq!(request.priority, urgent);
}

#[test]
fn events_arrive_in_order_and_want_no_answer() {
    let mut pair = Pair::new();
    for n in 0..10u8 {
        let event = Event::new(ECHO, vec![n; 5]);
        pair.client.send_event(pair.now, event).unwrap();
    }
    pair.run();
    for n in 0..10u8 {
        match pair.server.poll() {
            Some(Output::Event(event)) => assert_eq!(event.body, Body::from(vec![n; 5])),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((pair.client.in_flight(), pair.server.in_flight()), (0, 0));
}

#[test]
fn an_unknown_operation_or_shape_is_answered_unimplemented() {
    let mut pair = Pair::new();
    pair.call(Request::new(UNKNOWN));
    pair.call(Request::new(crate::pair::CHAT));
    pair.client.open(pair.now, Request::new(ECHO)).unwrap();
    pair.run();
    assert!(pair.server.poll().is_none());
    let answers = outputs(&mut pair.client);
    assert_eq!(answers.len(), 3);
    for answer in answers {
        match answer {
            Output::Response { response, .. } => {
                assert_eq!(response.status.code(), Code::Unimplemented);
                assert!(response.status.message().starts_with("test.v1.Test/"));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn more_calls_than_the_server_takes_are_refused_as_not_executed() {
    let small = Config::with(|config| config.max_concurrent_calls = 2);
    let mut pair = Pair::with(Config::default(), small);
    for _ in 0..3 {
        pair.call(echo(Body::new()));
    }
    pair.run();
    match pair.client.poll() {
        Some(Output::Failed { error, .. }) => {
            assert_eq!(error.kind(), ErrorKind::Overloaded);
            assert!(!error.may_have_executed());
        }
        other => panic!("{other:?}"),
    }
    // The client knows the limit by now.
    let error = pair.client.call(pair.now, echo(Body::new())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Overloaded);
    let (call, _) = pair.request();
    pair.server.respond(call, Response::ok(Body::new()));
    pair.run();
    assert!(pair.client.call(pair.now, echo(Body::new())).is_ok());
}
