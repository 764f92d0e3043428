use crate::bench::*;
use crate::foreign::Foreign;
use corewire_mesh::config::{
    ClusterChoice, ClusterWeight, Endpoints, Forward, Fraction, HashPolicy, HashSource,
    HeaderCondition, HeaderMatch, LbPolicy, Mirror, PathMatch, Route, RouteAction, StringMatch,
    StringPattern, Transport,
};
use corewire_message::{Caller, Code, ErrorKind, Event, Operation, Request};
use std::sync::{Arc, Mutex};

#[test]
fn a_canary_gets_its_share_and_who_asks_for_it_gets_it_always() {
    let stable = Running::start("stable");
    let canary = Running::start("canary");
    let weight = |name: &str, weight| ClusterWeight {
        name: name.into(),
        weight,
        fault: None,
        rate_limit: None,
    };
    let mut split = Forward::to_cluster("stable");
    split.clusters = ClusterChoice::Weighted {
        clusters: vec![weight("stable", 80), weight("canary", 20)],
        total: 100,
    };
    let mut marked = Route::to_cluster("canary");
    marked.matcher.headers.push(HeaderMatch {
        name: "x-version".into(),
        condition: HeaderCondition::Value(StringMatch::new(StringPattern::Prefix("2".into()))),
        invert: false,
        missing_as_empty: false,
    });
    let mut snapshot = snapshot(
        cluster("stable"),
        std::slice::from_ref(&stable),
        vec![marked, forward(split)],
    );
    snapshot.add_cluster(cluster("canary"), endpoints(std::slice::from_ref(&canary)));
    let (_mesh, channel) = mesh(snapshot);
    ready(&channel);
    let mut to_canary = 0;
    for _ in 0..4 {
        let calls: Vec<_> = (0..500).map(|_| channel.call(request())).collect();
        let names = block_on(join_all(calls)).into_iter().map(who);
        to_canary += names
            .filter(|name| name.as_deref().unwrap() == "canary")
            .count();
    }
    // Six standard deviations: 18 calls each.
    assert!((292..=508).contains(&to_canary), "{to_canary} of 2000");
    for _ in 0..50 {
        assert_eq!(
            ask(&channel, with_header("x-version", "2.1")).unwrap(),
            "canary"
        );
    }
}

#[test]
fn paths_choose_routes_answers_may_come_from_the_route_and_nothing_fits_is_said() {
    let server = Running::start("one");
    let mut to_one = Route::to_cluster("test");
    to_one.matcher.path = PathMatch::Prefix {
        prefix: "/test.v1.Test/".into(),
        ignore_case: false,
    };
    let mut direct = Route::to_cluster("");
    direct.matcher.path = PathMatch::Exact {
        path: "/health/check".into(),
        ignore_case: false,
    };
    direct.action = RouteAction::Answer {
        status: 200,
        body: b"fine"[..].into(),
    };
    let mut gone = Route::to_cluster("");
    gone.matcher.path = PathMatch::Prefix {
        prefix: "/old/".into(),
        ignore_case: false,
    };
    gone.action = RouteAction::Answer {
        status: 404,
        body: b""[..].into(),
    };
    let mut later = Route::to_cluster("");
    later.matcher.path = PathMatch::Prefix {
        prefix: "/redirected/".into(),
        ignore_case: false,
    };
    later.action = RouteAction::Unsupported {
        reason: "redirects are not followed".into(),
    };
    let routes = vec![to_one, direct, gone, later];
    let (_mesh, channel) = mesh(snapshot(
        cluster("test"),
        std::slice::from_ref(&server),
        routes,
    ));
    let call = |name: &str| ask(&channel, Request::new(Operation::parse(name).unwrap()));
    assert_eq!(call("test.v1.Test/Call").unwrap(), "one");
    assert_eq!(call("health/check").unwrap(), "fine");
    let error = call("old/thing").unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Answered, Code::NotFound)
    );
    let error = call("redirected/x").unwrap_err();
    assert!(
        error.to_string().contains("redirects are not followed"),
        "{error}"
    );
    let error = call("unknown/x").unwrap_err();
    assert_eq!(
        (error.kind(), error.may_have_executed()),
        (ErrorKind::NotSent, false)
    );
    assert!(
        error.to_string().contains("no route for unknown/x"),
        "{error}"
    );
}

#[test]
fn a_subscriber_stays_with_its_endpoint_and_only_those_of_a_lost_one_move() {
    let mut servers = Running::several(5);
    let mut cluster = cluster("test");
    cluster.lb = LbPolicy::RingHash {
        min_size: 1024,
        max_size: 4096,
    };
    let mut by_supi = Forward::to_cluster("test");
    by_supi.hash.push(HashPolicy {
        source: HashSource::Header {
            name: "supi".into(),
            rewrite: None,
        },
        terminal: true,
    });
    let (mesh, channel) = mesh(snapshot(cluster, &servers, vec![forward(by_supi)]));
    all_connected(&mesh, "test");
    let home = |number: u32| ask(&channel, with_header("supi", &format!("imsi-{number}"))).unwrap();
    let homes: Vec<_> = (0..200).map(home).collect();
    assert_eq!(homes, (0..200).map(home).collect::<Vec<_>>());
    let mut used = homes.clone();
    used.sort_unstable();
    used.dedup();
    assert_eq!(used.len(), 5, "all of them are used");

    servers[2].kill();
    seen_gone(&mesh, &servers[2]);
    let after: Vec<_> = (0..200).map(home).collect();
    for (before, after) in homes.iter().zip(&after) {
        assert_eq!(
            before == after,
            before != "replica-2",
            "{before} to {after}"
        );
    }
    servers[2].restart();
    until("its own come back", || {
        (0..200).map(home).eq(homes.iter().cloned())
    });
}

#[test]
fn a_mirror_gets_its_copies_and_its_failures_are_nobodys() {
    let server = Running::start("one");
    let mirror = Running::start("mirror");
    let mut mirrored = Forward::to_cluster("test");
    mirrored.mirrors.push(Mirror {
        cluster: "mirror".into(),
        fraction: Fraction::ALWAYS,
    });
    let copies = std::sync::Arc::clone(&mirror.replica);
    copies.answer(Code::Internal);
    let mut snapshot = snapshot(
        cluster("test"),
        std::slice::from_ref(&server),
        vec![forward(mirrored)],
    );
    snapshot.add_cluster(cluster("mirror"), endpoints(std::slice::from_ref(&mirror)));
    let (mesh, channel) = mesh(snapshot);
    ready(&channel);
    for _ in 0..20 {
        assert_eq!(ask(&channel, request()).unwrap(), "one");
    }
    until("the copies arrive", || copies.calls() == 20);
    copies.hang();
    assert_eq!(
        ask(&channel, request()).unwrap(),
        "one",
        "nobody waits for a copy"
    );
    until("it is counted", || {
        let state = mesh.state();
        let mirror = state.cluster("mirror").unwrap();
        mirror.counts.mirrored == 21 && mirror.tries.failed == 20
    });
    drop(mirror);
    assert_eq!(
        ask(&channel, request()).unwrap(),
        "one",
        "nor for a mirror that is gone"
    );
}

#[test]
fn a_mirror_that_hangs_holds_no_more_copies_than_its_circuit_lets() {
    let server = Running::start("one");
    let mirror = Running::start("mirror");
    let mut mirrored = Forward::to_cluster("test");
    mirrored.mirrors.push(Mirror {
        cluster: "mirror".into(),
        fraction: Fraction::ALWAYS,
    });
    mirror.replica.hang();
    let mut snapshot = snapshot(
        cluster("test"),
        std::slice::from_ref(&server),
        vec![forward(mirrored)],
    );
    let mut small = cluster("mirror");
    small.circuit.max_requests = 3;
    snapshot.add_cluster(small, endpoints(std::slice::from_ref(&mirror)));
    let (mesh, channel) = mesh(snapshot);
    ready(&channel);
    for _ in 0..20 {
        assert_eq!(ask(&channel, request()).unwrap(), "one");
    }
    let state = mesh.state();
    let hangs = state.cluster("mirror").unwrap();
    assert_eq!((hangs.requests, hangs.endpoints[0].in_flight), (3, 3));
    assert_eq!((hangs.counts.mirrored, hangs.counts.shed_circuit), (3, 17));
    mirror.replica.answer(Code::Ok);
    until("they are let go of", || {
        mesh.state().cluster("mirror").unwrap().requests == 0
    });
    assert_eq!(ask(&channel, request()).unwrap(), "one");
    until("copies are made again", || mirror.replica.calls() == 4);
}

#[test]
fn events_are_routed_too() {
    let servers = Running::several(2);
    let (mesh, channel) = mesh(simple(&servers));
    all_connected(&mesh, "test");
    for _ in 0..10 {
        block_on(channel.send(Event::new(CALL, "note".to_owned()))).unwrap();
    }
    until("all arrive, evenly", || {
        servers.iter().all(|server| server.replica.events() == 5)
    });
}

/// Two foreign servers behind one target: reads go to one, everything else to the other.
#[test]
fn routes_see_the_method_of_the_call() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let server = |name: &'static str| {
        let seen = Arc::clone(&seen);
        Foreign::start(0, move |request: &crate::foreign::Seen| {
            let line = format!("{name} {} {}", request.method, request.path);
            seen.lock().unwrap().push(line);
            Some(204)
        })
    };
    let (reader, writer) = (server("reader"), server("writer"));
    let mut reads = Route::to_cluster("reader");
    reads.matcher.headers.push(HeaderMatch {
        name: ":method".into(),
        condition: HeaderCondition::Value(StringMatch::new(StringPattern::Exact("GET".into()))),
        invert: false,
        missing_as_empty: false,
    });
    let mut first = cluster("reader");
    first.transport = Some(Transport::Rest);
    let mut second = cluster("writer");
    second.transport = Some(Transport::Rest);
    let routes = vec![reads, Route::to_cluster("writer")];
    let mut snapshot = snapshot(first.clone(), &[], routes);
    snapshot.add_cluster(first, Endpoints::at([reader.address.clone()]));
    snapshot.add_cluster(second, Endpoints::at([writer.address.clone()]));
    let (_mesh, channel) = mesh(snapshot);
    for method in ["GET", "POST", "DELETE"] {
        let request = with_header("corewire-method", method);
        block_on(channel.call(request)).unwrap();
    }
    let expected = ["reader GET", "writer POST", "writer DELETE"];
    let expected = expected.map(|start| format!("{start} /{CALL}"));
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[test]
fn a_direct_response_keeps_its_status() {
    let mut teapot = Route::to_cluster("none");
    teapot.action = RouteAction::Answer {
        status: 418,
        body: Arc::from(*b"short and stout"),
    };
    let (_mesh, channel) = mesh(snapshot(cluster("test"), &[], vec![teapot]));
    let error = block_on(channel.call(request())).unwrap_err();
    let response = error.into_response().unwrap();
    let named = response.headers.get_str("corewire-http-status");
    assert_eq!(named, Some("418"));
    assert_eq!(&response.body.into_bytes()[..], b"short and stout");
}
