//! A peer that does not read, or does not consume, costs a bounded amount of memory.

use crate::common::Pair;
use corewire_message::{Caller, Event, Request};
use corewire_testkit::conformance::{FLOOD_MESSAGE, operations as op};
use corewire_testkit::sim::{Chunks, Link};
use corewire_wire::native::Config;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn a_client_that_does_not_consume_stops_the_service_at_the_streams_credit() {
    let mut pair = Pair::new(1);
    let client = pair.client.clone();
    let stream = pair.sim.run(async move {
        let mut stream = client.open(Request::new(op::STREAM_FLOOD)).await.unwrap();
        // One message shows that it is open; the others stay where they are.
        stream.inbound.message().await.unwrap();
        stream
    });
    pair.sim.run_for(Duration::from_secs(5));
    let credit = u64::from(Config::default().stream_credit);
    let sent = pair.probe.flooded() * FLOOD_MESSAGE as u64;
    assert!(sent > credit / 2, "only {sent} octets were sent");
    assert!(
        sent < 2 * credit,
        "{sent} octets were sent on a credit of {credit}"
    );
    drop(stream);
    pair.sim.run_for(Duration::from_secs(1));
    assert_eq!(pair.sim.in_flight(pair.amf), 0);
    assert_eq!(pair.sim.faults(), Vec::<String>::new());
}

#[test]
fn a_sender_waits_for_credit_and_goes_on_when_it_comes() {
    let mut pair = Pair::new(1);
    let request = pair.request(op::STREAM_LAZY, Duration::from_secs(3000));
    let (client, sent) = (pair.client.clone(), Arc::new(AtomicUsize::new(0)));
    let counter = Arc::clone(&sent);
    let (total, message) = (5_000_000, 10_000);
    let done = Arc::new(std::sync::Mutex::new(None));
    let end = Arc::clone(&done);
    pair.sim.spawn(async move {
        let mut stream = client.open(request).await.unwrap();
        while counter.load(Ordering::Relaxed) < total {
            stream.outbound.send(vec![1; message]).await.unwrap();
            counter.fetch_add(message, Ordering::Relaxed);
        }
        stream.outbound.finish();
        let sum = stream.inbound.message().await.unwrap().unwrap();
        assert!(stream.inbound.message().await.unwrap().is_none());
        *end.lock().unwrap() = Some(sum.into_bytes());
    });
    pair.sim.run_for(Duration::from_secs(20));
    let stopped_at = sent.load(Ordering::Relaxed);
    let credit = Config::default().stream_credit as usize;
    assert!(
        (credit / 2..2 * credit).contains(&stopped_at),
        "{stopped_at} octets were taken"
    );
    pair.probe.gate.open();
    pair.sim.run_for(Duration::from_secs(20));
    assert_eq!(
        done.lock().unwrap().as_deref(),
        Some(total.to_string().as_bytes())
    );
}

#[test]
fn a_peer_that_stops_reading_bounds_what_waits_for_it() {
    let mut pair = Pair::with_config(1, {
        let mut config = Config::default();
        config.keep_alive_interval = None;
        config
    });
    const LIMIT: usize = 200_000;
    // What one read brings in is answered before the driver looks at what waits.
    const REQUESTS_A_READ: usize = 10;
    pair.sim.set_max_backlog(pair.amf, LIMIT);
    pair.sim.set_link(
        pair.smf,
        pair.amf,
        Link {
            chunks: Chunks::Exactly(REQUESTS_A_READ * 20),
            ..Link::default()
        },
    );
    pair.sim
        .run(pair.client.call(Request::new(op::ECHO)))
        .unwrap();
    pair.sim.stop_reading(pair.smf);
    // Small requests for large answers: 1000 times 100 kB, if the server were to read them all.
    let calls: Vec<_> = (0..1000)
        .map(|_| {
            let request = pair.request(op::LARGE, Duration::from_secs(3000));
            pair.start(request.with_body("100000".to_owned()))
        })
        .collect();
    let mut most = 0;
    for _ in 0..200 {
        pair.sim.run_for(Duration::from_millis(5));
        most = most.max(pair.sim.backlog(pair.amf));
    }
    assert!(most > LIMIT, "only {most} octets waited");
    let bound = LIMIT + REQUESTS_A_READ * 101_000;
    assert!(
        most < bound,
        "{most} octets waited for a peer that does not read"
    );
    pair.sim.read_again(pair.smf);
    pair.sim.run_for(Duration::from_secs(60));
    for call in calls {
        assert_eq!(call.end().1.unwrap().body.len(), 100_000);
    }
    assert_eq!(pair.sim.backlog(pair.amf), 0);
}

#[test]
fn more_calls_than_the_limit_are_refused_as_not_executed() {
    let mut pair = Pair::with_config(1, {
        let mut config = Config::default();
        config.max_concurrent_calls = 10;
        config
    });
    pair.sim
        .run(pair.client.call(Request::new(op::ECHO)))
        .unwrap();
    let calls: Vec<_> = (0..15)
        .map(|_| pair.start(Request::new(op::WAIT)))
        .collect();
    pair.sim.run_for(Duration::from_millis(10));
    let (refused, waiting): (Vec<_>, Vec<_>) = calls.into_iter().partition(|call| call.is_over());
    assert_eq!(
        (refused.len(), waiting.len(), pair.probe.started()),
        (5, 10, 10)
    );
    for call in refused {
        let error = call.error();
        assert_eq!(error.kind(), corewire_message::ErrorKind::Overloaded);
        assert!(!error.may_have_executed());
    }
    pair.probe.gate.open();
    pair.sim.run_for(Duration::from_millis(10));
    waiting
        .into_iter()
        .for_each(|call| assert!(call.end().1.is_ok()));
}

#[test]
fn an_event_that_waits_for_credit_keeps_its_sender_reading() {
    // A caller that reads only while it waits goes by the backlog: with nothing in it the event
    // would never leave.
    let mut pair = Pair::with_config(1, {
        let mut config = Config::default();
        config.connection_credit = 1000;
        config
    });
    pair.sim
        .run(pair.client.call(Request::new(op::ECHO)))
        .unwrap();
    // The credit for what is taken does not come back.
    pair.sim.hold(pair.amf, pair.smf);
    pair.sim.run(async {
        for _ in 0..3 {
            let event = Event::new(op::SINK, vec![7; 2000]);
            pair.client.send(event).await.unwrap();
        }
    });
    pair.sim.run_for(Duration::from_millis(10));
    assert!(pair.probe.events().len() < 3);
    assert!(pair.sim.backlog(pair.smf) > 0);
    pair.sim.release(pair.amf, pair.smf);
    pair.sim.run_for(Duration::from_millis(10));
    assert_eq!(pair.probe.events().len(), 3);
    assert_eq!(pair.sim.backlog(pair.smf), 0);
}
