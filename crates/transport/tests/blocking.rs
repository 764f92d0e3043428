//! The blocking driver where threads share a connection, where a peer is slow, and where time runs
//! out. What is promised in full is in testkit's conformance suite.

use corewire_message::blocking::Caller as _;
use corewire_message::{
    Body, CallContext, CallError, CallKind, Code, ErrorKind, Event, Inbound, Operation, Outbound,
    Request, Response, Service,
};
use corewire_transport::native;
use corewire_transport::{
    Address, ClientOptions, Endpoint, Protocol, Server, ServerOptions, blocking,
};
use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

const ECHO: Operation = Operation::from_static("test.v1.Test/Echo");
const HANG: Operation = Operation::from_static("test.v1.Test/Hang");
const LATE: Operation = Operation::from_static("test.v1.Test/Late");
const CHAT: Operation = Operation::from_static("test.v1.Test/Chat");
const NOTE: Operation = Operation::from_static("test.v1.Test/Note");

const LARGE: usize = 15 << 20;

/// How long something that should happen soon may take on a busy machine, in milliseconds.
const PATIENCE: u64 = 20_000;
/// What hangs ends long after that, unless it is let go.
const HANGING: u64 = 3 * PATIENCE;
/// A machine that stands still at the wrong moment spoils one attempt, a fault spoils all.
const ATTEMPTS: usize = 5;

#[derive(Default)]
struct Test {
    events: AtomicUsize,
    hanging: AtomicUsize,
    let_go: AtomicBool,
    waiting: Mutex<Vec<Waker>>,
}

impl Test {
    /// Waits until a call hangs.
    fn hangs(&self) {
        let end = Instant::now() + Duration::from_millis(PATIENCE);
        while self.hanging.load(Ordering::SeqCst) == 0 {
            assert!(Instant::now() < end, "nothing hangs");
            std::thread::sleep(Duration::from_millis(1));
        }
        // Its caller waits before long.
        std::thread::sleep(Duration::from_millis(50));
    }

    /// Answers what hangs.
    fn let_go(&self) {
        self.let_go.store(true, Ordering::SeqCst);
        self.waiting.lock().unwrap().drain(..).for_each(Waker::wake);
    }
}

impl Service for Test {
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        Some(if *operation == CHAT {
            CallKind::Stream
        } else {
            CallKind::Unary
        })
    }

    async fn call(&self, _context: &CallContext, request: Request) -> Response {
        if request.operation == HANG {
            self.hanging.fetch_add(1, Ordering::SeqCst);
            poll_fn(|cx| {
                let mut waiting = self.waiting.lock().unwrap();
                if self.let_go.load(Ordering::SeqCst) {
                    return Poll::Ready(());
                }
                waiting.push(cx.waker().clone());
                Poll::Pending
            })
            .await;
        }
        if request.operation == LATE {
            // Nothing else is served meanwhile either.
            std::thread::sleep(Duration::from_millis(600));
        }
        Response::ok(request.body)
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

    async fn event(&self, _context: &CallContext, _event: Event) {
        self.events.fetch_add(1, Ordering::SeqCst);
    }
}

fn server(protocol: Protocol) -> (Server, Endpoint, Arc<Test>) {
    let test = Arc::new(Test::default());
    let mut options = ServerOptions::default();
    options.loops = 1;
    let anywhere = Address::Tcp(([127, 0, 0, 1], 0).into());
    let server = Server::start(&[anywhere], Arc::clone(&test), options).unwrap();
    let endpoint = Endpoint::new(protocol, server.addresses()[0].clone());
    (server, endpoint, test)
}

fn client(endpoint: Endpoint) -> blocking::Client {
    blocking::Client::connect(endpoint, ClientOptions::default()).unwrap()
}

fn listener() -> (TcpListener, Endpoint) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    (listener, Endpoint::new(Protocol::Native, address))
}

/// A request that ends after so many milliseconds.
fn within(operation: Operation, millis: u64) -> Request {
    Request::new(operation).with_deadline(Instant::now() + Duration::from_millis(millis))
}

#[test]
fn who_sends_an_event_hands_the_lead_over() {
    let (_server, endpoint, _) = server(Protocol::Native);
    let client = client(endpoint);
    let (over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let caller = scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                // Fails when nobody reads its answer.
                client.call(within(ECHO, PATIENCE)).unwrap();
                answered.fetch_add(1, Ordering::SeqCst);
            }
        });
        for _ in 0..3 {
            let event = Event::new(NOTE, Body::from(vec![1; LARGE]));
            client.send(event).unwrap();
            // Nobody but the caller is there to lead now.
            let before = answered.load(Ordering::SeqCst);
            while answered.load(Ordering::SeqCst) < before + 100 && !caller.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        over.store(true, Ordering::SeqCst);
        caller.join().unwrap();
    });
}

#[test]
fn who_leaves_a_stream_early_hands_the_lead_over() {
    let (_server, endpoint, _) = server(Protocol::Native);
    let client = client(endpoint);
    std::thread::scope(|scope| {
        let mut stream = loop {
            match client.open(within(CHAT, 400)) {
                Ok(stream) => break stream,
                // The machine stood still meanwhile.
                Err(error) => assert_eq!(error.code(), Code::DeadlineExceeded, "{error}"),
            }
        };
        // Leads while it waits for room, until its deadline, and leaves with an error.
        let early = scope.spawn(move || while stream.send(vec![1; 1 << 20]).is_ok() {});
        std::thread::sleep(Duration::from_millis(200));
        // The answer comes when that one is gone: not at all when nobody reads it then.
        client.call(within(LATE, PATIENCE)).unwrap();
        early.join().unwrap();
    });
}

#[test]
fn a_large_call_is_not_stalled_by_a_slow_one() {
    for protocol in Protocol::ALL {
        let (_server, endpoint, test) = server(protocol);
        let client = client(endpoint);
        client.call(Request::new(ECHO)).unwrap();
        std::thread::scope(|scope| {
            let slow = scope.spawn(|| client.call(within(HANG, HANGING)));
            test.hangs();
            // HTTP/2's default limit on messages is lower.
            let octets = if protocol == Protocol::Native {
                LARGE
            } else {
                3 << 20
            };
            let request = within(ECHO, PATIENCE).with_body(vec![1; octets]);
            let answer = client.call(request);
            test.let_go();
            assert_eq!(answer.unwrap().body.len(), octets, "{protocol}");
            slow.join().unwrap().unwrap();
        });
    }
}

#[test]
fn large_calls_of_many_threads_all_come_through_beside_a_slow_one() {
    let (_server, endpoint, test) = server(Protocol::Native);
    let client = client(endpoint);
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| client.call(within(HANG, HANGING)));
        test.hangs();
        let calls = (0..4).map(|_| {
            scope.spawn(|| {
                for octets in [LARGE, 100, LARGE / 3, 70_000] {
                    let request = within(ECHO, PATIENCE).with_body(vec![1; octets]);
                    assert_eq!(client.call(request)?.body.len(), octets);
                }
                Ok::<(), CallError>(())
            })
        });
        let calls: Vec<_> = calls.collect();
        let ends: Vec<_> = calls.into_iter().map(|call| call.join()).collect();
        test.let_go();
        for end in ends {
            end.unwrap().unwrap();
        }
        slow.join().unwrap().unwrap();
    });
}

#[test]
fn an_event_beyond_the_credit_is_known_to_be_away_while_another_thread_leads() {
    let (_server, endpoint, test) = server(Protocol::Native);
    let client = client(endpoint);
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| client.call(within(HANG, HANGING)));
        test.hangs();
        let before = Instant::now();
        let sent = client.send(Event::new(NOTE, Body::from(vec![1; LARGE])));
        let took = before.elapsed();
        test.let_go();
        sent.unwrap();
        assert!(took < Duration::from_millis(PATIENCE), "{took:?}");
        slow.join().unwrap().unwrap();
    });
}

#[test]
fn a_flood_of_events_arrives_whole() {
    const THREADS: usize = 4;
    const EACH: usize = 5_000;
    for protocol in [Protocol::Native, Protocol::Grpc] {
        let (_server, endpoint, test) = server(protocol);
        let mut options = ClientOptions::default();
        // Little may wait: threads that send at the same time meet the limit.
        options.native.max_backlog = 6_000;
        options.http2.max_backlog = 6_000;
        let client = blocking::Client::connect(endpoint, options).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..EACH {
                        let event = Event::new(NOTE, Body::from(vec![1; 4096]));
                        client.send(event).unwrap();
                    }
                });
            }
        });
        let end = Instant::now() + Duration::from_millis(PATIENCE);
        while test.events.load(Ordering::SeqCst) < THREADS * EACH {
            assert!(Instant::now() < end, "{protocol}: {:?}", test.events);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn a_stream_that_rested_ends_in_time() {
    let (listener, endpoint) = listener();
    let client = client(endpoint);
    let _silent = listener.accept().unwrap();
    let in_time = || {
        let deadline = Instant::now() + Duration::from_millis(1200);
        let opened = client.open(Request::new(CHAT).with_deadline(deadline));
        let error = opened.and_then(|mut stream| {
            std::thread::sleep(Duration::from_millis(1000));
            stream.receive()
        });
        let late = deadline.elapsed();
        assert_eq!(error.unwrap_err().code(), Code::DeadlineExceeded);
        late < Duration::from_millis(200)
    };
    assert!((0..ATTEMPTS).any(|_| in_time()));
}

/// What a client writes to a peer that answers with these octets.
fn told_to(protocol: Protocol, answer: &[u8]) -> Vec<u8> {
    let (listener, endpoint) = listener();
    let endpoint = Endpoint::new(protocol, endpoint.address().clone());
    let client = client(endpoint);
    let (mut peer, _) = listener.accept().unwrap();
    let mut told = Vec::new();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| client.call(within(ECHO, HANGING)));
        let patience = Duration::from_millis(PATIENCE);
        peer.set_read_timeout(Some(patience)).unwrap();
        // Answered before it is called here the call would be made on another connection.
        let mut first = [0; 4096];
        let count = peer.read(&mut first).unwrap();
        told.extend_from_slice(&first[..count]);
        peer.write_all(answer).unwrap();
        peer.read_to_end(&mut told).unwrap();
        call.join().unwrap().unwrap_err();
    });
    told
}

#[test]
fn a_faulty_peer_is_told_why() {
    let mut answer = native::MAGIC.to_vec();
    answer.extend_from_slice(&[0xff; 64]);
    let told = told_to(Protocol::Native, &answer);
    let told = String::from_utf8_lossy(&told).into_owned();
    assert!(told.contains("is not HELLO"), "{told:?}");

    // SETTINGS of one octet.
    let told = told_to(Protocol::Grpc, &[0, 0, 1, 4, 0, 0, 0, 0, 0, 0xff]);
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();
    let mut frames = &told[preface..];
    let mut kinds = Vec::new();
    while let [a, b, c, kind, ..] = *frames {
        kinds.push(kind);
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        frames = frames.get(9 + length..).unwrap_or_default();
    }
    assert!(kinds.contains(&7), "no GOAWAY: {kinds:?}");
}

/// A listener whose queue is full, so that connecting to it takes as long as it may.
fn full() -> (TcpListener, Vec<TcpStream>, Endpoint) {
    let (listener, endpoint) = listener();
    let address = listener.local_addr().unwrap();
    let (mut queued, mut unanswered) = (Vec::new(), 0);
    // One attempt may have lost its time to a machine that stood still.
    while unanswered < 3 {
        match TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
            Ok(stream) => {
                queued.push(stream);
                unanswered = 0;
            }
            Err(_) => unanswered += 1,
        }
        assert!(queued.len() < 10_000, "the queue is never full");
    }
    (listener, queued, endpoint)
}

#[test]
fn a_deadline_covers_connecting_and_waiting_for_it() {
    let (listener, queued, endpoint) = full();
    let in_time = || {
        let mut options = ClientOptions::default();
        options.connect_timeout = Duration::from_millis(HANGING);
        let client = blocking::Client::new(endpoint.clone(), options);
        std::thread::scope(|scope| {
            let calls: Vec<_> = [200, 400, 100, 300]
                .into_iter()
                .map(|millis| {
                    let request = within(ECHO, millis);
                    let client = &client;
                    scope.spawn(move || {
                        let deadline = request.deadline.unwrap();
                        let error = client.call(request).unwrap_err();
                        (deadline.elapsed(), error)
                    })
                })
                .collect();
            let late = calls.into_iter().map(|call| {
                let (late, error) = call.join().unwrap();
                assert_eq!(error.kind(), ErrorKind::DeadlineExceeded, "{error}");
                assert!(!error.may_have_executed());
                late
            });
            late.max() < Some(Duration::from_millis(150))
        })
    };
    assert!((0..ATTEMPTS).any(|_| in_time()));
    drop((listener, queued));
}

#[test]
fn threads_that_wait_for_a_connection_share_what_becomes_of_it() {
    let (listener, queued, endpoint) = full();
    let at_once = || {
        let mut options = ClientOptions::default();
        options.connect_timeout = Duration::from_millis(400);
        let client = blocking::Client::new(endpoint.clone(), options);
        let before = Instant::now();
        std::thread::scope(|scope| {
            let calls: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| client.call(within(ECHO, PATIENCE)).unwrap_err()))
                .collect();
            for call in calls {
                assert_eq!(call.join().unwrap().kind(), ErrorKind::NotSent);
            }
        });
        before.elapsed() < Duration::from_millis(800)
    };
    assert!((0..ATTEMPTS).any(|_| at_once()));
    drop((listener, queued));

    let (server, endpoint, _) = server(Protocol::Native);
    let client = blocking::Client::new(endpoint, ClientOptions::default());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| client.call(Request::new(ECHO)).unwrap());
        }
    });
    assert_eq!(server.counters().accepted(), 1);
}

#[test]
fn no_timeout_at_all_is_allowed() {
    let (_server, endpoint, _) = server(Protocol::Native);
    let mut options = ClientOptions::default();
    options.call_timeout = Duration::MAX;
    options.connect_timeout = Duration::MAX;
    options.patience = Duration::MAX;
    let client = blocking::Client::new(endpoint, options);
    client.call(Request::new(ECHO)).unwrap();
    client.send(Event::new(NOTE, Body::new())).unwrap();
    client.open(Request::new(CHAT)).unwrap().finish().unwrap();
}

#[test]
fn a_port_where_another_server_listens_is_refused_whatever_its_loops() {
    let mut options = ServerOptions::default();
    options.loops = 2;
    // An address that no other test has: its port stays free when the server has gone.
    let anywhere = Address::Tcp(([127, 75, 0, 1], 0).into());
    let first = Server::start(&[anywhere], Arc::<Test>::default(), options.clone()).unwrap();
    for loops in [1, 2] {
        options.loops = loops;
        let second = Server::start(first.addresses(), Arc::<Test>::default(), options.clone());
        assert!(
            second.is_err(),
            "{loops} loops share {:?}",
            first.addresses()
        );
    }
    // Once it has gone the port is free, also for many loops.
    let addresses = first.addresses().to_vec();
    client(Endpoint::new(Protocol::Native, addresses[0].clone()))
        .call(Request::new(ECHO))
        .unwrap();
    drop(first);
    let again = Server::start(&addresses, Arc::<Test>::default(), options).unwrap();
    client(Endpoint::new(
        Protocol::Native,
        again.addresses()[0].clone(),
    ))
    .call(Request::new(ECHO))
    .unwrap();
}
