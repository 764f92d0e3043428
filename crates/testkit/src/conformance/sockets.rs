//! Real sockets, a real server, and clients of either driver.

use super::bench::{Fixture, MAX_MESSAGE};
use super::service::{Probe, SuiteService};
use super::threaded::Threaded;
use super::watchdog::block_on;
use crate::certificates;
use crate::clock::{BoxFuture, Clock, RealClock};
use corewire_message::{Channel, blocking};
use corewire_transport::tls::{ClientTls, ServerTls};
use corewire_transport::{
    Address, ClientOptions, Endpoint, EventLoop, LoopHandle, Protocol, Server, ServerOptions,
};
use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a server under test drains at most.
const DRAIN: Duration = Duration::from_secs(10);

/// Which sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "what the transport crate has")]
pub enum Family {
    /// The loopback interface, any free port.
    Tcp,
    /// A path in a directory for temporary files.
    Unix,
    /// The loopback interface with mutual TLS.
    Tls,
    /// Shared memory.
    Memory,
}

/// A [`Fixture`] of real sockets on this machine.
pub struct Sockets {
    protocol: Protocol,
    family: Family,
    probe: Arc<Probe>,
    address: Address,
    directory: Option<PathBuf>,
    server: Mutex<Option<Server>>,
    draining: Mutex<Vec<JoinHandle<()>>>,
    /// `None`: threads drive the clients.
    client_loop: Option<LoopHandle>,
    client_thread: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Sockets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sockets({} at {})", self.protocol, self.address)
    }
}

impl Sockets {
    /// Clients that an event loop drives.
    #[must_use]
    pub fn event_loop(protocol: Protocol, family: Family) -> Self {
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::spawn(move || {
            let mut event_loop = EventLoop::new().expect("an event loop");
            tell.send(event_loop.handle())
                .expect("the test waits for it");
            event_loop.run().expect("the loop runs until it is stopped");
        });
        let handle = told.recv().expect("the loop begins");
        Self::new(protocol, family, Some((handle, thread)))
    }

    /// Clients that threads drive.
    #[must_use]
    pub fn blocking(protocol: Protocol, family: Family) -> Self {
        Self::new(protocol, family, None)
    }

    fn new(
        protocol: Protocol,
        family: Family,
        client: Option<(LoopHandle, JoinHandle<()>)>,
    ) -> Self {
        let directory = (family == Family::Unix).then(own_directory);
        let address = match &directory {
            None if family == Family::Memory => Address::Memory(own_name()),
            // The certificate is for this one.
            None if family == Family::Tls => Address::Tcp(SocketAddr::from(([127, 0, 0, 1], 0))),
            None => Address::Tcp(own_address()),
            Some(directory) => Address::Unix(directory.join("suite.sock")),
        };
        let probe = Arc::new(Probe::default());
        let server = start(&address, family, &probe);
        let address = server.addresses()[0].clone();
        let (client_loop, client_thread) = client.unzip();
        Self {
            protocol,
            family,
            probe,
            address,
            directory,
            server: Mutex::new(Some(server)),
            draining: Mutex::default(),
            client_loop,
            client_thread: Mutex::new(client_thread),
        }
    }

    fn client(&self, address: Address, max_message: usize) -> Channel {
        let endpoint = Endpoint::new(self.protocol, address);
        let options = self.client_options(max_message);
        match &self.client_loop {
            Some(client_loop) => Channel::new(client_loop.connect(endpoint, options)),
            None => Channel::new(Threaded(thread_client(endpoint, options))),
        }
    }

    fn client_options(&self, max_message: usize) -> ClientOptions {
        let mut options = ClientOptions::default();
        options.native.max_message = u32::try_from(max_message).unwrap_or(u32::MAX);
        options.http2.max_message = max_message;
        if self.family == Family::Tls {
            options.tls = Some(ClientTls::new(certificates::files("client")).expect("good files"));
        }
        options
    }

    fn take_server(&self) -> Option<Server> {
        lock(&self.server).take()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn thread_client(endpoint: Endpoint, options: ClientOptions) -> blocking::Channel {
    blocking::Channel::new(corewire_transport::blocking::Client::new(endpoint, options))
}

fn start(address: &Address, family: Family, probe: &Arc<Probe>) -> Server {
    let mut options = ServerOptions::default();
    if family == Family::Tls {
        options.tls = Some(ServerTls::new(certificates::files("server")).expect("good files"));
    }
    // Two, whatever the machine: connections are spread over them.
    options.loops = 2;
    options.native.max_message = u32::try_from(MAX_MESSAGE).unwrap_or(u32::MAX);
    options.http2.max_message = MAX_MESSAGE;
    let service = SuiteService::new(Arc::new(RealClock), Arc::clone(probe));
    Server::start(std::slice::from_ref(address), Arc::new(service), options)
        .expect("the server starts")
}

/// Any port of a loopback address that no other test has: a server that was stopped finds its port
/// free when it starts again, and nobody else answers there meanwhile.
#[must_use]
pub fn own_address() -> SocketAddr {
    static NUMBER: AtomicU16 = AtomicU16::new(0);
    let [high, low] = NUMBER.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    SocketAddr::from(([127, 76, high, low], 0))
}

/// A name that no other test has.
fn own_name() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("corewire-suite-{}-{number}", std::process::id())
}

/// A directory that no other test has.
fn own_directory() -> PathBuf {
    let directory = std::env::temp_dir().join(own_name());
    std::fs::create_dir_all(&directory).expect("a directory for the socket");
    directory
}

impl Fixture for Sockets {
    fn carries_any_octets(&self) -> bool {
        self.protocol == Protocol::Native
    }

    fn protocol(&self) -> &'static str {
        self.protocol.name()
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(RealClock)
    }

    fn probe(&self) -> Arc<Probe> {
        Arc::clone(&self.probe)
    }

    fn connect(&self, max_message: usize) -> Channel {
        self.client(self.address.clone(), max_message)
    }

    fn connect_to_nowhere(&self) -> Channel {
        let address = match &self.directory {
            Some(directory) => Address::Unix(directory.join("nobody.sock")),
            None if self.family == Family::Memory => Address::Memory(own_name()),
            // Nobody listens there; a port that was free a moment ago may have gone to another test.
            None => Address::Tcp(SocketAddr::from(([127, 1, 1, 1], 1))),
        };
        self.client(address, MAX_MESSAGE)
    }

    fn connect_thread(&self) -> Option<blocking::Channel> {
        let endpoint = Endpoint::new(self.protocol, self.address.clone());
        Some(thread_client(endpoint, self.client_options(MAX_MESSAGE)))
    }

    fn spawn(&self, task: BoxFuture<()>) {
        std::thread::spawn(move || block_on(task));
    }

    fn run(&self, test: Pin<Box<dyn Future<Output = ()> + '_>>) {
        block_on(test);
    }

    fn stop_server(&self) {
        drop(self.take_server());
    }

    fn start_server(&self) {
        *lock(&self.server) = Some(start(&self.address, self.family, &self.probe));
    }

    fn drain_server(&self) {
        if let Some(server) = self.take_server() {
            let drain = move || server.drain(DRAIN).expect("the server drains");
            lock(&self.draining).push(std::thread::spawn(drain));
        }
    }

    fn end_client_loop(&self) {
        if let Some(client_loop) = &self.client_loop {
            client_loop.stop();
        }
        if let Some(thread) = lock(&self.client_thread).take() {
            thread.join().expect("the client's loop ends");
        }
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        // Streams and calls that a failed test left behind would hold a draining server.
        self.probe.gate.open();
        self.stop_server();
        self.end_client_loop();
        for thread in lock(&self.draining).drain(..) {
            // What it panicked with is on its own output.
            let _ = thread.join();
        }
        if let Some(directory) = &self.directory {
            // Whoever cleans temporary files finds it otherwise.
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}
