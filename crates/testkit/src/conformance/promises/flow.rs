//! Readers that are slow, and what that costs.

use super::super::{Bench, FLOOD_MESSAGE, operations as op};
use super::{next, octets, open};
use corewire_message::{Caller, Request};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// More octets than any credit and buffers together hold, and fewer than memory.
const BOUND: usize = 12 << 20;

/// A service that does not read holds its caller up: what the caller may send is bounded.
pub async fn a_service_that_does_not_read_bounds_the_caller(bench: &Bench) {
    let message = octets(50_000);
    let mut most = 0;
    // A deadline may pass before much was sent, on a machine that stands still: then a later one.
    for millis in [700, 2800, 11_200] {
        let request = bench.within(Duration::from_millis(millis), op::STREAM_LAZY);
        let Ok(mut stream) = bench.client.open(request).await else {
            continue;
        };
        let mut sent = 0;
        // Goes on until the deadline: only that ends it.
        while stream.outbound.send(message.clone()).await.is_ok() {
            sent += message.len();
            assert!(
                sent < BOUND,
                "{sent} octets were taken for a service that reads none"
            );
        }
        most = most.max(sent);
        if most > 100_000 {
            break;
        }
    }
    assert!(most > 100_000, "only {most} octets were taken");
    bench.works().await;
}

/// What was held up goes on when the service reads.
pub async fn a_writer_that_waits_goes_on(bench: &Bench) {
    let stream = open(bench, op::STREAM_LAZY).await;
    let (mut outbound, mut inbound) = (stream.outbound, stream.inbound);
    let (total, sent) = (BOUND, Arc::new(AtomicUsize::new(0)));
    let counter = Arc::clone(&sent);
    let message = octets(1 << 16);
    let writer = bench.beside(async move {
        while counter.load(Ordering::SeqCst) < total {
            outbound.send(message.clone()).await?;
            counter.fetch_add(message.len(), Ordering::SeqCst);
        }
        outbound.finish();
        Ok::<(), corewire_message::CallError>(())
    });
    bench.sleep(Duration::from_millis(300)).await;
    assert!(
        sent.load(Ordering::SeqCst) < total,
        "nothing held the writer up"
    );
    bench.probe.gate.open();
    let answer = inbound.message().await.unwrap().expect("an answer");
    assert_eq!(answer.into_bytes(), total.to_string());
    writer.end().await.unwrap();
}

/// A caller that does not read holds the service up: what that may send is bounded.
pub async fn a_caller_that_does_not_read_bounds_the_service(bench: &Bench) {
    let mut stream = open(bench, op::STREAM_FLOOD).await;
    next(&mut stream.inbound).await;
    let flooded = || usize::try_from(bench.probe.flooded()).unwrap_or(usize::MAX) * FLOOD_MESSAGE;
    // One that is never held up is beyond the bound before long.
    let (mut before, mut still) = (0, 0);
    while still < 10 {
        bench.sleep(Duration::from_millis(25)).await;
        still = if flooded() == before { still + 1 } else { 0 };
        before = flooded();
        assert!(
            before < BOUND,
            "{before} octets were taken for a caller that reads one message"
        );
    }
    // It goes on where it stopped.
    for _ in 0..before / FLOOD_MESSAGE {
        next(&mut stream.inbound).await;
    }
    bench
        .until("the service goes on", || flooded() > before)
        .await;
}

/// A stream that stands still does not hold up other calls.
pub async fn a_stream_that_stands_still_does_not_hold_up_calls(bench: &Bench) {
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut stream = open(bench, op::STREAM_FLOOD).await;
        next(&mut stream.inbound).await;
        streams.push(stream);
    }
    bench.sleep(Duration::from_millis(100)).await;
    for _ in 0..10 {
        bench.works().await;
        let request = Request::new(op::ECHO).with_body(octets(100_000));
        assert_eq!(
            bench.client.call(request).await.unwrap().body.len(),
            100_000
        );
    }
}
