use crate::bench::*;
use crate::foreign::Foreign;
use corewire_mesh::config::{Address, Endpoints, Route, SnapshotSource, Transport};
use corewire_mesh::{LineState, Mesh, MeshOptions};
use corewire_message::{Caller, Code, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[test]
fn calls_go_elsewhere_when_an_endpoint_dies() {
    let mut servers = Running::several(3);
    let (mesh, channel) = mesh(simple(&servers));
    all_connected(&mesh, "test");
    for _ in 0..6 {
        ask(&channel, request()).unwrap();
    }
    servers[1].kill();
    seen_gone(&mesh, &servers[1]);
    for _ in 0..60 {
        assert_ne!(ask(&channel, request()).unwrap(), "replica-1");
    }
    servers[1].restart();
    until("it is used again", || {
        ask(&channel, request()).unwrap() == "replica-1"
    });
}

/// Callers without a pause while each server in turn drains and comes back: not one call fails.
#[test]
fn a_rolling_restart_is_not_noticed() {
    for protocol in ["native", "grpc", "rest"] {
        let mut servers = Running::several(3);
        let mut cluster = cluster("test");
        cluster.transport = Some(protocol.parse().unwrap());
        let route = vec![corewire_mesh::config::Route::to_cluster("test")];
        let (mesh, channel) = mesh(snapshot(cluster, &servers, route));
        all_connected(&mesh, "test");
        let stop = Arc::new(AtomicBool::new(false));
        let answered = Arc::new(AtomicU64::new(0));
        let callers: Vec<_> = (0..3)
            .map(|_| {
                let (channel, stop) = (channel.clone(), Arc::clone(&stop));
                let answered = Arc::clone(&answered);
                std::thread::spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        ask(&channel, request()).map_err(|error| format!("{error:?}"))?;
                        answered.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok::<(), String>(())
                })
            })
            .collect();
        for server in &mut servers {
            let before = answered.load(Ordering::Relaxed);
            server.drain();
            until("calls go on", || {
                answered.load(Ordering::Relaxed) > before + 20
            });
            server.restart();
            all_connected(&mesh, "test");
        }
        stop.store(true, Ordering::Relaxed);
        for caller in callers {
            caller.join().unwrap().unwrap();
        }
    }
}

/// A listener whose queue is full: whoever connects gets no answer at all.
fn black_hole() -> (TcpListener, Vec<TcpStream>, Address) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (mut queued, mut unanswered) = (Vec::new(), 0);
    // One attempt may have lost its time to a machine that stood still.
    while unanswered < 3 {
        match TcpStream::connect_timeout(&address, 200 * MILLI) {
            Ok(stream) => {
                queued.push(stream);
                unanswered = 0;
            }
            Err(_) => unanswered += 1,
        }
        assert!(queued.len() < 10_000, "the queue has an end");
    }
    (listener, queued, Address::Tcp(address))
}

#[test]
fn an_endpoint_that_cannot_be_connected_to_holds_nobody_up() {
    let server = Running::start("one");
    let (_listener, _queued, hole) = black_hole();
    let mut snapshot = simple(std::slice::from_ref(&server));
    let mut cluster = cluster("test");
    cluster.connect_timeout = 4 * PATIENCE;
    snapshot.add_cluster(cluster, Endpoints::at([hole, server.address.clone()]));
    let (mesh, channel) = mesh(snapshot);
    let began = Instant::now();
    for _ in 0..50 {
        assert_eq!(ask(&channel, request()).unwrap(), "one");
    }
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    let state = mesh.state();
    let test = state.cluster("test").unwrap();
    assert_eq!(test.endpoints[0].lines[0].0, LineState::Connecting);
    assert_eq!(test.endpoints[0].counts.tries, 0);
}

#[test]
fn calls_wait_for_the_first_connection_only_until_their_deadline() {
    let (_listener, _queued, hole) = black_hole();
    let mut snapshot = simple(&[]);
    let mut cluster = cluster("test");
    cluster.circuit.max_pending = 1;
    cluster.connect_timeout = 4 * PATIENCE;
    snapshot.add_cluster(cluster, Endpoints::at([hole]));
    let (mesh, channel) = mesh(snapshot);
    let pending = || mesh.state().cluster("test").unwrap().pending;
    let mut waiting = Box::pin(channel.call(request()));
    block_on(std::future::poll_fn(|cx| {
        assert!(waiting.as_mut().poll(cx).is_pending());
        std::task::Poll::Ready(())
    }));
    assert_eq!(pending(), 1);
    let error = ask(&channel, request()).unwrap_err();
    assert_eq!(
        error.kind(),
        ErrorKind::Overloaded,
        "only one may wait: {error}"
    );
    drop(waiting);
    assert_eq!(pending(), 0);
    let began = Instant::now();
    let error = ask(&channel, request().with_deadline(began + 300 * MILLI)).unwrap_err();
    assert_eq!(
        (error.kind(), error.may_have_executed()),
        (ErrorKind::DeadlineExceeded, false)
    );
    assert!(began.elapsed() >= 300 * MILLI);
    assert_eq!(pending(), 0);
}

#[test]
fn an_endpoint_that_is_taken_out_finishes_what_it_has() {
    let servers = Running::several(2);
    let source = SnapshotSource::new(simple(&servers[..1]));
    let mesh = Mesh::start(source.clone(), MeshOptions::default()).unwrap();
    let channel = mesh.channel("test");
    ready(&channel);
    servers[0].replica.hang();
    let running = {
        let channel = channel.clone();
        std::thread::spawn(move || ask(&channel, request()))
    };
    until("it has begun", || servers[0].replica.calls() == 1);
    source.publish(simple(&servers[1..]));
    until("calls go to the other one", || {
        let early = request().with_deadline(Instant::now() + Duration::from_secs(1));
        ask(&channel, early).is_ok_and(|name| name == "replica-1")
    });
    let state = mesh.state();
    let test = state.cluster("test").unwrap();
    assert_eq!(test.endpoints.len(), 1);
    assert_eq!(test.requests, 1, "the one that is on its way counts");
    servers[0].replica.answer(Code::Ok);
    assert_eq!(running.join().unwrap().unwrap(), "replica-0");
    assert!(
        test.tries.tries >= 2,
        "counts of those that are gone are kept"
    );
}

#[test]
fn a_peer_that_accepts_and_closes_is_not_hammered() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    let accepted = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&accepted);
    std::thread::spawn(move || {
        // Ends with the process: nobody connects any more.
        for stream in listener.incoming() {
            drop(stream);
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    let mut snapshot = simple(&[]);
    snapshot.add_cluster(cluster("test"), Endpoints::at([address]));
    let (_mesh, channel) = mesh(snapshot);
    let began = Instant::now();
    let times = || accepted.load(Ordering::SeqCst);
    while began.elapsed() < Duration::from_secs(1) || times() < 2 {
        assert!(began.elapsed() < PATIENCE, "it is tried again");
        let _fails = ask(&channel, request());
        std::thread::sleep(MILLI);
    }
    let (times, took) = (times(), began.elapsed());
    assert!(
        times < 60 * (1 + took.as_secs()),
        "{times} connections in {took:?}"
    );
}

#[test]
fn the_mesh_ends_with_its_last_channel() {
    let server = Running::start("one");
    let (mesh, channel) = mesh(simple(std::slice::from_ref(&server)));
    drop(mesh);
    assert_eq!(ask(&channel, request()).unwrap(), "one");
    let mut call = Box::pin(channel.call(request()));
    server.replica.hang();
    block_on(std::future::poll_fn(|cx| {
        let _answered_or_not = call.as_mut().poll(cx);
        std::task::Poll::Ready(())
    }));
    drop(call);
    drop(channel);
}

use std::future::Future as _;

/// What nobody uses any more is let go: channels, targets, connections.
#[test]
fn connections_go_with_the_last_channel_to_their_target() {
    let servers = Running::several(1);
    let mesh = Mesh::fixed(simple(&servers), MeshOptions::default()).unwrap();
    for _ in 0..3 {
        let channel = mesh.channel("test");
        assert_eq!(ask(&channel, request()).unwrap(), "replica-0");
        assert_eq!(mesh.state().clusters.len(), 1);
        drop(channel);
        until("its cluster is gone", || mesh.state().clusters.is_empty());
    }
}

/// Ten thousand endpoints of which a few live: calls are answered while the keeper is busy, within
/// the connections that the cluster allows.
#[test]
fn ten_thousand_endpoints_hold_no_call_up() {
    let servers = Running::several(3);
    let mut addresses: Vec<_> = servers
        .iter()
        .map(|server| server.address.clone())
        .collect();
    // Nobody listens there.
    addresses.extend((0..10_000_u32).map(|number| {
        let [_, a, b, c] = number.to_be_bytes();
        Address::Tcp(std::net::SocketAddr::from(([127, 1 + a, b, c], 1)))
    }));
    let mut snapshot = simple(&[]);
    let mut cluster = cluster("test");
    cluster.circuit.max_connections = 64;
    snapshot.add_cluster(cluster, Endpoints::at(addresses));
    let (mesh, channel) = mesh(snapshot);
    ready(&channel);
    for _ in 0..200 {
        ask(&channel, request()).unwrap();
    }
    let state = mesh.state();
    let test = state.cluster("test").unwrap();
    assert!(test.left_out[0].contains("of 10003 endpoints 64 are connected to"));
    let open = test.endpoints.iter().flat_map(|endpoint| &endpoint.lines);
    let open = open.filter(|(line, _)| matches!(line, LineState::Connecting | LineState::Ready));
    assert!(open.count() <= 64);
    assert_eq!(test.tries.ok, 200);
}

/// A proxy that ends each connection after some requests (Envoy's `max_requests_per_connection`):
/// the end was announced, so it is no failure, however soon it comes.
#[test]
fn goaway_soon_after_opening_fails_no_call() {
    for requests in [1, 50] {
        let server = Foreign::start(requests, |_| Some(204));
        let mut cluster = cluster("test");
        cluster.transport = Some(Transport::Rest);
        let mut snapshot = snapshot(cluster.clone(), &[], vec![Route::to_cluster("test")]);
        snapshot.add_cluster(cluster, Endpoints::at([server.address.clone()]));
        let (mesh, channel) = mesh(snapshot);
        let began = Instant::now();
        for number in 0..200 {
            if let Err(error) = block_on(channel.call(request())) {
                panic!("{requests} a connection, call {number}: {error:?}");
            }
        }
        // Connecting anew waits for nothing: 200 waits of 25 ms at least would be 5 s.
        assert!(
            began.elapsed() < Duration::from_secs(4),
            "{:?}",
            began.elapsed()
        );
        assert!(server.connections.load(Ordering::SeqCst) >= 200 / requests);
        drop(mesh);
    }
}
