//! The 5G core with mutual TLS between all network functions, the NRF among them, through the program:
//! `corewire core up --tls`.

#![cfg(target_os = "linux")]

mod core_program;

use core_program::{Core, PATIENCE};
use corewire::blocking::{Caller as _, Client};
use corewire::tls::{ClientTls, Files};
use corewire::{CallError, ClientOptions, Code, Operation, Request};
use serde_json::Value;
use std::path::Path;
use std::time::Instant;

const STATUS: Operation = Operation::from_static("corewire/v1/status");

/// Every process of a core.
const ALL: [&str; 8] = [
    "nrf",
    "udsf",
    "udm",
    "ausf",
    "upf",
    "smf-pdu-session-0",
    "smf-gateway",
    "amf",
];

fn files(core: &Core, name: &str) -> Files {
    let folder = core.state().join("certificates");
    let own = |ending: &str| folder.join(format!("{name}.{ending}"));
    Files::new()
        .with_identity(own("pem"), own("key"))
        .with_authorities(folder.join("authority.pem"))
}

/// Asks an NF with this; what it answers.
fn ask(address: &str, files: Option<Files>, operation: Operation) -> Result<Value, CallError> {
    let mut options = ClientOptions::default();
    options.tls = files.map(|files| ClientTls::new(files).expect("good files"));
    let endpoint = format!("rest://{address}").parse().expect("an endpoint");
    let request = Request::new(operation).with_deadline(Instant::now() + PATIENCE);
    let answer = Client::new(endpoint, options).call(request)?;
    Ok(serde_json::from_slice(&answer.body.into_bytes()).expect("JSON"))
}

/// An error and what is behind it.
fn story(error: &CallError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

#[test]
fn every_nf_speaks_mutual_tls_with_certificates_made_for_it() {
    let core = Core::up(&["--tls", "--transport", "rest"]);
    let result = core.attach(&["--ues", "3", "--detach"]);
    assert_eq!(result["finished"], 3, "{result}\n{}", core.logs());
    for nf in ALL {
        // `core status` came through TLS too: it shows numbers only of who answers.
        assert!(core.status(nf)["numbers"].is_object(), "{nf}");
        let address = core.address(nf);
        let told = ask(&address, Some(files(&core, "operator")), STATUS);
        assert!(told.is_ok_and(|told| told["pid"].is_number()), "{nf}");
        // Neither in clear text nor without a certificate.
        ask(&address, None, STATUS).expect_err(nf);
        let nobody = Files::new().with_authorities(core.state().join("certificates/authority.pem"));
        let error = ask(&address, Some(nobody), STATUS).expect_err(nf);
        let why = story(&error);
        assert!(why.contains("requires a certificate"), "{nf}: {why}");
    }
}

#[test]
fn the_nrf_registers_and_finds_by_tls_alone() {
    let core = Core::up(&["--tls", "--transport", "grpc"]);
    let query = "nnrf-disc/v1/nf-instances?target-nf-type=UDM&requester-nf-type=AUSF&service-names=nudm-ueau";
    let operation = Operation::parse(query.split('?').next().expect("a path")).expect("one");
    let mut options = ClientOptions::default();
    options.tls = Some(ClientTls::new(files(&core, "ausf")).expect("good files"));
    let endpoint = format!("rest://{}", core.address("nrf"));
    let client = Client::new(endpoint.parse().expect("an endpoint"), options);
    let mut request = Request::new(operation).with_deadline(Instant::now() + PATIENCE);
    let headers = [
        ("corewire-method", "GET"),
        ("corewire-query", query.split('?').nth(1).expect("a query")),
    ];
    for (name, value) in headers {
        request.headers.append(name, value).expect("a header");
    }
    let answer = client.call(request).expect("it is found");
    let found: Value = serde_json::from_slice(&answer.body.into_bytes()).expect("JSON");
    let service = &found["nfInstances"][0]["nfServices"][0];
    assert_eq!(service["scheme"], "https", "{found}");
    // An NF that was killed comes back with its certificate, and is found again.
    core.kill("ausf");
    let repaired = core.core(&["repair"]);
    assert!(
        repaired.status.success(),
        "{}",
        String::from_utf8_lossy(&repaired.stderr)
    );
    core.until(PATIENCE, "a UE after the AUSF came back", || {
        core.try_one(5)["finished"] == 1
    });
    // The operator's own commands.
    let listed = std::process::Command::new(env!("CARGO_BIN_EXE_corewire"))
        .args(["core", "subscriber", "--state"])
        .arg(core.state())
        .arg("list")
        .output()
        .expect("the program starts");
    assert!(
        listed.status.success(),
        "{}",
        String::from_utf8_lossy(&listed.stderr)
    );
}

/// Without tokens and the secret behind them: only the certificate says who somebody is.
#[test]
fn a_certificate_is_for_one_network_function() {
    let core = Core::up(&["--tls", "--oauth2", "false"]);
    let instance = |nf: &str| {
        let told = ask(&core.address(nf), Some(files(&core, "operator")), STATUS);
        let told = told.expect("it is there");
        told["instance"].as_str().expect("an instance").to_owned()
    };
    let nrf = format!("rest://{}", core.address("nrf"));
    let registered = |name: &str, id: &str, method: &str| {
        let mut options = ClientOptions::default();
        options.tls = Some(ClientTls::new(files(&core, name)).expect("good files"));
        let client = Client::new(nrf.parse().expect("an endpoint"), options);
        let operation = Operation::parse(&format!("nnrf-nfm/v1/nf-instances/{id}"));
        let mut request = Request::new(operation.expect("a path"))
            .with_deadline(Instant::now() + PATIENCE)
            .with_body(format!(
                r#"{{"nfInstanceId":"{id}","nfType":"UDM","nfStatus":"REGISTERED"}}"#
            ));
        for (header, value) in [
            ("corewire-method", method),
            ("content-type", "application/json"),
        ] {
            request.headers.append(header, value).expect("a header");
        }
        client.call(request).map(|answer| answer.status.code())
    };
    let (ausf, udm) = (instance("ausf"), instance("udm"));
    let refused = |result: Result<Code, CallError>| {
        let error = result.expect_err("refused");
        let answer = error.response().expect("an answer");
        assert_eq!(answer.status.code(), Code::PermissionDenied, "{error}");
    };
    // As another instance, as another type, for another; nor does the operator.
    refused(registered("ausf", &udm, "PUT"));
    refused(registered("ausf", &ausf, "PUT"));
    refused(registered("ausf", &udm, "DELETE"));
    refused(registered("operator", &udm, "DELETE"));
    // It is who it is; and all are there.
    registered("ausf", &ausf, "GET").expect("it is registered");
    registered("udm", &udm, "GET").expect("it is registered");
    assert_eq!(core.attach_one(1)["finished"], 1, "{}", core.logs());
}

/// One certificate for all, from a folder; native connections.
#[test]
fn certificates_may_be_given() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/certificates");
    for (name, file) in [
        ("authority.pem", "authority.pem"),
        ("server.pem", "nf.pem"),
        ("server.key", "nf.key"),
    ] {
        std::fs::copy(kept.join(name), folder.path().join(file)).expect("a copy");
    }
    let given = folder.path().to_str().expect("text");
    let core = Core::up(&["--tls", given, "--transport", "native"]);
    let result = core.attach(&["--ues", "2", "--detach"]);
    assert_eq!(result["finished"], 2, "{result}\n{}", core.logs());
    // Of another authority: refused, also by the NRF.
    let stranger = Files::new()
        .with_identity(kept.join("foreign.pem"), kept.join("foreign.key"))
        .with_authorities(kept.join("authority.pem"));
    let error = ask(&core.address("nrf"), Some(stranger), STATUS).expect_err("a stranger");
    let why = story(&error);
    assert!(why.contains("does not accept its authority"), "{why}");
}

#[test]
fn what_cannot_be_is_refused_before_anything_starts() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    let up = |options: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_corewire"))
            .args(["core", "up", "--state"])
            .arg(&state)
            .args(options)
            .output()
            .expect("the program starts");
        assert!(!output.status.success(), "{options:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = up(&["--tls", "--transport", "shm"]);
    assert!(said.contains("shm has no TLS"), "{said}");
    let said = up(&["--tls", "/nowhere"]);
    assert!(
        said.contains("the folder of certificates /nowhere"),
        "{said}"
    );
    let empty = folder.path().to_str().expect("text");
    let said = up(&["--tls", empty]);
    assert!(said.contains("authority.pem is missing"), "{said}");
    assert!(!state.join("core.json").exists());
}
