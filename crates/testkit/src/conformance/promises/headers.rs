//! Named values that travel with a message.

use super::super::service::{append, own_headers};
use super::super::{Bench, operations as op};
use corewire_message::{Caller, ErrorKind, Headers, Request};

fn headers(entries: &[(&str, &[u8])]) -> Headers {
    let mut headers = Headers::new();
    for (name, value) in entries {
        append(&mut headers, name, value);
    }
    headers
}

async fn come_back(bench: &Bench, sent: Headers) {
    let request = Request::new(op::ECHO_HEADERS).with_headers(sent.clone());
    let answer = bench.client.call(request).await.unwrap();
    let received = own_headers(&answer.headers);
    let list = |headers: &Headers| -> Vec<(String, Vec<u8>)> {
        headers
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_vec()))
            .collect()
    };
    assert_eq!(list(&received), list(&sent));
}

/// What is sent arrives, and what is answered comes back.
pub async fn headers_go_both_ways(bench: &Bench) {
    come_back(
        bench,
        headers(&[("x-one", b"1"), ("x-two", b"two words"), ("x-empty", b"")]),
    )
    .await;
}

/// A name may stand more than once; the values keep their order.
pub async fn repeated_names_keep_their_order(bench: &Bench) {
    let sent = [
        ("x-a", &b"first"[..]),
        ("x-b", b"between"),
        ("x-a", b"second"),
        ("x-a", b"first"),
    ];
    come_back(bench, headers(&sent)).await;
}

/// A name that ends in `-bin` carries any octets that a header can hold, in every protocol.
pub async fn binary_values_arrive_under_bin_names(bench: &Bench) {
    let all: Vec<u8> = (1..=255u8)
        .filter(|octet| !matches!(octet, b'\r' | b'\n'))
        .collect();
    come_back(
        bench,
        headers(&[
            ("x-all-bin", &all),
            ("x-comma-bin", b"a,b"),
            ("x-space-bin", b" "),
        ]),
    )
    .await;
}

/// Other names carry any octets too, or the call is not sent: never is a value changed.
pub async fn binary_values_under_plain_names_arrive_or_are_refused(bench: &Bench) {
    let sent = headers(&[("x-plain", &[1, 2, 255])]);
    if bench.fixture().carries_any_octets() {
        come_back(bench, sent).await;
        return;
    }
    let request = Request::new(op::COUNT).with_headers(sent);
    let error = bench.client.call(request).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.may_have_executed()),
        (ErrorKind::Unsendable, false)
    );
    assert_eq!(bench.probe.counted(), 0);
    bench.works().await;
}

/// Headers of 30 kB are headers like others.
pub async fn large_headers_arrive(bench: &Bench) {
    let value = vec![b'v'; 1000];
    let names: Vec<String> = (0..30).map(|number| format!("x-large-{number}")).collect();
    let entries: Vec<(&str, &[u8])> = names
        .iter()
        .map(|name| (name.as_str(), value.as_slice()))
        .collect();
    come_back(bench, headers(&entries)).await;
}

/// More headers than are taken are refused before they are sent, and the connection lives on.
pub async fn too_large_headers_are_not_executed(bench: &Bench) {
    let mut sent = Headers::new();
    for number in 0..20 {
        append(&mut sent, &format!("x-huge-{number}"), &vec![b'v'; 10_000]);
    }
    let request = Request::new(op::COUNT).with_headers(sent);
    let error = bench.client.call(request).await.unwrap_err();
    assert!(!error.may_have_executed(), "{error:?}");
    assert_eq!(bench.probe.counted(), 0);
    bench.works().await;
}
