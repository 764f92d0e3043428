//! Many threads on one connection: each gets its own answer, and what goes wrong is told to those
//! whom it concerns and to nobody else.

use corewire_message::blocking::Caller as _;
use corewire_message::{
    Body, CallContext, CallKind, Code, ErrorKind, Event, Inbound, Operation, Outbound, Request,
    Response, Service,
};
use corewire_transport::native::{Config, Connection};
use corewire_transport::{
    Address, ClientOptions, Endpoint, Protocol, Server, ServerOptions, blocking,
};
use corewire_wire::{Core, Input, Outbox, Output};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const ECHO: Operation = Operation::from_static("test.v1.Test/Echo");
const SLOW: Operation = Operation::from_static("test.v1.Test/Slow");

struct Echo;

impl Service for Echo {
    fn kind(&self, _operation: &Operation) -> Option<CallKind> {
        Some(CallKind::Unary)
    }

    async fn call(&self, _context: &CallContext, request: Request) -> Response {
        if request.operation == SLOW {
            std::future::pending::<()>().await;
        }
        Response::ok(request.body)
    }

    async fn stream(&self, _: &CallContext, _: Request, _: Inbound, _: Outbound) -> Response {
        Response::ok(Body::new())
    }

    async fn event(&self, _context: &CallContext, _event: Event) {}
}

fn server(protocol: Protocol) -> (Server, Endpoint) {
    let mut options = ServerOptions::default();
    options.loops = 1;
    let anywhere = Address::Tcp(([127, 0, 0, 1], 0).into());
    let server = Server::start(&[anywhere], Arc::new(Echo), options).unwrap();
    let endpoint = Endpoint::new(protocol, server.addresses()[0].clone());
    (server, endpoint)
}

fn client(endpoint: Endpoint) -> blocking::Client {
    blocking::Client::connect(endpoint, ClientOptions::default()).unwrap()
}

fn within(operation: Operation, millis: u64) -> Request {
    Request::new(operation).with_deadline(Instant::now() + Duration::from_millis(millis))
}

fn octets(body: &Body) -> Vec<u8> {
    [body.head(), body.tail()].concat()
}

#[test]
fn each_of_many_callers_gets_its_own_answers() {
    for protocol in [Protocol::Native, Protocol::Grpc, Protocol::Rest] {
        let (_server, endpoint) = server(protocol);
        let client = client(endpoint);
        thread::scope(|scope| {
            for name in 0..16u8 {
                let client = &client;
                scope.spawn(move || {
                    for turn in 0..200u8 {
                        // Some come in step with the others and some do not.
                        if name % 4 == 0 && turn % 8 == 0 {
                            thread::sleep(Duration::from_micros(300));
                        }
                        let length = if turn % 50 == 0 { 100_000 } else { 2 };
                        let mut body = vec![turn; length];
                        body[0] = name;
                        let request = within(ECHO, 30_000).with_body(body.clone());
                        let answer = client.call(request).unwrap();
                        assert!(octets(&answer.body) == body, "{name} in turn {turn}");
                    }
                });
            }
        });
    }
}

#[test]
fn a_deadline_among_many_callers_ends_its_own_call_only() {
    let (_server, endpoint) = server(Protocol::Native);
    let client = client(endpoint);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let before = Instant::now();
                    let error = client.call(within(SLOW, 30)).unwrap_err();
                    // Either end may have found it first.
                    assert_eq!(error.code(), Code::DeadlineExceeded);
                    assert!(before.elapsed() < Duration::from_secs(20));
                }
            });
            scope.spawn(|| {
                for _ in 0..2000 {
                    client.call(within(ECHO, 30_000)).unwrap();
                }
            });
        }
    });
}

/// A peer of the native protocol whose every step the test decides.
struct Peer {
    socket: TcpStream,
    core: Connection,
    buffer: bytes::BytesMut,
}

impl Peer {
    fn accept(listener: &TcpListener) -> Self {
        let (socket, _) = listener.accept().unwrap();
        let timeout = Some(Duration::from_secs(30));
        socket.set_read_timeout(timeout).unwrap();
        let kind_of = Arc::new(|_: &Operation| Some(CallKind::Unary));
        Self {
            socket,
            core: Connection::server(Config::default(), kind_of, Instant::now()),
            buffer: bytes::BytesMut::new(),
        }
    }

    /// What is to be sent, whole.
    fn outgoing(&mut self) -> Vec<u8> {
        let mut outbox = Outbox::new();
        let mut octets = Vec::new();
        while self.core.poll_transmit(Instant::now(), &mut outbox) {
            while !outbox.is_empty() {
                let first = outbox.first().to_vec();
                octets.extend_from_slice(&first);
                outbox.advance(first.len());
            }
        }
        octets
    }

    /// Reads until so many requests have come; gives their calls.
    fn requests(&mut self, count: usize) -> Vec<(corewire_wire::CallId, Request)> {
        let mut calls = Vec::new();
        while calls.len() < count {
            let mut chunk = [0; 65_536];
            let read = self.socket.read(&mut chunk).unwrap();
            assert!(read > 0, "the client has gone");
            self.buffer.extend_from_slice(&chunk[..read]);
            loop {
                let input = Input::Octets(&mut self.buffer);
                self.core.handle_event(Instant::now(), input).unwrap();
                if !self.core.has_more() {
                    break;
                }
            }
            while let Some(output) = self.core.poll() {
                if let Output::Request { call, request } = output {
                    calls.push((call, request));
                }
            }
            let greeting = self.outgoing();
            self.socket.write_all(&greeting).unwrap();
        }
        calls
    }
}

fn listener() -> (TcpListener, Endpoint) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    (listener, Endpoint::new(Protocol::Native, address))
}

#[test]
fn a_large_answer_cut_in_the_middle_fails_who_waits_and_the_next_call_connects_anew() {
    const CALLERS: usize = 8;
    let (listener, endpoint) = listener();
    let peer = thread::spawn(move || {
        let mut peer = Peer::accept(&listener);
        let calls = peer.requests(CALLERS);
        // Two whole answers, then half of a third.
        for (call, _) in calls.iter().take(2) {
            peer.core.respond(*call, Response::ok(Body::new()));
        }
        let mut octets = peer.outgoing();
        let large = Response::ok(Body::from(vec![7; 100_000]));
        peer.core.respond(calls[2].0, large);
        let third = peer.outgoing();
        octets.extend_from_slice(&third[..third.len() / 2]);
        peer.socket.write_all(&octets).unwrap();
        drop(peer);
        // The connection that comes next is served.
        let mut peer = Peer::accept(&listener);
        let (call, request) = peer.requests(1).remove(0);
        peer.core.respond(call, Response::ok(request.body));
        let octets = peer.outgoing();
        peer.socket.write_all(&octets).unwrap();
        peer
    });
    let client = client(endpoint);
    let outcomes: Vec<_> = thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| scope.spawn(|| client.call(within(ECHO, 5000))))
            .collect();
        callers.into_iter().map(|c| c.join().unwrap()).collect()
    });
    let answered = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(answered, 2);
    for error in outcomes.into_iter().filter_map(Result::err) {
        assert_eq!(error.kind(), ErrorKind::FateUnknown, "{error:?}");
        assert!(error.may_have_executed());
    }
    client.call(within(ECHO, 5000)).unwrap();
    drop(peer.join().unwrap());
}

#[test]
fn a_peer_that_stops_reading_costs_each_caller_its_deadline_and_no_more() {
    let own_deadline_only = || {
        let (listener, endpoint) = listener();
        let peer = thread::spawn(move || {
            let mut peer = Peer::accept(&listener);
            // Greeted, and never read again.
            peer.requests(1);
            peer
        });
        let client = client(endpoint);
        let before = Instant::now();
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let request = within(ECHO, 600).with_body(vec![1; 4 << 20]);
                    let error = client.call(request).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
                });
            }
            scope.spawn(|| client.call(within(ECHO, 600)).unwrap_err());
        });
        // One after the other they would take more.
        let in_time = before.elapsed() < Duration::from_secs(5);
        drop(client);
        drop(peer.join().unwrap());
        in_time
    };
    // A machine that stands still spoils one attempt, not all.
    assert!((0..5).any(|_| own_deadline_only()));
}
