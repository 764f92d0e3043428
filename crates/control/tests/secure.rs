//! TLS: the control plane's port and who may register there, and what it asks of our own client.
#![allow(
    clippy::disallowed_methods,
    reason = "a program of its own: it reads its clock"
)]

mod support;

use corewire_control::registry::{HEARTBEAT, LEAVE, LIST, REGISTER};
use corewire_control::registry_messages::{
    HeartbeatRequest, HeartbeatResponse, LeaveRequest, LeaveResponse, ListRequest, ListResponse,
    RegisterRequest, RegisterResponse,
};
use corewire_mesh::xds::{BootstrapSource, Client, ClientOptions as XdsOptions};
use corewire_mesh::{Mesh, MeshOptions, blocking::MeshChannel};
use corewire_message::blocking::Caller;
use corewire_message::{CallContext, Operation, Request, Response, Service};
use corewire_testkit::certificates;
use corewire_transport::tls::{ClientTls, Files, ServerTls};
use corewire_transport::{ClientOptions, Server, ServerOptions, blocking, parse_address};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{PATIENCE, Plane, call};

const WHO: Operation = Operation::from_static("nsmf-pdusession/v1/sm-contexts");

/// `[tls]` with the tests' certificates.
fn own_port(more: &str) -> String {
    format!(
        "[tls]\ncertificate = {:?}\nkey = {:?}\nauthorities = {:?}\n{more}",
        certificates::certificate("server"),
        certificates::key("server"),
        certificates::certificate("authority")
    )
}

fn client(plane: &Plane, files: Files) -> blocking::Client {
    let mut options = ClientOptions::default();
    options.tls = Some(ClientTls::new(files).unwrap());
    plane.client_with("native", options)
}

fn register(client: &blocking::Client, service: &str, id: &str) -> Result<(), String> {
    let request = RegisterRequest {
        service: service.into(),
        instance_id: id.into(),
        address: "127.0.0.1:9001".into(),
        ttl_ms: 60_000,
        ..RegisterRequest::default()
    };
    call::<_, RegisterResponse>(client, REGISTER, &request).map(drop)
}

#[test]
fn a_certificate_says_which_service_may_be_registered() {
    let plane = Plane::start(&own_port("[registry]\nby-certificate = true\n"));
    // It is for smf.local.
    let smf = client(&plane, certificates::files("client"));
    register(&smf, "smf", "i-1").unwrap();
    let refused = register(&smf, "amf", "i-2").unwrap_err();
    assert!(refused.contains("stands for smf.local"), "{refused}");

    // It is for elsewhere.local: nothing of smf is its own.
    let elsewhere = client(&plane, certificates::files("elsewhere"));
    register(&elsewhere, "elsewhere", "i-3").unwrap();
    let beat = HeartbeatRequest {
        instance_id: "i-1".into(),
        ..HeartbeatRequest::default()
    };
    let refused = call::<_, HeartbeatResponse>(&elsewhere, HEARTBEAT, &beat).unwrap_err();
    assert!(refused.contains("not for \"smf\""), "{refused}");
    let leave = LeaveRequest {
        instance_id: "i-1".into(),
        ..LeaveRequest::default()
    };
    call::<_, LeaveResponse>(&elsewhere, LEAVE, &leave).unwrap_err();
    register(&elsewhere, "elsewhere", "i-1").unwrap_err();
    let all: ListResponse = call(&elsewhere, LIST, &ListRequest::default()).unwrap();
    assert_eq!(all.instances.len(), 2, "{all:?}");
    call::<_, HeartbeatResponse>(&smf, HEARTBEAT, &beat).unwrap();
    call::<_, LeaveResponse>(&smf, LEAVE, &leave).unwrap();

    // Without a certificate, with one of a stranger, in clear text: not even heard.
    let roots = Files::new().with_authorities(certificates::certificate("authority"));
    let nobody = client(&plane, roots);
    let refused = register(&nobody, "smf", "i-4").unwrap_err();
    assert!(refused.contains("certificate"), "{refused}");
    register(
        &client(&plane, certificates::files("foreign")),
        "smf",
        "i-4",
    )
    .unwrap_err();
    register(&plane.client("native"), "smf", "i-4").unwrap_err();
}

#[test]
fn clear_text_beside_tls_registers_nothing_that_needs_a_certificate() {
    let text = own_port("allow-clear-text = true\n[registry]\nby-certificate = true\n");
    let plane = Plane::start(&text);
    assert_eq!(plane.status().instances, 0, "it is heard");
    let refused = register(&plane.client("native"), "smf", "i-1").unwrap_err();
    assert!(refused.contains("must present a certificate"), "{refused}");
}

#[test]
fn certificates_that_cannot_be_used_are_named_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("control.toml");
    std::fs::write(&file, "[tls]\ncertificate = \"no.pem\"\nkey = \"no.key\"\n").unwrap();
    let mut options = corewire_control::ControlOptions::new(&file);
    options.listen = vec!["127.0.0.1:0".into()];
    let fault = corewire_control::Control::start(options).unwrap_err();
    let source = std::error::Error::source(&fault).unwrap().to_string();
    assert!(source.contains("no.pem"), "{source}");
}

struct Backend;

impl Service for Backend {
    async fn call(&self, context: &CallContext, _request: Request) -> Response {
        let certified = context.peer().certificate.is_some();
        let answer = if certified { "known" } else { "unknown" };
        Response::ok(answer.to_owned())
    }
}

/// An instance that wants certificates of its clients.
fn backend() -> (Server, String) {
    let anywhere = [parse_address("127.0.0.1:0").unwrap()];
    let mut options = ServerOptions::default();
    options.loops = 1;
    options.tls = Some(ServerTls::new(certificates::files("server")).unwrap());
    let server = Server::start(&anywhere, Arc::new(Backend), options).unwrap();
    let address = server.addresses()[0].to_string();
    (server, address)
}

/// A mesh that asks the control plane by TLS and finds certificates in these files.
fn mesh(plane: &Plane, certificate: &Path, key: &Path) -> Mesh {
    let authorities = certificates::certificate("authority");
    let bootstrap = serde_json::json!({
        "xds_servers": [{
            "server_uri": plane.address,
            "channel_creds": [{ "type": "tls", "config": {
                "certificate_file": certificates::certificate("client"),
                "private_key_file": certificates::key("client"),
                "ca_certificate_file": authorities,
            } }],
        }],
        "node": { "id": "nf-1" },
        "certificate_providers": { "default": { "plugin_name": "file_watcher", "config": {
            "certificate_file": certificate,
            "private_key_file": key,
            "ca_certificate_file": authorities,
        } } },
    });
    let source = BootstrapSource::Text(bootstrap.to_string());
    let client = Client::start(source, XdsOptions::default()).unwrap();
    Mesh::start(client, MeshOptions::default()).unwrap()
}

fn ask(channel: &MeshChannel) -> Result<String, String> {
    let request = Request::new(WHO).with_deadline(Instant::now() + Duration::from_secs(2));
    let answer = channel.call(request).and_then(Response::into_result);
    let answer =
        answer.map_err(|error| format!("{error}: {:?}", std::error::Error::source(&error)))?;
    Ok(String::from_utf8(answer.body.into_bytes().to_vec()).unwrap())
}

/// Asks until the answer is as wanted.
fn until(channel: &MeshChannel, what: &str, wanted: impl Fn(&Result<String, String>) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = ask(channel);
        if wanted(&answer) {
            return;
        }
        assert!(Instant::now() < deadline, "never {what}: {answer:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn our_client_speaks_tls_as_the_control_plane_demands() {
    let (_server, address) = backend();
    let file = |transport: &str, tls: &str| {
        own_port(&format!(
            "[[service]]\nname = \"smf\"\ntransport = \"{transport}\"\nendpoints = [\"{address}\"]\n{tls}"
        ))
    };
    let named = "tls = { names = [\"localhost\"] }";
    let plane = Plane::start(&file("rest", named));
    let mesh = mesh(
        &plane,
        &certificates::certificate("client"),
        &certificates::key("client"),
    );
    let channel = mesh.blocking("xds:///smf");
    assert_eq!(ask(&channel).as_deref(), Ok("known"));
    for transport in ["native", "grpc"] {
        plane.write(&file(transport, named));
        plane.wait_for("is served");
        assert_eq!(ask(&channel).as_deref(), Ok("known"), "{transport}");
    }
    // A certificate of another name, though its authority is believed.
    plane.write(&file("rest", "tls = { names = [\"smf.elsewhere\"] }"));
    until(&channel, "refused", |answer| {
        answer
            .as_ref()
            .is_err_and(|why| why.contains("another name"))
    });
    // A provider that nobody knows: nothing is sent, not in clear text either.
    plane.write(&file("rest", "tls = { provider = \"vault\" }"));
    until(&channel, "refused", |answer| {
        answer.as_ref().is_err_and(|why| why.contains("\"vault\""))
    });
    // Shared memory has no TLS: it is left out with the reason.
    plane.write(&file("shm", named));
    until(&channel, "refused", |answer| {
        answer
            .as_ref()
            .is_err_and(|why| why.contains("not spoken in shared memory"))
    });
    plane.write(&file("rest", named));
    until(&channel, "known", |answer| answer.as_deref() == Ok("known"));
}

#[test]
fn certificates_may_come_later_than_the_mesh() {
    let (_server, address) = backend();
    let plane = Plane::start(&own_port(&format!(
        "[[service]]\nname = \"smf\"\nendpoints = [\"{address}\"]\ntls = {{}}\n"
    )));
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (folder.path().join("c.pem"), folder.path().join("c.key"));
    let mesh = mesh(&plane, &certificate, &key);
    let channel = mesh.blocking("xds:///smf");
    until(&channel, "refused", |answer| {
        answer.as_ref().is_err_and(|why| why.contains("c.pem"))
    });
    std::fs::copy(certificates::key("client"), &key).unwrap();
    std::fs::copy(certificates::certificate("client"), &certificate).unwrap();
    until(&channel, "known", |answer| answer.as_deref() == Ok("known"));
}
