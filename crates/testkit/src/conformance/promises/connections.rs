//! Connections that end, and what is said of the calls on them.

use super::super::service::text;
use super::super::{Bench, operations as op};
use super::{end, next, open};
use corewire_message::{CallError, Caller, Code, ErrorKind, Request};
use std::time::Duration;

/// Nobody listens: nothing was sent, the call may be tried elsewhere.
pub async fn a_refused_connection_is_not_sent(bench: &Bench) {
    let nowhere = bench.fixture().connect_to_nowhere();
    for _ in 0..3 {
        let error = nowhere.call(Request::new(op::ECHO)).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.may_have_executed()),
            (ErrorKind::NotSent, false)
        );
        assert_eq!(error.code(), Code::Unavailable);
    }
}

/// Nobody listens: a stream is not opened, or ends the same way.
pub async fn a_refused_stream_is_not_sent(bench: &Bench) {
    let nowhere = bench.fixture().connect_to_nowhere();
    let error = match nowhere.open(Request::new(op::STREAM_ECHO)).await {
        Err(error) => error,
        Ok(mut stream) => end(&mut stream.inbound).await.unwrap_err(),
    };
    assert_eq!(
        (error.kind(), error.may_have_executed()),
        (ErrorKind::NotSent, false)
    );
}

/// The server dies in mid-call: it may have executed it, nobody knows.
pub async fn a_server_that_dies_leaves_the_fate_unknown(bench: &Bench) {
    let call = bench.start(Request::new(op::WAIT));
    bench.until_started(1).await;
    bench.fixture().stop_server();
    let error = call.end().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.may_have_executed()),
        (ErrorKind::FateUnknown, true)
    );
    assert_eq!(error.code(), Code::Unavailable);
    bench
        .until("the service's future is dropped", || {
            bench.probe.dropped() == 1
        })
        .await;
}

/// The server dies in mid-stream: both halves are told.
pub async fn a_server_that_dies_ends_streams(bench: &Bench) {
    let mut stream = open(bench, op::STREAM_ECHO).await;
    stream.outbound.send("one".to_owned()).await.unwrap();
    next(&mut stream.inbound).await;
    bench.fixture().stop_server();
    let error = end(&mut stream.inbound).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.may_have_executed()),
        (ErrorKind::FateUnknown, true)
    );
    assert!(stream.outbound.send("two".to_owned()).await.is_err());
}

/// After the server came back the same client works, without being told to.
pub async fn the_same_client_works_after_the_server_came_back(bench: &Bench) {
    bench.works().await;
    bench.fixture().stop_server();
    let gone = bench.call(op::ECHO, String::new()).await.unwrap_err();
    assert_eq!(gone.code(), Code::Unavailable, "{gone:?}");
    bench.fixture().start_server();
    let give_up = bench.now() + Duration::from_secs(20);
    loop {
        match bench.call(op::ECHO, String::new()).await {
            Ok(_) => break,
            Err(error) => {
                assert_eq!(error.code(), Code::Unavailable, "{error:?}");
                assert!(bench.now() < give_up, "still not: {error:?}");
            }
        }
        bench.sleep(Duration::from_millis(20)).await;
    }
    bench.works().await;
}

/// Draining lets calls in flight end well, and refuses new ones as not executed.
pub async fn draining_finishes_calls_and_refuses_new_ones(bench: &Bench) {
    let running = bench.start(Request::new(op::WAIT).with_body("finished".to_owned()));
    bench.until_started(1).await;
    bench.fixture().drain_server();
    // What comes before the drain has begun is still answered.
    let give_up = bench.now() + Duration::from_secs(20);
    loop {
        match bench.call(op::ECHO, String::new()).await {
            Ok(_) => assert!(bench.now() < give_up, "it does not drain"),
            Err(error) => {
                assert!(!error.may_have_executed(), "{error:?}");
                break;
            }
        }
        bench.sleep(Duration::from_millis(1)).await;
    }
    for _ in 0..3 {
        let request = bench.within(Duration::from_secs(10), op::COUNT);
        let refused = bench.client.call(request).await.unwrap_err();
        assert!(!refused.may_have_executed(), "{refused:?}");
        assert_eq!(refused.code(), Code::Unavailable, "{refused:?}");
    }
    assert!(!running.is_over());
    bench.probe.gate.open();
    assert_eq!(text(&running.end().await.unwrap().body), "finished");
    assert_eq!(bench.probe.counted(), 0);
}

/// Draining lets streams end well too.
pub async fn draining_finishes_streams(bench: &Bench) {
    let mut stream = open(bench, op::STREAM_ECHO).await;
    stream.outbound.send("before".to_owned()).await.unwrap();
    next(&mut stream.inbound).await;
    bench.fixture().drain_server();
    bench.sleep(Duration::from_millis(50)).await;
    stream.outbound.send("while".to_owned()).await.unwrap();
    assert_eq!(text(&next(&mut stream.inbound).await), "while");
    stream.outbound.finish();
    assert!(stream.inbound.message().await.unwrap().is_none());
}

/// Calls that race with a drain are answered or refused; none is lost and none executed unheard.
pub async fn calls_that_race_with_a_drain_are_answered_or_refused(bench: &Bench) {
    bench.works().await;
    let client = bench.client.clone();
    let caller = bench.beside(async move {
        let mut answered = 0;
        loop {
            match client.call(Request::new(op::COUNT)).await {
                Ok(_) => answered += 1,
                Err(error) => return (answered, error),
            }
        }
    });
    bench.sleep(Duration::from_millis(30)).await;
    bench.fixture().drain_server();
    let (answered, error): (u64, CallError) = caller.end().await;
    assert!(!error.may_have_executed(), "{error:?}");
    assert_eq!(bench.probe.counted(), answered);
}

/// Two clients have two connections: one's end is not the other's.
pub async fn clients_are_independent(bench: &Bench) {
    let other = bench.fixture().connect(super::super::MAX_MESSAGE);
    other.call(Request::new(op::ECHO)).await.unwrap();
    bench.works().await;
    drop(other);
    bench.works().await;
}
