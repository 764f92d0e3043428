//! Streams both ways and their credit.

use crate::pair::{CHAT, ECHO, Pair, outputs};
use corewire_message::{Body, Code, ErrorKind, Headers, Request, Response, Status};
use corewire_wire::native::{Config, Connection};
use corewire_wire::{CallId, Core, Output};

/// What a message costs beside its octets.
const COST: usize = 16;

fn opened(pair: &mut Pair) -> CallId {
    match pair.server.poll() {
        Some(Output::Opened { call, request }) => {
            assert_eq!(request.operation, CHAT);
            assert!(request.body.is_empty());
            call
        }
        other => panic!("not opened: {other:?}"),
    }
}

fn bodies(outputs: Vec<Output>) -> Vec<Body> {
    let message = |output| match output {
        Output::Message { message, .. } => Some(message),
        _ => None,
    };
    outputs.into_iter().filter_map(message).collect()
}

#[test]
fn messages_go_both_ways_at_once_and_the_end_carries_trailers() {
    for chunk in [1, usize::MAX] {
        let mut pair = Pair::new();
        pair.chunk = chunk;
        let first = Request::new(CHAT).with_body(Body::from_static(b"first"));
        let call = pair.client.open(pair.now, first).unwrap();
        pair.run();
        assert_eq!(opened(&mut pair), call);
        pair.client.send(call, Body::from_static(b"up")).unwrap();
        pair.server.send(call, Body::from_static(b"down")).unwrap();
        pair.server.send(call, Body::new()).unwrap();
        pair.client.finish(call);
        pair.run();
        let mut up = outputs(&mut pair.server);
        assert!(matches!(up.pop(), Some(Output::Finished { .. })));
        assert_eq!(
            bodies(up),
            [Body::from_static(b"first"), Body::from_static(b"up")]
        );
        let mut trailers = Headers::new();
        trailers.append("x", "y").unwrap();
        let end = Response::ok(Body::from_static(b"last")).with_headers(trailers.clone());
        pair.server.respond(call, end);
        pair.run();
        let mut down = outputs(&mut pair.client);
        match down.pop() {
            Some(Output::Response { response, .. }) => {
                assert!(response.status.is_ok());
                assert_eq!(response.headers, trailers);
            }
            other => panic!("{other:?}"),
        }
        let expected = [&b"down"[..], b"", b"last"].map(Body::from_static);
        assert_eq!(bodies(down), expected);
        assert_eq!((pair.client.in_flight(), pair.server.in_flight()), (0, 0));
    }
}

#[test]
fn a_failure_keeps_its_detail() {
    let mut pair = Pair::new();
    let call = pair.open();
    pair.run();
    opened(&mut pair);
    let mut answer = Response::failed(Status::new(Code::Aborted, "why"));
    answer.body = Body::from_static(b"detail");
    pair.server.respond(call, answer.clone());
    pair.run();
    match pair.client.poll() {
        Some(Output::Response { response, .. }) => assert_eq!(response, answer),
        other => panic!("{other:?}"),
    }
    let error = pair.client.send(call, Body::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

/// Sends as long as there is room; gives how many went.
fn fill(core: &mut impl Core, call: CallId, size: usize) -> usize {
    let mut sent = 0;
    while core.room(call).unwrap() > 0 {
        core.send(call, Body::from(vec![1; size])).unwrap();
        sent += 1;
        assert!(sent < 100_000, "credit never runs out");
    }
    sent
}

type End = fn(&mut Pair) -> &mut Connection;

#[test]
fn a_sender_stops_when_nothing_is_consumed_and_goes_on_after() {
    let window = 10_000;
    let config = Config::with(|config| config.stream_credit = window);
    for server_sends in [false, true] {
        let mut pair = Pair::with(config.clone(), config.clone()).greeted();
        let call = pair.open();
        pair.run();
        opened(&mut pair);
        let size = 1000;
        let (sender, receiver): (End, End) = if server_sends {
            (|pair| &mut pair.server, |pair| &mut pair.client)
        } else {
            (|pair| &mut pair.client, |pair| &mut pair.server)
        };
        let sent = fill(sender(&mut pair), call, size);
        assert_eq!(sent, (window as usize).div_ceil(size + COST));
        pair.run();
        assert_eq!(sender(&mut pair).room(call), Some(0));
        assert_eq!(bodies(outputs(receiver(&mut pair))).len(), sent);
        // Below half a window nothing is said; then all of it at once.
        for _ in 0..4 {
            receiver(&mut pair).consumed(call, size);
        }
        pair.run();
        assert!(sender(&mut pair).poll().is_none());
        receiver(&mut pair).consumed(call, size);
        pair.run();
        match sender(&mut pair).poll() {
            Some(Output::Writable { call: id }) => assert_eq!(id, call),
            other => panic!("{other:?}"),
        }
        assert_eq!(fill(sender(&mut pair), call, size), 5);
        pair.run();
        assert_eq!(bodies(outputs(receiver(&mut pair))).len(), 5);
    }
}

#[test]
fn what_is_sent_without_room_waits_in_order() {
    let config = Config::with(|config| config.stream_credit = 100);
    let mut pair = Pair::with(Config::default(), config).greeted();
    let call = pair.open();
    for n in 0..50u8 {
        pair.client.send(call, Body::from(vec![n; 40])).unwrap();
    }
    pair.client.finish(call);
    let mut seen = Vec::new();
    for _ in 0..100 {
        pair.run();
        for output in outputs(&mut pair.server) {
            match output {
                Output::Message { call, message } => {
                    pair.server.consumed(call, message.len());
                    seen.push(message.into_bytes()[0]);
                }
                Output::Finished { .. } => seen.push(255),
                _ => {}
            }
        }
    }
    let expected: Vec<u8> = (0..50).chain([255]).collect();
    assert_eq!(seen, expected);
    assert_eq!(pair.client.backlog(), 0);
}

#[test]
fn a_message_longer_than_the_credit_goes_whole() {
    let config = Config::with(|config| config.stream_credit = 100);
    let mut pair = Pair::with(config.clone(), config).greeted();
    let call = pair.open();
    let long = Body::from(vec![9; 1_000_000]);
    pair.client.send(call, long.clone()).unwrap();
    pair.run();
    opened(&mut pair);
    assert_eq!(bodies(outputs(&mut pair.server)), [long]);
    assert_eq!(pair.client.room(call), Some(0));
    pair.server.consumed(call, 1_000_000);
    pair.run();
    assert!(pair.client.room(call).unwrap() > 0);
}

#[test]
fn the_connection_credit_holds_all_streams_and_unary_calls_together() {
    let config = Config::with(|config| config.connection_credit = 10_000);
    let mut pair = Pair::with(Config::default(), config).greeted();
    let streams = [pair.open(), pair.open()];
    pair.run();
    let streams = streams.map(|_| opened(&mut pair));
    pair.client
        .send(streams[0], Body::from(vec![0; 10_000]))
        .unwrap();
    pair.run();
    assert_eq!(pair.client.room(streams[1]), Some(0));
    pair.call(Request::new(ECHO).with_body(Body::from_static(b"late")));
    pair.run();
    assert_eq!(bodies(outputs(&mut pair.server)).len(), 1, "the call waits");
    assert_eq!(pair.client.backlog(), 0, "what lacks credit is no backlog");
    pair.server.consumed(streams[0], 10_000);
    pair.run();
    assert!(matches!(pair.server.poll(), Some(Output::Request { .. })));
    let writable = outputs(&mut pair.client);
    assert_eq!(writable.len(), 2, "{writable:?}");
}

#[test]
fn what_an_ended_stream_held_comes_back() {
    let config = Config::with(|config| config.connection_credit = 10_000);
    let mut pair = Pair::with(Config::default(), config).greeted();
    // Many times the connection's credit, never consumed.
    for _ in 0..20 {
        let call = pair.open();
        pair.client.send(call, Body::from(vec![0; 9000])).unwrap();
        pair.run();
        opened(&mut pair);
        assert_eq!(bodies(outputs(&mut pair.server)).len(), 1);
        pair.server.respond(call, Response::ok(Body::new()));
        pair.run();
        assert!(matches!(
            outputs(&mut pair.client).pop(),
            Some(Output::Response { .. })
        ));
    }
}

#[test]
fn messages_after_the_answer_are_dropped_and_their_credit_comes_back() {
    let config = Config::with(|config| config.connection_credit = 10_000);
    let mut pair = Pair::with(Config::default(), config).greeted();
    for _ in 0..20 {
        let call = pair.open();
        pair.run();
        opened(&mut pair);
        pair.server.respond(call, Response::ok(Body::new()));
        pair.client.send(call, Body::from(vec![0; 9000])).unwrap();
        pair.up().unwrap();
        assert!(pair.server.poll().is_none());
        pair.run();
        assert!(matches!(
            outputs(&mut pair.client).pop(),
            Some(Output::Response { .. })
        ));
    }
}

#[test]
fn refusals_need_no_credit_and_give_none() {
    let config = Config::with(|config| config.connection_credit = 1000);
    let mut pair = Pair::with(config, Config::default()).greeted();
    let call = pair.open();
    pair.run();
    opened(&mut pair);
    for _ in 0..10 {
        pair.server.send(call, Body::from(vec![0; 100])).unwrap();
    }
    pair.run();
    assert_eq!(pair.server.room(call), Some(0));
    for _ in 0..100 {
        pair.call(Request::new(CHAT));
        pair.run();
    }
    let refused = outputs(&mut pair.client);
    assert_eq!(refused.len(), 9 + 100);
    for _ in 0..9 {
        pair.client.consumed(call, 100);
    }
    // What came back is what was taken, so neither end loses count.
    for _ in 0..100 {
        pair.server.send(call, Body::from(vec![0; 100])).unwrap();
        pair.run();
        for body in bodies(outputs(&mut pair.client)) {
            pair.client.consumed(call, body.len());
        }
    }
}
