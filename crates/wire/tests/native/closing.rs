//! How connections end: drained, lost, broken.

use crate::pair::{ECHO, Pair, outputs};
use crate::raw::{self, Lone, frame};
use corewire_message::{Body, Code, ErrorKind, Event, Request, Response};
use corewire_wire::native::Config;
use corewire_wire::{CallId, Core, Input, Output};

fn failure(output: Option<Output>) -> (CallId, ErrorKind, bool) {
    match output {
        Some(Output::Failed { call, error }) => (call, error.kind(), error.may_have_executed()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_draining_server_finishes_what_it_has_and_takes_no_more() {
    let mut pair = Pair::new();
    let taken = pair.call(Request::new(ECHO));
    pair.run();
    let (id, _) = pair.request();
    pair.server.drain();
    pair.server.drain();
    // This one crosses DRAIN on its way.
    let crossing = pair.call(Request::new(ECHO));
    pair.up().unwrap();
    // This one has not left.
    let queued = pair.call(Request::new(ECHO));
    pair.down().unwrap();
    assert!(matches!(pair.client.poll(), Some(Output::Draining)));
    let mut refused = [failure(pair.client.poll()), failure(pair.client.poll())];
    refused.sort_by_key(|entry| entry.0);
    assert_eq!(refused[0], (crossing, ErrorKind::Refused, false));
    assert_eq!(refused[1], (queued, ErrorKind::Refused, false));
    let error = pair.client.call(pair.now, Request::new(ECHO)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    let event = Event::new(ECHO, Body::new());
    assert!(pair.client.send_event(pair.now, event).is_err());
    assert_eq!(pair.server.in_flight(), 1);
    pair.server.respond(id, Response::ok(Body::new()));
    pair.run();
    match pair.client.poll() {
        Some(Output::Response { call, .. }) => assert_eq!(call, taken),
        other => panic!("{other:?}"),
    }
    assert!(pair.client.poll().is_none() && pair.server.poll().is_none());
    assert_eq!((pair.client.in_flight(), pair.server.in_flight()), (0, 0));
}

#[test]
fn of_the_calls_that_left_a_draining_server_takes_those_up_to_the_number_it_says() {
    let mut lone = Lone::client(Config::default()).greeted();
    for _ in 0..3 {
        lone.core.call(lone.now, Request::new(ECHO)).unwrap();
    }
    lone.transmitted();
    let queued = lone.core.call(lone.now, Request::new(ECHO)).unwrap();
    lone.feed(&frame(raw::DRAIN, 0, 0, 3, &[])).unwrap();
    assert!(matches!(lone.core.poll(), Some(Output::Draining)));
    for refused in [CallId::new(5), queued] {
        assert_eq!(
            failure(lone.core.poll()),
            (refused, ErrorKind::Refused, false)
        );
    }
    assert!(lone.core.poll().is_none());
    assert_eq!(lone.core.in_flight(), 2);
    // What has not left is refused whatever the number.
    let mut lone = Lone::client(Config::default()).greeted();
    let queued = lone.core.call(lone.now, Request::new(ECHO)).unwrap();
    lone.feed(&frame(raw::DRAIN, 0, 0, 9, &[])).unwrap();
    assert!(matches!(lone.core.poll(), Some(Output::Draining)));
    assert_eq!(
        failure(lone.core.poll()),
        (queued, ErrorKind::Refused, false)
    );
}

#[test]
fn a_draining_client_takes_no_more_calls() {
    let mut pair = Pair::new();
    pair.call(Request::new(ECHO));
    pair.client.drain();
    let error = pair.client.call(pair.now, Request::new(ECHO)).unwrap_err();
    assert!(!error.may_have_executed());
    pair.run();
    let (id, _) = pair.request();
    pair.server.respond(id, Response::ok(Body::new()));
    pair.run();
    assert!(matches!(pair.client.poll(), Some(Output::Response { .. })));
}

#[test]
fn a_lost_connection_says_of_each_call_whether_it_may_have_executed() {
    let mut pair = Pair::new();
    let sent = pair.call(Request::new(ECHO));
    let stream = pair.open();
    pair.run();
    let queued = pair.call(Request::new(ECHO));
    outputs(&mut pair.server);
    pair.close_both();
    assert_eq!(
        failure(pair.client.poll()),
        (sent, ErrorKind::FateUnknown, true)
    );
    assert_eq!(
        failure(pair.client.poll()),
        (stream, ErrorKind::FateUnknown, true)
    );
    assert_eq!(
        failure(pair.client.poll()),
        (queued, ErrorKind::NotSent, false)
    );
    let told: Vec<Code> = outputs(&mut pair.server)
        .into_iter()
        .map(|output| match output {
            Output::Cancelled { code, .. } => code,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(told, [Code::Unavailable; 2]);
    let error = pair.client.call(pair.now, Request::new(ECHO)).unwrap_err();
    assert_eq!(
        (error.kind(), error.may_have_executed()),
        (ErrorKind::NotSent, false)
    );
    assert!(!pair.up().unwrap() && !pair.down().unwrap());
}

#[test]
fn a_closed_connection_takes_nothing_in() {
    let mut pair = Pair::new().greeted();
    pair.call(Request::new(ECHO));
    pair.server.handle_event(pair.now, Input::Closed).unwrap();
    pair.up().unwrap();
    assert!(pair.server.poll().is_none());
    assert_eq!(pair.server.in_flight(), 0);
}

#[test]
fn a_fault_is_told_to_the_peer_before_the_end() {
    let mut pair = Pair::new().greeted();
    let call = pair.call(Request::new(ECHO));
    pair.up().unwrap();
    let mut garbage = bytes::BytesMut::from(&[0xff; 12][..]);
    let fault = pair
        .server
        .handle_event(pair.now, Input::Octets(&mut garbage))
        .unwrap_err();
    assert_eq!(pair.server.fault(), Some(&fault));
    let echoed = pair.down().unwrap_err();
    assert!(echoed.what.starts_with("the peer closed"), "{echoed}");
    assert!(pair.client.close_reason().unwrap().starts_with(fault.what));
    pair.close_both();
    match pair.client.poll() {
        Some(Output::Failed { call: id, error }) => {
            assert_eq!(id, call);
            assert!(error.to_string().contains(fault.what), "{error}");
            assert_eq!(error.kind(), ErrorKind::FateUnknown);
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(pair.server.poll(), Some(Output::Request { .. })));
    assert!(matches!(pair.server.poll(), Some(Output::Cancelled { .. })));
}
