//! Messages that are too long.

use super::super::{Bench, MAX_MESSAGE, operations as op};
use super::{end, octets, open};
use corewire_message::{Caller, Code, Request};

/// The longest message that is taken is taken, both ways.
pub async fn the_longest_message_arrives(bench: &Bench) {
    let answer = bench.call(op::ECHO, vec![7; MAX_MESSAGE]).await.unwrap();
    assert_eq!(answer.body.len(), MAX_MESSAGE);
}

fn is_too_long(code: Code) -> bool {
    // Found here it is an argument that cannot be sent, told by the peer a limit.
    matches!(code, Code::InvalidArgument | Code::ResourceExhausted)
}

/// One octet more is refused before it is sent; the connection lives on.
pub async fn a_longer_request_is_not_sent(bench: &Bench) {
    bench.works().await;
    let error = bench
        .call(op::COUNT, vec![7; MAX_MESSAGE + 1])
        .await
        .unwrap_err();
    assert!(is_too_long(error.code()), "{error:?}");
    assert!(!error.may_have_executed());
    assert_eq!(bench.probe.counted(), 0);
    bench.works().await;
}

/// What this end allows and the peer does not is refused too, by either.
pub async fn a_request_longer_than_the_server_takes_is_refused(bench: &Bench) {
    let generous = bench.fixture().connect(2 * MAX_MESSAGE);
    generous.call(Request::new(op::ECHO)).await.unwrap();
    let request = Request::new(op::COUNT).with_body(octets(MAX_MESSAGE + 1));
    let error = generous.call(request).await.unwrap_err();
    assert!(is_too_long(error.code()), "{error:?}");
    assert_eq!(bench.probe.counted(), 0);
    let answer = generous.call(Request::new(op::COUNT)).await.unwrap();
    assert_eq!(answer.body.into_bytes(), "1");
}

/// An answer that is too long is an error, not a lost connection.
pub async fn a_longer_answer_is_an_error(bench: &Bench) {
    let waiting = bench.start(Request::new(op::WAIT));
    bench.until_started(1).await;
    let body = (MAX_MESSAGE + 1).to_string();
    let error = bench.call(op::LARGE, body).await.unwrap_err();
    assert!(
        matches!(error.code(), Code::ResourceExhausted | Code::Internal),
        "{error:?}"
    );
    bench.works().await;
    bench.probe.gate.open();
    waiting.end().await.unwrap();
}

/// A message of a stream that is too long is refused; the connection lives on.
pub async fn a_longer_message_of_a_stream_is_refused(bench: &Bench) {
    let mut stream = open(bench, op::STREAM_ECHO).await;
    let sent = stream.outbound.send(octets(MAX_MESSAGE + 1)).await;
    let error = match sent {
        Err(error) => error,
        // Handed over before it was looked at: the receiving side tells.
        Ok(()) => end(&mut stream.inbound).await.unwrap_err(),
    };
    assert!(is_too_long(error.code()), "{error:?}");
    bench.works().await;
}
