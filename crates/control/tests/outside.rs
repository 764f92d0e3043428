//! A control plane and clients of others: Envoy and gRPC C++ take what it says and carry traffic.
//!
//! They are no part of a Rust build, so these tests are run by `make test-peers`:
//!
//! ```text
//! cargo test -p corewire-control --test outside -- --ignored
//! ```
//!
//! Envoy is looked for in `COREWIRE_ENVOY` and where `scripts/setup` puts it; the gRPC programs where
//! `make peers` builds them, or in the folder `COREWIRE_PEERS`.
#![allow(
    clippy::disallowed_methods,
    reason = "a program of its own: it reads its clock"
)]

mod support;

use corewire_control::registry::REGISTER;
use corewire_control::registry_messages::{RegisterRequest, RegisterResponse};
use corewire_control::status_messages::StatusResponse;
use corewire_message::blocking::Caller;
use corewire_message::{CallContext, Operation, Request, Response, Service};
use corewire_transport::{ClientOptions, Server, ServerOptions, blocking, parse_address};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{PATIENCE, Plane, call};

const WHO: Operation = Operation::from_static("nsmf-pdusession/v1/sm-contexts");
const BOOTSTRAP: &str = include_str!("../../../deploy/control/envoy.yaml");

/// Answers with its name.
struct Backend(String);

impl Service for Backend {
    async fn call(&self, _context: &CallContext, _request: Request) -> Response {
        Response::ok(self.0.clone())
    }
}

/// A backend of this name and its address.
fn backend(name: &str) -> (Server, String) {
    let anywhere = [parse_address("127.0.0.1:0").unwrap()];
    let mut options = ServerOptions::default();
    options.loops = 1;
    let server = Server::start(&anywhere, Arc::new(Backend(name.into())), options).unwrap();
    let address = server.addresses()[0].to_string();
    (server, address)
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// A process that ends with its test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ended_already = self.0.kill();
        let _status = self.0.wait();
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn envoy_binary() -> PathBuf {
    if let Some(path) = std::env::var_os("COREWIRE_ENVOY") {
        return path.into();
    }
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| root().join("target"), PathBuf::from);
    let path = target.join("envoy/bin/envoy");
    assert!(
        path.exists(),
        "no Envoy at {}: run scripts/setup",
        path.display()
    );
    path
}

/// Starts an Envoy with this node id that asks the control plane, state of the world or
/// incrementally.
fn envoy(plane: &Plane, id: &str, api: &str) -> Process {
    let port = plane.address.rsplit(':').next().unwrap();
    let config = BOOTSTRAP
        .replace("id: smf-gateway-1", &format!("id: {id}"))
        .replace("api_type: DELTA_GRPC", &format!("api_type: {api}"))
        .replace("port_value: 18000", &format!("port_value: {port}"));
    assert!(config.contains(id) && config.contains(port));
    let file = plane.folder.path().join(format!("{id}.yaml"));
    std::fs::write(&file, config).unwrap();
    let mut command = Command::new(envoy_binary());
    command
        .args([
            "--concurrency",
            "1",
            "--use-dynamic-base-id",
            "-l",
            "warning",
            "-c",
        ])
        .arg(&file)
        .stdin(Stdio::null());
    Process(command.spawn().unwrap())
}

/// Who answers through this port; tried again until the sidecar is there.
fn who(client: &blocking::Client, headers: &[(&str, &str)]) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut request = Request::new(WHO).with_deadline(Instant::now() + Duration::from_secs(2));
        for (name, value) in headers {
            request.headers.append(name, value).unwrap();
        }
        let answer = client.call(request).and_then(Response::into_result);
        match answer {
            Ok(response) => {
                return String::from_utf8(response.body.into_bytes().to_vec()).unwrap();
            }
            Err(error) => assert!(Instant::now() < deadline, "nobody answers: {error}"),
        }
    }
}

/// Asks until this many different ones have answered.
fn everybody(client: &blocking::Client, count: usize) -> BTreeMap<String, usize> {
    let deadline = Instant::now() + PATIENCE;
    let mut seen = BTreeMap::new();
    while seen.len() < count {
        *seen.entry(who(client, &[])).or_insert(0) += 1;
        assert!(Instant::now() < deadline, "only {seen:?}");
    }
    seen
}

/// Asks until only this one answers, ten times in a row.
fn only(client: &blocking::Client, name: &str) {
    let deadline = Instant::now() + PATIENCE;
    let mut row = 0;
    while row < 10 {
        row = if who(client, &[]) == name { row + 1 } else { 0 };
        assert!(
            Instant::now() < deadline,
            "others than {name} go on answering"
        );
    }
}

fn rest(address: &str) -> blocking::Client {
    let endpoint = format!("rest://{address}").parse().unwrap();
    blocking::Client::new(endpoint, ClientOptions::default())
}

/// Whether this client has taken everything and refused nothing.
fn content(status: &StatusResponse, id: &str, types: usize) -> bool {
    let client = status.clients.iter().find(|client| client.node_id == id);
    client.is_some_and(|client| {
        assert!(
            client.types.iter().all(|kind| kind.nacks == 0),
            "{client:?}"
        );
        client.types.len() == types && client.types.iter().all(|kind| !kind.outstanding)
    })
}

/// The file: a service with every policy that there is, one sidecar beside the client.
fn gateway_file(port: u16, endpoints: &[&str]) -> String {
    let quoted: Vec<String> = endpoints.iter().map(|one| format!("{one:?}")).collect();
    format!(
        r#"
[[service]]
name = "smf"
balance = "least-request"
endpoints = [{}]
circuit = {{ requests = 4096, pending = 1024, connections = 100, retries = 16, retry-budget = {{ percent = 20 }} }}
outlier = {{ consecutive-5xx = 5, consecutive-gateway = 5, failure-percentage = 90, success-rate-stdev = 1900, interval = "10s", base-ejection = "30s", max-ejection-percent = 50 }}
subsets = [{{ name = "canary", match = {{ version = "v2" }} }}]

[[route]]
service = "smf"
headers = [{{ name = "x-canary", exact = "YES", ignore-case = true }}]
to = [{{ subset = "canary" }}]

[[route]]
service = "smf"
path-prefix = "/nsmf-pdusession/"
headers = [{{ name = "x-never", range = {{ from = 1, before = 5 }} }}, {{ name = "x-other", regex = "a.*", invert = true }}]
percent = 50
timeout = "2s"
max-duration = "5s"
retry = {{ on = ["unavailable", "connect-failure", "reset"], attempts = 2, per-try-timeout = "1s", backoff = "5ms", max-backoff = "50ms" }}
hash = [{{ header = "supi" }}]
mirror = [{{ service = "smf", percent = 1 }}]
fault = {{ delay = "1ms", delay-percent = 1, abort-status = 503, abort-percent = 0.1 }}
rate-limit = {{ per-second = 100000 }}
transport = "rest"

[[sidecar]]
name = "gateway"
node = "gateway-*"
outbound = [{{ listen = "127.0.0.1:{port}", services = ["smf"] }}]
"#,
        quoted.join(", ")
    )
}

fn register(plane: &Plane, id: &str, address: &str, version: &str) {
    let request = RegisterRequest {
        service: "smf".into(),
        instance_id: id.into(),
        address: address.into(),
        metadata: [("version".to_owned(), version.to_owned())].into(),
        ttl_ms: 120_000,
        ..RegisterRequest::default()
    };
    let _: RegisterResponse = call(&plane.client("native"), REGISTER, &request).unwrap();
}

fn an_envoy_follows(api: &str) {
    let (_one, one) = backend("one");
    let (_two, two) = backend("two");
    let port = free_port();
    let mut plane = Plane::start(&gateway_file(port, &[&one, &two]));
    let _envoy = envoy(&plane, "gateway-1", api);
    let client = rest(&format!("127.0.0.1:{port}"));
    everybody(&client, 2);
    plane.until("content", |status| content(status, "gateway-1", 4));

    // Another file, another endpoint.
    plane.write(&gateway_file(port, &[&two]));
    only(&client, "two");

    // One that registers is used, and the canary by its header only.
    let (_canary, canary) = backend("canary");
    register(&plane, "canary-1", &canary, "v2");
    everybody(&client, 2);
    for _ in 0..20 {
        assert_eq!(who(&client, &[("x-canary", "yes")]), "canary");
    }

    // Without a control plane everything goes on.
    plane.stop();
    for _ in 0..20 {
        everybody(&client, 2);
    }
    plane.restart();
    let status = plane.until("content", |status| content(status, "gateway-1", 4));
    let taken: u64 = status.clients[0].types.iter().map(|kind| kind.acks).sum();
    assert_eq!(taken, 0, "nothing was sent: {:?}", status.clients);
    // And the next change is followed.
    plane.write(&gateway_file(port, &[&one]));
    let deadline = Instant::now() + PATIENCE;
    while !everybody(&client, 2).contains_key("one") {
        assert!(Instant::now() < deadline, "the change is not followed");
    }
}

#[test]
#[ignore = "needs Envoy: make test-peers"]
fn envoy_follows_the_state_of_the_world() {
    an_envoy_follows("GRPC");
}

#[test]
#[ignore = "needs Envoy: make test-peers"]
fn envoy_follows_increments() {
    an_envoy_follows("DELTA_GRPC");
}

#[test]
#[ignore = "needs Envoy: make test-peers"]
fn two_envoys_carry_a_call_from_end_to_end() {
    let (_one, one) = backend("one");
    let (_two, two) = backend("two");
    let [out, first, second] = [free_port(), free_port(), free_port()];
    let text = format!(
        r#"
[[service]]
name = "smf"
endpoints = ["127.0.0.1:{first}", "127.0.0.1:{second}"]
[[service]]
name = "amf"
[[sidecar]]
name = "client"
node = "client"
outbound = [{{ listen = "127.0.0.1:{out}", services = ["smf", "amf"] }}]
[[sidecar]]
name = "server"
node = "server"
inbound = [{{ listen = "127.0.0.1:{first}", to = "{one}" }}, {{ listen = "127.0.0.1:{second}", to = "{two}" }}]
"#
    );
    let plane = Plane::start(&text);
    let _server = envoy(&plane, "server", "GRPC");
    let _client = envoy(&plane, "client", "DELTA_GRPC");
    plane.until("content", |status| {
        content(status, "client", 4) && content(status, "server", 2)
    });
    // Several services on one port: the authority tells.
    let endpoint = format!("rest://localhost:{out}").parse().unwrap();
    let by_name = blocking::Client::new(endpoint, ClientOptions::default());
    let nobody = by_name.call(Request::new(WHO).with_deadline(Instant::now() + PATIENCE));
    assert!(
        nobody.and_then(Response::into_result).is_err(),
        "localhost is no service"
    );
    let direct = rest(&format!("127.0.0.1:{first}"));
    assert_eq!(who(&direct, &[]), "one");
    // As a client that knows it is behind a sidecar writes it.
    plane.write(&text.replace("[\"smf\", \"amf\"]", "[\"smf\"]"));
    everybody(&rest(&format!("127.0.0.1:{out}")), 2);
}

#[test]
#[ignore = "needs Envoy: make test-peers"]
fn the_example_bootstrap_is_valid() {
    let file = root().join("deploy/control/envoy.yaml");
    let valid = Command::new(envoy_binary())
        .args(["--mode", "validate", "-c"])
        .arg(file)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&valid.stderr);
    assert!(valid.status.success(), "{told}");
}

fn peer(name: &str) -> PathBuf {
    let folder = std::env::var_os("COREWIRE_PEERS");
    let folder = folder.map_or_else(|| root().join("peers/build"), PathBuf::from);
    let path = folder.join(name);
    assert!(path.exists(), "no {}: run make peers", path.display());
    path
}

/// Starts a program and gives the lines it prints.
fn lines_of(command: &mut Command) -> (Process, impl Iterator<Item = String> + use<>) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (Process(child), lines.map_while(Result::ok))
}

#[test]
#[ignore = "needs the C++ peers: make test-peers"]
fn grpc_cpp_calls_by_name_and_follows() {
    let (_replica, mut lines) = lines_of(
        Command::new(peer("corewire-mesh-replica")).args(["--kind", "grpc", "--ports", "3"]),
    );
    let ready: serde_json::Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
    let addresses: Vec<&str> = ready["addresses"]
        .as_array()
        .unwrap()
        .iter()
        .map(|address| address.as_str().unwrap())
        .collect();
    let file = gateway_file(free_port(), &addresses[..2]);
    let mut plane = Plane::start(&file);
    let bootstrap = serde_json::json!({
        "xds_servers": [{
            "server_uri": plane.address,
            "channel_creds": [{"type": "insecure"}],
            "server_features": ["xds_v3"],
        }],
        "node": {"id": "grpc-1"},
    });
    let (_gateway, lines) = lines_of(
        Command::new(peer("corewire-mesh-gateway"))
            .args(["--target", "xds:///smf", "--rate", "200", "--duration", "6"])
            .env("GRPC_XDS_BOOTSTRAP_CONFIG", bootstrap.to_string()),
    );
    let status = plane.until("content", |status| content(status, "grpc-1", 4));
    let client = &status.clients[0];
    assert_eq!(client.kind, "grpc-core", "{client:?}");
    // While it calls: another file, and a restart.
    plane.write(&gateway_file(free_port(), &addresses[1..]));
    plane.until("taken", |status| {
        let client = &status.clients[0];
        content(status, "grpc-1", 4)
            && client
                .types
                .iter()
                .any(|kind| kind.r#type == "eds" && kind.acks >= 2)
    });
    plane.restart();
    let status = plane.until("content", |status| content(status, "grpc-1", 4));
    let taken: u64 = status.clients[0].types.iter().map(|kind| kind.acks).sum();
    assert_eq!(taken, 0, "nothing was sent: {:?}", status.clients);
    let events: Vec<serde_json::Value> = lines
        .map(|line| serde_json::from_str(&line).unwrap())
        .collect();
    let result = events.iter().find(|event| event["event"] == "result");
    let result = result.unwrap_or_else(|| panic!("no result: {events:?}"));
    assert_eq!(result["errors"], 0, "{result}");
}
