//! Calls that are answered with a failure.

use super::super::service::{append, text};
use super::super::{Bench, operations as op};
use corewire_message::{Caller, Code, ErrorKind, Headers, Origin, Request, Response};

async fn fail(bench: &Bench, code: Code, message: &str, body: &str) -> Response {
    let mut headers = Headers::new();
    append(&mut headers, "x-code", code.number().to_string().as_bytes());
    append(&mut headers, "x-message", message.as_bytes());
    let request = Request::new(op::FAIL)
        .with_headers(headers)
        .with_body(body.to_owned());
    let error = bench.client.call(request).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.origin()),
        (ErrorKind::Answered, Origin::Peer)
    );
    assert_eq!(error.code(), code);
    error
        .into_response()
        .expect("an answered error holds its answer")
}

/// Every code but OK arrives as it was given.
pub async fn every_code_arrives(bench: &Bench) {
    for code in Code::ALL {
        if code != Code::Ok {
            assert_eq!(fail(bench, code, "", "").await.status.code(), code);
        }
    }
}

/// The sentence of a failure arrives, whatever its letters.
pub async fn the_message_of_a_failure_arrives(bench: &Bench) {
    for message in [
        "no such GUTI",
        "50 % of it",
        "größer als möglich",
        "a \"b\" \\ c",
    ] {
        let answer = fail(bench, Code::NotFound, message, "").await;
        assert_eq!(answer.status.message(), message);
    }
}

/// The body of a failure arrives.
pub async fn the_body_of_a_failure_arrives(bench: &Bench) {
    let answer = fail(bench, Code::FailedPrecondition, "not now", "the detail").await;
    assert_eq!(answer.status.message(), "not now");
    assert_eq!(text(&answer.body), "the detail");
}

/// The headers of a failure arrive.
pub async fn the_headers_of_a_failure_arrive(bench: &Bench) {
    let answer = fail(bench, Code::Aborted, "", "").await;
    assert_eq!(answer.headers.get_str("x-detail"), Some("in a header"));
}

/// Asking for what nobody knows is answered so, and does no harm.
pub async fn an_unknown_operation_is_unimplemented(bench: &Bench) {
    let error = bench
        .call(op::UNKNOWN, "body".to_owned())
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::Unimplemented);
    bench.works().await;
}

/// A service that panics has failed one call; the server goes on.
pub async fn a_panic_of_the_service_fails_one_call(bench: &Bench) {
    let waiting = bench.start(Request::new(op::WAIT));
    bench.until_started(1).await;
    let error = bench.call(op::PANIC, String::new()).await.unwrap_err();
    assert_eq!(error.code(), Code::Internal);
    bench.works().await;
    bench.probe.gate.open();
    waiting.end().await.unwrap();
}
