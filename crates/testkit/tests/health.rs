//! The health service over every protocol, and what it says of a server that drains.

use corewire_message::blocking::Caller;
use corewire_message::health::{CHECK, Health, Serving, WATCH, question};
use corewire_message::{
    Body, CallContext, CallKind, Code, Headers, Operation, Request, Response, Service,
};
use corewire_transport::blocking::Client;
use corewire_transport::{ClientOptions, Server, ServerOptions, parse_address};
use std::sync::Arc;
use std::time::Duration;

const ECHO: Operation = Operation::from_static("test.v1.Echo/Call");

struct Echo;

impl Service for Echo {
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        (*operation == ECHO).then_some(CallKind::Unary)
    }

    async fn call(&self, _context: &CallContext, request: Request) -> Response {
        Response::ok(request.body)
    }
}

fn start(health: &Health) -> Server {
    let anywhere = [parse_address("127.0.0.1:0").unwrap()];
    let mut options = ServerOptions::default();
    options.loops = 1;
    Server::start(&anywhere, Arc::new(health.around(Echo)), options).unwrap()
}

fn connect(server: &Server, protocol: &str) -> Client {
    let endpoint = format!("{protocol}://{}", server.addresses()[0]);
    Client::connect(endpoint.parse().unwrap(), ClientOptions::default()).unwrap()
}

fn serving(body: Body) -> Serving {
    Serving::from_message(&body.into_bytes()).unwrap()
}

#[test]
fn every_protocol_asks_and_the_service_behind_is_reached() {
    let health = Health::new();
    health.set("test.v1.Echo", Serving::NotServing);
    let server = start(&health);
    for protocol in ["native", "grpc", "rest"] {
        let client = connect(&server, protocol);
        let ask = |service| client.call(Request::new(CHECK).with_body(question(service)));
        assert_eq!(serving(ask("").unwrap().body), Serving::Serving);
        assert_eq!(
            serving(ask("test.v1.Echo").unwrap().body),
            Serving::NotServing
        );
        assert_eq!(ask("test.v1.Other").unwrap_err().code(), Code::NotFound);
        let body = Body::from_static(b"as before");
        let echoed = client
            .call(Request::new(ECHO).with_body(body.clone()))
            .unwrap();
        assert_eq!(echoed.body, body);
    }
    // As curl and the probes of orchestrators ask.
    let client = connect(&server, "rest");
    let mut headers = Headers::new();
    headers.append("accept", "*/*").unwrap();
    let answer = client
        .call(Request::new(CHECK).with_headers(headers))
        .unwrap();
    assert_eq!(
        answer.body,
        Body::from_static(b"{\"status\":\"SERVING\"}\n")
    );
}

#[test]
fn watchers_hear_of_every_change_and_of_the_end_before_calls_are_refused() {
    for protocol in ["native", "grpc", "rest"] {
        let health = Health::new();
        let server = start(&health);
        let client = connect(&server, protocol);
        let mut watch = client
            .open(Request::new(WATCH).with_body(question("test.v1.Echo")))
            .unwrap();
        let mut next = || serving(watch.receive().unwrap().unwrap());
        assert_eq!(next(), Serving::ServiceUnknown);
        health.set("test.v1.Echo", Serving::Serving);
        assert_eq!(next(), Serving::Serving);
        // What is said again is no news: the next is the change after it.
        health.set("test.v1.Echo", Serving::Serving);
        health.set("test.v1.Echo", Serving::NotServing);
        assert_eq!(next(), Serving::NotServing);
        health.set("test.v1.Echo", Serving::Serving);
        assert_eq!(next(), Serving::Serving);

        health.drain();
        assert_eq!(next(), Serving::NotServing);
        assert_eq!(watch.receive().unwrap_err().code(), Code::Unavailable);
        // Calls are still taken.
        let other = connect(&server, protocol);
        other.call(Request::new(ECHO)).unwrap();
        let said = other.call(Request::new(CHECK)).unwrap();
        assert_eq!(serving(said.body), Serving::NotServing);
        // And an open watch does not hold the server up.
        let mut late = client.open(Request::new(WATCH)).unwrap();
        late.send(question("")).unwrap();
        assert_eq!(
            serving(late.receive().unwrap().unwrap()),
            Serving::NotServing
        );
        server.drain(Duration::from_secs(20)).unwrap();
    }
}
