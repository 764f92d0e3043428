//! A client's watcher is told how its connection stands.

use corewire_message::{CallContext, Caller, Operation, Request, Response, Service};
use corewire_transport::{
    Address, ClientOptions, ConnectionWatcher, Endpoint, EventLoop, LoopHandle, Protocol, Server,
    ServerOptions,
};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const ECHO: Operation = Operation::from_static("test.v1.Test/Echo");
const PATIENCE: Duration = Duration::from_secs(10);

struct Echo;

impl Service for Echo {
    async fn call(&self, _context: &CallContext, request: Request) -> Response {
        Response::ok(request.body)
    }
}

struct Watcher(Mutex<Sender<String>>);

impl Watcher {
    fn new() -> (Arc<Self>, Receiver<String>) {
        let (tell, told) = channel();
        (Arc::new(Self(Mutex::new(tell))), told)
    }

    fn tell(&self, what: &str) {
        // The test may have ended.
        let _test_gone = self.0.lock().unwrap().send(what.to_owned());
    }
}

impl ConnectionWatcher for Watcher {
    fn connected(&self) {
        self.tell("connected");
    }

    fn disconnected(&self, why: &str) {
        self.tell(why);
    }
}

/// A loop never leaves its thread.
fn run_beside() -> (LoopHandle, std::thread::JoinHandle<()>) {
    let (tell, told) = channel();
    let thread = std::thread::spawn(move || {
        let mut event_loop = EventLoop::new().unwrap();
        tell.send(event_loop.handle()).unwrap();
        event_loop.run().unwrap();
    });
    (told.recv_timeout(PATIENCE).unwrap(), thread)
}

/// A path and not a port: one that was given back may be another's the next moment.
fn own_path(protocol: Protocol) -> Address {
    let name = format!("corewire-watched-{}-{protocol}", std::process::id());
    Address::Unix(std::env::temp_dir().join(name))
}

#[test]
fn a_watcher_sees_connecting_draining_and_failing() {
    for protocol in Protocol::ALL {
        let server = Server::start(
            &[own_path(protocol)],
            Arc::new(Echo),
            ServerOptions::default(),
        )
        .unwrap();
        let (handle, thread) = run_beside();
        let (watcher, told) = Watcher::new();
        let endpoint = Endpoint::new(protocol, server.addresses()[0].clone());
        let client = handle.connect_watched(endpoint, ClientOptions::default(), watcher);

        client.prepare().unwrap();
        assert_eq!(told.recv_timeout(PATIENCE).unwrap(), "connected");
        // There is one: nothing happens. A call behind it shows that the loop has looked at it; later
        // it could find a loop of the server that still listens.
        client.prepare().unwrap();
        let (tell, answered) = channel();
        client.call_then(Request::new(ECHO), move |result| {
            let _test_is_over = tell.send(result.is_ok());
        });
        assert!(answered.recv_timeout(PATIENCE).unwrap());
        server.drain(PATIENCE).unwrap();
        let why = told.recv_timeout(PATIENCE).unwrap();
        assert!(why.contains("drains") || why.contains("closed"), "{why}");

        // Nobody listens there any more.
        client.prepare().unwrap();
        let why = told.recv_timeout(PATIENCE).unwrap();
        assert!(why.contains("cannot be connected to"), "{why}");
        // And for now it is not tried again.
        client.prepare().unwrap();
        let why = told.recv_timeout(PATIENCE).unwrap();
        assert!(why.contains("could not be reached"), "{why}");

        handle.stop();
        thread.join().unwrap();
        assert!(client.prepare().is_err());
    }
}

#[test]
fn a_call_that_connects_tells_the_watcher_too() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    drop(listener);
    let mut event_loop = EventLoop::new().unwrap();
    let (watcher, told) = Watcher::new();
    let endpoint = Endpoint::new(Protocol::Native, address);
    let client = event_loop
        .handle()
        .connect_watched(endpoint, ClientOptions::default(), watcher);
    let result = event_loop
        .block_on(client.call(Request::new(ECHO)))
        .unwrap();
    assert!(!result.unwrap_err().may_have_executed());
    let why = told.recv_timeout(PATIENCE).unwrap();
    assert!(why.contains("refused"), "{why}");
}
