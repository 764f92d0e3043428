//! One message each way.

use super::super::service::text;
use super::super::{Bench, operations as op};
use super::octets;
use corewire_message::{Priority, Request};

async fn echo(bench: &Bench, length: usize) {
    let body = octets(length);
    for _ in 0..3 {
        let answer = bench.call(op::ECHO, body.clone()).await.unwrap();
        assert!(answer.status.is_ok());
        assert!(
            answer.body.into_bytes() == body,
            "{length} octets came back changed"
        );
    }
}

/// An empty body comes back empty.
pub async fn echo_of_nothing(bench: &Bench) {
    echo(bench, 0).await;
}

/// One octet comes back.
pub async fn echo_of_1_octet(bench: &Bench) {
    echo(bench, 1).await;
}

/// 10 kB come back.
pub async fn echo_of_10_kb(bench: &Bench) {
    echo(bench, 10_000).await;
}

/// 100 kB come back.
pub async fn echo_of_100_kb(bench: &Bench) {
    echo(bench, 100_000).await;
}

/// 1 MB comes back.
pub async fn echo_of_1_mb(bench: &Bench) {
    echo(bench, 1_000_000).await;
}

/// A body in two parts is one body.
pub async fn a_body_with_a_head_is_sent_whole(bench: &Bench) {
    let body = corewire_message::Body::with_head(b"head and ", b"tail"[..].into());
    let answer = bench.call(op::ECHO, body).await.unwrap();
    assert_eq!(text(&answer.body), "head and tail");
}

/// How urgent a request is, its service sees.
pub async fn priority_arrives(bench: &Bench) {
    for value in [0, 1, 5, 23, 24, 25, 31] {
        let priority = Priority::try_from(value).unwrap();
        let request = Request::new(op::PRIORITY).with_priority(priority);
        assert_eq!(bench.ask(request).await, value.to_string());
    }
}

/// A request is executed once.
pub async fn a_call_is_executed_once(bench: &Bench) {
    for count in 1..=20 {
        assert_eq!(bench.ask(Request::new(op::COUNT)).await, count.to_string());
    }
    assert_eq!(bench.probe.counted(), 20);
}

/// The service sees what its caller speaks.
pub async fn the_service_sees_the_protocol(bench: &Bench) {
    let spoken = bench.ask(Request::new(op::PROTOCOL)).await;
    // REST and gRPC share connections, which are known as one of them.
    let http2 = ["grpc", "rest", "http2"].contains(&spoken.as_str());
    assert_eq!(http2, bench.fixture().protocol() != "native", "{spoken}");
}
