//! For tests: asks a router as a transport would, without one.

use super::Router;
use corewire::{Headers, Operation, Peer, Request};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// What was answered.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The HTTP status.
    pub status: u16,
    /// Its headers.
    pub headers: Headers,
    /// Its body.
    pub body: Vec<u8>,
}

impl Answered {
    /// A header of it.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get_str(name)
    }

    /// Its body as text.
    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// Its body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The cause of a problem document.
    pub fn cause(&self) -> String {
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json")
        );
        self.json()["cause"].as_str().unwrap().to_owned()
    }
}

/// What a future gives that waits for nothing.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits"),
    }
}

/// Asks and waits for nothing: a handler that would have to is a fault of the test.
pub fn ask<S: Send + Sync + 'static>(
    router: &Router<S>,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answered {
    ask_as(router, None, method, path, headers, body)
}

/// The same by this peer.
pub fn ask_as<S: Send + Sync + 'static>(
    router: &Router<S>,
    peer: Option<&Peer>,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answered {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let mut all = Headers::new();
    for (name, value) in [("corewire-method", method), ("corewire-query", query)] {
        all.append(name, value).unwrap();
    }
    for (name, value) in headers {
        all.append(name, value).unwrap();
    }
    let operation = Operation::parse(path.trim_start_matches('/')).unwrap();
    let request = Request::new(operation)
        .with_headers(all)
        .with_body(body.to_owned());
    let response = now(router.answer_to(peer, request));
    let own = corewire_transport::mapping::status::http_status(response.status.code());
    let named = response.headers.get_str("corewire-http-status");
    Answered {
        status: named.map_or(own, |named| named.parse().unwrap()),
        headers: response.headers,
        body: response.body.into_bytes().to_vec(),
    }
}
