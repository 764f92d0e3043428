use crate::bench::*;
use corewire_mesh::config::{
    Address, Cluster, EndpointInfo, Endpoints, Forward, Locality, Route, RouteConfig, Snapshot,
    Transport,
};
use corewire_mesh::{Mesh, MeshOptions};
use corewire_message::{
    Body, CallContext, Caller, ErrorKind, Headers, Operation, Request, Response, Service,
};
use corewire_transport::{Protocol, Server, ServerOptions, parse_address};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Says how it was spoken to, and gives back what it got.
struct Mirror;

impl Service for Mirror {
    async fn call(&self, context: &CallContext, request: Request) -> Response {
        let mut headers = request.headers;
        headers
            .append("x-protocol", context.peer().protocol)
            .unwrap();
        Response::ok(request.body).with_headers(headers)
    }
}

fn speaking(protocols: &[Protocol]) -> Server {
    let mut options = ServerOptions::default();
    options.loops = 1;
    options.protocols = protocols.to_vec();
    Server::start(&[anywhere()], Arc::new(Mirror), options).unwrap()
}

fn endpoint(server: &Server, transport: Option<Transport>) -> EndpointInfo {
    EndpointInfo {
        transport,
        ..EndpointInfo::at(server.addresses()[0].clone())
    }
}

fn endpoints_of(endpoints: Vec<EndpointInfo>) -> Endpoints {
    Endpoints {
        localities: vec![Locality {
            weight: 1,
            endpoints,
            ..Locality::default()
        }],
        ..Endpoints::default()
    }
}

/// One target of which each endpoint speaks another protocol: the network function does not see it.
#[test]
fn one_target_may_speak_every_protocol() {
    let servers = Protocol::ALL.map(|protocol| speaking(&[protocol]));
    let transports = [Transport::Native, Transport::Grpc, Transport::Rest];
    let mut snapshot = simple(&[]);
    let all = servers.iter().zip(transports);
    let all = all.map(|(server, transport)| endpoint(server, Some(transport)));
    snapshot.add_cluster(Cluster::new("test"), endpoints_of(all.collect()));
    let (mesh, channel) = mesh(snapshot);
    all_connected(&mesh, "test");
    let mut headers = Headers::new();
    headers
        .append("3gpp-sbi-correlation-info", "imsi-001010000000001")
        .unwrap();
    headers.append("content-type", "application/json").unwrap();
    let json = br#"{"supi":"imsi-001010000000001"}"#;
    let mut seen = Vec::new();
    for _ in 0..30 {
        let request = request()
            .with_headers(headers.clone())
            .with_body(Body::from_static(json));
        let response = block_on(channel.call(request)).unwrap();
        assert_eq!(
            response.headers.get("3gpp-sbi-correlation-info"),
            Some(&b"imsi-001010000000001"[..])
        );
        assert_eq!(
            response.headers.get("content-type"),
            Some(&b"application/json"[..])
        );
        seen.push(response.headers.get_str("x-protocol").unwrap().to_owned());
        assert_eq!(&response.body.into_bytes()[..], json, "octets untouched");
    }
    let natively = seen.iter().filter(|protocol| *protocol == "native").count();
    assert_eq!(natively, 10);
    let state = mesh.state();
    let spoken: BTreeSet<_> = state
        .cluster("test")
        .unwrap()
        .endpoints
        .iter()
        .map(|endpoint| endpoint.transport.name())
        .collect();
    assert_eq!(spoken, BTreeSet::from(["grpc", "native", "rest"]));
}

/// Route, cluster, endpoint, the process's setting, REST.
#[test]
fn the_nearest_to_the_request_says_which_transport() {
    let server = speaking(&Protocol::ALL);
    for (route, cluster, own, process, spoken) in [
        (None, None, None, None, "rest"),
        (None, None, None, Some(Transport::Native), "native"),
        (None, None, None, Some(Transport::Shm), "shm"),
        (None, Some(Transport::Shm), None, None, "shm"),
        (
            None,
            None,
            Some(Transport::Grpc),
            Some(Transport::Native),
            "grpc",
        ),
        (
            None,
            Some(Transport::Rest),
            Some(Transport::Grpc),
            None,
            "rest",
        ),
        (
            Some(Transport::Native),
            Some(Transport::Rest),
            Some(Transport::Grpc),
            None,
            "native",
        ),
    ] {
        let mut snapshot = simple(&[]);
        let mut configured = Cluster::new("test");
        configured.transport = cluster;
        snapshot.add_cluster(configured, endpoints_of(vec![endpoint(&server, own)]));
        let mut chosen = Forward::to_cluster("test");
        chosen.transport = route;
        snapshot.add_target("test", routes(vec![forward(chosen)]));
        let mut options = MeshOptions::default();
        options.transport = process;
        let mesh = Mesh::fixed(snapshot, options).unwrap();
        let channel = mesh.channel("test");
        block_on(channel.call(request())).unwrap();
        let state = mesh.state();
        let endpoint = &state.cluster("test").unwrap().endpoints[0];
        assert_eq!((endpoint.transport.name(), endpoint.counts.ok), (spoken, 1));
    }
}

/// Two routes of one target to one cluster, by different transports.
#[test]
fn a_route_has_its_own_connections_when_it_has_its_own_transport() {
    let server = speaking(&Protocol::ALL);
    let mut snapshot = simple(&[]);
    snapshot.add_cluster(
        Cluster::new("test"),
        endpoints_of(vec![endpoint(&server, None)]),
    );
    let mut natively = Forward::to_cluster("test");
    natively.transport = Some(Transport::Native);
    let mut quick = forward(natively);
    quick.matcher.path = corewire_mesh::config::PathMatch::Exact {
        path: "/quick/call".into(),
        ignore_case: false,
    };
    snapshot.add_target("test", routes(vec![quick, Route::to_cluster("test")]));
    let (mesh, channel) = mesh(snapshot);
    for (operation, protocol) in [("quick/call", "native"), ("slow/call", "http2")] {
        let request = Request::new(Operation::parse(operation).unwrap());
        let response = block_on(channel.call(request)).unwrap();
        assert_eq!(response.headers.get_str("x-protocol"), Some(protocol));
    }
    assert_eq!(mesh.state().clusters.len(), 2);
}

#[test]
fn the_environment_names_a_transport_or_is_told_what_it_may() {
    // The variable itself belongs to the whole process; its words are tested.
    assert_eq!("grpc".parse(), Ok(Transport::Grpc));
    let error = "soap".parse::<Transport>().unwrap_err().to_string();
    assert!(error.contains("rest, grpc, native or shm"), "{error}");
}

#[test]
fn shared_memory_is_used_where_it_is_offered_and_missed_with_the_reason() {
    let offers = Running::start("offers");
    let quiet_server = {
        let mut options = ServerOptions::default();
        options.loops = 1;
        options.shared_memory = false;
        Server::start(&[anywhere()], Replica::new("quiet"), options).unwrap()
    };
    let elsewhere: Address = parse_address("192.0.2.1:80").unwrap();
    let by_memory = |addresses: Vec<Address>| {
        let mut snapshot = Snapshot::default();
        let mut cluster = Cluster::new("test");
        cluster.transport = Some(Transport::Shm);
        snapshot.add_cluster(cluster, Endpoints::at(addresses));
        snapshot.add_target("test", RouteConfig::to_cluster("test"));
        mesh(snapshot)
    };
    // Of several endpoints those that offer it are used.
    let quiet = quiet_server.addresses()[0].clone();
    let all = vec![quiet.clone(), offers.address.clone(), elsewhere.clone()];
    let (_mesh, channel) = by_memory(all);
    ready(&channel);
    for _ in 0..20 {
        assert_eq!(ask(&channel, request()).unwrap(), "offers");
    }
    for nobody in [quiet, elsewhere] {
        let (_mesh, channel) = by_memory(vec![nobody.clone()]);
        let error = ask(&channel, request()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSent);
        let text = error.to_string();
        for part in [
            &*nobody.to_string(),
            "no server of this host offers shared memory",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
