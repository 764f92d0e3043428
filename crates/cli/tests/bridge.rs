//! `corewire mesh bridge` between real processes.

#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use corewire::blocking::Caller as _;
use corewire::{ClientOptions, Code, Endpoint, Operation, Request, blocking};

/// A program of ours that says where it listens; ends with the test.
struct Running(Child, String);

impl Running {
    fn start(dir: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_corewire"))
            .args(arguments)
            .current_dir(dir)
            .env_remove("COREWIRE_TRANSPORT")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let output = child.stdout.take().expect("it was asked for");
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).expect("a line");
        let (_, rest) = line.split_once("listening at ").expect("it listens");
        let address = rest.split([' ', ',']).next().unwrap_or_default().trim();
        Self(child, address.to_owned())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

#[test]
fn rest_and_native_callers_reach_a_service_that_speaks_grpc_only() {
    let dir = tempfile::tempdir().expect("a directory");
    let nf = [
        "nf",
        "guti",
        "--listen",
        "127.0.0.1:0",
        "--protocol",
        "grpc",
    ];
    let service = Running::start(dir.path(), &nf);
    let targets = format!(
        r#"{{"targets": {{"guti": {{"endpoints": ["{}"], "transport": "grpc"}}}}}}"#,
        service.1
    );
    std::fs::write(dir.path().join("targets.json"), targets).expect("room");
    let bridge = [
        "mesh",
        "bridge",
        "guti",
        "--file",
        "targets.json",
        "--listen",
        "127.0.0.1:0",
    ];
    let bridge = Running::start(dir.path(), &bridge);
    let allocate = Operation::from_static("guti.v1.GutiService/Allocate");
    for protocol in ["rest", "native", "grpc"] {
        let endpoint: Endpoint = format!("{protocol}://{}", bridge.1).parse().expect("one");
        let client = blocking::Client::new(endpoint, ClientOptions::default());
        let answer = client
            .call(Request::new(allocate.clone()))
            .expect("an answer");
        assert!(!answer.body.is_empty(), "{protocol}");
        let unknown = Operation::from_static("guti.v1.GutiService/Unknown");
        let error = client
            .call(Request::new(unknown))
            .expect_err("nobody knows it");
        assert_eq!(error.code(), Code::Unimplemented, "{protocol}");
    }
}

#[test]
fn a_bridge_says_what_it_needs() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(
        dir.path().join("bad.json"),
        r#"{"targets": {"a": {"endpoints": []}}}"#,
    )
    .expect("room");
    for (arguments, says) in [
        (&["guti"][..], "GRPC_XDS_BOOTSTRAP"),
        (&["guti", "--file", "none.json"][..], "none.json"),
        (
            &["a", "--file", "bad.json"][..],
            "targets.a.endpoints: at least one is needed",
        ),
        (&["a", "--stream", "/x"][..], "service/method"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_corewire"))
            .args(["mesh", "bridge"])
            .args(arguments)
            .current_dir(dir.path())
            .env_remove("GRPC_XDS_BOOTSTRAP")
            .env_remove("GRPC_XDS_BOOTSTRAP_CONFIG")
            .stdin(Stdio::null())
            .output()
            .expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && said.contains(says),
            "{arguments:?}: {said}"
        );
    }
}
