//! How calls and connections end before their time.

use super::Pair;
use super::pair::{CALL, FLAVOURS, STREAM, text};
use crate::http2::{Config, Flavour};
use corewire_message::{Code, ErrorKind, Origin, Request, Response};
use corewire_wire::http2::{ErrorCode, Field};
use corewire_wire::{CallId, Core, Output};
use std::time::Duration;

const MILLI: Duration = Duration::from_millis(1);

fn call_with_deadline(pair: &mut Pair, timeout: Duration) -> CallId {
    let request = Request::new(CALL).with_deadline(pair.now + timeout);
    pair.client.core.call(pair.now, request).unwrap()
}

#[test]
fn a_deadline_ends_the_call_on_both_ends() {
    for flavour in FLAVOURS {
        let mut pair = Pair::new(flavour);
        call_with_deadline(&mut pair, 5 * MILLI);
        pair.run();
        let (call, _) = pair.asked();
        assert_eq!(pair.client.core.poll_timeout(), Some(pair.now + 5 * MILLI));
        pair.pass(4 * MILLI);
        assert!(pair.client.tells().is_empty() && pair.server.tells().is_empty());
        pair.pass(MILLI);
        let error = pair.failed();
        assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
        assert!(error.may_have_executed());
        assert!(matches!(
            pair.server.only(),
            Output::Cancelled { call: id, code: Code::DeadlineExceeded } if id == call
        ));
        pair.server.core.respond(call, Response::ok(text("late")));
        pair.run();
        assert!(pair.client.tells().is_empty());
        assert_eq!(
            (pair.client.core.in_flight(), pair.server.core.in_flight()),
            (0, 0)
        );
    }
}

#[test]
fn a_server_answers_when_the_deadline_passes_there_first() {
    for flavour in FLAVOURS {
        let mut pair = Pair::new(flavour);
        call_with_deadline(&mut pair, 5 * MILLI);
        pair.run();
        pair.asked();
        let later = pair.now + 6 * MILLI;
        pair.server.core.handle_timeout(later);
        pair.server.poll();
        pair.run();
        assert!(matches!(
            pair.server.only(),
            Output::Cancelled {
                code: Code::DeadlineExceeded,
                ..
            }
        ));
        assert_eq!(pair.answered().status.code(), Code::DeadlineExceeded);
    }
}

#[test]
fn a_deadline_that_has_passed_sends_nothing() {
    for flavour in FLAVOURS {
        let mut pair = Pair::new(flavour);
        let request = Request::new(CALL).with_deadline(pair.now);
        let error = pair.client.core.call(pair.now, request).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
        assert!(!error.may_have_executed());
    }
}

#[test]
fn a_call_that_never_left_did_not_execute() {
    for flavour in FLAVOURS {
        let mut pair = Pair::new(flavour);
        call_with_deadline(&mut pair, MILLI);
        pair.now += MILLI;
        pair.client.core.handle_timeout(pair.now);
        pair.client.poll();
        assert!(!pair.failed().may_have_executed());
        pair.run();
        assert!(pair.server.tells().is_empty());
        pair.call(text("x"));
        pair.client.close(pair.now);
        let error = pair.failed();
        assert_eq!(
            (error.kind(), error.may_have_executed()),
            (ErrorKind::NotSent, false)
        );
        let error = pair
            .client
            .core
            .call(pair.now, Request::new(CALL))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSent);
    }
}

#[test]
fn a_caller_that_gives_up_is_heard() {
    for flavour in FLAVOURS {
        for operation in [CALL, STREAM] {
            let mut pair = Pair::new(flavour);
            let request = Request::new(operation.clone());
            let call = if operation == CALL {
                pair.client.core.call(pair.now, request).unwrap()
            } else {
                pair.client.core.open(pair.now, request).unwrap()
            };
            pair.run();
            pair.asked();
            pair.client.core.cancel(call, Code::Cancelled);
            pair.run();
            assert!(pair.client.tells().is_empty());
            assert!(matches!(
                pair.server.only(),
                Output::Cancelled { call: id, code: Code::Cancelled } if id == call
            ));
            assert_eq!(
                (pair.client.core.in_flight(), pair.server.core.in_flight()),
                (0, 0)
            );
        }
    }
}

#[test]
fn a_service_that_gives_up_is_heard() {
    for flavour in FLAVOURS {
        let mut pair = Pair::new(flavour);
        pair.call(text("x"));
        pair.run();
        let (call, _) = pair.asked();
        pair.server.core.cancel(call, Code::Aborted);
        pair.run();
        assert_eq!(pair.answered().status.code(), Code::Aborted);

        // In the middle of what its peer has no credit for: at once all the same.
        let call = pair
            .client
            .core
            .open(pair.now, Request::new(STREAM))
            .unwrap();
        pair.run();
        pair.asked();
        for _ in 0..30 {
            pair.server
                .core
                .send(call, vec![0; 100_000].into())
                .unwrap();
        }
        pair.run();
        pair.client.tells();
        pair.server.core.cancel(call, Code::ResourceExhausted);
        pair.run();
        assert_eq!(pair.failed().code(), Code::ResourceExhausted);
        assert!(pair.server.tells().is_empty());
        assert_eq!(
            (pair.client.core.in_flight(), pair.server.core.in_flight()),
            (0, 0)
        );
        assert_eq!(pair.server.core.backlog(), 0);
    }
}

#[test]
fn stream_errors_have_the_meaning_that_grpc_gives_them() {
    for flavour in FLAVOURS {
        for (code, kind, meaning, executed) in [
            (
                ErrorCode::REFUSED_STREAM,
                ErrorKind::Refused,
                Code::Unavailable,
                false,
            ),
            (
                ErrorCode::CANCEL,
                ErrorKind::Cancelled,
                Code::Cancelled,
                true,
            ),
            (
                ErrorCode::ENHANCE_YOUR_CALM,
                ErrorKind::Overloaded,
                Code::ResourceExhausted,
                true,
            ),
            (
                ErrorCode::INADEQUATE_SECURITY,
                ErrorKind::Answered,
                Code::PermissionDenied,
                true,
            ),
            (
                ErrorCode::INTERNAL_ERROR,
                ErrorKind::Protocol,
                Code::Internal,
                true,
            ),
            (
                ErrorCode::PROTOCOL_ERROR,
                ErrorKind::Protocol,
                Code::Internal,
                true,
            ),
        ] {
            let mut pair = Pair::new(flavour);
            let call = pair.call(text("x"));
            pair.run();
            pair.server.core.session.reset(call.number(), code);
            pair.run();
            let error = pair.failed();
            assert_eq!((error.kind(), error.code()), (kind, meaning), "{code}");
            assert_eq!(error.may_have_executed(), executed, "{code}");
            assert_eq!(error.origin(), Origin::Peer);
        }
    }
}

#[test]
fn more_calls_than_agreed_wait_or_are_refused() {
    let client = Config {
        max_concurrent_calls: 3,
        ..Config::default()
    };
    let server = Config {
        max_concurrent_calls: 2,
        ..Config::default()
    };
    for flavour in FLAVOURS {
        let mut pair = Pair::with(flavour, client.clone(), server.clone());
        pair.run();
        for _ in 0..3 {
            pair.call(text("x"));
        }
        let error = pair
            .client
            .core
            .call(pair.now, Request::new(CALL))
            .unwrap_err();
        assert_eq!(
            (error.kind(), error.may_have_executed()),
            (ErrorKind::Overloaded, false)
        );
        pair.run();
        let told = pair.server.tells();
        assert_eq!(told.len(), 2, "the third waits");
        let Output::Request { call, .. } = &told[0] else {
            panic!("{told:?}")
        };
        pair.server.core.respond(*call, Response::ok(text("y")));
        pair.run();
        assert_eq!(pair.server.tells().len(), 1);
        // One that waits can be given up.
        let waiting = pair.call(text("z"));
        pair.client.core.cancel(waiting, Code::Cancelled);
        pair.run();
        assert_eq!(pair.client.core.in_flight(), 2);
        assert!(pair.server.tells().is_empty());
    }
}

#[test]
fn calls_sent_before_the_limit_was_known_are_refused_and_not_executed() {
    let server = Config {
        max_concurrent_calls: 1,
        ..Config::default()
    };
    for flavour in FLAVOURS {
        let mut pair = Pair::with(flavour, Config::default(), server.clone());
        pair.call(text("x"));
        pair.call(text("y"));
        pair.run();
        assert_eq!(pair.server.tells().len(), 1);
        let error = pair.failed();
        assert_eq!(
            (error.kind(), error.may_have_executed()),
            (ErrorKind::Refused, false)
        );
    }
}

#[test]
fn a_draining_server_finishes_what_it_has_and_takes_what_is_on_the_way() {
    for flavour in FLAVOURS {
        let mut pair = Pair::new(flavour);
        pair.call(text("before"));
        pair.run();
        let (before, _) = pair.asked();
        pair.server.core.drain();
        // This one leaves before the notice arrives.
        pair.call(text("on the way"));
        let up = pair.client.transmit(pair.now);
        let down = pair.server.transmit(pair.now);
        pair.server.receive(pair.now, &up);
        pair.client.receive(pair.now, &down);
        assert!(matches!(pair.client.only(), Output::Draining));
        let (on_the_way, _) = pair.asked();
        pair.run();
        let error = pair
            .client
            .core
            .call(pair.now, Request::new(CALL))
            .unwrap_err();
        assert_eq!(
            (error.kind(), error.may_have_executed()),
            (ErrorKind::Refused, false)
        );
        for call in [before, on_the_way] {
            assert!(!pair.server.core.is_finished());
            pair.server.core.respond(call, Response::ok(text("done")));
        }
        pair.run();
        assert_eq!(pair.client.tells().len(), 2);
        assert_eq!(pair.server.core.in_flight(), 0);
        assert!(pair.server.core.is_finished());
        assert!(pair.client.core.is_finished());
    }
}

#[test]
fn a_draining_server_does_not_wait_for_ever_for_the_answer_to_its_notice() {
    let mut pair = Pair::new(Flavour::Grpc);
    pair.run();
    pair.server.core.drain();
    pair.server.core.drain();
    let notice = pair.server.transmit(pair.now);
    assert!(!notice.is_empty());
    assert!(!pair.server.core.is_finished());
    pair.now += Duration::from_secs(1);
    assert_eq!(pair.server.core.poll_timeout(), Some(pair.now));
    pair.server.core.handle_timeout(pair.now);
    assert!(!pair.server.transmit(pair.now).is_empty());
    assert!(pair.server.core.is_finished());
}

#[test]
fn calls_above_the_last_stream_were_not_executed_and_others_go_on() {
    for flavour in FLAVOURS {
        let mut pair = Pair::new(flavour);
        pair.call(text("first"));
        pair.run();
        let (first, _) = pair.asked();
        pair.call(text("second"));
        let lost = pair.client.transmit(pair.now);
        assert!(!lost.is_empty());
        pair.server.core.session.go_away(ErrorCode::NO_ERROR);
        pair.server.core.respond(first, Response::ok(text("done")));
        let down = pair.server.transmit(pair.now);
        pair.client.receive(pair.now, &down);
        let told = pair.client.tells();
        let [
            Output::Draining,
            Output::Failed { error, .. },
            Output::Response { .. },
        ] = &told[..]
        else {
            panic!("{told:?}")
        };
        assert_eq!(
            (error.kind(), error.may_have_executed()),
            (ErrorKind::Refused, false)
        );
    }
}

#[test]
fn a_draining_client_takes_no_calls_and_finishes_its_own() {
    for flavour in FLAVOURS {
        let mut pair = Pair::new(flavour);
        pair.call(text("x"));
        pair.run();
        let (call, _) = pair.asked();
        pair.client.core.drain();
        let error = pair
            .client
            .core
            .call(pair.now, Request::new(CALL))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSent);
        pair.run();
        pair.server.tells();
        pair.server.core.respond(call, Response::ok(text("y")));
        pair.run();
        pair.answered();
        assert_eq!(pair.client.core.in_flight(), 0);
        assert!(pair.client.core.is_finished());
    }
}

#[test]
fn a_lost_connection_leaves_sent_calls_in_doubt() {
    for flavour in FLAVOURS {
        let mut pair = Pair::new(flavour);
        pair.call(text("x"));
        pair.client
            .core
            .open(pair.now, Request::new(STREAM))
            .unwrap();
        pair.run();
        assert_eq!(pair.server.tells().len(), 2);
        pair.client.close(pair.now);
        pair.server.close(pair.now);
        for output in pair.client.tells() {
            let Output::Failed { error, .. } = output else {
                panic!("{output:?}")
            };
            assert_eq!(
                (error.kind(), error.may_have_executed()),
                (ErrorKind::FateUnknown, true)
            );
        }
        let told = pair.server.tells();
        assert_eq!(told.len(), 2);
        assert!(told.iter().all(|output| matches!(
            output,
            Output::Cancelled {
                code: Code::Unavailable,
                ..
            }
        )));
        assert_eq!(
            (pair.client.core.in_flight(), pair.server.core.in_flight()),
            (0, 0)
        );
        assert!(pair.client.transmit(pair.now).is_empty());
    }
}

#[test]
fn a_silent_peer_is_asked_and_then_given_up() {
    let mut pair = Pair::new(Flavour::Grpc);
    pair.run();
    pair.call(text("x"));
    pair.run();
    pair.asked();
    let second = Duration::from_secs(1);
    pair.pass(9 * second);
    let asked = pair.client.transcript.len();
    pair.pass(second);
    assert_eq!(
        pair.client.transcript.len(),
        asked + 17 + 17,
        "a PING and an answer to one"
    );
    assert!(pair.client.core.fault().is_none());
    // Now the network is gone.
    pair.now += 10 * second;
    pair.client.core.handle_timeout(pair.now);
    pair.client.transmit(pair.now);
    pair.now += 5 * second;
    assert_eq!(pair.client.core.poll_timeout(), Some(pair.now));
    pair.client.core.handle_timeout(pair.now);
    pair.client.poll();
    assert_eq!(pair.client.core.fault().unwrap().what, "the peer is silent");
    assert_eq!(pair.failed().kind(), ErrorKind::FateUnknown);
    assert_eq!(pair.client.core.poll_timeout(), None);
}

#[test]
fn an_answer_before_the_end_of_the_request_stops_it() {
    for flavour in FLAVOURS {
        let mut pair = Pair::new(flavour);
        let call = pair
            .client
            .core
            .open(pair.now, Request::new(STREAM))
            .unwrap();
        pair.run();
        pair.asked();
        // Nothing is consumed: thirty of these never fit.
        for _ in 0..30 {
            pair.client
                .core
                .send(call, vec![0; 100_000].into())
                .unwrap();
        }
        pair.run();
        pair.server.tells();
        pair.server.core.respond(call, Response::ok(text("enough")));
        pair.run();
        let told = pair.client.tells();
        assert!(
            matches!(&told[..], [Output::Message { .. }, Output::Response { .. }]),
            "{told:?}"
        );
        assert_eq!(
            (pair.client.core.in_flight(), pair.server.core.in_flight()),
            (0, 0)
        );
        assert_eq!(pair.client.core.backlog(), 0);
        assert_eq!(pair.client.core.session.queued_total(), 0);
    }
}

#[test]
fn a_short_rest_behind_an_answer_is_dropped_and_a_long_one_stopped() {
    for (flavour, rest, is_reset) in [
        (Flavour::Rest, 60_000, false),
        (Flavour::Rest, 70_000, true),
        (Flavour::Grpc, 0, true),
    ] {
        let config = Config {
            max_message: 1000,
            ..Config::default()
        };
        let mut pair = Pair::with(flavour, Config::default(), config);
        pair.run();
        let before = pair.server.transcript.len();
        let stream = asks_for_nothing(&mut pair, flavour);
        pair.run();
        pair.client
            .core
            .session
            .push(stream, &[], vec![0; rest].into());
        pair.run();
        assert_eq!(was_stopped(&pair, before), is_reset, "{flavour:?} {rest}");
        assert_eq!(pair.server.core.in_flight(), usize::from(!is_reset));
        pair.client.core.session.finish(stream);
        pair.run();
        assert_eq!(pair.server.core.in_flight(), 0);
        pair.pass(Duration::from_millis(500));
        assert_eq!(was_stopped(&pair, before), is_reset, "{flavour:?} {rest}");
    }
}

#[test]
fn a_request_that_does_not_end_is_stopped_a_while_after_its_answer() {
    let mut pair = Pair::new(Flavour::Rest);
    pair.run();
    let before = pair.server.transcript.len();
    asks_for_nothing(&mut pair, Flavour::Rest);
    pair.run();
    let answered = pair.server.transcript.len();
    assert!(answered > before && !was_stopped(&pair, before));
    assert_eq!(pair.server.core.in_flight(), 1);
    assert_eq!(
        pair.server.core.poll_timeout(),
        Some(pair.now + 200 * MILLI)
    );
    pair.pass(199 * MILLI);
    assert_eq!(pair.server.transcript.len(), answered);
    pair.pass(MILLI);
    assert!(was_stopped(&pair, answered));
    assert_eq!(pair.server.core.in_flight(), 0);
}

/// A request that is answered at once, and whose sender does not stop by itself when the answer comes.
fn asks_for_nothing(pair: &mut Pair, flavour: Flavour) -> u32 {
    let media = match flavour {
        Flavour::Grpc => "application/grpc",
        Flavour::Rest => "a/b",
    };
    let fields: Vec<_> = [
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "x"),
        (":path", "/test.v1.Echo/Nothing"),
        ("content-type", media),
    ]
    .map(|(name, value)| Field::new(name.as_bytes(), value.as_bytes()))
    .into();
    pair.client
        .core
        .session
        .request(None, &fields, true)
        .unwrap()
}

/// Whether the server has reset the first stream with `NO_ERROR`.
fn was_stopped(pair: &Pair, from: usize) -> bool {
    let reset = [0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0];
    let answer = &pair.server.transcript[from..];
    answer.windows(reset.len()).any(|frame| frame == reset)
}

#[test]
fn octets_that_nobody_takes_are_bounded() {
    for flavour in FLAVOURS {
        let client = Config {
            stream_window: 1000,
            ..Config::default()
        };
        let server = Config {
            max_backlog: 1_000_000,
            ..Config::default()
        };
        let mut pair = Pair::with(flavour, client, server);
        let mut waiting = Vec::new();
        for _ in 0..20 {
            pair.client
                .core
                .open(pair.now, Request::new(STREAM))
                .unwrap();
            pair.run();
            waiting.push(pair.asked().0);
        }
        let mut refused = 0;
        for call in &waiting {
            // Small messages that the client does not consume.
            for _ in 0..1000 {
                match pair.server.core.send(*call, vec![0; 400].into()) {
                    Ok(()) => {}
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Overloaded);
                        refused += 1;
                        break;
                    }
                }
            }
            pair.run();
            assert!(pair.server.core.session.queued_total() <= 1_000_000);
        }
        assert!(refused > 10);
        pair.client.tells();
        pair.call(text("x"));
        pair.run();
        let (call, _) = pair.asked();
        pair.server
            .core
            .respond(call, Response::ok(vec![0; 100_000]));
        pair.run();
        assert_eq!(pair.answered().status.code(), Code::ResourceExhausted);
    }
}
