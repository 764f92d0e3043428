//! The drivers end to end over the native protocol: the shortest way to see that a change to the
//! loop still carries messages. What is promised in full is in testkit's conformance suite.

use bytes::BytesMut;
use corewire_message::blocking::Caller as _;
use corewire_message::{
    Body, CallContext, CallKind, Caller, Code, ErrorKind, Inbound, Operation, Outbound, Request,
    Response, Service, Status,
};
use corewire_testkit::conformance::own_address;
use corewire_transport::native;
use corewire_transport::{
    Address, ClientOptions, Endpoint, EventLoop, Protocol, Server, ServerOptions, blocking,
};
use corewire_wire::{Core, Input, Outbox, Output};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const ECHO: Operation = Operation::from_static("test.v1.Test/Echo");
const FAIL: Operation = Operation::from_static("test.v1.Test/Fail");
const HANG: Operation = Operation::from_static("test.v1.Test/Hang");
const CHAT: Operation = Operation::from_static("test.v1.Test/Chat");

struct Test;

impl Service for Test {
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        match operation.method() {
            "Echo" | "Fail" | "Hang" => Some(CallKind::Unary),
            "Chat" => Some(CallKind::Stream),
            _ => None,
        }
    }

    async fn call(&self, _context: &CallContext, request: Request) -> Response {
        match request.operation.method() {
            "Fail" => Response::failed(Status::new(Code::NotFound, "nothing here")),
            "Hang" => std::future::pending().await,
            _ => Response::ok(request.body),
        }
    }

    async fn stream(
        &self,
        _context: &CallContext,
        _request: Request,
        mut inbound: Inbound,
        mut outbound: Outbound,
    ) -> Response {
        while let Ok(Some(message)) = inbound.message().await {
            if outbound.send(message).await.is_err() {
                break;
            }
        }
        Response::ok(Body::new())
    }
}

fn server(loops: usize) -> (Server, Endpoint) {
    let mut options = ServerOptions::default();
    options.loops = loops;
    // Nobody else's: where it listened nobody does when it has gone.
    let anywhere = Address::Tcp(own_address());
    let server = Server::start(&[anywhere], Arc::new(Test), options).unwrap();
    let endpoint = Endpoint::new(Protocol::Native, server.addresses()[0].clone());
    (server, endpoint)
}

#[test]
fn a_thread_calls_and_gets_its_answer() {
    let (_server, endpoint) = server(1);
    let client = blocking::Client::connect(endpoint, ClientOptions::default()).unwrap();
    for size in [0, 1, 10_000, 100_000, 1_000_000] {
        let body = Body::from(vec![7; size]);
        let request = Request::new(ECHO).with_body(body.clone());
        assert_eq!(client.call(request).unwrap().body, body, "{size} octets");
    }
    let error = client.call(Request::new(FAIL)).unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Answered, Code::NotFound)
    );
    assert_eq!(error.response().unwrap().status.message(), "nothing here");
}

#[test]
fn a_deadline_ends_a_call_that_is_not_answered() {
    let (_server, endpoint) = server(1);
    let client = blocking::Client::connect(endpoint, ClientOptions::default()).unwrap();
    let deadline = Instant::now() + Duration::from_millis(30);
    let error = client
        .call(Request::new(HANG).with_deadline(deadline))
        .unwrap_err();
    // By this side's clock or, a moment earlier, by the service's.
    assert_eq!(error.code(), Code::DeadlineExceeded);
    assert!(Instant::now() >= deadline);
    // The connection is as good as before.
    client.call(Request::new(ECHO)).unwrap();
}

#[test]
fn threads_share_one_connection() {
    let (server, endpoint) = server(1);
    let client = blocking::Client::connect(endpoint, ClientOptions::default()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8u8 {
            let client = &client;
            scope.spawn(move || {
                for round in 0..500u16 {
                    let body = Body::from(vec![thread, round as u8, (round >> 8) as u8]);
                    let request = Request::new(ECHO).with_body(body.clone());
                    assert_eq!(client.call(request).unwrap().body, body);
                }
            });
        }
    });
    assert_eq!(server.counters().accepted(), 1);
}

#[test]
fn futures_call_and_stream_through_a_loop() {
    let (_server, endpoint) = server(2);
    let mut event_loop = EventLoop::new().unwrap();
    let client = event_loop
        .handle()
        .connect(endpoint, ClientOptions::default());
    event_loop
        .block_on(async {
            let response = client
                .call(Request::new(ECHO).with_body(vec![1, 2, 3]))
                .await
                .unwrap();
            assert_eq!(response.body, Body::from(vec![1, 2, 3]));

            let mut stream = client.open(Request::new(CHAT)).await.unwrap();
            for round in 0..100u8 {
                stream.outbound.send(vec![round; 5000]).await.unwrap();
                let echoed = stream.inbound.message().await.unwrap().unwrap();
                assert_eq!(echoed, Body::from(vec![round; 5000]));
            }
            stream.outbound.finish();
            assert!(stream.inbound.message().await.unwrap().is_none());

            let error = client
                .call(Request::new(
                    Operation::parse("test.v1.Test/Unknown").unwrap(),
                ))
                .await
                .unwrap_err();
            assert_eq!(error.code(), Code::Unimplemented);
        })
        .unwrap();
}

#[test]
fn a_blocking_stream_echoes() {
    let (_server, endpoint) = server(1);
    let client = blocking::Client::connect(endpoint, ClientOptions::default()).unwrap();
    let mut stream = client.open(Request::new(CHAT)).unwrap();
    for round in 0..200u8 {
        stream.send(vec![round; 20_000]).unwrap();
        assert_eq!(
            stream.receive().unwrap(),
            Some(Body::from(vec![round; 20_000]))
        );
    }
    stream.finish().unwrap();
    assert_eq!(stream.receive().unwrap(), None);
}

#[test]
fn nobody_listening_is_not_sent() {
    let (server, endpoint) = server(1);
    drop(server);
    let error = blocking::Client::connect(endpoint.clone(), ClientOptions::default()).unwrap_err();
    assert_eq!(
        (error.kind(), error.may_have_executed()),
        (ErrorKind::NotSent, false)
    );
    let mut event_loop = EventLoop::new().unwrap();
    let client = event_loop
        .handle()
        .connect(endpoint, ClientOptions::default());
    let error = event_loop
        .block_on(client.call(Request::new(ECHO)))
        .unwrap()
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.may_have_executed()),
        (ErrorKind::NotSent, false),
        "{error}"
    );
}

#[test]
fn draining_finishes_what_is_in_flight() {
    let (server, endpoint) = server(1);
    let client = blocking::Client::connect(endpoint, ClientOptions::default()).unwrap();
    client.call(Request::new(ECHO)).unwrap();
    let before = Instant::now();
    server.drain(Duration::from_secs(60)).unwrap();
    assert!(
        before.elapsed() < Duration::from_secs(30),
        "nothing was in flight"
    );
    // Longer than the blocking client trusts a connection that it does not read.
    std::thread::sleep(Duration::from_millis(5));
    let error = client.call(Request::new(ECHO)).unwrap_err();
    assert!(!error.may_have_executed(), "{error:?}");
}

#[test]
fn a_peer_that_does_not_read_is_not_answered_without_end() {
    const CALLS: usize = 3000;
    let executed = Arc::new(AtomicUsize::new(0));
    let counting = Arc::new(Counting(Arc::clone(&executed)));
    let mut options = ServerOptions::default();
    options.loops = 1;
    options.max_backlog = 1_000_000;
    let anywhere = Address::Tcp(([127, 0, 0, 1], 0).into());
    let server = Server::start(&[anywhere], counting, options).unwrap();
    let Address::Tcp(address) = server.addresses()[0] else {
        unreachable!()
    };

    // Many small requests in few segments, each answered with 100 kB.
    let mut core = native::Connection::client(native::Config::default(), Instant::now());
    let mut outbox = Outbox::new();
    for _ in 0..CALLS {
        core.call(Instant::now(), Request::new(ECHO)).unwrap();
        core.poll_transmit(Instant::now(), &mut outbox);
    }
    let mut socket = TcpStream::connect(address).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    while !outbox.is_empty() {
        let count = socket.write(outbox.first()).unwrap();
        outbox.advance(count);
    }
    // It stands still once the socket's buffers and the backlog are full.
    let mut seen = 0;
    for _ in 0..100 {
        std::thread::sleep(Duration::from_millis(50));
        let now = executed.load(Ordering::Relaxed);
        if now == seen && now > 0 {
            break;
        }
        seen = now;
    }
    assert!(
        seen < 400,
        "{seen} answers of 100 kB wait for a peer that does not read"
    );

    // When it reads, everything comes.
    let mut answered = 0;
    let mut octets = BytesMut::with_capacity(1 << 20);
    while answered < CALLS {
        octets.reserve(1 << 18);
        let mut part = vec![0; 1 << 18];
        let count = match socket.read(&mut part) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            count => count.unwrap(),
        };
        octets.extend_from_slice(&part[..count]);
        loop {
            core.handle_event(Instant::now(), Input::Octets(&mut octets))
                .unwrap();
            if !core.has_more() {
                break;
            }
        }
        while let Some(output) = core.poll() {
            answered += usize::from(matches!(output, Output::Response { .. }));
        }
        while core.poll_transmit(Instant::now(), &mut outbox) {
            while !outbox.is_empty() {
                let count = socket.write(outbox.first()).unwrap();
                outbox.advance(count);
            }
        }
    }
    assert_eq!(executed.load(Ordering::Relaxed), CALLS);
}

struct Counting(Arc<AtomicUsize>);

impl Service for Counting {
    async fn call(&self, _context: &CallContext, _request: Request) -> Response {
        self.0.fetch_add(1, Ordering::Relaxed);
        Response::ok(vec![7; 100_000])
    }
}
