//! Calls of many messages.

use super::super::service::{append, text};
use super::super::{Bench, join_all, operations as op};
use super::{end, next, octets, open};
use corewire_message::{Caller, Code, ErrorKind, Headers, Request};

/// Messages go both ways in turn, in order, and the call ends well.
pub async fn an_echo_goes_both_ways_in_order(bench: &Bench) {
    let mut stream = open(bench, op::STREAM_ECHO).await;
    for number in 0..50 {
        stream.outbound.send(number.to_string()).await.unwrap();
        assert_eq!(text(&next(&mut stream.inbound).await), number.to_string());
    }
    stream.outbound.finish();
    assert!(stream.inbound.message().await.unwrap().is_none());
    // The end stays the end.
    assert!(stream.inbound.message().await.unwrap().is_none());
}

/// Messages keep their boundaries, also empty ones and large ones.
pub async fn messages_keep_their_boundaries(bench: &Bench) {
    let mut stream = open(bench, op::STREAM_ECHO).await;
    for length in [1, 0, 16_384, 0, 0, 300_000, 65_535, 1] {
        let message = octets(length);
        stream.outbound.send(message.clone()).await.unwrap();
        let received = next(&mut stream.inbound).await.into_bytes();
        assert!(
            received == message,
            "{length} octets came back as {}",
            received.len()
        );
    }
    stream.outbound.finish();
    end(&mut stream.inbound).await.unwrap();
}

/// The body of the opening request is the first message.
pub async fn the_opening_body_is_the_first_message(bench: &Bench) {
    let request = Request::new(op::STREAM_ECHO).with_body("first".to_owned());
    let mut stream = bench.client.open(request).await.unwrap();
    assert_eq!(text(&next(&mut stream.inbound).await), "first");
    stream.outbound.send("second".to_owned()).await.unwrap();
    assert_eq!(text(&next(&mut stream.inbound).await), "second");
}

/// A service that only listens answers once its caller has finished.
pub async fn a_client_stream_is_answered_at_its_end(bench: &Bench) {
    let mut stream = open(bench, op::STREAM_SUM).await;
    for number in 1..=100 {
        stream.outbound.send(number.to_string()).await.unwrap();
    }
    stream.outbound.finish();
    assert_eq!(text(&next(&mut stream.inbound).await), "5050");
    assert!(stream.inbound.message().await.unwrap().is_none());
}

/// A stream that brings nothing but its end is answered.
pub async fn a_client_stream_may_be_empty(bench: &Bench) {
    let mut stream = open(bench, op::STREAM_SUM).await;
    stream.outbound.finish();
    assert_eq!(text(&next(&mut stream.inbound).await), "0");
    assert!(stream.inbound.message().await.unwrap().is_none());
}

/// A service that only speaks is heard to its end, although the caller has finished before.
pub async fn a_server_stream_goes_on_after_half_close(bench: &Bench) {
    let request = Request::new(op::STREAM_COUNT).with_body("1000".to_owned());
    let mut stream = bench.client.open(request).await.unwrap();
    stream.outbound.finish();
    for number in 0..1000 {
        let message = stream.inbound.message().await.unwrap();
        assert_eq!(message.as_ref().map(text), Some(number.to_string()));
    }
    assert!(stream.inbound.message().await.unwrap().is_none());
}

/// Trailers come after the last message, not before.
pub async fn trailers_come_at_the_end(bench: &Bench) {
    let mut stream = open(bench, op::STREAM_ECHO).await;
    for _ in 0..3 {
        stream.outbound.send("message".to_owned()).await.unwrap();
        next(&mut stream.inbound).await;
    }
    assert!(stream.inbound.trailers().is_empty());
    stream.outbound.finish();
    assert!(stream.inbound.message().await.unwrap().is_none());
    assert_eq!(stream.inbound.trailers().get_str("x-count"), Some("3"));
}

/// A failure at the end comes after the messages, with its code, message and headers.
pub async fn a_failing_status_comes_after_the_messages(bench: &Bench) {
    let mut headers = Headers::new();
    append(
        &mut headers,
        "x-code",
        Code::DataLoss.number().to_string().as_bytes(),
    );
    append(&mut headers, "x-message", "lost at the end".as_bytes());
    let request = Request::new(op::STREAM_FAIL).with_headers(headers);
    let mut stream = bench.client.open(request).await.unwrap();
    assert_eq!(text(&next(&mut stream.inbound).await), "one");
    assert_eq!(text(&next(&mut stream.inbound).await), "two");
    let error = stream.inbound.message().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Answered, Code::DataLoss)
    );
    let answer = error.into_response().unwrap();
    assert_eq!(answer.status.message(), "lost at the end");
    assert_eq!(answer.headers.get_str("x-detail"), Some("in a header"));
    bench.works().await;
}

/// Opening a stream that nobody knows is answered so.
pub async fn an_unknown_stream_is_unimplemented(bench: &Bench) {
    let mut stream = open(bench, op::UNKNOWN).await;
    let error = end(&mut stream.inbound).await.unwrap_err();
    assert_eq!(error.code(), Code::Unimplemented);
    bench.works().await;
}

/// A service may end the call while its caller still speaks.
pub async fn a_service_may_answer_early(bench: &Bench) {
    let mut stream = open(bench, op::STREAM_EARLY).await;
    stream
        .outbound
        .send("more to come".to_owned())
        .await
        .unwrap();
    assert_eq!(text(&next(&mut stream.inbound).await), "enough");
    assert!(stream.inbound.message().await.unwrap().is_none());
    assert!(stream.outbound.send("too late".to_owned()).await.is_err());
    bench.works().await;
}

/// Streams and calls share a connection without getting into each other's way.
pub async fn streams_and_calls_mix(bench: &Bench) {
    let mut streams = Vec::new();
    for _ in 0..20 {
        streams.push(open(bench, op::STREAM_ECHO).await);
    }
    for round in 0..10 {
        for (number, stream) in streams.iter_mut().enumerate() {
            stream
                .outbound
                .send(format!("{round} of {number}"))
                .await
                .unwrap();
        }
        bench.works().await;
        for (number, stream) in streams.iter_mut().enumerate() {
            assert_eq!(
                text(&next(&mut stream.inbound).await),
                format!("{round} of {number}")
            );
        }
    }
    for mut stream in streams {
        stream.outbound.finish();
        assert!(stream.inbound.message().await.unwrap().is_none());
    }
}

/// A task may write while another reads: more goes through than both ends hold.
pub async fn writing_and_reading_at_once_moves_more_than_fits(bench: &Bench) {
    const MESSAGES: usize = 400;
    let stream = open(bench, op::STREAM_ECHO).await;
    let (mut outbound, mut inbound) = (stream.outbound, stream.inbound);
    let message = octets(20_000);
    let sent = message.clone();
    let writer = bench.beside(async move {
        for _ in 0..MESSAGES {
            outbound.send(sent.clone()).await?;
        }
        outbound.finish();
        Ok::<(), corewire_message::CallError>(())
    });
    let mut count = 0;
    while let Some(received) = inbound.message().await.unwrap() {
        assert!(
            received.into_bytes() == message,
            "message {count} came changed"
        );
        count += 1;
    }
    writer.end().await.unwrap();
    assert_eq!(count, MESSAGES);
}

/// Many streams at once, each with its own messages.
pub async fn many_streams_at_once(bench: &Bench) {
    let one = async |number: usize| {
        let mut stream = open(bench, op::STREAM_ECHO).await;
        for round in 0..10 {
            stream
                .outbound
                .send(format!("{number} {round}"))
                .await
                .unwrap();
            assert_eq!(
                text(&next(&mut stream.inbound).await),
                format!("{number} {round}")
            );
        }
        stream.outbound.finish();
        end(&mut stream.inbound).await.unwrap();
    };
    join_all((0..100).map(one)).await;
}
