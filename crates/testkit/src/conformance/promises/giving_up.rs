//! Callers that give up, and services that are told.

use super::super::{Bench, either, join_all, operations as op};
use super::{end, next, open};
use corewire_message::{Caller, Code, Request};
use std::time::Duration;

/// A dropped future gives the call up: its service's future is dropped.
pub async fn dropping_a_call_reaches_the_service(bench: &Bench) {
    let call = bench.client.call(Request::new(op::WAIT));
    let given_up = either(call, bench.until_started(1)).await;
    assert!(given_up.is_err(), "the call ended");
    bench
        .until("the service's future is dropped", || {
            bench.probe.dropped() == 1
        })
        .await;
    bench.works().await;
}

/// A dropped future takes its own call only.
pub async fn dropping_a_call_leaves_others_alone(bench: &Bench) {
    let kept = bench.start(Request::new(op::WAIT));
    bench.until_started(1).await;
    let call = bench.client.call(Request::new(op::WAIT));
    assert!(either(call, bench.until_started(2)).await.is_err());
    bench
        .until("one future is dropped", || bench.probe.dropped() == 1)
        .await;
    bench.probe.gate.open();
    kept.end().await.unwrap();
    assert_eq!(bench.probe.dropped(), 1);
}

/// Calls that are given up at once, again and again, leave nothing behind.
pub async fn many_dropped_calls_leave_nothing_behind(bench: &Bench) {
    for _ in 0..20 {
        let calls = (0..20).map(|_| bench.client.call(Request::new(op::WAIT)));
        let _ended = either(join_all(calls), bench.sleep(Duration::from_millis(1))).await;
    }
    bench.works().await;
    bench
        .until("every service's future is dropped", || {
            bench.probe.started() == bench.probe.dropped()
        })
        .await;
}

/// Cancelling a stream reaches its service.
pub async fn cancelling_a_stream_reaches_the_service(bench: &Bench) {
    let mut stream = open(bench, op::STREAM_ECHO).await;
    stream.outbound.send("one".to_owned()).await.unwrap();
    next(&mut stream.inbound).await;
    stream.outbound.cancel(Code::Cancelled);
    bench
        .until("the service is told", || {
            bench.probe.dropped() + bench.probe.cancelled() == 1
        })
        .await;
    let error = stream.inbound.message().await.unwrap_err();
    assert_eq!(error.code(), Code::Cancelled);
    bench.works().await;
}

/// Dropping a stream gives it up.
pub async fn dropping_a_stream_reaches_the_service(bench: &Bench) {
    let mut stream = open(bench, op::STREAM_ECHO).await;
    stream.outbound.send("one".to_owned()).await.unwrap();
    next(&mut stream.inbound).await;
    drop(stream);
    bench
        .until("the service is told", || {
            bench.probe.dropped() + bench.probe.cancelled() == 1
        })
        .await;
    bench.works().await;
}

/// Dropping the reading end alone gives the call up too.
pub async fn dropping_the_reading_end_reaches_the_service(bench: &Bench) {
    let mut stream = open(bench, op::STREAM_ECHO).await;
    stream.outbound.send("one".to_owned()).await.unwrap();
    next(&mut stream.inbound).await;
    drop(stream.inbound);
    bench
        .until("the service is told", || {
            bench.probe.dropped() + bench.probe.cancelled() == 1
        })
        .await;
    bench.works().await;
}

/// A service may give the call up: its caller is told.
pub async fn a_service_that_gives_up_is_heard(bench: &Bench) {
    let mut stream = open(bench, op::STREAM_CANCEL).await;
    stream.outbound.send("one".to_owned()).await.unwrap();
    let error = end(&mut stream.inbound).await.unwrap_err();
    assert_eq!(error.code(), Code::Aborted, "{error:?}");
    bench.works().await;
}
