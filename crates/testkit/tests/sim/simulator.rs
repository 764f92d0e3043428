//! The simulator itself: the same for the same seed, and a network that does what it is set to.

use crate::common::Pair;
use corewire_message::{Caller, ErrorKind, Request};
use corewire_testkit::clock::Clock;
use corewire_testkit::conformance::operations as op;
use corewire_testkit::sim::{Link, Sim};
use corewire_wire::native::{Config, Connection};
use std::sync::Arc;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn history(seed: u64) -> Vec<(Duration, bool)> {
    let mut pair = Pair::new(seed);
    pair.sim.set_default_link(Link {
        jitter: 3 * MS,
        loss: 0.05,
        ..Link::default()
    });
    let calls: Vec<_> = (0..50)
        .map(|size| {
            let request = pair
                .request(op::ECHO, 30 * MS)
                .with_body(vec![0; size * 1000]);
            pair.start(request)
        })
        .collect();
    pair.sim.run_for(Duration::from_secs(10));
    calls
        .into_iter()
        .map(|call| call.end())
        .map(|(at, result)| (at, result.is_ok()))
        .collect()
}

#[test]
fn a_seed_is_the_same_run_and_another_is_not() {
    assert_eq!(history(5), history(5));
    assert_ne!(history(5), history(6));
}

#[test]
fn connections_overtake_each_other_but_not_themselves() {
    let pair = Pair::new(3);
    let mut sim = pair.sim;
    sim.set_default_link(Link {
        jitter: 10 * MS,
        ..Link::default()
    });
    let clients: Vec<_> = (0..10)
        .map(|_| {
            sim.connect(pair.smf, pair.amf, |now| {
                Box::new(Connection::client(Config::default(), now))
            })
        })
        .collect();
    sim.run(async {
        for (connection, client) in clients.iter().enumerate() {
            for number in 0..20 {
                let body = format!("{connection} {number}");
                let event = corewire_message::Event::new(op::SINK, body);
                client.send(event).await.unwrap();
            }
        }
    });
    sim.run_for(Duration::from_secs(1));
    let events: Vec<(usize, usize)> = pair
        .probe
        .events()
        .iter()
        .map(|event| {
            let (connection, number) = event.body.split_once(' ').unwrap();
            (connection.parse().unwrap(), number.parse().unwrap())
        })
        .collect();
    assert_eq!(events.len(), 200);
    assert!(!events.is_sorted(), "no connection overtook another");
    for connection in 0..10 {
        let own: Vec<_> = events
            .iter()
            .filter(|event| event.0 == connection)
            .collect();
        assert!(own.is_sorted());
    }
}

#[test]
fn a_node_that_does_not_listen_refuses_and_one_that_is_not_reached_times_out() {
    let mut pair = Pair::new(1);
    pair.sim.stop(pair.amf);
    let call = pair.start(Request::new(op::ECHO));
    pair.sim.run_for(MS);
    assert_eq!(call.error().kind(), ErrorKind::NotSent);
    pair.sim.start(pair.amf);
    pair.sim.hold(pair.smf, pair.amf);
    let call = pair.start(Request::new(op::ECHO));
    pair.sim.run_for(Duration::from_secs(6));
    let (at, result) = call.end();
    assert!(at > Duration::from_secs(5));
    assert!(!result.unwrap_err().may_have_executed());
}

#[test]
fn what_was_held_arrives_when_it_is_released() {
    let mut pair = Pair::new(1);
    pair.sim
        .run(pair.client.call(Request::new(op::ECHO)))
        .unwrap();
    pair.sim.hold(pair.amf, pair.smf);
    let call = pair.start(Request::new(op::COUNT));
    pair.sim.run_for(Duration::from_secs(2));
    assert!(!call.is_over());
    assert_eq!(pair.probe.counted(), 1);
    pair.sim.release(pair.amf, pair.smf);
    pair.sim.run_for(MS);
    assert!(call.end().1.is_ok());
}

#[test]
fn a_service_may_call_another_node() {
    struct Relay(corewire_testkit::sim::Client);
    impl corewire_message::Service for Relay {
        async fn call(
            &self,
            _context: &corewire_message::CallContext,
            request: Request,
        ) -> corewire_message::Response {
            let answer = self.0.call(request).await;
            answer.unwrap_or_else(|error| corewire_message::Response::failed(error.to_status()))
        }
    }
    let mut pair = Pair::new(1);
    let scp = pair.sim.node("scp");
    let behind = pair.sim.connect(scp, pair.amf, |now| {
        Box::new(Connection::client(Config::default(), now))
    });
    pair.sim
        .serve(scp, Arc::new(Relay(behind)), |kind_of, now| {
            Box::new(Connection::server(Config::default(), kind_of, now))
        });
    let client = pair.sim.connect(pair.smf, scp, |now| {
        Box::new(Connection::client(Config::default(), now))
    });
    let request = Request::new(op::ECHO).with_body("over two hops".to_owned());
    let response = pair.sim.run(client.call(request)).unwrap();
    assert_eq!(response.body.into_bytes(), "over two hops");
    assert_eq!(pair.sim.connections(), (2, 2));
}

#[test]
#[should_panic(expected = "never comes")]
fn waiting_for_nothing_is_told() {
    Sim::new(1).run(std::future::pending::<()>());
}

#[test]
fn time_passes_only_when_something_is_due() {
    let mut sim = Sim::new(1);
    let start = sim.now();
    sim.run_for(Duration::from_secs(86_400 / 48));
    assert_eq!(sim.now() - start, Duration::from_secs(1800));
}
