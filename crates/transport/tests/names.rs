//! A host with several addresses, and one that moves: both drivers, every protocol.

use corewire_message::blocking::Caller as _;
use corewire_message::{
    CallContext, CallError, Caller as _, Operation, Request, Response, Service,
};
use corewire_transport::{
    Address, ClientOptions, Endpoint, EventLoop, Protocol, Resolver, Server, ServerOptions,
    blocking, parse_address,
};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const ECHO: Operation = Operation::from_static("test.v1.Test/Echo");
const PATIENCE: Duration = Duration::from_secs(30);

struct Echo;

impl Service for Echo {
    async fn call(&self, _context: &CallContext, request: Request) -> Response {
        Response::ok(request.body)
    }
}

fn serve(listen: &str) -> std::io::Result<(Server, SocketAddr)> {
    let mut options = ServerOptions::default();
    options.loops = 1;
    let server = Server::start(&[parse_address(listen).unwrap()], Arc::new(Echo), options)?;
    let Address::Tcp(address) = server.addresses()[0] else {
        panic!("it was told to listen at a TCP address");
    };
    Ok((server, address))
}

/// A server, and an address with its port at which nobody listens.
fn server_and_closed() -> (Server, SocketAddr, SocketAddr) {
    let (server, open) = serve("127.0.0.77:0").unwrap();
    let closed = SocketAddr::from(([127, 0, 0, 78], open.port()));
    (server, open, closed)
}

fn named(protocol: Protocol, addresses: &[SocketAddr]) -> Endpoint {
    Endpoint::named(protocol, "echo.test:80", addresses.iter().copied()).unwrap()
}

fn request() -> Request {
    Request::new(ECHO).with_deadline(Instant::now() + PATIENCE)
}

/// One call of a new client by each driver.
fn both(endpoint: &Endpoint, options: &ClientOptions) -> [Result<Response, CallError>; 2] {
    let waiting = blocking::Client::new(endpoint.clone(), options.clone());
    let by_thread = waiting.call(request());
    let mut event_loop = EventLoop::new().unwrap();
    let futures = event_loop
        .handle()
        .connect(endpoint.clone(), options.clone());
    let by_loop = event_loop.block_on(async { futures.call(request()).await });
    [by_thread, by_loop.unwrap()]
}

#[test]
fn a_call_finds_the_address_at_which_the_service_listens() {
    let (_server, open, closed) = server_and_closed();
    for protocol in Protocol::ALL {
        for addresses in [[closed, open], [open, closed]] {
            for called in both(&named(protocol, &addresses), &ClientOptions::default()) {
                called.unwrap_or_else(|error| panic!("{protocol}, {addresses:?}: {error}"));
            }
        }
    }
}

#[test]
fn a_service_that_listens_at_ipv6_alone_is_found() {
    let Ok((_server, open)) = serve("[::1]:0") else {
        eprintln!("skipped: there is no IPv6 here");
        return;
    };
    let closed = SocketAddr::from(([127, 0, 0, 78], open.port()));
    for protocol in Protocol::ALL {
        for called in both(&named(protocol, &[open, closed]), &ClientOptions::default()) {
            called.unwrap_or_else(|error| panic!("{protocol}: {error}"));
        }
    }
}

#[test]
fn a_name_of_this_host_is_found_by_the_system() {
    let (_server, address) = serve("localhost:0").unwrap();
    for protocol in Protocol::ALL {
        let text = format!("{protocol}://localhost:{}", address.port());
        for called in both(&text.parse().unwrap(), &ClientOptions::default()) {
            called.unwrap_or_else(|error| panic!("{protocol}: {error}"));
        }
    }
}

/// Finds what is in here, and counts how often it was asked.
fn resolver(found: &Arc<Mutex<Vec<SocketAddr>>>, asked: &Arc<AtomicUsize>) -> ClientOptions {
    let (found, asked) = (Arc::clone(found), Arc::clone(asked));
    let mut options = ClientOptions::default();
    options.resolver = Resolver::new(move |name| {
        assert_eq!(name, "echo.test:80");
        asked.fetch_add(1, Ordering::Relaxed);
        Ok(found.lock().unwrap().clone())
    });
    options
}

#[test]
fn a_host_that_moved_is_looked_up_again() {
    for protocol in Protocol::ALL {
        let (_server, open, closed) = server_and_closed();
        let found = Arc::new(Mutex::new(vec![open]));
        let asked = Arc::new(AtomicUsize::new(0));
        let options = resolver(&found, &asked);
        // A thread waits for what is found: its first call gets there.
        let waiting = blocking::Client::new(named(protocol, &[closed]), options.clone());
        waiting.call(request()).unwrap();
        assert_eq!(asked.load(Ordering::Relaxed), 1, "{protocol}");
        // A loop does not: the first call fails, unsent, and soon another does not.
        let mut event_loop = EventLoop::new().unwrap();
        let futures = event_loop
            .handle()
            .connect(named(protocol, &[closed]), options);
        let give_up = Instant::now() + PATIENCE;
        let calls = async {
            let error = futures.call(request()).await.unwrap_err();
            assert!(!error.may_have_executed(), "{protocol}: {error}");
            while let Err(error) = futures.call(request()).await {
                assert!(Instant::now() < give_up, "{protocol}: {error}");
            }
        };
        event_loop.block_on(calls).unwrap();
        assert_eq!(asked.load(Ordering::Relaxed), 2, "{protocol}");
    }
}

#[test]
fn a_host_that_is_nowhere_is_not_looked_up_at_every_call() {
    let (_server, _open, closed) = server_and_closed();
    let found = Arc::new(Mutex::new(vec![closed]));
    let asked = Arc::new(AtomicUsize::new(0));
    let options = resolver(&found, &asked);
    let client = blocking::Client::new(named(Protocol::Native, &[closed]), options);
    let since = Instant::now();
    for _ in 0..50 {
        let error = client.call(request()).unwrap_err();
        assert!(!error.may_have_executed(), "{error}");
    }
    let most = 1 + usize::try_from(since.elapsed().as_secs()).unwrap();
    assert!(asked.load(Ordering::Relaxed) <= most);
}

#[test]
fn nobody_waits_longer_for_a_name_than_he_has_time() {
    let (_server, open, closed) = server_and_closed();
    // Answers when the test is over.
    let (over, until_over) = std::sync::mpsc::channel::<()>();
    let until_over = Mutex::new(until_over);
    let mut options = ClientOptions::default();
    options.resolver = Resolver::new(move |_| {
        let _over = until_over.lock().unwrap().recv();
        Ok(Vec::new())
    });
    let lost = blocking::Client::new(named(Protocol::Native, &[closed]), options.clone());
    let soon = Instant::now() + Duration::from_millis(100);
    let error = lost.call(Request::new(ECHO).with_deadline(soon));
    assert!(!error.unwrap_err().may_have_executed());
    assert!(Instant::now() < soon + PATIENCE / 2);
    // A loop goes on with its other clients.
    let mut event_loop = EventLoop::new().unwrap();
    let handle = event_loop.handle();
    let lost = handle.connect(named(Protocol::Native, &[closed]), options.clone());
    let other = handle.connect(named(Protocol::Native, &[open]), options);
    let calls = async {
        lost.call(request()).await.unwrap_err();
        other.call(request()).await.unwrap();
    };
    event_loop.block_on(calls).unwrap();
    drop(over);
}

/// An address that neither takes nor refuses a connection gets its share of the time only.
#[test]
fn an_address_that_does_not_answer_leaves_time_for_the_others() {
    let (_server, open, _closed) = server_and_closed();
    // Nobody accepts, and the queue is full.
    let silent = TcpListener::bind("127.0.0.76:0").unwrap();
    let address = silent.local_addr().unwrap();
    rustix::net::listen(&silent, 1).unwrap();
    let mut waiting = Vec::new();
    // One attempt may have lost its time to a machine that stood still.
    let mut unanswered = 0;
    while unanswered < 3 && waiting.len() <= 16 {
        match std::net::TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
            Ok(socket) => waiting.push(socket),
            Err(_) => unanswered += 1,
        }
    }
    if unanswered < 3 {
        eprintln!("skipped: this kernel takes connections beyond the queue");
        return;
    }
    let mut options = ClientOptions::default();
    options.connect_timeout = Duration::from_secs(2);
    for protocol in Protocol::ALL {
        // A machine that stands still takes the time of both, once.
        let reached = || both(&named(protocol, &[address, open]), &options);
        let reached = (0..5).any(|_| reached().iter().all(Result::is_ok));
        assert!(reached, "{protocol}");
    }
}
