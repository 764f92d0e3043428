//! What the event loop promises about the ends of things: events that were accepted, connections
//! that are closed, loops that drain, limits that hold.

use corewire_message::blocking::Caller as _;
use corewire_message::{
    Body, CallContext, CallKind, Caller, Code, Event, Inbound, Operation, Outbound, Request,
    Response, Service,
};
use corewire_transport::{
    Address, Client, ClientOptions, Endpoint, EventLoop, LoopHandle, Protocol, Server,
    ServerOptions, blocking, native,
};
use std::future::{Future, poll_fn};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

const ECHO: Operation = Operation::from_static("test.v1.Test/Echo");
const HANG: Operation = Operation::from_static("test.v1.Test/Hang");
const PANIC: Operation = Operation::from_static("test.v1.Test/Panic");
const GIVE_UP: Operation = Operation::from_static("test.v1.Test/GiveUp");
const NOTE: Operation = Operation::from_static("test.v1.Test/Note");
const MILLI: Duration = Duration::from_millis(1);

/// Echoes, hangs, panics over a name; events wait until the gate is opened.
#[derive(Default)]
struct Test {
    open: AtomicBool,
    waiting: Mutex<Vec<Waker>>,
    begun: AtomicUsize,
    ended: AtomicUsize,
    hanging: Arc<AtomicUsize>,
}

struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Test {
    fn open() -> Arc<Self> {
        let test = Self::default();
        test.open.store(true, Ordering::SeqCst);
        Arc::new(test)
    }

    fn open_gate(&self) {
        self.open.store(true, Ordering::SeqCst);
        self.waiting.lock().unwrap().drain(..).for_each(Waker::wake);
    }

    fn in_progress(&self) -> usize {
        self.begun.load(Ordering::SeqCst) - self.ended.load(Ordering::SeqCst)
    }
}

impl Service for Test {
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        assert_ne!(operation.method(), "Panic", "a name that panics");
        Some(if *operation == GIVE_UP {
            CallKind::Stream
        } else {
            CallKind::Unary
        })
    }

    /// Gives the call up and goes on all the same.
    async fn stream(
        &self,
        _context: &CallContext,
        _request: Request,
        _inbound: Inbound,
        outbound: Outbound,
    ) -> Response {
        self.hanging.fetch_add(1, Ordering::SeqCst);
        let _counted = Counted(Arc::clone(&self.hanging));
        outbound.cancel(Code::Cancelled);
        std::future::pending().await
    }

    async fn call(&self, _context: &CallContext, request: Request) -> Response {
        if request.operation == HANG {
            self.hanging.fetch_add(1, Ordering::SeqCst);
            let _counted = Counted(Arc::clone(&self.hanging));
            return std::future::pending().await;
        }
        Response::ok(request.body)
    }

    async fn event(&self, _context: &CallContext, _event: Event) {
        self.begun.fetch_add(1, Ordering::SeqCst);
        poll_fn(|cx| {
            let mut waiting = self.waiting.lock().unwrap();
            if self.open.load(Ordering::SeqCst) {
                return Poll::Ready(());
            }
            waiting.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
        self.ended.fetch_add(1, Ordering::SeqCst);
    }
}

fn anywhere() -> Address {
    Address::Tcp(([127, 0, 0, 1], 0).into())
}

fn options(change: impl FnOnce(&mut ServerOptions)) -> ServerOptions {
    let mut options = ServerOptions::default();
    options.loops = 1;
    change(&mut options);
    options
}

fn serve(test: &Arc<Test>, options: ServerOptions) -> (Server, Endpoint) {
    let server = Server::start(&[anywhere()], Arc::clone(test), options).unwrap();
    let endpoint = Endpoint::new(Protocol::Native, server.addresses()[0].clone());
    (server, endpoint)
}

/// Waits until `holds`, at most thirty seconds; says whether it does.
fn soon(mut holds: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !holds() {
        if begun.elapsed() > Duration::from_secs(30) {
            return false;
        }
        std::thread::sleep(MILLI);
    }
    true
}

/// Sends octets on a socket of its own; gives what comes back until the end.
fn answer_to(endpoint: &Endpoint, octets: &[u8]) -> Vec<u8> {
    let Address::Tcp(address) = endpoint.address() else {
        panic!("{endpoint} is not a TCP port");
    };
    let mut socket = TcpStream::connect(address).unwrap();
    socket.write_all(octets).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let mut all = Vec::new();
    let mut some = [0; 4096];
    // A reset after the answer is an end too.
    while let Ok(count @ 1..) = socket.read(&mut some) {
        all.extend_from_slice(&some[..count]);
    }
    all
}

#[test]
fn a_native_peer_that_breaks_the_protocol_is_told_why() {
    let (server, endpoint) = serve(&Test::open(), options(|_| ()));
    let mut octets = native::MAGIC.to_vec();
    octets.extend_from_slice(&[0xff; 64]);
    let answer = answer_to(&endpoint, &octets);
    let text = String::from_utf8_lossy(&answer);
    assert!(text.contains("(octet "), "{text:?}");
    assert!(soon(|| server.counters().faults() == 1));
}

#[test]
fn an_http2_peer_that_breaks_the_protocol_gets_goaway() {
    const GOAWAY: u8 = 7;
    let (_server, endpoint) = serve(&Test::open(), options(|_| ()));
    let mut octets = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    octets.extend_from_slice(&[0, 0, 1, 4, 0, 0, 0, 0, 0, 0xff]); // SETTINGS of one octet.
    let answer = answer_to(&endpoint, &octets);
    let (mut rest, mut kinds) = (&answer[..], vec![]);
    while rest.len() >= 9 {
        let length = u32::from_be_bytes([0, rest[0], rest[1], rest[2]]) as usize;
        kinds.push(rest[3]);
        rest = &rest[(9 + length).min(rest.len())..];
    }
    assert!(kinds.contains(&GOAWAY), "{kinds:?}");
}

#[test]
fn an_event_is_sent_though_its_client_is_dropped_while_connecting() {
    let test = Test::open();
    let (_server, endpoint) = serve(&test, options(|_| ()));
    let mut event_loop = EventLoop::new().unwrap();
    let handle = event_loop.handle();
    event_loop
        .block_on(async move {
            let client = handle.connect(endpoint, ClientOptions::default());
            client.send(Event::new(NOTE, Body::new())).await.unwrap();
        })
        .unwrap();
    let arrived = soon(|| {
        event_loop.run_once(Some(MILLI)).unwrap();
        test.ended.load(Ordering::SeqCst) == 1
    });
    assert!(arrived, "the event is lost");
}

#[test]
fn events_in_progress_are_bounded_and_all_are_finished() {
    const EVENTS: usize = 5000;
    let test = Arc::new(Test::default());
    let (server, endpoint) = serve(&test, options(|it| it.max_events_in_progress = 16));
    let client = blocking::Client::connect(endpoint, ClientOptions::default()).unwrap();
    for _ in 0..EVENTS {
        client.send(Event::new(NOTE, Body::new())).unwrap();
    }
    assert!(soon(|| test.in_progress() == 16), "{}", test.in_progress());
    std::thread::sleep(50 * MILLI);
    assert_eq!(test.in_progress(), 16);
    test.open_gate();
    assert!(
        soon(|| test.ended.load(Ordering::SeqCst) == EVENTS),
        "{}",
        test.ended.load(Ordering::SeqCst)
    );
    drop(client);
    server.drain(Duration::from_secs(30)).unwrap();
}

#[test]
fn events_that_waited_are_not_lost_with_their_connection() {
    let test = Arc::new(Test::default());
    let (_server, endpoint) = serve(&test, options(|it| it.max_events_in_progress = 16));
    let client = blocking::Client::connect(endpoint, ClientOptions::default()).unwrap();
    for _ in 0..40 {
        client.send(Event::new(NOTE, Body::new())).unwrap();
    }
    assert!(soon(|| test.in_progress() == 16), "{}", test.in_progress());
    drop(client);
    assert!(soon(|| test.in_progress() == 40), "{}", test.in_progress());
    test.open_gate();
    assert!(soon(|| test.ended.load(Ordering::SeqCst) == 40));
}

#[test]
fn a_task_that_gave_its_stream_up_is_dropped_with_its_connection() {
    let test = Test::open();
    let (_server, endpoint) = serve(&test, options(|_| ()));
    let mut event_loop = EventLoop::new().unwrap();
    let handle = event_loop.handle();
    let client = handle.connect(endpoint, ClientOptions::default());
    let ended = event_loop.block_on(async {
        let mut stream = client.open(Request::new(GIVE_UP)).await.unwrap();
        stream.inbound.message().await
    });
    assert!(ended.unwrap().is_err());
    assert_eq!(test.hanging.load(Ordering::SeqCst), 1);
    drop(event_loop);
    assert!(soon(|| test.hanging.load(Ordering::SeqCst) == 0));
}

#[test]
fn an_event_in_progress_outlives_its_connection_and_a_drain_waits_for_it() {
    let test = Arc::new(Test::default());
    let (server, endpoint) = serve(&test, options(|_| ()));
    let client = blocking::Client::connect(endpoint, ClientOptions::default()).unwrap();
    client.send(Event::new(NOTE, Body::new())).unwrap();
    assert!(soon(|| test.in_progress() == 1));
    drop(client);
    let drained = std::thread::spawn(move || server.drain(Duration::from_secs(30)));
    std::thread::sleep(300 * MILLI);
    assert!(!drained.is_finished(), "the event is given up");
    test.open_gate();
    drained.join().unwrap().unwrap();
    assert_eq!(test.ended.load(Ordering::SeqCst), 1);
}

#[test]
fn events_of_connections_that_are_gone_count_as_connections() {
    let test = Arc::new(Test::default());
    let change = |it: &mut ServerOptions| (it.max_events_in_progress, it.max_connections) = (4, 2);
    let (server, endpoint) = serve(&test, options(change));
    for round in 1..=2 {
        let client = blocking::Client::connect(endpoint.clone(), ClientOptions::default()).unwrap();
        for _ in 0..4 {
            client.send(Event::new(NOTE, Body::new())).unwrap();
        }
        assert!(soon(|| test.in_progress() == 4 * round));
        drop(client);
        // The loop must see the end of this one before the next comes.
        std::thread::sleep(100 * MILLI);
    }
    let refused = || {
        let _end = answer_to(&endpoint, b"?");
        server.counters().refused() > 0
    };
    assert!(soon(refused), "as many events as a peer likes to begin");
    test.open_gate();
    let again = || {
        let client = blocking::Client::new(endpoint.clone(), ClientOptions::default());
        client.call(Request::new(ECHO)).is_ok()
    };
    assert!(soon(again), "room again");
}

#[test]
fn a_name_over_which_the_service_panics_is_not_known() {
    let test = Test::open();
    let (_server, endpoint) = serve(&test, options(|_| ()));
    for protocol in [Protocol::Native, Protocol::Grpc] {
        let endpoint = Endpoint::new(protocol, endpoint.address().clone());
        let client = blocking::Client::connect(endpoint.clone(), ClientOptions::default()).unwrap();
        let error = client.call(Request::new(PANIC)).unwrap_err();
        let _not_told = client.send(Event::new(PANIC, Body::new()));
        let client = blocking::Client::new(endpoint, ClientOptions::default());
        let answer = client.call(Request::new(ECHO));
        assert!(answer.is_ok(), "{protocol:?}: {answer:?} after {error}");
    }
}

#[test]
fn a_callback_that_panics_does_not_end_the_loop() {
    let (_server, endpoint) = serve(&Test::open(), options(|_| ()));
    let mut event_loop = EventLoop::new().unwrap();
    let handle = event_loop.handle();
    let client = handle.connect(endpoint, ClientOptions::default());
    let called = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&called);
    client.call_then(Request::new(ECHO), move |_| {
        flag.store(true, Ordering::SeqCst);
        panic!("a callback that panics");
    });
    let answer = event_loop.block_on(client.call(Request::new(ECHO)));
    assert!(answer.unwrap().is_ok());
    assert!(called.load(Ordering::SeqCst));
}

#[test]
fn a_call_of_a_loop_that_has_ended_fails_inside_call_then() {
    let event_loop = EventLoop::new().unwrap();
    let endpoint = "native://127.0.0.1:1".parse().unwrap();
    let client = event_loop
        .handle()
        .connect(endpoint, ClientOptions::default());
    drop(event_loop);
    let here = std::thread::current().id();
    let called = Arc::new(Mutex::new(None));
    let told = Arc::clone(&called);
    client.call_then(Request::new(ECHO), move |result| {
        *told.lock().unwrap() = Some((std::thread::current().id(), result.is_err()));
    });
    assert_eq!(*called.lock().unwrap(), Some((here, true)));
}

/// Answers Echo by a call of its own, a while later.
struct Front {
    client: Client,
    handle: LoopHandle,
    begun: SyncSender<()>,
}

impl Service for Front {
    async fn call(&self, _context: &CallContext, _request: Request) -> Response {
        self.begun.send(()).unwrap();
        self.handle.sleep_until(Instant::now() + 300 * MILLI).await;
        let behind = self.client.call(Request::new(ECHO)).await;
        Response::ok(format!("{:?}", behind.map(drop)).into_bytes())
    }
}

#[test]
fn a_loop_that_drains_makes_the_calls_that_its_calls_in_flight_need() {
    let (_server, behind) = serve(&Test::open(), options(|_| ()));
    let mut event_loop = EventLoop::new().unwrap();
    let handle = event_loop.handle();
    let client = handle.connect(behind, ClientOptions::default());
    // Its connection is in use when the loop begins to drain.
    let late = Instant::now() + Duration::from_secs(3);
    client.call_then(Request::new(HANG).with_deadline(late), drop);
    let (begun, begins) = sync_channel(1);
    let front = Front {
        client: client.clone(),
        handle: handle.clone(),
        begun,
    };
    let address = event_loop
        .listen(&anywhere(), Arc::new(front), Arc::default())
        .unwrap();
    let caller = std::thread::spawn(move || {
        let endpoint = Endpoint::new(Protocol::Native, address);
        let client = blocking::Client::connect(endpoint, ClientOptions::default()).unwrap();
        let drain = std::thread::spawn(move || {
            // While the call is in flight, or nobody would answer it.
            begins.recv().unwrap();
            handle.drain(Duration::from_secs(30));
        });
        let answer = client.call(Request::new(ECHO));
        drain.join().unwrap();
        answer
    });
    event_loop.run().unwrap();
    let answer = caller.join().unwrap().unwrap();
    assert_eq!(answer.body, Body::from(b"Ok(())".to_vec()));
}

#[test]
fn a_loop_that_only_calls_refuses_calls_once_it_drains() {
    let (_server, endpoint) = serve(&Test::open(), options(|_| ()));
    let mut event_loop = EventLoop::new().unwrap();
    let handle = event_loop.handle();
    let client = handle.connect(endpoint, ClientOptions::default());
    event_loop
        .block_on(client.call(Request::new(ECHO)))
        .unwrap()
        .unwrap();
    handle.drain(Duration::MAX);
    event_loop.run().unwrap();
    let error = event_loop.block_on(client.call(Request::new(ECHO)));
    assert!(error.map_or(true, |result| result.is_err()));
}

#[test]
fn what_waited_behind_a_peer_that_does_not_read_is_given_up_with_its_connection() {
    let test = Test::open();
    let (_server, endpoint) = serve(&test, options(|it| it.max_backlog = 1 << 16));
    let hanging = Arc::clone(&test.hanging);
    {
        let mut core = native::Connection::client(native::Config::default(), Instant::now());
        let mut calls = vec![Request::new(ECHO).with_body(vec![1; 1 << 20]); 8];
        calls.extend(vec![Request::new(HANG); 64]);
        let socket = write_calls(&endpoint, &mut core, calls);
        // Whether the last of them were begun or wait in the core: nobody reads the answers.
        std::thread::sleep(200 * MILLI);
        drop(socket);
    }
    assert!(soon(|| hanging.load(Ordering::SeqCst) == 0));
    let client = blocking::Client::new(endpoint, ClientOptions::default());
    client.call(Request::new(ECHO)).unwrap();
    assert_eq!(hanging.load(Ordering::SeqCst), 0);
}

/// Writes calls on a socket from which nothing is read.
fn write_calls(
    endpoint: &Endpoint,
    core: &mut native::Connection,
    calls: Vec<Request>,
) -> TcpStream {
    use corewire_wire::{Core, Outbox};
    let Address::Tcp(address) = endpoint.address() else {
        panic!("{endpoint} is not a TCP port");
    };
    let mut socket = TcpStream::connect(address).unwrap();
    let timeout = Some(Duration::from_secs(2));
    socket.set_write_timeout(timeout).unwrap();
    let now = Instant::now();
    for call in calls {
        let call = call.with_deadline(now + Duration::from_secs(60));
        core.call(now, call).unwrap();
    }
    let mut outbox = Outbox::new();
    while core.poll_transmit(now, &mut outbox) || !outbox.is_empty() {
        let Ok(count) = socket.write(outbox.first()) else {
            break;
        };
        outbox.advance(count);
    }
    socket
}

#[test]
fn never_is_a_time_that_can_be_asked_for() {
    let never = |it: &mut ServerOptions| it.first_octets_timeout = Duration::MAX;
    let (server, endpoint) = serve(&Test::open(), options(never));
    let mut event_loop = EventLoop::new().unwrap();
    let mut options = ClientOptions::default();
    (options.call_timeout, options.connect_timeout) = (Duration::MAX, Duration::MAX);
    let client = event_loop.handle().connect(endpoint, options);
    let answer = event_loop.block_on(client.call(Request::new(ECHO)));
    assert!(answer.unwrap().is_ok());
    drop(client);
    server.drain(Duration::MAX).unwrap();
}

#[test]
fn a_sleep_that_is_polled_by_many_wakes_only_the_last_and_ends_with_its_loop() {
    let mut event_loop = EventLoop::new().unwrap();
    let handle = event_loop.handle();
    let late = Instant::now() + 30 * MILLI;
    event_loop
        .block_on(async {
            let mut sleep = std::pin::pin!(handle.sleep_until(late));
            for _ in 0..1000 {
                let polled = poll_fn(|cx| Poll::Ready(sleep.as_mut().poll(cx))).await;
                assert!(polled.is_pending() || Instant::now() >= late);
            }
            sleep.await;
        })
        .unwrap();
    assert!(Instant::now() >= late);

    let far = Instant::now() + Duration::from_secs(3600);
    let (woken, waker) = flag();
    let mut sleep = Box::pin(handle.sleep_until(far));
    let mut cx = std::task::Context::from_waker(&waker);
    assert!(sleep.as_mut().poll(&mut cx).is_pending());
    event_loop.run_once(Some(Duration::ZERO)).unwrap();
    drop(event_loop);
    assert!(woken.load(Ordering::SeqCst));
    assert!(sleep.as_mut().poll(&mut cx).is_ready());
    assert!(
        Box::pin(handle.sleep_until(far))
            .as_mut()
            .poll(&mut cx)
            .is_ready()
    );
}

fn flag() -> (Arc<AtomicBool>, Waker) {
    struct Flag(Arc<AtomicBool>);
    impl std::task::Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let woken = Arc::new(AtomicBool::new(false));
    let waker = Waker::from(Arc::new(Flag(Arc::clone(&woken))));
    (woken, waker)
}

/// An HTTP/2 frame (RFC 9113, 4.1).
fn http2_frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// What a client says before its first request.
fn http2_greeting() -> Vec<u8> {
    let mut octets = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    octets.extend(http2_frame(4, 0, 0, &[]));
    octets.extend(http2_frame(4, 1, 0, &[]));
    octets
}

/// POST without a body to an operation whose name has 18 octets; behind it more of the header block.
fn http2_post(stream: u32, more: &[u8]) -> Vec<u8> {
    let block = [
        &[0x83, 0x86, 1, 1, b'a', 4, 18][..],
        b"/test.v1.Test/Long",
        more,
    ]
    .concat();
    http2_frame(1, 5, stream, &block)
}

fn connected(address: &Address, octets: &[u8]) -> TcpStream {
    let Address::Tcp(address) = address else {
        panic!("{address} is not a TCP port");
    };
    let mut socket = TcpStream::connect(address).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    socket.write_all(octets).unwrap();
    socket
}

/// Answers with 64 KiB, and notes how long the headers were that it was asked with.
#[derive(Default)]
struct Long(Mutex<Vec<usize>>);

impl Service for Long {
    async fn call(&self, _context: &CallContext, request: Request) -> Response {
        let headers = request.headers.as_block().len();
        self.0.lock().unwrap().push(headers);
        Response::ok(if headers == 0 {
            Body::from(vec![0; 64 << 10])
        } else {
            Body::new()
        })
    }
}

#[test]
fn a_peer_that_does_not_read_its_answers_does_not_stop_the_loop() {
    let long = Arc::new(Long::default());
    let server = Server::start(&[anywhere()], Arc::clone(&long), options(|_| ())).unwrap();
    let address = server.addresses()[0].clone();
    // Without credit for their answers these wait in the core, and the requests behind them too.
    let mut octets = http2_greeting();
    for call in 0..400 {
        octets.extend(http2_post(2 * call + 1, &[]));
    }
    let _silent = connected(&address, &octets);
    assert!(soon(|| long.0.lock().unwrap().len() >= 64));
    let endpoint = Endpoint::new(Protocol::Native, address);
    let client = blocking::Client::new(endpoint, ClientOptions::default());
    for _ in 0..100 {
        let request = Request::new(Operation::from_static("test.v1.Test/Long"));
        client.call(request).unwrap();
    }
    let held_back = 400 + 100 - long.0.lock().unwrap().len();
    assert!(held_back > 200, "{held_back} requests were held back");
}

#[test]
fn a_connection_with_long_headers_has_a_share_of_a_turn_and_the_others_go_first() {
    const REQUESTS: usize = 300;
    let long = Arc::new(Long::default());
    let mut event_loop = EventLoop::new().unwrap();
    let address = event_loop
        .listen(&anywhere(), Arc::clone(&long), Arc::default())
        .unwrap();
    // One entry of 4 KB in HPACK's table, and 15 references to it in each request.
    let mut flood = http2_greeting();
    let mut first = vec![0x40, 1, b'x', 127, 0xa1, 0x1e];
    first.extend([b'y'; 4000]);
    flood.extend(http2_post(1, &first));
    for call in 1..REQUESTS {
        flood.extend(http2_post(2 * call as u32 + 1, &[0x80 | 62; 15]));
    }
    let _loud = connected(&address, &flood);
    event_loop.run_once(Some(MILLI)).unwrap();
    let mut quiet = Vec::new();
    let mut call = http2_greeting();
    call.extend(http2_post(1, &[0, 1, b'q', 1, b'q']));
    let mut turns = 0;
    while long.0.lock().unwrap().len() < REQUESTS + quiet.len() {
        if quiet.len() < 5 {
            quiet.push(connected(&address, &call));
        }
        let before = long.0.lock().unwrap().len();
        event_loop.run_once(Some(MILLI)).unwrap();
        let done = long.0.lock().unwrap().len() - before;
        assert!(done <= 3 + 5, "{done} calls in one turn");
        turns += 1;
        assert!(turns < 10_000, "they are never done");
    }
    let order = long.0.lock().unwrap().clone();
    let last_quiet = order.iter().rposition(|headers| *headers == 6);
    assert!(last_quiet.is_some_and(|place| place < 60), "{last_quiet:?}");
    assert_eq!(order.len(), REQUESTS + 5);
}
