//! What the mesh's stages allocate for a request beyond what its transport does: nothing, except
//! that headers too long for the stack are copied to the heap.
#![expect(unsafe_code, reason = "counting allocations takes a global allocator")]

use corewire_mesh::config::{
    Admission, Cluster, ClusterChoice, ClusterWeight, Endpoints, FaultPolicy, Forward, HashPolicy,
    HashSource, HeaderCondition, HeaderMatch, LbPolicy, OutlierPolicy, PathMatch, RateLimit,
    RetryPolicy, Route, RouteAction, RouteConfig, Snapshot, StringMatch, StringPattern, Transport,
    VirtualHost,
};
use corewire_mesh::{Mesh, MeshOptions};
use corewire_message::{
    Body, CallContext, CallError, Caller, Headers, Interceptor, Next, Operation, Request, Response,
    Service,
};
use corewire_transport::{Address, ClientOptions, Endpoint, EventLoop, Protocol, ServerOptions};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends frees its own counter before the last of its memory.
        let _ended = COUNT.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ECHO: Operation = Operation::from_static("test.v1.Test/Echo");
const CALLS: u64 = 200;

struct Echo;

impl Service for Echo {
    async fn call(&self, _context: &CallContext, _request: Request) -> Response {
        Response::ok(Body::from_static(b"done"))
    }
}

/// A policy with everything that every request is asked about.
fn snapshot(address: Address, transport: Transport, lb: LbPolicy) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for name in ["stable", "canary"] {
        let mut cluster = Cluster::new(name);
        cluster.lb = lb;
        cluster.transport = Some(transport);
        cluster.outlier = Some(OutlierPolicy::default());
        cluster.admission = Some(Admission {
            soft_limit: 100,
            hard_limit: 200,
        });
        snapshot.add_cluster(cluster, Endpoints::at([address.clone()]));
    }
    let weight = |name: &str, weight| ClusterWeight {
        name: name.into(),
        weight,
        fault: None,
        rate_limit: None,
    };
    let mut forward = Forward::to_cluster("stable");
    forward.clusters = ClusterChoice::Weighted {
        clusters: vec![weight("stable", 90), weight("canary", 10)],
        total: 100,
    };
    forward.timeout = Some(Duration::from_secs(5));
    forward.retry = Some(Arc::new(RetryPolicy::default()));
    forward.hash = vec![HashPolicy {
        source: HashSource::Header {
            name: "supi".into(),
            rewrite: None,
        },
        terminal: false,
    }];
    let mut elsewhere = Route::to_cluster("stable");
    elsewhere.matcher.path = PathMatch::Prefix {
        prefix: "/namf".into(),
        ignore_case: false,
    };
    let mut marked = Route::to_cluster("canary");
    marked.matcher.headers.push(HeaderMatch {
        name: "x-version".into(),
        condition: HeaderCondition::Value(StringMatch::new(StringPattern::Exact("2".into()))),
        invert: false,
        missing_as_empty: false,
    });
    let mut route = Route::to_cluster("stable");
    route.action = RouteAction::Forward(Box::new(forward));
    route.fault = Some(Arc::new(FaultPolicy::default()));
    route.rate_limit = Some(Arc::new(RateLimit {
        max_tokens: 1_000_000,
        tokens_per_fill: 1_000_000,
        fill_interval: Duration::from_secs(1),
        status: 429,
        enforced: corewire_mesh::config::Fraction::ALWAYS,
    }));
    let routes = RouteConfig {
        name: "test".into(),
        virtual_hosts: vec![VirtualHost {
            name: "test".into(),
            domains: vec!["*".into()],
            routes: vec![elsewhere, marked, route],
        }],
    };
    snapshot.add_target("test", routes);
    snapshot
}

fn request(headers: &[(&str, &str)], body: usize) -> Request {
    let mut all = Headers::new();
    for (name, value) in headers {
        all.append(name, value).unwrap();
    }
    Request::new(ECHO)
        .with_headers(all)
        .with_body(vec![7; body])
}

/// Allocations of so many calls, all ends of which are on this thread.
fn count(
    event_loop: &mut EventLoop,
    caller: &impl Caller,
    make: &dyn Fn() -> Request,
) -> (u64, u64) {
    let mut made = 0;
    let mut counted = 0;
    for round in 0..2 * CALLS {
        let before = COUNT.with(Cell::get);
        let request = make();
        let between = COUNT.with(Cell::get);
        let response = event_loop.block_on(caller.call(request)).unwrap().unwrap();
        let after = COUNT.with(Cell::get);
        assert_eq!(response.body.len(), 4);
        drop(response);
        if round >= CALLS {
            made += between - before;
            counted += after - between;
        }
    }
    (made, counted)
}

#[test]
fn the_stages_allocate_nothing() {
    let mut event_loop = EventLoop::new().unwrap();
    let anywhere = Address::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    let options = Arc::new(ServerOptions::default());
    let address = event_loop
        .listen(&anywhere, Arc::new(Echo), options)
        .unwrap();
    let ring = LbPolicy::RingHash {
        min_size: 64,
        max_size: 64,
    };
    for (protocol, transport) in [
        (Protocol::Native, Transport::Native),
        (Protocol::Grpc, Transport::Grpc),
        (Protocol::Rest, Transport::Rest),
    ] {
        let endpoint = Endpoint::new(protocol, address.clone());
        let direct = event_loop
            .handle()
            .connect(endpoint, ClientOptions::default());
        for lb in [
            LbPolicy::RoundRobin,
            LbPolicy::LeastRequest { choices: 2 },
            LbPolicy::LatencyAware,
            ring,
        ] {
            let snapshot = snapshot(address.clone(), transport, lb);
            let options = MeshOptions::default().with_loop(event_loop.handle());
            let mesh = Mesh::fixed(snapshot, options).unwrap();
            let meshed = mesh.channel("test");
            event_loop
                .block_on(meshed.ready(Duration::from_secs(10)))
                .unwrap()
                .unwrap();
            let short: &[(&str, &str)] =
                &[("supi", "imsi-001010000000001"), ("x-sent", "1234567890")];
            let long = "v".repeat(300);
            for (headers, body, more) in [
                (&[][..], 0, 0),
                (short, 1000, 0),
                // Too long for the stack: one copy.
                (&[("x-long", &*long)][..], 1000, CALLS),
            ] {
                let make = || request(headers, body);
                let (_, without) = count(&mut event_loop, &direct, &make);
                let (_, with) = count(&mut event_loop, &meshed, &make);
                // What the connection allocates by the way (a larger queue, a new buffer, an entry of
                // HPACK's table until that is full) is not the stages': a tenth of the calls.
                let slack = CALLS / 10;
                assert!(
                    with <= without + more + slack,
                    "{protocol} {lb:?}, {} headers, {body} octets: {with} with the mesh, {without} without",
                    headers.len()
                );
            }
        }
    }
}

/// Hands every request on: what a layer itself costs.
struct HandsOn;

impl Interceptor for HandsOn {
    async fn call<N: Next>(&self, request: Request, next: &N) -> Result<Response, CallError> {
        next.call(request).await
    }
}

#[test]
fn interceptors_allocate_nothing() {
    let mut event_loop = EventLoop::new().unwrap();
    let anywhere = Address::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    let options = Arc::new(ServerOptions::default());
    let address = event_loop
        .listen(&anywhere, Arc::new(Echo), options)
        .unwrap();
    let snapshot = snapshot(address, Transport::Native, LbPolicy::RoundRobin);
    let options = MeshOptions::default().with_loop(event_loop.handle());
    let mesh = Mesh::fixed(snapshot, options).unwrap();
    let meshed = mesh.channel("test");
    event_loop
        .block_on(meshed.ready(Duration::from_secs(10)))
        .unwrap()
        .unwrap();
    let intercepted = meshed.clone().with_interceptor(HandsOn);
    let intercepted = intercepted.with_interceptor(HandsOn);
    let make = || request(&[], 100);
    let (_, without) = count(&mut event_loop, &meshed, &make);
    let (_, with) = count(&mut event_loop, &intercepted, &make);
    assert!(with <= without + CALLS / 10, "{with}, {without} without");
}
