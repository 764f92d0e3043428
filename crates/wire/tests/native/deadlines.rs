//! Deadlines on both sides.

use crate::pair::{ECHO, Pair, transmitted};
use corewire_message::{Body, Code, ErrorKind, Request, Response};
use corewire_wire::{Core, Output};
use std::time::Duration;

const TIME: Duration = Duration::from_micros(250);

#[test]
fn a_caller_fails_at_its_deadline_and_tells_the_service() {
    let mut pair = Pair::new();
    let deadline = pair.now + TIME;
    let call = pair.call(Request::new(ECHO).with_deadline(deadline));
    assert_eq!(pair.client.poll_timeout(), Some(deadline));
    pair.up().unwrap();
    let (id, _) = pair.request();
    // Only the client's clock moves.
    pair.now += TIME;
    pair.client.handle_timeout(pair.now);
    match pair.client.poll() {
        Some(Output::Failed { call: id, error }) => {
            assert_eq!(id, call);
            assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
            assert!(error.may_have_executed());
        }
        other => panic!("{other:?}"),
    }
    pair.run();
    match pair.server.poll() {
        Some(Output::Cancelled { call, code }) => {
            assert_eq!((call, code), (id, Code::DeadlineExceeded));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(pair.server.in_flight(), 0);
}

#[test]
fn a_request_that_was_not_sent_in_time_is_not_sent_at_all() {
    let mut pair = Pair::new().greeted();
    let deadline = pair.now + TIME;
    pair.call(Request::new(ECHO).with_deadline(deadline));
    pair.now = deadline;
    assert!(transmitted(&mut pair.client, pair.now).is_empty());
    pair.pass(Duration::ZERO);
    match pair.client.poll() {
        Some(Output::Failed { error, .. }) => {
            assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
            assert!(!error.may_have_executed());
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(pair.client.in_flight(), 0);
}

#[test]
fn a_server_keeps_the_deadline_and_answers_with_it() {
    let mut pair = Pair::new();
    let deadline = pair.now + TIME;
    pair.call(Request::new(ECHO).with_deadline(deadline));
    pair.run();
    let (id, request) = pair.request();
    assert_eq!(request.deadline, Some(deadline));
    assert_eq!(pair.server.poll_timeout(), Some(deadline));
    pair.now = deadline;
    pair.server.handle_timeout(pair.now);
    match pair.server.poll() {
        Some(Output::Cancelled { call, code }) => {
            assert_eq!((call, code), (id, Code::DeadlineExceeded));
        }
        other => panic!("{other:?}"),
    }
    pair.server.respond(id, Response::ok(Body::new()));
    pair.run();
    match pair.client.poll() {
        Some(Output::Response { response, .. }) => {
            assert_eq!(response.status.code(), Code::DeadlineExceeded);
        }
        other => panic!("{other:?}"),
    }
    assert!(pair.client.poll().is_none());
}

#[test]
fn streams_have_deadlines_too() {
    let mut pair = Pair::new();
    let deadline = pair.now + TIME;
    let request = Request::new(crate::pair::CHAT).with_deadline(deadline);
    pair.client.open(pair.now, request).unwrap();
    pair.run();
    pair.server.poll();
    pair.pass(TIME);
    assert!(matches!(pair.client.poll(), Some(Output::Failed { .. })));
    assert!(matches!(pair.server.poll(), Some(Output::Cancelled { .. })));
    pair.run();
    assert!(pair.client.poll().is_none() && pair.server.poll().is_none());
}

#[test]
fn an_answered_call_leaves_no_timer() {
    let mut pair = Pair::new();
    let idle = pair.client.poll_timeout();
    pair.call(Request::new(ECHO).with_deadline(pair.now + TIME));
    pair.run();
    let (id, _) = pair.request();
    pair.server.respond(id, Response::ok(Body::new()));
    pair.run();
    assert_eq!(pair.client.poll_timeout(), idle);
    pair.pass(TIME);
    assert!(matches!(pair.client.poll(), Some(Output::Response { .. })));
    assert!(pair.client.poll().is_none() && pair.server.poll().is_none());
}
