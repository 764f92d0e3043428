//! `corewire control` as its users start it.

#![cfg(unix)]

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

fn corewire(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_corewire"))
        .args(arguments)
        .output();
    output.expect("the program starts")
}

fn text(octets: &[u8]) -> &str {
    std::str::from_utf8(octets).expect("it prints text")
}

/// A running control plane; ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

fn signal(running: &Running, name: &str) {
    let pid = running.0.id().to_string();
    let sent = Command::new("kill").args([name, &pid]).status();
    assert!(sent.expect("kill is there").success());
}

/// Asks again until the answer is as wanted.
fn status_until(address: &str, wanted: &str) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let output = corewire(&["control", "status", "--at", address]);
        let answer = text(&output.stdout).to_owned();
        if answer.contains(wanted) {
            return answer;
        }
        let told = text(&output.stderr);
        assert!(
            Instant::now() < deadline,
            "never {wanted:?}: {answer}{told}"
        );
    }
}

fn wait_for_file(file: &Path) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Ok(text) = std::fs::read_to_string(file) {
            return text;
        }
        assert!(Instant::now() < deadline, "{} never comes", file.display());
        std::thread::yield_now();
    }
}

#[test]
fn check_tells_every_fault_and_fails() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("control.toml");
    let name = file.to_str().expect("a plain path");
    std::fs::write(&file, "lissten = 1\n[[service]]\nnam = \"a\"\n").expect("it is written");
    let wrong = corewire(&["control", "check", name]);
    let told = text(&wrong.stderr);
    assert!(!wrong.status.success());
    assert!(told.contains("line 1, column 1: lissten"), "{told}");
    assert!(told.contains("did you mean \"name\"?"), "{told}");

    std::fs::write(&file, "[[service]]\nname = \"a\"\n").expect("it is written");
    let right = corewire(&["control", "check", name]);
    assert!(right.status.success());
    assert!(text(&right.stdout).contains("is right: 1 services"));
}

#[test]
fn it_serves_reloads_when_told_and_ends_well() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("control.toml");
    let ready = folder.path().join("ready");
    std::fs::write(&file, "[[service]]\nname = \"a\"\n").expect("it is written");
    let path = |path: &Path| path.to_str().expect("a plain path").to_owned();
    let child = Command::new(env!("CARGO_BIN_EXE_corewire"))
        .args([
            "control",
            "--listen",
            "127.0.0.1:0",
            "--config",
            &path(&file),
        ])
        .args(["--ready-file", &path(&ready)])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut running = Running(child.expect("the program starts"));
    let address = wait_for_file(&ready);
    let address = address.trim();
    let answer = status_until(address, "1 services, 0 registered instances");
    assert!(answer.contains("0 reloads"), "{answer}");
    signal(&running, "-HUP");
    status_until(address, "1 reloads");
    signal(&running, "-TERM");
    assert!(running.0.wait().expect("it ends").success());
    let gone = corewire(&["control", "status", "--at", address]);
    assert!(text(&gone.stderr).contains("no control plane answers"));
}
