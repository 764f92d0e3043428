use crate::bench::*;
use crate::foreign::Foreign;
use corewire_mesh::config::{
    Endpoints, Forward, HealthCheck, OutlierByRate, OutlierPolicy, RetryOn, RetryPolicy, Route,
    Transport,
};
use corewire_message::Code;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn policy() -> OutlierPolicy {
    OutlierPolicy {
        interval: 20 * MILLI,
        base_ejection: 300 * MILLI,
        consecutive_5xx: Some(3),
        max_ejection_percent: 50,
        ..OutlierPolicy::default()
    }
}

#[test]
fn an_endpoint_that_fails_in_a_row_is_left_out_and_comes_back() {
    let servers = Running::several(3);
    servers[0].replica.answer(Code::Internal);
    // Longer than the calls take that must not find it back.
    let ejection = Duration::from_secs(4);
    let mut cluster = cluster("test");
    cluster.outlier = Some(OutlierPolicy {
        base_ejection: ejection,
        ..policy()
    });
    let (mesh, channel) = mesh(snapshot(cluster, &servers, vec![Route::to_cluster("test")]));
    all_connected(&mesh, "test");
    let began = Instant::now();
    let failed = (0..60)
        .filter(|_| ask(&channel, request()).is_err())
        .count();
    assert_eq!(failed, 3, "three in a row, then nobody is sent there");
    let ejected = || {
        let state = mesh.state();
        let endpoints = &state.cluster("test").unwrap().endpoints;
        endpoints.iter().filter(|endpoint| endpoint.ejected).count()
    };
    assert_eq!((ejected(), servers[0].replica.calls()), (1, 3));
    assert!(mesh.state().to_text().contains("ejected"));

    servers[0].replica.answer(Code::Ok);
    until("it is used again", || {
        ask(&channel, request()).unwrap() == "replica-0"
    });
    assert!(
        began.elapsed() >= ejection,
        "too soon: {:?}",
        began.elapsed()
    );
    let counts = mesh.state().cluster("test").unwrap().counts;
    assert_eq!(
        (counts.ejections, counts.readmissions, ejected()),
        (1, 1, 0)
    );
}

#[test]
fn not_all_are_left_out_when_all_fail() {
    let servers = Running::several(4);
    for server in &servers {
        server.replica.answer(Code::Unavailable);
    }
    let mut cluster = cluster("test");
    cluster.outlier = Some(OutlierPolicy {
        base_ejection: Duration::from_secs(60),
        ..policy()
    });
    let (mesh, channel) = mesh(snapshot(cluster, &servers, vec![Route::to_cluster("test")]));
    all_connected(&mesh, "test");
    for _ in 0..100 {
        ask(&channel, request()).unwrap_err();
    }
    let state = mesh.state();
    let endpoints = &state.cluster("test").unwrap().endpoints;
    assert_eq!(
        endpoints.iter().filter(|endpoint| endpoint.ejected).count(),
        2
    );
}

#[test]
fn an_endpoint_that_fails_more_than_it_may_is_found_by_its_rate() {
    let servers = Running::several(3);
    let mut cluster = cluster("test");
    cluster.outlier = Some(OutlierPolicy {
        // Long enough for the volume on a slow machine.
        interval: 500 * MILLI,
        base_ejection: Duration::from_secs(60),
        consecutive_5xx: None,
        failure_percentage: Some(OutlierByRate {
            threshold: 30,
            enforcing: 100,
            minimum_hosts: 3,
            request_volume: 10,
        }),
        ..policy()
    });
    let (mesh, channel) = mesh(snapshot(cluster, &servers, vec![Route::to_cluster("test")]));
    all_connected(&mesh, "test");
    let mut round = 0_u32;
    let give_up = Instant::now() + PATIENCE;
    // Every other answer of one of them is a failure: never two in a row.
    while mesh.state().cluster("test").unwrap().counts.ejections == 0 {
        assert!(Instant::now() < give_up, "{}", mesh.state().to_text());
        let code = if round.is_multiple_of(2) {
            Code::Internal
        } else {
            Code::Ok
        };
        servers[1].replica.answer(code);
        for _ in 0..3 {
            let _fails_at_times = ask(&channel, request());
        }
        round += 1;
    }
    let state = mesh.state();
    assert!(state.cluster("test").unwrap().endpoints[1].ejected);
}

#[test]
fn the_second_priority_takes_over_when_the_first_is_gone_and_gives_back() {
    let mut first = Running::several(2);
    let second = [Running::start("spare")];
    let mut snapshot = simple(&first);
    let endpoints = Endpoints {
        localities: vec![locality(0, &first), locality(1, &second)],
        ..Endpoints::default()
    };
    snapshot.add_cluster(cluster("test"), endpoints);
    let (mesh, channel) = mesh(snapshot);
    all_connected(&mesh, "test");
    for _ in 0..20 {
        assert_ne!(ask(&channel, request()).unwrap(), "spare");
    }
    for server in &mut first {
        server.kill();
    }
    for server in &first {
        seen_gone(&mesh, server);
    }
    for _ in 0..20 {
        assert_eq!(ask(&channel, request()).unwrap(), "spare");
    }
    for server in &mut first {
        server.restart();
    }
    until("the first are used again", || {
        (0..10).all(|_| ask(&channel, request()).unwrap() != "spare")
    });
}

#[test]
fn an_endpoint_is_not_blamed_for_deadlines_that_had_passed_before() {
    let servers = Running::several(2);
    let mut cluster = cluster("test");
    cluster.outlier = Some(policy());
    let (mesh, channel) = mesh(snapshot(cluster, &servers, vec![Route::to_cluster("test")]));
    all_connected(&mesh, "test");
    for _ in 0..20 {
        let late = corewire_message::Request::new(CALL).with_deadline(Instant::now());
        let error = ask(&channel, late).unwrap_err();
        assert_eq!(error.kind(), corewire_message::ErrorKind::DeadlineExceeded);
        assert!(!error.may_have_executed());
    }
    let state = mesh.state();
    let test = state.cluster("test").unwrap();
    assert_eq!((test.counts.ejections, test.tries.timed_out), (0, 0));
    assert_eq!(servers.iter().map(|it| it.replica.calls()).sum::<u64>(), 0);
}

#[test]
fn a_shorter_interval_holds_from_when_it_is_told() {
    let servers = Running::several(3);
    servers[0].replica.answer(Code::Internal);
    let with = |interval| {
        let mut cluster = cluster("test");
        cluster.outlier = Some(OutlierPolicy {
            interval,
            consecutive_5xx: None,
            failure_percentage: Some(OutlierByRate {
                threshold: 50,
                enforcing: 100,
                minimum_hosts: 1,
                request_volume: 1,
            }),
            ..policy()
        });
        snapshot(cluster, &servers, vec![Route::to_cluster("test")])
    };
    let source = corewire_mesh::config::SnapshotSource::new(with(Duration::from_secs(3600)));
    let mesh = corewire_mesh::Mesh::start(source.clone(), Default::default()).unwrap();
    let channel = mesh.channel("test");
    all_connected(&mesh, "test");
    // The keeper has seen the first policy.
    until("an interval has begun", || {
        ask(&channel, request()).is_err()
    });
    source.publish(with(20 * MILLI));
    until("who fails is found", || {
        let _failed_or_not = ask(&channel, request());
        mesh.state().cluster("test").unwrap().counts.ejections > 0
    });
}

#[test]
fn who_fails_fast_gets_less_when_latency_decides() {
    let servers = Running::several(2);
    servers[0].replica.answer(Code::Unavailable);
    let mut cluster = cluster("test");
    cluster.lb = corewire_mesh::config::LbPolicy::LatencyAware;
    let (mesh, channel) = mesh(snapshot(cluster, &servers, vec![Route::to_cluster("test")]));
    all_connected(&mesh, "test");
    // An answer that took long because the machine stood still is forgotten in time.
    until("at most 20 of 200 go to who fails", || {
        let failed = (0..200).filter(|_| ask(&channel, request()).is_err());
        failed.count() <= 20
    });
}

#[test]
fn an_endpoint_of_two_priorities_is_counted_once() {
    let servers = Running::several(2);
    servers[0].replica.answer(Code::Internal);
    let mut cluster = cluster("test");
    cluster.circuit.max_connections = 2;
    cluster.outlier = Some(OutlierPolicy {
        base_ejection: Duration::from_secs(60),
        ..policy()
    });
    let mut snapshot = snapshot(cluster.clone(), &servers, vec![Route::to_cluster("test")]);
    let endpoints = Endpoints {
        localities: vec![locality(0, &servers), locality(1, &servers[..1])],
        ..Endpoints::default()
    };
    snapshot.add_cluster(cluster, endpoints);
    let (mesh, channel) = mesh(snapshot);
    all_connected(&mesh, "test");
    assert!(mesh.state().clusters[0].left_out.is_empty(), "two are two");
    for _ in 0..20 {
        let _as_it_comes = ask(&channel, request());
    }
    let state = mesh.state();
    let cluster = state.cluster("test").unwrap();
    assert_eq!(cluster.tries.tries, 20, "{:?}", cluster.tries);
    // One of two may be left out at 50 percent, and it is one.
    assert_eq!(cluster.counts.ejections, 1);
}

/// Statuses of a request's own fault, which are nearest to codes of the server's: the server that
/// answers them is neither ejected nor asked again.
#[test]
fn http_status_4xx_neither_ejects_nor_repeats() {
    for status in [405, 408, 410, 413] {
        let server = Foreign::start(0, move |_| Some(status));
        let mut cluster = cluster("test");
        cluster.transport = Some(Transport::Rest);
        cluster.outlier = Some(OutlierPolicy {
            consecutive_gateway: Some(1),
            max_ejection_percent: 100,
            ..policy()
        });
        let mut forward_to = Forward::to_cluster("test");
        forward_to.retry = Some(Arc::new(RetryPolicy {
            on: RetryOn::SERVER_ERROR | RetryOn::UNAVAILABLE | RetryOn::DEADLINE_EXCEEDED,
            num_retries: 3,
            repeatable: true,
            ..RetryPolicy::default()
        }));
        let mut snapshot = snapshot(cluster.clone(), &[], vec![forward(forward_to)]);
        snapshot.add_cluster(cluster, Endpoints::at([server.address.clone()]));
        let (mesh, channel) = mesh(snapshot);
        for _ in 0..8 {
            ask(&channel, request()).unwrap_err();
        }
        assert_eq!(server.answered.load(Ordering::SeqCst), 8, "{status}");
        let state = mesh.state();
        assert!(!state.cluster("test").unwrap().endpoints[0].ejected);
    }
}

/// A server that has no health service answers the question with 404, and keeps its traffic.
#[test]
fn servers_without_a_health_service_get_calls() {
    let asked = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&asked);
    let foreign = Foreign::start(0, move |request| {
        let is_question = request.path.starts_with("/grpc.health");
        count.fetch_add(u64::from(is_question), Ordering::SeqCst);
        Some(if is_question { 404 } else { 204 })
    });
    let mut cluster = cluster("test");
    cluster.transport = Some(Transport::Rest);
    cluster.panic_threshold = 0;
    cluster.health_check = Some(Arc::new(HealthCheck {
        interval: 10 * MILLI,
        timeout: PATIENCE,
        unhealthy: 2,
        ..HealthCheck::default()
    }));
    let mut snapshot = snapshot(cluster.clone(), &[], vec![Route::to_cluster("test")]);
    snapshot.add_cluster(cluster, Endpoints::at([foreign.address.clone()]));
    let (_mesh, channel) = mesh(snapshot);
    ready(&channel);
    until("it was asked often", || asked.load(Ordering::SeqCst) > 5);
    ask(&channel, request()).unwrap();
}

/// A server that hangs, as a stopped process does: it is found by its own traffic, with defaults, and on
/// trial one call at a time goes there.
#[test]
fn a_hung_server_is_found_by_its_traffic() {
    let servers = Running::several(3);
    let mut short = Forward::to_cluster("test");
    short.timeout = Some(50 * MILLI);
    let (mesh, channel) = mesh(snapshot(cluster("test"), &servers, vec![forward(short)]));
    all_connected(&mesh, "test");
    servers[1].replica.hang();
    let failed = (0..60)
        .filter(|_| ask(&channel, request()).is_err())
        .count();
    // A call of another server may miss 50 ms on a busy machine; a third of all would be 20.
    assert!((3..10).contains(&failed), "{failed}");
    let silent = || {
        let state = mesh.state();
        let endpoints = &state.cluster("test").unwrap().endpoints;
        endpoints.iter().map(|it| it.silent).collect::<Vec<_>>()
    };
    assert_eq!(silent(), [false, true, false]);
    assert!(mesh.state().to_text().contains(" silent"));
    servers[1].replica.answer(Code::Ok);
    until("it is used again", || {
        ask(&channel, request()).is_ok_and(|who| who == "replica-1")
    });
    assert_eq!(silent(), [false; 3]);
}

/// The same where calls have no deadline that would tell: what waits goes on waiting, and nothing is added.
#[test]
fn a_hung_server_gets_no_more_calls_without_deadlines() {
    let servers = Running::several(3);
    let (mesh, channel) = mesh(simple(&servers));
    all_connected(&mesh, "test");
    let silent = || {
        let state = mesh.state();
        let endpoints = &state.cluster("test").unwrap().endpoints;
        endpoints.iter().map(|it| it.silent).collect::<Vec<_>>()
    };
    servers[1].replica.hang();
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| ask(&channel, request()).unwrap());
        }
        until("it is left out", || silent() == [false, true, false]);
        for _ in 0..30 {
            assert_ne!(ask(&channel, request()).unwrap(), "replica-1");
        }
        servers[1].replica.answer(Code::Ok);
    });
    assert_eq!(silent(), [false; 3], "its answers brought it back");
}

/// Without a word of it, only idempotent methods are repeated after they may have been executed.
#[test]
fn a_call_that_may_have_been_executed_is_repeated_only_when_it_is_idempotent() {
    let servers = Running::several(2);
    servers[0].replica.answer(Code::Unavailable);
    servers[1].replica.answer(Code::Unavailable);
    let mut forward_to = Forward::to_cluster("test");
    forward_to.retry = Some(Arc::new(RetryPolicy {
        on: RetryOn::UNAVAILABLE,
        num_retries: 1,
        ..RetryPolicy::default()
    }));
    let (mesh, channel) = mesh(snapshot(
        cluster("test"),
        &servers,
        vec![forward(forward_to)],
    ));
    all_connected(&mesh, "test");
    let executed = |method| {
        let calls = || servers[0].replica.calls() + servers[1].replica.calls();
        let before = calls();
        ask(&channel, with_header("corewire-method", method)).unwrap_err();
        calls() - before
    };
    assert_eq!(["POST", "PATCH", "GET", "PUT"].map(executed), [1, 1, 2, 2]);
}
