use crate::bench::*;
use corewire_mesh::config::{
    Admission, Backoff, FaultAbort, FaultAbortKind, FaultDelay, FaultDelayKind, FaultPolicy,
    Forward, Fraction, RateLimit, RetryOn, RetryPolicy, Route,
};
use corewire_message::{Caller, Code, ErrorKind, Origin, Priority};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn retrying(on: RetryOn, num_retries: u32) -> Forward {
    let mut forward = Forward::to_cluster("test");
    forward.retry = Some(Arc::new(RetryPolicy {
        on,
        num_retries,
        repeatable: true,
        backoff: Backoff {
            base: MILLI,
            max: 5 * MILLI,
        },
        ..RetryPolicy::default()
    }));
    forward
}

#[test]
fn a_failed_try_goes_to_another_endpoint_as_the_policy_says() {
    let servers = Running::several(3);
    servers[1].replica.answer(Code::Unavailable);
    let route = forward(retrying(RetryOn::UNAVAILABLE, 2));
    let (mesh, channel) = mesh(snapshot(cluster("test"), &servers, vec![route]));
    all_connected(&mesh, "test");
    for _ in 0..30 {
        assert_ne!(ask(&channel, request()).unwrap(), "replica-1");
    }
    let state = mesh.state();
    let test = state.cluster("test").unwrap();
    assert_eq!(test.counts.retries, servers[1].replica.calls());
    assert_eq!(
        (test.tries.ok, test.tries.failed),
        (30, test.counts.retries)
    );
    assert!(test.counts.retries >= 10, "{}", test.counts.retries);

    // Another failure than the policy names is the caller's.
    servers[1].replica.answer(Code::NotFound);
    let failed = (0..3).filter(|_| ask(&channel, request()).is_err()).count();
    assert_eq!(failed, 1);
}

#[test]
fn retries_keep_to_their_budget() {
    let servers = Running::several(2);
    for server in &servers {
        server.replica.answer(Code::Unavailable);
    }
    let mut cluster = cluster("test");
    cluster.circuit.max_retries = 0;
    let route = forward(retrying(RetryOn::UNAVAILABLE, 5));
    let (mesh, channel) = mesh(snapshot(cluster, &servers, vec![route]));
    ready(&channel);
    let error = ask(&channel, request()).unwrap_err();
    assert_eq!(error.code(), Code::Unavailable);
    let state = mesh.state();
    let counts = state.cluster("test").unwrap().counts;
    assert_eq!((counts.retries, counts.retries_over_budget), (0, 1));
}

#[test]
fn deadlines_end_requests_and_tries() {
    let servers = Running::several(2);
    servers[0].replica.hang();
    // As many tries as find the one that answers also when some are late.
    let mut per_try = retrying(RetryOn::RESET, 9);
    per_try.retry = per_try.retry.map(|policy| {
        Arc::new(RetryPolicy {
            per_try_timeout: Some(400 * MILLI),
            ..(*policy).clone()
        })
    });
    let (mesh, channel) = mesh(snapshot(cluster("test"), &servers, vec![forward(per_try)]));
    all_connected(&mesh, "test");
    for _ in 0..4 {
        assert_eq!(ask(&channel, request()).unwrap(), "replica-1");
    }
    assert!(mesh.state().cluster("test").unwrap().tries.timed_out >= 1);

    let mut short = Forward::to_cluster("test");
    short.timeout = Some(80 * MILLI);
    servers[1].replica.hang();
    let (_mesh, channel) =
        crate::bench::mesh(snapshot(cluster("test"), &servers, vec![forward(short)]));
    ready(&channel);
    let began = Instant::now();
    let error = ask(&channel, request()).unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded);
    let took = began.elapsed();
    assert!(took >= 80 * MILLI && took < PATIENCE, "{took:?}");
    // A caller's own deadline counts if it is earlier.
    let mut long = Forward::to_cluster("test");
    long.timeout = Some(4 * PATIENCE);
    let (_mesh, channel) =
        crate::bench::mesh(snapshot(cluster("test"), &servers, vec![forward(long)]));
    ready(&channel);
    let began = Instant::now();
    let early = request().with_deadline(began + 20 * MILLI);
    let error = ask(&channel, early).unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded);
    assert!(began.elapsed() < PATIENCE);
}

#[test]
fn the_circuit_opens_when_too_many_are_on_their_way_and_closes_again() {
    let server = Running::start("one");
    server.replica.hang();
    let mut cluster = cluster("test");
    cluster.circuit.max_requests = 2;
    let replica = Arc::clone(&server.replica);
    let route = vec![Route::to_cluster("test")];
    let (mesh, channel) = mesh(snapshot(cluster, std::slice::from_ref(&server), route));
    ready(&channel);
    let (first, second) = (channel.clone(), channel.clone());
    let waiting =
        [first, second].map(|channel| std::thread::spawn(move || ask(&channel, request())));
    until("two are on their way", || replica.calls() == 2);
    let error = ask(&channel, request()).unwrap_err();
    assert_eq!(
        (error.kind(), error.origin()),
        (ErrorKind::Overloaded, Origin::Local)
    );
    assert!(!error.may_have_executed());
    assert!(
        error
            .to_string()
            .contains("circuit of cluster test is open"),
        "{error}"
    );
    replica.answer(Code::Ok);
    for thread in waiting {
        assert_eq!(thread.join().unwrap().unwrap(), "one");
    }
    assert_eq!(ask(&channel, request()).unwrap(), "one");
    let state = mesh.state();
    let test = state.cluster("test").unwrap();
    assert_eq!((test.counts.shed_circuit, test.requests), (1, 0));
}

#[test]
fn the_less_urgent_are_shed_first() {
    let server = Running::start("one");
    server.replica.hang();
    let mut cluster = cluster("test");
    cluster.admission = Some(Admission {
        soft_limit: 1,
        hard_limit: 32,
    });
    let replica = Arc::clone(&server.replica);
    let route = vec![Route::to_cluster("test")];
    let (mesh, channel) = mesh(snapshot(cluster, std::slice::from_ref(&server), route));
    ready(&channel);
    let waiting: Vec<_> = (0..4)
        .map(|_| {
            let channel = channel.clone();
            let urgent = request().with_priority(Priority::HIGHEST);
            std::thread::spawn(move || ask(&channel, urgent))
        })
        .collect();
    until("four are on their way", || replica.calls() == 4);
    let error = ask(&channel, request().with_priority(Priority::LOWEST)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Overloaded);
    replica.answer(Code::Ok);
    assert_eq!(
        ask(&channel, request().with_priority(Priority::HIGHEST)).unwrap(),
        "one"
    );
    for thread in waiting {
        thread.join().unwrap().unwrap();
    }
    assert_eq!(
        mesh.state().cluster("test").unwrap().counts.shed_admission,
        1
    );
}

#[test]
fn a_rate_limit_turns_away_what_is_too_much() {
    let server = Running::start("one");
    let mut route = Route::to_cluster("test");
    route.rate_limit = Some(Arc::new(RateLimit {
        max_tokens: 5,
        tokens_per_fill: 1,
        fill_interval: Duration::from_secs(3600),
        status: 429,
        enforced: Fraction::ALWAYS,
    }));
    let replica = Arc::clone(&server.replica);
    let (mesh, channel) = mesh(snapshot(
        cluster("test"),
        std::slice::from_ref(&server),
        vec![route],
    ));
    let ends: Vec<_> = (0..10).map(|_| ask(&channel, request())).collect();
    assert!(ends[..5].iter().all(Result::is_ok));
    for end in &ends[5..] {
        let error = end.as_ref().unwrap_err();
        assert_eq!(error.code(), Code::ResourceExhausted);
        assert!(!error.may_have_executed());
    }
    assert_eq!(replica.calls(), 5);
    assert_eq!(mesh.state().cluster("test").unwrap().counts.rate_limited, 5);
}

#[test]
fn faults_are_injected_for_those_who_ask() {
    let server = Running::start("one");
    let mut route = Route::to_cluster("test");
    route.fault = Some(Arc::new(FaultPolicy {
        delay: Some(FaultDelay {
            kind: FaultDelayKind::Header,
            fraction: Fraction::ALWAYS,
        }),
        abort: Some(FaultAbort {
            kind: FaultAbortKind::Header,
            fraction: Fraction::ALWAYS,
        }),
        ..FaultPolicy::default()
    }));
    let replica = Arc::clone(&server.replica);
    let (mesh, channel) = mesh(snapshot(
        cluster("test"),
        std::slice::from_ref(&server),
        vec![route],
    ));
    ready(&channel);
    assert_eq!(ask(&channel, request()).unwrap(), "one");
    let began = Instant::now();
    ask(&channel, with_header("x-envoy-fault-delay-request", "60")).unwrap();
    assert!(began.elapsed() >= 60 * MILLI);
    let error = ask(&channel, with_header("x-envoy-fault-abort-request", "503")).unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Answered, Code::Unavailable)
    );
    assert_eq!(replica.calls(), 2);
    let counts = mesh.state().cluster("test").unwrap().counts;
    assert_eq!((counts.delayed, counts.aborted), (1, 1));
    // A delay does not outlive the deadline.
    let mut slow = with_header("x-envoy-fault-delay-request", "60000");
    slow.deadline = Some(Instant::now() + 50 * MILLI);
    let error = ask(&channel, slow).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
}

#[test]
fn faults_are_injected_into_events_too() {
    let server = Running::start("one");
    let mut route = Route::to_cluster("test");
    route.fault = Some(Arc::new(FaultPolicy {
        abort: Some(FaultAbort {
            kind: FaultAbortKind::Http(503),
            fraction: Fraction::ALWAYS,
        }),
        ..FaultPolicy::default()
    }));
    let servers = std::slice::from_ref(&server);
    let (mesh, channel) = mesh(snapshot(cluster("test"), servers, vec![route]));
    ready(&channel);
    let event = || corewire_message::Event::new(CALL, "note".to_owned());
    let sent = [
        block_on(channel.send(event())),
        corewire_message::blocking::Caller::send(&mesh.blocking("test"), event()),
    ];
    for result in sent {
        assert_eq!(result.unwrap_err().code(), Code::Unavailable);
    }
    assert_eq!(mesh.state().cluster("test").unwrap().counts.aborted, 2);
    assert_eq!(server.replica.events(), 0);
}

#[test]
fn a_dropped_call_gives_back_what_it_held() {
    let server = Running::start("one");
    server.replica.hang();
    let mut cluster = cluster("test");
    cluster.circuit.max_requests = 1;
    let replica = Arc::clone(&server.replica);
    let route = vec![Route::to_cluster("test")];
    let (mesh, channel) = mesh(snapshot(cluster, std::slice::from_ref(&server), route));
    ready(&channel);
    for round in 1..=3 {
        let mut call = Box::pin(channel.call(request()));
        block_on(std::future::poll_fn(|cx| {
            assert!(call.as_mut().poll(cx).is_pending());
            std::task::Poll::Ready(())
        }));
        until("it has begun", || replica.calls() == round);
        drop(call);
        let state = mesh.state();
        let test = state.cluster("test").unwrap();
        assert_eq!((test.requests, test.endpoints[0].in_flight), (0, 0));
    }
}

use std::future::Future as _;
