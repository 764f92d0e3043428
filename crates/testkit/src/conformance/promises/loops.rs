//! Where an event loop drives the client.

use super::super::{Bench, operations as op};
use super::{end, next, open};
use corewire_message::{Caller, ErrorKind, Event, Origin, Request};

/// The loop has ended: every call says so at once.
pub async fn a_call_after_the_loop_ended_says_so(bench: &Bench) {
    bench.works().await;
    bench.fixture().end_client_loop();
    let errors = [
        bench.client.call(Request::new(op::ECHO)).await.unwrap_err(),
        bench
            .client
            .send(Event::new(op::SINK, String::new()))
            .await
            .unwrap_err(),
        bench
            .client
            .open(Request::new(op::STREAM_ECHO))
            .await
            .map(drop)
            .unwrap_err(),
    ];
    for error in errors {
        assert_eq!(
            (error.kind(), error.origin()),
            (ErrorKind::NotSent, Origin::Local)
        );
        assert!(!error.may_have_executed());
        assert!(error.to_string().contains("event loop"), "{error}");
    }
}

/// The loop ends in mid-call: the call ends too.
pub async fn a_call_ends_with_its_loop(bench: &Bench) {
    let call = bench.start(Request::new(op::WAIT));
    let mut stream = open(bench, op::STREAM_ECHO).await;
    stream.outbound.send("one".to_owned()).await.unwrap();
    next(&mut stream.inbound).await;
    bench.until_started(2).await;
    bench.fixture().end_client_loop();
    assert!(call.end().await.unwrap_err().may_have_executed());
    assert!(
        end(&mut stream.inbound)
            .await
            .unwrap_err()
            .may_have_executed()
    );
    assert!(stream.outbound.send("two".to_owned()).await.is_err());
    // The server sees its client go.
    bench
        .until("both services are told", || {
            bench.probe.dropped() + bench.probe.cancelled() == 2
        })
        .await;
}
