use crate::bench::*;
use corewire_mesh::blocking::MeshChannel;
use corewire_mesh::config::{Backoff, Forward, Fraction, Mirror, RetryOn, RetryPolicy};
use corewire_mesh::{Mesh, MeshOptions};
use corewire_message::blocking::Caller;
use corewire_message::{Code, ErrorKind, Request};
use std::sync::Arc;
use std::time::Instant;

fn ask(channel: &MeshChannel, request: Request) -> Result<String, corewire_message::CallError> {
    who(channel.call(request))
}

#[test]
fn a_thread_goes_elsewhere_too_and_comes_back() {
    let mut servers = Running::several(3);
    let mesh = Mesh::fixed(simple(&servers), MeshOptions::default()).unwrap();
    let channel = mesh.blocking("test");
    let mut seen: Vec<_> = (0..3).map(|_| ask(&channel, request()).unwrap()).collect();
    seen.sort_unstable();
    assert_eq!(seen, ["replica-0", "replica-1", "replica-2"]);
    servers[0].kill();
    // A thread finds out that its connection has ended by writing to it, once.
    let ends: Vec<_> = (0..30).map(|_| ask(&channel, request())).collect();
    let lost = ends.iter().filter_map(|end| end.as_ref().err());
    assert!(lost.clone().count() <= 1);
    assert!(
        lost.into_iter()
            .all(|error| error.kind() == ErrorKind::FateUnknown)
    );
    assert!(ends.iter().flatten().all(|name| name != "replica-0"));
    servers[0].restart();
    until("it is used again", || {
        ask(&channel, request()).unwrap() == "replica-0"
    });
    for server in &mut servers {
        server.kill();
    }
    // A connection that was open may be written to before its end is seen.
    until("it is known that nothing is sent", || {
        let error = ask(&channel, request()).unwrap_err();
        error.kind() == ErrorKind::NotSent && !error.may_have_executed()
    });
}

#[test]
fn a_threads_retries_mirrors_and_deadlines_are_the_same() {
    let servers = Running::several(2);
    let mirror = Running::start("mirror");
    servers[0].replica.answer(Code::Unavailable);
    let mut route = Forward::to_cluster("test");
    route.mirrors.push(Mirror {
        cluster: "mirror".into(),
        fraction: Fraction::ALWAYS,
    });
    route.retry = Some(Arc::new(RetryPolicy {
        on: RetryOn::GATEWAY_ERROR,
        num_retries: 2,
        repeatable: true,
        per_try_timeout: Some(60 * MILLI),
        backoff: Backoff {
            base: MILLI,
            max: MILLI,
        },
        ..RetryPolicy::default()
    }));
    let mut snapshot = snapshot(cluster("test"), &servers, vec![forward(route)]);
    snapshot.add_cluster(cluster("mirror"), endpoints(std::slice::from_ref(&mirror)));
    let mesh = Mesh::fixed(snapshot, MeshOptions::default()).unwrap();
    let channel = mesh.blocking("test");
    for _ in 0..6 {
        assert_eq!(ask(&channel, request()).unwrap(), "replica-1");
    }
    servers[0].replica.hang();
    for _ in 0..2 {
        assert_eq!(ask(&channel, request()).unwrap(), "replica-1");
    }
    until("copies arrive", || mirror.replica.calls() == 8);
    servers[1].replica.hang();
    let began = Instant::now();
    let error = ask(&channel, request().with_deadline(began + 100 * MILLI)).unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded);
    assert!(
        began.elapsed() >= 100 * MILLI - MILLI,
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn a_threads_stream_is_counted_until_its_end() {
    let servers = Running::several(1);
    let mesh = Mesh::fixed(simple(&servers), MeshOptions::default()).unwrap();
    let channel = mesh.blocking("test");
    let requests = || mesh.state().cluster("test").unwrap().requests;
    let mut stream = channel.open(Request::new(STREAM)).unwrap();
    assert_eq!(
        &stream.receive().unwrap().unwrap().into_bytes()[..],
        b"replica-0"
    );
    stream.send("hello".to_owned()).unwrap();
    assert_eq!(
        &stream.receive().unwrap().unwrap().into_bytes()[..],
        b"hello"
    );
    assert_eq!(requests(), 1);
    stream.finish().unwrap();
    assert!(stream.receive().unwrap().is_none());
    assert_eq!(requests(), 0);
    let stream = channel.open(Request::new(STREAM)).unwrap();
    drop(stream);
    assert_eq!(requests(), 0);
    let tries = mesh.state().cluster("test").unwrap().tries;
    assert_eq!(
        (tries.tries, tries.ok, tries.own),
        (2, 1, 1),
        "each end once"
    );
}
