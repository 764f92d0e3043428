//! What the mesh's stages cost a request: the same calls over the same loop to 30 endpoints,
//! without the mesh and with it, in turns.
//!
//! ```sh
//! cargo run --release -p corewire-mesh --example stages_cost
//! ```
//!
//! Both ends are on one thread, so that the time of a call is the CPU that it takes.
#![allow(
    clippy::disallowed_methods,
    reason = "a program of its own: it reads its clock"
)]

use corewire_mesh::config::{Address, Cluster, Endpoints, RouteConfig, Snapshot, Transport};
use corewire_mesh::{Mesh, MeshOptions};
use corewire_message::{Body, CallContext, Caller, Headers, Operation, Request, Response, Service};
use corewire_transport::{ClientOptions, Endpoint, EventLoop, Protocol, ServerOptions};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

const CREATE: Operation = Operation::from_static("nsmf-pdusession/v1/sm-contexts");
const ENDPOINTS: usize = 30;
const CALLS: u32 = 20_000;
const TURNS: usize = 9;

struct Replica;

impl Service for Replica {
    async fn call(&self, _context: &CallContext, _request: Request) -> Response {
        Response::ok(Body::from_static(&[7; 256]))
    }
}

fn request(body: &Body) -> Request {
    let mut headers = Headers::new();
    headers
        .append("supi", "imsi-001010000000001")
        .expect("a header");
    headers.append("x-sent", "1234567890123").expect("a header");
    Request::new(CREATE)
        .with_headers(headers)
        .with_body(body.tail().clone())
}

/// Nanoseconds a call, one after the other.
fn measure(event_loop: &mut EventLoop, call: impl AsyncFn(u32)) -> f64 {
    let began = Instant::now();
    event_loop
        .block_on(async {
            for number in 0..CALLS {
                call(number).await;
            }
        })
        .expect("the loop runs");
    began.elapsed().as_nanos() as f64 / f64::from(CALLS)
}

fn main() {
    let mut event_loop = EventLoop::new().expect("an event loop");
    let options = Arc::new(ServerOptions::default());
    let addresses: Vec<_> = (0..ENDPOINTS)
        .map(|_| {
            let anywhere = Address::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
            event_loop
                .listen(&anywhere, Arc::new(Replica), Arc::clone(&options))
                .expect("a free port")
        })
        .collect();
    let body = Body::from(vec![7; 1000]);
    for (protocol, transport) in [
        (Protocol::Native, Transport::Native),
        (Protocol::Rest, Transport::Rest),
        (Protocol::Grpc, Transport::Grpc),
    ] {
        let clients: Vec<_> = addresses
            .iter()
            .map(|address| {
                let endpoint = Endpoint::new(protocol, address.clone());
                event_loop
                    .handle()
                    .connect(endpoint, ClientOptions::default())
            })
            .collect();
        let mut snapshot = Snapshot::default();
        let mut cluster = Cluster::new("smf");
        cluster.transport = Some(transport);
        snapshot.add_cluster(cluster, Endpoints::at(addresses.clone()));
        snapshot.add_target("smf", RouteConfig::to_cluster("smf"));
        let options = MeshOptions::default().with_loop(event_loop.handle());
        let mesh = Mesh::fixed(snapshot, options).expect("a mesh");
        let channel = mesh.channel("smf");
        let ready = channel.ready(Duration::from_secs(5));
        event_loop
            .block_on(ready)
            .expect("the loop runs")
            .expect("connected");

        let mut turns: Vec<(f64, f64)> = (0..TURNS)
            .map(|_| {
                let direct = measure(&mut event_loop, async |number| {
                    let client = &clients[number as usize % ENDPOINTS];
                    client.call(request(&body)).await.expect("an answer");
                });
                let meshed = measure(&mut event_loop, async |_| {
                    channel.call(request(&body)).await.expect("an answer");
                });
                (direct, meshed)
            })
            .collect();
        turns.sort_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
        let (direct, meshed) = turns[TURNS / 2];
        println!(
            "{protocol:>6}: {direct:.0} ns a call, {meshed:.0} with the mesh: {:+.0} ns, {:+.1} %",
            meshed - direct,
            (meshed / direct - 1.0) * 100.0
        );
    }
}
