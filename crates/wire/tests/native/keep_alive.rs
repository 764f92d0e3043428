//! Signs of life.

use crate::pair::{ECHO, Pair, outputs, transmitted};
use corewire_message::{Body, ErrorKind, Request, Response};
use corewire_wire::native::Config;
use corewire_wire::{Core, Output};
use std::time::Duration;

const INTERVAL: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(1);

fn config() -> Config {
    Config::with(|config| {
        config.keep_alive_interval = Some(INTERVAL);
        config.keep_alive_timeout = TIMEOUT;
    })
}

fn silent() -> Config {
    Config::with(|config| config.keep_alive_interval = None)
}

#[test]
fn an_idle_peer_that_answers_is_kept() {
    let mut pair = Pair::with(config(), silent()).greeted();
    for _ in 0..10 {
        assert_eq!(pair.client.poll_timeout(), Some(pair.now + INTERVAL));
        pair.pass(INTERVAL);
        assert!(pair.up().unwrap(), "a ping");
        assert!(pair.down().unwrap(), "its answer");
        assert!(pair.client.fault().is_none());
    }
}

#[test]
fn a_peer_that_says_nothing_is_dead() {
    let mut pair = Pair::with(config(), silent()).greeted();
    let call = pair.call(Request::new(ECHO));
    pair.up().unwrap();
    pair.pass(INTERVAL);
    assert!(
        !transmitted(&mut pair.client, pair.now).is_empty(),
        "a ping"
    );
    assert_eq!(pair.client.poll_timeout(), Some(pair.now + TIMEOUT));
    pair.pass(TIMEOUT);
    assert_eq!(pair.client.fault().unwrap().what, "keep-alive timeout");
    match pair.client.poll() {
        Some(Output::Failed { call: id, error }) => {
            assert_eq!((id, error.kind()), (call, ErrorKind::FateUnknown));
        }
        other => panic!("{other:?}"),
    }
    assert!(pair.client.call(pair.now, Request::new(ECHO)).is_err());
    assert_eq!(pair.client.poll_timeout(), None);
    pair.close_both();
    assert!(pair.client.poll().is_none());
    assert_eq!(outputs(&mut pair.server).len(), 2);
}

#[test]
fn any_octet_is_a_sign_of_life() {
    let mut pair = Pair::with(config(), silent()).greeted();
    pair.pass(INTERVAL - Duration::from_millis(1));
    pair.call(Request::new(ECHO));
    pair.run();
    let (id, _) = pair.request();
    pair.server.respond(id, Response::ok(Body::new()));
    pair.run();
    pair.pass(Duration::from_millis(1));
    assert!(
        transmitted(&mut pair.client, pair.now).is_empty(),
        "no ping"
    );
}

#[test]
fn reading_nothing_is_no_sign_of_life() {
    let mut pair = Pair::with(config(), silent()).greeted();
    let due = pair.client.poll_timeout();
    pair.now += INTERVAL / 2;
    let mut nothing = bytes::BytesMut::new();
    pair.client
        .handle_event(pair.now, corewire_wire::Input::Octets(&mut nothing))
        .unwrap();
    assert_eq!(pair.client.poll_timeout(), due);
}

#[test]
fn of_a_connection_that_has_ended_nothing_is_asked() {
    let mut closed = Pair::with(config(), silent()).greeted();
    closed.close_both();
    let mut broken = Pair::with(config(), silent()).greeted();
    let mut garbage = bytes::BytesMut::from(&[0xff; 12][..]);
    let input = corewire_wire::Input::Octets(&mut garbage);
    broken.client.handle_event(broken.now, input).unwrap_err();
    for pair in [&mut closed, &mut broken] {
        let fault = pair.client.fault().cloned();
        transmitted(&mut pair.client, pair.now);
        for time in [INTERVAL, TIMEOUT] {
            pair.now += time;
            pair.client.handle_timeout(pair.now);
            assert_eq!(pair.client.queued(), 0, "no ping");
        }
        assert_eq!(pair.client.fault(), fault.as_ref());
    }
}

#[test]
fn a_passive_client_is_not_asked() {
    let mut pair = Pair::with(Config::blocking(), config()).greeted();
    assert_eq!(pair.server.poll_timeout(), None);
    assert_eq!(pair.client.poll_timeout(), None);
    pair.pass(10 * INTERVAL);
    assert!(!pair.down().unwrap());
}
