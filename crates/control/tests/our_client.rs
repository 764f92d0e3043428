//! Our own mesh client and our own control plane: a call finds its instances, and follows them.
#![allow(
    clippy::disallowed_methods,
    reason = "a program of its own: it reads its clock"
)]

mod support;

use corewire_control::registry::{LEAVE, REGISTER};
use corewire_control::registry_messages::{
    LeaveRequest, LeaveResponse, RegisterRequest, RegisterResponse,
};
use corewire_mesh::config::Transport;
use corewire_mesh::xds::{BootstrapSource, Client, ClientOptions};
use corewire_mesh::{EndpointState, Mesh, MeshOptions, blocking::MeshChannel};
use corewire_message::blocking::Caller;
use corewire_message::{CallContext, Operation, Request, Response, Service};
use corewire_transport::{Server, ServerOptions, parse_address};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{PATIENCE, Plane, call};

const WHO: Operation = Operation::from_static("nsmf-pdusession/v1/sm-contexts");

/// Answers with its name and how it was spoken to.
struct Backend(&'static str);

impl Service for Backend {
    async fn call(&self, context: &CallContext, request: Request) -> Response {
        let media_type = request.headers.get_str("content-type").unwrap_or_default();
        let protocol = context.peer().protocol;
        Response::ok(format!("{} {protocol} {media_type}", self.0))
    }
}

fn backend(name: &'static str) -> (Server, String) {
    let anywhere = [parse_address("127.0.0.1:0").unwrap()];
    let mut options = ServerOptions::default();
    options.loops = 1;
    let server = Server::start(&anywhere, Arc::new(Backend(name)), options).unwrap();
    let address = server.addresses()[0].to_string();
    (server, address)
}

fn mesh(plane: &Plane, features: &str) -> Mesh {
    let bootstrap = format!(
        r#"{{"xds_servers": [{{"server_uri": "{}", "channel_creds": [{{"type": "insecure"}}],
            "server_features": ["xds_v3"{features}]}}], "node": {{"id": "nf-1"}}}}"#,
        plane.address
    );
    let source = BootstrapSource::Text(bootstrap);
    let client = Client::start(source, ClientOptions::default()).unwrap();
    Mesh::start(client, MeshOptions::default()).unwrap()
}

fn ask(channel: &MeshChannel, headers: &[(&str, &str)]) -> Result<String, String> {
    let mut request = Request::new(WHO).with_deadline(Instant::now() + Duration::from_secs(5));
    for (name, value) in headers {
        request.headers.append(name, value).unwrap();
    }
    let answer = channel.call(request).and_then(Response::into_result);
    let answer = answer.map_err(|error| error.to_string())?;
    Ok(String::from_utf8(answer.body.into_bytes().to_vec()).unwrap())
}

/// Asks until what answers is as wanted.
fn until(channel: &MeshChannel, what: &str, wanted: impl Fn(&BTreeSet<String>) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let round = (0..10).filter_map(|_| ask(channel, &[]).ok());
        let seen: BTreeSet<String> = round
            .map(|answer| answer.split(' ').next().unwrap_or_default().to_owned())
            .collect();
        if wanted(&seen) {
            return;
        }
        assert!(Instant::now() < deadline, "never {what}: {seen:?}");
    }
}

fn is(names: &[&str]) -> impl Fn(&BTreeSet<String>) -> bool {
    let wanted: BTreeSet<String> = names.iter().map(ToString::to_string).collect();
    move |seen| *seen == wanted
}

fn our_client_follows(features: &str) {
    let (_one, one) = backend("one");
    let (_two, two) = backend("two");
    let file = |transport: &str, more: &str| {
        format!(
            "[[service]]\nname = \"smf\"\ntransport = \"{transport}\"\nendpoints = [\"{one}\"]\nsubsets = [{{ name = \"canary\", match = {{ version = \"v2\" }} }}]\n{more}"
        )
    };
    let mut plane = Plane::start(&file("rest", ""));
    let mesh = mesh(&plane, features);
    let channel = mesh.blocking("xds:///smf");
    until(&channel, "one", is(&["one"]));

    // One registers, and leaves.
    let client = plane.client("native");
    let request = RegisterRequest {
        service: "smf".into(),
        instance_id: "i-2".into(),
        address: two.clone(),
        metadata: [("version".to_owned(), "v2".to_owned())].into(),
        ttl_ms: 120_000,
        ..RegisterRequest::default()
    };
    let _: RegisterResponse = call(&client, REGISTER, &request).unwrap();
    until(&channel, "both", is(&["one", "two"]));
    assert!(ask(&channel, &[]).unwrap().contains("http2"));

    // A route by header, and another transport, while it runs.
    let route = "[[route]]\nservice = \"smf\"\nheaders = [{ name = \"x-canary\", exact = \"1\" }]\nto = [{ subset = \"canary\" }]\n";
    plane.write(&file("native", route));
    let deadline = Instant::now() + PATIENCE;
    while !ask(&channel, &[]).is_ok_and(|answer| answer.contains("native")) {
        assert!(Instant::now() < deadline, "the transport never changes");
    }
    // Clusters come before routes; from then on it is always the canary.
    let canary = || {
        ask(&channel, &[("x-canary", "1")])
            .unwrap()
            .starts_with("two")
    };
    let mut row = 0;
    while row < 20 {
        row = if canary() { row + 1 } else { 0 };
        assert!(Instant::now() < deadline, "the route never changes");
    }

    // Without the control plane calls go on; after it is back nothing is sent, and the next change
    // is followed.
    plane.stop();
    for _ in 0..50 {
        ask(&channel, &[]).unwrap();
    }
    plane.restart();
    let status = plane.until("back", |status| {
        status
            .clients
            .first()
            .is_some_and(|client| client.types.len() == 4)
    });
    let client = &status.clients[0];
    assert_eq!(client.node_id, "nf-1");
    for kind in &client.types {
        assert_eq!(
            (kind.acks, kind.nacks, kind.outstanding),
            (0, 0, false),
            "{client:?}"
        );
    }
    let leave = LeaveRequest {
        instance_id: "i-2".into(),
        ..LeaveRequest::default()
    };
    let _: LeaveResponse = call(&plane.client("native"), LEAVE, &leave).unwrap();
    until(&channel, "one again", is(&["one"]));

    // Both are on this host: from the file's next word on they share memory.
    plane.write(&file("shm", ""));
    let deadline = Instant::now() + PATIENCE;
    let by_memory = || {
        assert!(ask(&channel, &[]).is_ok());
        let state = mesh.state();
        let endpoints = &state.cluster("smf").unwrap().endpoints;
        let shared = |it: &EndpointState| it.transport == Transport::Shm && it.counts.ok > 0;
        !endpoints.is_empty() && endpoints.iter().all(shared)
    };
    while !by_memory() {
        assert!(Instant::now() < deadline, "memory is never shared");
    }
}

#[test]
fn the_state_of_the_world_is_followed() {
    our_client_follows("");
}

#[test]
fn increments_are_followed() {
    our_client_follows(", \"corewire.incremental\"");
}
