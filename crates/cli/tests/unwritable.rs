//! Every program with a standard output and a standard error that cannot be written: closed, a pipe
//! whose reader has left, a full device, a full file system. Network functions serve on; commands
//! end without a panic.

#![cfg(unix)]

use std::fs::File;
use std::io::{Write as _, pipe};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use corewire::blocking::Caller as _;
use corewire::{
    CallError, ClientOptions, Endpoint, ErrorKind, Operation, Request, Response, blocking,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_corewire");
const PATIENCE: Duration = Duration::from_secs(30);
/// Connections that each make a server log a line: more than its limit of lines a second.
const PROVOCATIONS: usize = 40;

const STATUS: Operation = Operation::from_static("corewire/v1/status");
const ALLOCATE: Operation = Operation::from_static("guti.v1.GutiService/Allocate");

/// What is wrong with standard output and error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Closed,
    ReaderLeft,
    DeviceFull,
}

impl Fault {
    const ALL: [Self; 3] = [Self::Closed, Self::ReaderLeft, Self::DeviceFull];

    fn command(self, arguments: &[&str]) -> Command {
        let mut command = Command::new("sh");
        let script = match self {
            Self::Closed => r#"exec "$0" "$@" >&- 2>&-"#,
            _ => r#"exec "$0" "$@""#,
        };
        command.args(["-c", script, PROGRAM]).args(arguments);
        command.stdin(Stdio::null());
        match self {
            Self::Closed => {}
            Self::ReaderLeft => {
                let (reader, writer) = pipe().expect("a pipe");
                command.stdout(writer.try_clone().expect("a descriptor"));
                command.stderr(writer);
                drop(reader);
            }
            Self::DeviceFull => {
                command.stdout(full_device()).stderr(full_device());
            }
        }
        command
    }
}

fn full_device() -> File {
    let device = File::options().write(true).open("/dev/full");
    device.expect("Linux has it")
}

/// An address of this test's own: standard output cannot say which port was free.
fn address() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(1);
    let [_, _, high, low] = std::process::id().to_be_bytes();
    let port = 20_000 + NEXT.fetch_add(1, Ordering::Relaxed);
    format!("127.{}.{low}.77:{port}", high % 200 + 1)
}

/// A running server; ends with the test.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(fault: Fault, arguments: &[&str], address: String) -> Self {
        let process = fault.command(arguments).spawn().expect("sh starts");
        Self::of(process, address)
    }

    /// Waits until it listens.
    fn of(process: Child, address: String) -> Self {
        let mut server = Self { process, address };
        let give_up = Instant::now() + PATIENCE;
        while TcpStream::connect(&server.address).is_err() {
            let ended = server.process.try_wait().expect("it is our child");
            assert!(ended.is_none(), "it ended: {ended:?}");
            assert!(Instant::now() < give_up, "it never listens");
            std::thread::sleep(Duration::from_millis(10));
        }
        server
    }

    /// Makes it log lines, and more of them than it may write a second.
    fn provoke(&self) {
        for _ in 0..PROVOCATIONS {
            let mut stream = TcpStream::connect(&self.address).expect("it listens");
            // A native magic, then a frame that cannot be.
            stream
                .write_all(&[&[0xc3, 0x57, 0x52, 0x01][..], &[0xff; 64]].concat())
                .expect("a connection");
            let _ended = std::io::copy(&mut stream, &mut std::io::sink());
        }
    }

    fn try_call(&self, operation: &Operation) -> Result<Response, CallError> {
        let endpoint: Endpoint = format!("rest://{}", self.address).parse().expect("one");
        let client = blocking::Client::new(endpoint, ClientOptions::default());
        client.call(Request::new(operation.clone()))
    }

    fn call(&self, operation: &Operation) -> Response {
        self.try_call(operation).expect("it serves")
    }

    /// For servers without an operation that takes an empty request: they refuse it themselves.
    fn answers(&self) {
        let unknown = Operation::from_static("no.such.Service/Operation");
        let refusal = self.try_call(&unknown).expect_err("it has none such");
        assert_eq!(refusal.kind(), ErrorKind::Answered, "{refusal:?}");
    }

    fn end(mut self) -> ExitStatus {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(sent.expect("kill is there").success());
        self.process.wait().expect("it ends")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}

#[test]
fn network_functions_of_the_core_serve_on_and_count_what_was_lost() {
    for nf in [
        &["nrf"][..],
        &["udsf"],
        &["udm"],
        &["ausf"],
        &["upf"],
        &["smf", "pdu-session"],
        &["smf", "gateway"],
        &["amf", "--n2", "tcp"],
    ] {
        for fault in Fault::ALL {
            let (listen, n2) = (address(), address());
            let mut arguments = vec!["nf"];
            arguments.extend(nf);
            arguments.extend(["--listen", &listen, "--oauth2", "false"]);
            if nf[0] == "amf" {
                arguments.extend(["--n2-listen", &n2]);
            }
            let server = Server::start(fault, &arguments, listen.clone());
            server.provoke();
            let answer = server.call(&STATUS);
            let body = answer.body.into_bytes();
            let status: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
            let lost = status["numbers"]["logLinesLost"].as_u64();
            if fault != Fault::Closed {
                // The runtime opens /dev/null for a closed descriptor, which takes everything.
                assert!(lost > Some(0), "{nf:?}, {fault:?}: {status}");
            }
            assert!(server.end().success(), "{nf:?}, {fault:?}");
        }
    }
}

#[test]
fn guti_and_smf_services_serve_on() {
    for function in ["guti", "smf-pdu-session"] {
        for fault in Fault::ALL {
            let listen = address();
            let arguments = ["nf", function, "--listen", &listen];
            let server = Server::start(fault, &arguments, listen.clone());
            server.provoke();
            server.answers();
            let ended = server.end();
            assert!(ended.success(), "{function}, {fault:?}: {ended}");
        }
    }
}

#[test]
fn bridge_and_control_plane_serve_on() {
    let folder = tempfile::tempdir().expect("a directory");
    let guti = address();
    let service = Server::start(
        Fault::DeviceFull,
        &["nf", "guti", "--listen", &guti],
        guti.clone(),
    );
    let targets = folder.path().join("targets.json");
    let text = format!(r#"{{"targets": {{"guti": {{"endpoints": ["{guti}"]}}}}}}"#);
    std::fs::write(&targets, text).expect("room");
    let config = folder.path().join("control.toml");
    std::fs::write(&config, "[[service]]\nname = \"a\"\n").expect("room");
    let (targets, config) = (plain(&targets), plain(&config));
    for fault in Fault::ALL {
        let listen = address();
        let arguments = ["mesh", "bridge", "guti", "--file", &targets];
        let arguments = [&arguments[..], &["--listen", &listen]].concat();
        let bridge = Server::start(fault, &arguments, listen.clone());
        bridge.call(&ALLOCATE);
        assert!(bridge.end().success(), "bridge, {fault:?}");

        let listen = address();
        let arguments = ["control", "--listen", &listen, "--config", &config];
        let control = Server::start(fault, &arguments, listen.clone());
        control.provoke();
        control.answers();
        assert!(control.end().success(), "control, {fault:?}");
    }
    service.end();
}

/// A log on a file system without room. Mounting one takes rights; without them `/dev/full` above
/// stands for it.
#[test]
fn network_function_serves_on_with_its_log_on_a_full_file_system() {
    let folder = tempfile::tempdir().expect("a directory");
    let listen = address();
    let mounts = r#"mount -t tmpfs -o size=16k tmpfs "$FOLDER" && cat /dev/zero >"$FOLDER/fill" 2>&-;
        exec "$0" "$@" >"$FOLDER/out" 2>"$FOLDER/log""#;
    let probe = Command::new("unshare").args(["--mount", "true"]).status();
    if !probe.is_ok_and(|status| status.success()) {
        return;
    }
    let process = Command::new("unshare")
        .args(["--mount", "sh", "-c", mounts, PROGRAM])
        .args(["nf", "nrf", "--listen", &listen, "--oauth2", "false"])
        .env("FOLDER", folder.path())
        .stdin(Stdio::null())
        .spawn()
        .expect("unshare was there a moment ago");
    let server = Server::of(process, listen);
    server.provoke();
    let body = server.call(&STATUS).body.into_bytes();
    let status: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
    let lost = status["numbers"]["logLinesLost"].as_u64();
    assert!(lost > Some(0), "{status}");
    assert!(server.end().success());
}

/// Commands whose reader has left got rid of what it wanted: success, and no word.
#[test]
fn commands_end_quietly_when_the_reader_has_left() {
    for arguments in commands(&tempfile::tempdir().expect("a directory")) {
        let (reader, writer) = pipe().expect("a pipe");
        drop(reader);
        let output = Command::new(PROGRAM)
            .args(&arguments)
            .stdin(Stdio::null())
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {said}");
        assert_eq!(said, "", "{arguments:?}");
    }
}

#[test]
fn commands_fail_with_one_line_when_the_disk_is_full() {
    for arguments in commands(&tempfile::tempdir().expect("a directory")) {
        let output = Command::new(PROGRAM)
            .args(&arguments)
            .stdin(Stdio::null())
            .stdout(full_device())
            .stderr(Stdio::piped())
            .output()
            .expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains("No space left"), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
    }
}

/// Commands that print and end.
fn commands(folder: &tempfile::TempDir) -> Vec<Vec<String>> {
    let config = folder.path().join("control.toml");
    std::fs::write(&config, "[[service]]\nname = \"a\"\n").expect("room");
    let list = |text: &str| text.split(' ').map(str::to_owned).collect();
    vec![
        list("lab list"),
        list(&format!("control check {}", plain(&config))),
        list(&format!("core down --state {}/none", plain(folder.path()))),
    ]
}

fn plain(path: &Path) -> String {
    path.to_str().expect("a plain path").to_owned()
}
