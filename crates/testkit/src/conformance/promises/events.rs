//! Messages that want no answer.

use super::super::service::append;
use super::super::{Bench, operations as op};
use corewire_message::{Caller, Event, Priority};
use std::time::Duration;

/// Events arrive in the order in which they were sent, each at most once.
pub async fn events_arrive_in_order_and_once(bench: &Bench) {
    const EVENTS: usize = 300;
    for number in 0..EVENTS {
        bench
            .client
            .send(Event::new(op::SINK, number.to_string()))
            .await
            .unwrap();
    }
    bench
        .until("all events are here", || {
            bench.probe.events().len() >= EVENTS
        })
        .await;
    bench.sleep(Duration::from_millis(20)).await;
    let bodies: Vec<String> = bench
        .probe
        .events()
        .into_iter()
        .map(|event| event.body)
        .collect();
    let expected: Vec<String> = (0..EVENTS).map(|number| number.to_string()).collect();
    assert_eq!(bodies, expected);
}

/// An event has headers and a priority as a request has.
pub async fn events_carry_headers_and_priority(bench: &Bench) {
    let mut event = Event::new(op::SINK, "body".to_owned());
    append(&mut event.headers, "x-kind", b"alarm");
    event.priority = Priority::try_from(3).unwrap();
    bench.client.send(event).await.unwrap();
    bench
        .until("the event is here", || !bench.probe.events().is_empty())
        .await;
    let taken = &bench.probe.events()[0];
    assert_eq!(taken.body, "body");
    assert_eq!(taken.headers.get_str("x-kind"), Some("alarm"));
    assert_eq!(taken.priority.value(), 3);
}

/// A large event arrives whole.
pub async fn a_large_event_arrives(bench: &Bench) {
    let body = "event ".repeat(100_000);
    bench
        .client
        .send(Event::new(op::SINK, body.clone()))
        .await
        .unwrap();
    bench
        .until("the event is here", || !bench.probe.events().is_empty())
        .await;
    assert!(
        bench.probe.events()[0].body == body,
        "the event came changed"
    );
}

/// Events that are more than the peer's credit leave all the same, without a call after them.
pub async fn more_events_than_the_peers_credit_arrive(bench: &Bench) {
    const EVENTS: usize = 20;
    let body = "x".repeat(1_000_000);
    for _ in 0..EVENTS {
        let event = Event::new(op::SINK, body.clone());
        bench.client.send(event).await.unwrap();
    }
    bench
        .until("all events are here", || {
            bench.probe.events().len() == EVENTS
        })
        .await;
}

/// An event that nobody knows goes nowhere and does no harm.
pub async fn an_unknown_event_does_no_harm(bench: &Bench) {
    bench
        .client
        .send(Event::new(op::UNKNOWN, "lost".to_owned()))
        .await
        .unwrap();
    bench.works().await;
    assert_eq!(bench.probe.events(), []);
}
