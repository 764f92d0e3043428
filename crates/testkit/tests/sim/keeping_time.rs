//! Deadlines, cancellation, keep-alive, drain: to the microsecond.

use crate::common::{Pair, text};
use corewire_message::{Caller, Code, ErrorKind, Request};
use corewire_testkit::clock::Clock;
use corewire_testkit::conformance::operations as op;
use corewire_testkit::sim::Link;
use corewire_wire::native::Config;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn millisecond_link(pair: &Pair) {
    let link = Link {
        latency: MS,
        ..Link::default()
    };
    pair.sim.set_link(pair.smf, pair.amf, link);
}

#[test]
fn a_deadline_passes_at_its_microsecond_on_both_sides() {
    let mut pair = Pair::new(1);
    let request = pair.request(op::WAIT, Duration::from_micros(12_345));
    let call = pair.start(request);
    pair.sim.run_for(20 * MS);
    let (at, result) = call.end();
    let error = result.unwrap_err();
    assert_eq!(at, Duration::from_micros(12_345));
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
    assert!(error.may_have_executed());
    assert_eq!((pair.probe.started(), pair.probe.dropped()), (1, 1));
    assert_eq!(pair.sim.in_flight(pair.amf), 0);
}

#[test]
fn the_service_sees_the_time_that_is_left() {
    let mut pair = Pair::new(1);
    millisecond_link(&pair);
    let request = pair.request(op::DEADLINE, 50 * MS);
    let left = text(pair.sim.run(pair.client.call(request)).unwrap());
    // Connecting and the way there took some of the caller's time; the span is written when the
    // request is, and the way itself is not known to anybody.
    let left = Duration::from_micros(left.parse().unwrap());
    assert!(left <= 50 * MS && left >= 47 * MS, "{left:?} left");
}

#[test]
fn a_deadline_that_passes_before_the_request_left_is_not_executed() {
    let mut pair = Pair::new(1);
    millisecond_link(&pair);
    let call = pair.start(pair.request(op::WAIT, MS));
    pair.sim.run_for(10 * MS);
    let error = call.error();
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
    assert!(!error.may_have_executed());
    assert_eq!(pair.probe.started(), 0);
}

#[test]
fn giving_up_reaches_the_service_one_way_later() {
    let mut pair = Pair::new(1);
    millisecond_link(&pair);
    pair.sim
        .run(pair.client.call(Request::new(op::ECHO)))
        .unwrap();
    let call = Box::pin(pair.client.call(Request::new(op::WAIT)));
    pair.sim.run(async {
        let mut call = call;
        // Polled once: it is on its way.
        let once = std::future::poll_fn(|cx| {
            assert!(call.as_mut().poll(cx).is_pending());
            std::task::Poll::Ready(())
        });
        once.await;
        drop(call);
    });
    // Given up before the octets left this end or after: the service has seen either nothing or
    // the beginning and the end.
    pair.sim.run_for(3 * MS);
    assert_eq!(pair.probe.started(), pair.probe.dropped());
    assert_eq!(pair.sim.in_flight(pair.smf), 0);

    let started = pair.probe.started();
    let client = pair.client.clone();
    let network = pair.sim.network();
    pair.sim.run(async move {
        let mut call = Box::pin(client.call(Request::new(op::WAIT)));
        let mut sleep = network.sleep(5 * MS);
        std::future::poll_fn(|cx| {
            assert!(call.as_mut().poll(cx).is_pending());
            sleep.as_mut().poll(cx)
        })
        .await;
    });
    assert_eq!(pair.probe.started(), started + 1);
    let dropped = pair.probe.dropped();
    pair.sim.run_for(MS - Duration::from_micros(1));
    assert_eq!(pair.probe.dropped(), dropped);
    pair.sim.run_for(Duration::from_micros(2));
    assert_eq!(pair.probe.dropped(), dropped + 1);
}

#[test]
fn a_peer_that_is_gone_is_found_by_keep_alive() {
    let mut pair = Pair::new(1);
    pair.sim
        .run(pair.client.call(Request::new(op::ECHO)))
        .unwrap();
    let request = pair.request(op::WAIT, Duration::from_secs(3000));
    let call = pair.start(request);
    pair.sim.run_for(MS);
    pair.sim.hold(pair.smf, pair.amf);
    pair.sim.hold(pair.amf, pair.smf);
    let config = Config::default();
    let death = config.keep_alive_interval.unwrap() + config.keep_alive_timeout;
    pair.sim.run_for(death * 2);
    let (at, result) = call.end();
    let error = result.unwrap_err();
    assert!(at >= death && at <= death + 2 * MS, "found at {at:?}");
    assert_eq!(error.kind(), ErrorKind::FateUnknown);
    assert!(error.may_have_executed());
    // The server found out as well and let go of the call.
    assert_eq!(pair.probe.dropped(), 1);
    assert_eq!(pair.sim.connections().0, 0);
}

#[test]
fn a_slow_service_is_not_mistaken_for_a_dead_one() {
    let mut pair = Pair::new(1);
    let request = pair.request(op::WAIT, Duration::from_secs(3000));
    let call = pair.start(request.with_body("patience".to_owned()));
    pair.sim.run_for(Duration::from_secs(600));
    assert!(!call.is_over());
    pair.probe.gate.open();
    pair.sim.run_for(MS);
    assert_eq!(text(call.end().1.unwrap()), "patience");
    assert_eq!(pair.sim.faults(), Vec::<String>::new());
}

#[test]
fn draining_finishes_calls_in_flight_and_refuses_new_ones() {
    let mut pair = Pair::new(1);
    let running = pair.start(Request::new(op::WAIT).with_body("finished".to_owned()));
    pair.sim.run_for(MS);
    pair.sim.drain(pair.amf);
    // Sent before the client knows: the server says that it will not execute it.
    let unaware = pair.start(Request::new(op::COUNT));
    pair.sim.run_for(5 * MS);
    let aware = pair.start(Request::new(op::COUNT));
    pair.sim.run_for(5 * MS);
    for refused in [unaware.error(), aware.error()] {
        assert!(!refused.may_have_executed(), "{refused:?}");
        assert_eq!(refused.code(), Code::Unavailable);
    }
    assert!(!running.is_over());
    pair.probe.gate.open();
    pair.sim.run_for(MS);
    assert_eq!(text(running.end().1.unwrap()), "finished");
    assert_eq!((pair.probe.counted(), pair.sim.connections().0), (0, 0));
    pair.sim.start(pair.amf);
    assert_eq!(
        text(
            pair.sim
                .run(pair.client.call(Request::new(op::COUNT)))
                .unwrap()
        ),
        "1"
    );
}
