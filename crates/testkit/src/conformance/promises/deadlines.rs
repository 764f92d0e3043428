//! Deadlines, on both ends.

use super::super::{Bench, operations as op};
use super::{end, open};
use corewire_message::{CallError, Caller, Code, ErrorKind, Request};
use std::time::Duration;

const SOON: Duration = Duration::from_millis(150);

/// How late an end may be told on a machine that stands still for a while.
const LATE: Duration = Duration::from_secs(8);

/// Deadlines for what must have begun before they pass: the first that leaves time enough is taken.
const LATER: [Duration; 4] = [
    SOON,
    Duration::from_millis(600),
    Duration::from_millis(2400),
    Duration::from_millis(9600),
];

/// The caller is told when the deadline passes: not before, and soon after.
pub async fn a_call_ends_when_its_deadline_passes(bench: &Bench) {
    bench.works().await;
    let start = bench.now();
    let error = bench
        .client
        .call(bench.within(SOON, op::WAIT))
        .await
        .unwrap_err();
    let took = bench.now() - start;
    assert_eq!(error.code(), Code::DeadlineExceeded);
    // On a busy machine it may have been too late before it left.
    assert!(error.may_have_executed() || bench.probe.started() == 0);
    assert!(
        took >= SOON,
        "ended after {took:?}, before its deadline of {SOON:?}"
    );
    assert!(took < SOON + LATE, "ended after {took:?}");
    bench.works().await;
}

/// The service need not go on: its future is dropped.
pub async fn the_service_is_told_when_the_deadline_passes(bench: &Bench) {
    bench.works().await;
    let error = bench
        .client
        .call(bench.within(SOON, op::WAIT))
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded);
    // Behind the call on the same connection: what came of it has begun.
    bench.works().await;
    assert!(bench.probe.started() == 1 || !error.may_have_executed());
    bench
        .until("the service's future is dropped", || {
            bench.probe.dropped() == bench.probe.started()
        })
        .await;
}

/// The service sees how much time is left.
pub async fn the_service_sees_the_time_that_is_left(bench: &Bench) {
    bench.works().await;
    let given = Duration::from_secs(60);
    let left = bench.ask(bench.within(given, op::DEADLINE)).await;
    let left = Duration::from_micros(left.parse().expect("a number"));
    // Milliseconds are rounded up on some wires.
    assert!(
        left <= given + Duration::from_millis(1),
        "{left:?} of {given:?} are left"
    );
    assert!(left > given - LATE, "{left:?} of {given:?} are left");
}

/// A call without a deadline gets its channel's.
pub async fn no_deadline_means_the_channels(bench: &Bench) {
    bench.works().await;
    let left = bench.ask(Request::new(op::DEADLINE)).await;
    let left = Duration::from_micros(left.parse().expect("a number"));
    let default = Duration::from_secs(10);
    assert!(
        left <= default + Duration::from_millis(1) && left > default - LATE,
        "{left:?}"
    );
}

/// A call that comes too late already is not executed.
pub async fn a_deadline_in_the_past_is_not_executed(bench: &Bench) {
    bench.works().await;
    let error = bench
        .client
        .call(bench.within(Duration::ZERO, op::COUNT))
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded);
    bench.works().await;
    assert!(bench.probe.counted() == 0 || error.may_have_executed());
}

/// Many deadlines at once pass each at its own time.
pub async fn deadlines_pass_in_their_order(bench: &Bench) {
    bench.works().await;
    let start = bench.now();
    let calls: Vec<_> = [90u64, 30, 60]
        .map(|millis| {
            let (after, client) = (Duration::from_millis(millis), bench.client.clone());
            let request = bench.within(after, op::WAIT);
            let clock = bench.fixture().clock();
            let call = bench.beside(async move {
                let result = client.call(request).await;
                (clock.now(), result)
            });
            (after, call)
        })
        .into_iter()
        .collect();
    for (after, call) in calls {
        let (at, result) = call.end().await;
        assert_eq!(result.unwrap_err().code(), Code::DeadlineExceeded);
        assert!(
            at - start >= after && at - start < after + LATE,
            "{:?}",
            at - start
        );
    }
}

/// A stream has a deadline like any call.
pub async fn a_stream_ends_when_its_deadline_passes(bench: &Bench) {
    bench.works().await;
    for after in LATER {
        let start = bench.now();
        let (began, error) = stream_until(bench, after).await;
        assert_eq!(error.code(), Code::DeadlineExceeded);
        assert!(bench.now() - start >= after);
        // Behind the stream on the same connection: what came of it has begun.
        bench.works().await;
        bench
            .until("the service is told", || {
                bench.probe.dropped() + bench.probe.cancelled() == bench.probe.started()
            })
            .await;
        if began {
            assert!(bench.probe.started() >= 1);
            return;
        }
    }
    panic!("no deadline was long enough for a stream to begin");
}

/// A stream that nobody ends before its deadline: whether the service has answered on it, and its end.
async fn stream_until(bench: &Bench, after: Duration) -> (bool, CallError) {
    let request = bench.within(after, op::STREAM_ECHO);
    let mut stream = match bench.client.open(request).await {
        Ok(stream) => stream,
        Err(error) => return (false, error),
    };
    if let Err(error) = stream.outbound.send("one".to_owned()).await {
        return (false, error);
    }
    match stream.inbound.message().await {
        Ok(message) => assert!(message.is_some(), "the service goes on"),
        Err(error) => return (false, error),
    }
    (true, end(&mut stream.inbound).await.unwrap_err())
}

/// Waiting for one call does not keep another from ending.
pub async fn a_slow_call_does_not_hold_up_others(bench: &Bench) {
    let slow = bench.start(Request::new(op::WAIT).with_body("slow".to_owned()));
    bench.until_started(1).await;
    for _ in 0..10 {
        bench.works().await;
    }
    assert!(!slow.is_over());
    // Streams neither.
    let mut stream = open(bench, op::STREAM_COUNT).await;
    stream.outbound.send("3".to_owned()).await.unwrap();
    end(&mut stream.inbound).await.unwrap();
    bench.probe.gate.open();
    assert_eq!(slow.end().await.unwrap().body.into_bytes(), "slow");
}

/// The kind of the error says who gave up.
pub async fn a_passed_deadline_is_found_here_or_told_by_the_peer(bench: &Bench) {
    bench.works().await;
    let error = bench
        .client
        .call(bench.within(SOON, op::WAIT))
        .await
        .unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::DeadlineExceeded | ErrorKind::Answered
        ),
        "{error:?}"
    );
}
