//! Servers that behave as told, and what tests need again and again.

use corewire_mesh::config::{
    Address, Cluster, EndpointInfo, Endpoints, Forward, Locality, Route, RouteAction, RouteConfig,
    Snapshot, Transport, VirtualHost,
};
use corewire_mesh::{LineState, Mesh, MeshChannel, MeshOptions};
use corewire_message::{
    Body, CallContext, CallError, CallKind, Caller, Code, Event, Inbound, Operation, Outbound,
    Request, Response, Service, Status,
};
pub(crate) use corewire_testkit::conformance::{block_on, join_all};
use corewire_transport::{Server, ServerOptions};
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

pub(crate) const CALL: Operation = Operation::from_static("test.v1.Test/Call");
pub(crate) const STREAM: Operation = Operation::from_static("test.v1.Test/Stream");
pub(crate) const MILLI: Duration = Duration::from_millis(1);
/// How long something that should happen soon may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

const HANG: u8 = 255;

/// A server's service: answers with its name, fails, or hangs.
pub(crate) struct Replica {
    name: String,
    /// A code's number, or [`HANG`].
    mode: AtomicU8,
    calls: AtomicU64,
    events: AtomicU64,
    waiting: Mutex<Vec<Waker>>,
}

impl Replica {
    pub(crate) fn new(name: &str) -> Arc<Self> {
        Arc::new(Self {
            name: name.into(),
            mode: AtomicU8::new(Code::Ok.number()),
            calls: AtomicU64::new(0),
            events: AtomicU64::new(0),
            waiting: Mutex::default(),
        })
    }

    pub(crate) fn answer(&self, code: Code) {
        self.mode.store(code.number(), Ordering::SeqCst);
        self.waiting.lock().unwrap().drain(..).for_each(Waker::wake);
    }

    pub(crate) fn hang(&self) {
        self.mode.store(HANG, Ordering::SeqCst);
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    pub(crate) fn events(&self) -> u64 {
        self.events.load(Ordering::SeqCst)
    }

    async fn mode(&self) -> Code {
        poll_fn(|cx| {
            let mut waiting = self.waiting.lock().unwrap();
            match self.mode.load(Ordering::SeqCst) {
                HANG => {
                    waiting.push(cx.waker().clone());
                    Poll::Pending
                }
                code => Poll::Ready(Code::from_number(code.into())),
            }
        })
        .await
    }
}

impl Service for Replica {
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        Some(if *operation == STREAM {
            CallKind::Stream
        } else {
            CallKind::Unary
        })
    }

    async fn call(&self, _context: &CallContext, request: Request) -> Response {
        self.calls.fetch_add(1, Ordering::SeqCst);
        match self.mode().await {
            Code::Ok => Response::ok(self.name.clone().into_bytes()).with_headers(request.headers),
            code => Response::failed(Status::new(code, "as told")),
        }
    }

    async fn event(&self, _context: &CallContext, _event: Event) {
        self.events.fetch_add(1, Ordering::SeqCst);
    }

    async fn stream(
        &self,
        _context: &CallContext,
        _request: Request,
        mut inbound: Inbound,
        mut outbound: Outbound,
    ) -> Response {
        self.calls.fetch_add(1, Ordering::SeqCst);
        if outbound.send(self.name.clone().into_bytes()).await.is_err() {
            return Response::ok(Body::new());
        }
        while let Ok(Some(message)) = inbound.message().await {
            if outbound.send(message).await.is_err() {
                break;
            }
        }
        Response::failed(Status::of(self.mode().await))
    }
}

/// Any port of a loopback address that no other test has: who is killed and started again finds its
/// port free, and until then nobody else answers there.
pub(crate) fn anywhere() -> Address {
    static NUMBER: AtomicU16 = AtomicU16::new(0);
    let [high, low] = NUMBER.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    Address::Tcp(SocketAddr::from(([127, 77, high, low], 0)))
}

/// A running server.
pub(crate) struct Running {
    pub(crate) replica: Arc<Replica>,
    server: Option<Server>,
    pub(crate) address: Address,
}

impl Running {
    pub(crate) fn start(name: &str) -> Self {
        Self::at(&anywhere(), Replica::new(name))
    }

    pub(crate) fn at(address: &Address, replica: Arc<Replica>) -> Self {
        let mut options = ServerOptions::default();
        options.loops = 1;
        let server =
            Server::start(std::slice::from_ref(address), Arc::clone(&replica), options).unwrap();
        Self {
            address: server.addresses()[0].clone(),
            server: Some(server),
            replica,
        }
    }

    pub(crate) fn several(count: usize) -> Vec<Self> {
        (0..count)
            .map(|number| Self::start(&format!("replica-{number}")))
            .collect()
    }

    pub(crate) fn kill(&mut self) {
        drop(self.server.take());
    }

    pub(crate) fn drain(&mut self) {
        if let Some(server) = self.server.take() {
            server.drain(PATIENCE).unwrap();
        }
    }

    pub(crate) fn restart(&mut self) {
        *self = Self::at(&self.address, Arc::clone(&self.replica));
    }
}

pub(crate) fn endpoints(servers: &[Running]) -> Endpoints {
    Endpoints::at(servers.iter().map(|server| server.address.clone()))
}

pub(crate) fn locality(priority: u32, servers: &[Running]) -> Locality {
    Locality {
        priority,
        weight: 1,
        endpoints: servers
            .iter()
            .map(|server| EndpointInfo::at(server.address.clone()))
            .collect(),
        ..Locality::default()
    }
}

/// A cluster that is spoken to natively.
pub(crate) fn cluster(name: &str) -> Cluster {
    let mut cluster = Cluster::new(name);
    cluster.transport = Some(Transport::Native);
    cluster
}

pub(crate) fn forward(forward: Forward) -> Route {
    let mut route = Route::to_cluster("");
    route.action = RouteAction::Forward(Box::new(forward));
    route
}

pub(crate) fn routes(routes: Vec<Route>) -> RouteConfig {
    RouteConfig {
        name: "test".into(),
        virtual_hosts: vec![VirtualHost {
            name: "test".into(),
            domains: vec!["*".into()],
            routes,
        }],
    }
}

/// Target `test` with these routes, and cluster `test` of these servers.
pub(crate) fn snapshot(cluster: Cluster, servers: &[Running], route: Vec<Route>) -> Snapshot {
    let mut snapshot = Snapshot::default();
    snapshot.add_cluster(cluster, endpoints(servers));
    snapshot.add_target("test", routes(route));
    snapshot
}

pub(crate) fn simple(servers: &[Running]) -> Snapshot {
    snapshot(cluster("test"), servers, vec![Route::to_cluster("test")])
}

pub(crate) fn mesh(snapshot: Snapshot) -> (Mesh, MeshChannel) {
    let mesh = Mesh::fixed(snapshot, MeshOptions::default()).unwrap();
    let channel = mesh.channel("test");
    (mesh, channel)
}

/// Waits until every cluster has a connected endpoint.
pub(crate) fn ready(channel: &MeshChannel) {
    block_on(channel.ready(PATIENCE)).unwrap();
}

/// Waits until every endpoint of a cluster has a connection.
pub(crate) fn all_connected(mesh: &Mesh, cluster: &str) {
    until("all endpoints are connected", || {
        let state = mesh.state();
        let endpoints = &state.cluster(cluster).unwrap().endpoints;
        endpoints.iter().all(|endpoint| {
            endpoint
                .lines
                .iter()
                .all(|(line, _)| *line == LineState::Ready)
        })
    });
}

/// Waits until this side has seen that a server is gone: until then a call may meet the connection
/// to it, and nobody knows what becomes of that call.
pub(crate) fn seen_gone(mesh: &Mesh, server: &Running) {
    let address = server.address.to_string();
    until("it is seen that a server is gone", || {
        let state = mesh.state();
        let endpoints = state.clusters.iter().flat_map(|it| &it.endpoints);
        let mut lines = endpoints
            .filter(|it| it.address == address)
            .flat_map(|it| &it.lines);
        lines.all(|(line, _)| *line != LineState::Ready)
    });
}

pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) {
    let give_up = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < give_up, "not so in {PATIENCE:?}: {what}");
        std::thread::sleep(MILLI);
    }
}

pub(crate) fn request() -> Request {
    Request::new(CALL).with_deadline(Instant::now() + PATIENCE)
}

pub(crate) fn with_header(name: &str, value: &str) -> Request {
    let mut request = request();
    request.headers.append(name, value).unwrap();
    request
}

/// Who answered.
pub(crate) fn who(result: Result<Response, CallError>) -> Result<String, CallError> {
    result.map(|response| String::from_utf8(response.body.into_bytes().to_vec()).unwrap())
}

pub(crate) fn ask(channel: &MeshChannel, request: Request) -> Result<String, CallError> {
    who(block_on(channel.call(request)))
}
