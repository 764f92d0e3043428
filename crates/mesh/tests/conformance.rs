//! A channel through the mesh keeps every promise that a transport keeps, over each of them.

use corewire_mesh::config::{Address, Cluster, Endpoints, RouteConfig, Snapshot, Transport};
use corewire_mesh::{Mesh, MeshOptions};
use corewire_message::{Channel, blocking};
use corewire_testkit::clock::{BoxFuture, Clock, RealClock};
use corewire_testkit::conformance::{
    Fixture, MAX_MESSAGE, Probe, SuiteService, Threaded, block_on, own_address,
};
use corewire_testkit::conformance_suite;
use corewire_transport::{EventLoop, LoopHandle, Server, ServerOptions};
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a server under test drains at most.
const DRAIN: Duration = Duration::from_secs(10);

/// A server, and clients that reach it through a mesh.
struct Meshed {
    transport: Transport,
    probe: Arc<Probe>,
    address: Address,
    server: Mutex<Option<Server>>,
    draining: Mutex<Vec<JoinHandle<()>>>,
    /// `None`: threads drive the clients.
    client_loop: Option<LoopHandle>,
    client_thread: Mutex<Option<JoinHandle<()>>>,
}

impl Meshed {
    fn event_loop(transport: Transport) -> Self {
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::spawn(move || {
            let mut event_loop = EventLoop::new().unwrap();
            tell.send(event_loop.handle()).unwrap();
            event_loop.run().unwrap();
        });
        Self::new(transport, Some((told.recv().unwrap(), thread)))
    }

    fn blocking(transport: Transport) -> Self {
        Self::new(transport, None)
    }

    fn new(transport: Transport, client: Option<(LoopHandle, JoinHandle<()>)>) -> Self {
        let probe = Arc::new(Probe::default());
        let server = start(&Address::Tcp(own_address()), &probe);
        let address = server.addresses()[0].clone();
        let (client_loop, client_thread) = client.unzip();
        Self {
            transport,
            probe,
            address,
            server: Mutex::new(Some(server)),
            draining: Mutex::default(),
            client_loop,
            client_thread: Mutex::new(client_thread),
        }
    }

    fn mesh(&self, address: Address, max_message: usize) -> Mesh {
        let mut snapshot = Snapshot::default();
        let mut cluster = Cluster::new("suite");
        cluster.transport = Some(self.transport);
        // A thousand calls at once and what the test itself adds.
        cluster.circuit.max_requests = 4096;
        snapshot.add_cluster(cluster, Endpoints::at([address]));
        snapshot.add_target("suite", RouteConfig::to_cluster("suite"));
        let mut options = MeshOptions::default();
        options.loops.extend(self.client_loop.clone());
        options.client.native.max_message = u32::try_from(max_message).unwrap();
        options.client.http2.max_message = max_message;
        Mesh::fixed(snapshot, options).unwrap()
    }

    fn client(&self, address: Address, max_message: usize) -> Channel {
        let mesh = self.mesh(address, max_message);
        match &self.client_loop {
            Some(_) => Channel::new(mesh.channel("suite")),
            None => Channel::new(Threaded(blocking::Channel::new(mesh.blocking("suite")))),
        }
    }

    fn take_server(&self) -> Option<Server> {
        lock(&self.server).take()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start(address: &Address, probe: &Arc<Probe>) -> Server {
    let mut options = ServerOptions::default();
    options.loops = 2;
    options.native.max_message = u32::try_from(MAX_MESSAGE).unwrap();
    options.http2.max_message = MAX_MESSAGE;
    let service = SuiteService::new(Arc::new(RealClock), Arc::clone(probe));
    Server::start(std::slice::from_ref(address), Arc::new(service), options).unwrap()
}

impl Fixture for Meshed {
    fn carries_any_octets(&self) -> bool {
        matches!(self.transport, Transport::Native | Transport::Shm)
    }

    fn protocol(&self) -> &'static str {
        match self.transport {
            // What is spoken in it.
            Transport::Shm => "native",
            transport => transport.name(),
        }
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
        // Nobody listens there; a port that was free a moment ago may have gone to another test.
        let address = Address::Tcp(SocketAddr::from(([127, 1, 1, 1], 1)));
        self.client(address, MAX_MESSAGE)
    }

    fn connect_thread(&self) -> Option<blocking::Channel> {
        let mesh = self.mesh(self.address.clone(), MAX_MESSAGE);
        Some(blocking::Channel::new(mesh.blocking("suite")))
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
        *lock(&self.server) = Some(start(&self.address, &self.probe));
    }

    fn drain_server(&self) {
        if let Some(server) = self.take_server() {
            let drain = move || server.drain(DRAIN).unwrap();
            lock(&self.draining).push(std::thread::spawn(drain));
        }
    }

    fn end_client_loop(&self) {
        if let Some(client_loop) = &self.client_loop {
            client_loop.stop();
        }
        if let Some(thread) = lock(&self.client_thread).take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Meshed {
    fn drop(&mut self) {
        self.probe.gate.open();
        self.stop_server();
        self.end_client_loop();
        for thread in lock(&self.draining).drain(..) {
            // What it panicked with is on its own output.
            let _failed_alone = thread.join();
        }
    }
}

conformance_suite!(
    native_event_loop,
    [everywhere, futures, loops, sockets],
    || { Meshed::event_loop(Transport::Native) }
);
conformance_suite!(
    grpc_event_loop,
    [everywhere, futures, loops, sockets],
    || { Meshed::event_loop(Transport::Grpc) }
);
conformance_suite!(
    rest_event_loop,
    [everywhere, futures, loops, sockets],
    || { Meshed::event_loop(Transport::Rest) }
);
conformance_suite!(native_blocking, [everywhere, threads, sockets], || {
    Meshed::blocking(Transport::Native)
});
conformance_suite!(grpc_blocking, [everywhere, threads, sockets], || {
    Meshed::blocking(Transport::Grpc)
});
conformance_suite!(rest_blocking, [everywhere, threads, sockets], || {
    Meshed::blocking(Transport::Rest)
});
conformance_suite!(
    memory_event_loop,
    [everywhere, futures, loops, sockets],
    || { Meshed::event_loop(Transport::Shm) }
);
conformance_suite!(memory_blocking, [everywhere, threads, sockets], || {
    Meshed::blocking(Transport::Shm)
});
