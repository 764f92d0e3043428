//! What an end counts, to the octet: what waits, what it may send, what it holds for its peer.

use crate::pair::{CHAT, ECHO, Pair, outputs, transmitted};
use crate::raw::{self, HELLO, Lone, frame, hello};
use corewire_message::{Body, Code, Event, Request, Response};
use corewire_wire::native::{Config, MAGIC};
use corewire_wire::{CallId, Core, Fault, Output};

/// What a message costs beside its octets.
const COST: usize = 16;

fn waits(core: &impl Core) -> (usize, usize) {
    (core.queued(), core.backlog())
}

#[test]
fn all_that_waits_to_be_sent_is_counted_and_nothing_once_it_is_sent() {
    let mut pair = Pair::new();
    let preface = transmitted(&mut Pair::new().client, pair.now).len();
    assert_eq!(waits(&pair.client), (preface, preface));
    pair.call(Request::new(ECHO));
    let each = pair.client.queued() - preface;
    assert!(each > 0, "an empty message counts too");
    pair.call(Request::new(ECHO).with_body(vec![0; 1_000_000]));
    let all = preface + 2 * each + 1_000_000;
    assert_eq!(waits(&pair.client), (all, all));
    let event = Event::new(ECHO, Body::new());
    pair.client.send_event(pair.now, event).unwrap();
    let all = all + each;
    assert_eq!(waits(&pair.client), (all, all + 1), "an event that waits");
    pair.run();
    assert_eq!(waits(&pair.client), (0, 0));
    let calls = [(); 2].map(|()| pair.call(Request::new(ECHO)));
    for (call, left) in calls.into_iter().zip([each, 0]) {
        assert_eq!(waits(&pair.client), (left + each, left + each));
        pair.client.cancel(call, Code::Cancelled);
        assert_eq!(waits(&pair.client), (left, left));
    }
}

/// A blocking sender reads on while there is backlog: only that makes an event without credit go.
#[test]
fn what_waits_for_credit_is_no_backlog_but_for_one_octet_when_it_is_an_event() {
    let server = Config::with(|config| config.connection_credit = 1000);
    let mut pair = Pair::with(Config::default(), server).greeted();
    pair.call(Request::new(ECHO).with_body(vec![0; 5000]));
    pair.up().unwrap();
    pair.call(Request::new(ECHO));
    let each = pair.client.queued();
    assert_eq!(waits(&pair.client), (each, 0));
    for count in 2..5 {
        let event = Event::new(ECHO, Body::new());
        pair.client.send_event(pair.now, event).unwrap();
        assert_eq!(waits(&pair.client), (count * each, 1));
    }
}

#[test]
fn a_stream_has_room_for_its_credit_less_what_waits_and_what_was_sent() {
    let server = Config::with(|config| config.stream_credit = 1000);
    let mut pair = Pair::with(Config::default(), server).greeted();
    let call = pair.open();
    assert_eq!(pair.client.room(call), Some(1000), "opening is free");
    for left in [884, 768, 652] {
        pair.client.send(call, Body::from(vec![0; 100])).unwrap();
        assert_eq!(pair.client.room(call), Some(left), "while it waits");
        pair.run();
        assert_eq!(pair.client.room(call), Some(left), "once it is sent");
    }
    pair.client.finish(call);
    assert_eq!(pair.client.room(call), Some(652), "and so is the end");
}

#[test]
fn what_came_is_held_until_it_is_taken_and_of_streams_until_it_is_consumed() {
    let mut pair = Pair::new().greeted();
    let whole = pair.server.receive_credit();
    let call = pair.open();
    pair.client.send(call, Body::from(vec![0; 1000])).unwrap();
    pair.run();
    assert_eq!(pair.server.held(), 1032);
    assert_eq!(outputs(&mut pair.server).len(), 2);
    assert_eq!(pair.server.held(), 1016);
    pair.server.consumed(call, 1000);
    assert_eq!(pair.server.held(), 0);
    // It has not been told yet: it is less than half a window.
    assert_eq!(pair.server.receive_credit(), whole - 1032);
    assert_eq!(pair.client.send_credit(), whole - 1032);
}

#[test]
fn giving_up_a_call_that_was_not_taken_frees_what_it_held_and_no_more() {
    let mut pair = Pair::new().greeted();
    let first = pair.call(Request::new(ECHO).with_body(vec![0; 1000]));
    pair.call(Request::new(ECHO).with_body(vec![0; 2000]));
    pair.run();
    assert_eq!(pair.server.held(), 3032);
    pair.server.cancel(first, Code::Aborted);
    assert_eq!(pair.server.held(), 2016);
    pair.request();
    assert_eq!(pair.server.held(), 0);
}

/// A client with streams 1 and 3, that may send 1000 octets each and 10,000 together.
fn sender() -> Lone {
    let settings: [(u16, &[u8]); 2] = [(4, &1000u32.to_le_bytes()), (5, &10_000u32.to_le_bytes())];
    let mut lone = Lone::client(Config::default());
    let payload = hello((1, 1), &settings);
    lone.feed(&[&MAGIC[..], &frame(HELLO, 0, 0, 0, &payload)].concat())
        .unwrap();
    for _ in 0..2 {
        lone.core.open(lone.now, Request::new(CHAT)).unwrap();
    }
    lone.transmitted();
    lone
}

impl Lone {
    fn sends(&mut self, call: u32, octets: usize) {
        let call = CallId::new(call);
        self.core.send(call, Body::from(vec![0; octets])).unwrap();
        self.transmitted();
    }

    /// Credit comes; gives which streams are told that they may go on.
    fn granted(&mut self, call: u32, octets: usize) -> Vec<u32> {
        let octets = u32::try_from(octets).unwrap().to_le_bytes();
        self.feed(&frame(raw::CREDIT, 0, 0, call, &octets)).unwrap();
        outputs(&mut self.core)
            .into_iter()
            .map(|output| match output {
                Output::Writable { call } => call.number(),
                other => panic!("{other:?}"),
            })
            .collect()
    }
}

#[test]
fn a_stream_is_told_that_it_may_go_on_when_it_could_not_and_can() {
    let mut lone = sender();
    assert!(lone.granted(0, 5).is_empty(), "it could all the time");
    assert!(lone.granted(1, 5).is_empty(), "it could all the time");
    lone.sends(1, 2000);
    let missing = 2000 + COST - 1005;
    assert!(lone.granted(1, missing).is_empty(), "nothing above zero");
    assert_eq!(lone.granted(1, 1), [1]);
    assert_eq!(lone.core.room(CallId::new(1)), Some(1));
    assert!(lone.granted(1, 1).is_empty(), "it knows");
}

#[test]
fn of_the_connections_credit_those_streams_are_told_that_have_their_own() {
    let mut lone = sender();
    lone.sends(1, 20_000);
    assert_eq!(lone.core.room(CallId::new(3)), Some(0));
    // Four messages' cost: two that opened streams, one sent, and what it holds.
    let missing = 20_000 + 3 * COST - 10_000;
    assert!(lone.granted(0, missing).is_empty(), "nothing above zero");
    assert_eq!(lone.granted(0, 1), [3], "the other has none of its own");
    let mut lone = sender();
    lone.sends(1, 20_000);
    assert!(
        lone.granted(1, 30_000).is_empty(),
        "the connection has none"
    );
    assert_eq!(lone.granted(0, 30_000), [1, 3]);
}

#[test]
fn the_end_of_a_stream_needs_no_credit() {
    let small = Config::with(|config| config.stream_credit = 100);
    let mut pair = Pair::with(small.clone(), small).greeted();
    let call = pair.open();
    pair.client.send(call, Body::from(vec![0; 200])).unwrap();
    pair.client.finish(call);
    pair.run();
    let told = outputs(&mut pair.server);
    assert!(
        matches!(
            told[..],
            [
                Output::Opened { .. },
                Output::Message { .. },
                Output::Finished { .. }
            ]
        ),
        "{told:?}"
    );
    pair.server.send(call, Body::from(vec![0; 200])).unwrap();
    pair.server.respond(call, Response::ok(Body::new()));
    pair.run();
    let told = outputs(&mut pair.client);
    assert!(
        matches!(told[..], [Output::Message { .. }, Output::Response { .. }]),
        "{told:?}"
    );
}

#[test]
fn a_driver_that_knows_only_the_verbs_is_told_the_same() {
    fn told(core: &impl Core) -> (&'static str, usize, Option<&Fault>) {
        (core.protocol(), core.wants(), core.fault())
    }
    let mut lone = Lone::server(Config::default()).greeted();
    assert_eq!(told(&lone.core), ("native", 0, None));
    // There is nothing to agree on before the first call, and no end but a fault.
    assert!(lone.core.is_established() && !lone.core.is_over());
    assert!(lone.core.peer_certificate().is_none());
    lone.feed(&frame(raw::PING, 0, 0, 0, &[0; 8])[..15])
        .unwrap();
    assert_eq!(told(&lone.core), ("native", 5, None));
    let fault = lone.feed(&[0; 5]).and_then(|()| lone.feed(&[0xff; 12]));
    let fault = fault.unwrap_err();
    assert_eq!(told(&lone.core), ("native", 0, Some(&fault)));
    let greeting = raw::preface().len() + frame(HELLO, 1, 0, 0, &[]).len();
    assert_eq!(fault.offset, (greeting + 20) as u64, "of the bad frame");
}
