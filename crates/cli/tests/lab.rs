//! The lab's ways out, through the program itself: what a dying, silent or absent program under
//! test, a wrong option and Ctrl-C lead to. The programs under test are a script that misbehaves.

#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long something that should happen soon may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

/// A directory with the misbehaving programs, and a place for results.
struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lab/fake-peer.sh");
        for name in ["corewire-peer-server", "corewire-peer-client"] {
            let program = dir.path().join(name);
            std::fs::copy(&script, &program).expect("room");
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&program, executable).expect("own file");
        }
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_corewire"));
        command
            .args([
                "lab",
                "run",
                "guti",
                "--profile",
                "smoke",
                "--patience",
                "8",
            ])
            .args(arguments)
            .env("COREWIRE_PEERS", self.dir.path())
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments)
            .output()
            .expect("the program starts")
    }

    fn records(&self, out: &str) -> Vec<Value> {
        std::fs::read_to_string(self.path(out).join("results.jsonl"))
            .expect("results")
            .lines()
            .map(|line| serde_json::from_str(line).expect("a record"))
            .collect()
    }

    /// No process of this bench is alive.
    fn assert_nothing_left(&self) {
        let pids = std::fs::read_to_string(self.path("pids")).unwrap_or_default();
        let alive = |pid: &&str| {
            // A process id may have passed to somebody else: it is ours if it runs our script.
            let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let ours = self.dir.path().as_os_str().as_encoded_bytes();
            command.windows(ours.len()).any(|window| window == ours)
        };
        let left: Vec<&str> = pids.lines().filter(alive).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status();
    assert!(status.expect("kill is everywhere").success());
}

fn await_file(path: &Path) {
    let deadline = Instant::now() + PATIENCE;
    while !path.exists() {
        assert!(Instant::now() < deadline, "{} did not come", path.display());
        sleep(Duration::from_millis(10));
    }
}

const CELL: [&str; 6] = ["--clients", "1", "--payload", "0", "--out", "out"];

#[test]
fn whatever_fails_is_a_line_and_a_record_and_the_series_goes_on() {
    let bench = Bench::new();
    let names = "CLIENT-DIES,SERVER-DIES,RUBBISH,HANGS,CHATTERS,PORT-IN-USE,NO-SERVER,ABSENT,GOOD";
    let output = bench.run(&[&["--adapter", names], CELL.as_slice()].concat());
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");

    let records = bench.records("out");
    assert_eq!(records.len(), 9);
    for (adapter, what) in [
        (
            "CLIENT-DIES",
            "corewire-peer-client ended with signal 11 while measuring",
        ),
        (
            "SERVER-DIES",
            "corewire-peer-server ended with exit code 3 while measuring",
        ),
        ("RUBBISH", "a line is not understood"),
        (
            "HANGS",
            "corewire-peer-client gave no result while measuring",
        ),
        ("CHATTERS", "corewire-peer-server did not listen"),
        ("PORT-IN-USE", "Address already in use"),
        (
            "NO-SERVER",
            "corewire-peer-server ended with exit code 4 before it listened",
        ),
        ("ABSENT", "ABSENT is not built"),
    ] {
        let record = records
            .iter()
            .find(|r| r["subject"] == adapter)
            .expect(adapter);
        assert_eq!(record["status"], "failed", "{adapter}");
        let error = record["error"]["what"].as_str().expect("a sentence");
        assert!(error.contains(what), "{adapter}: {error}");
        let lines = said.lines().filter(|line| line.contains(what)).count();
        assert_eq!(lines, 1, "one line for {adapter}: {said}");
    }
    assert!(
        said.contains("out of memory") && said.contains("libabsent-dev"),
        "{said}"
    );
    let good = records
        .iter()
        .find(|r| r["subject"] == "GOOD")
        .expect("GOOD");
    assert_eq!(good["status"], "complete");
    assert_eq!(good["versions"]["fake"], "1");
    assert!(bench.path("out/report.html").exists());
    bench.assert_nothing_left();
}

#[test]
fn ctrl_c_keeps_what_there_is_and_resume_does_the_rest() {
    let bench = Bench::new();
    std::fs::write(bench.path("slow"), "").expect("room");
    let arguments = [&["--adapter", "GOOD", "--repeat", "2"], CELL.as_slice()].concat();
    let child = bench
        .command(&arguments)
        .spawn()
        .expect("the program starts");
    await_file(&bench.path("measuring"));
    signal(&child, "-INT");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let records = bench.records("out");
    assert_eq!(records.len(), 1);
    assert_eq!(
        (&records[0]["status"], &records[0]["requests"]),
        (&"partial".into(), &2.into())
    );
    assert!(bench.path("out/report.html").exists());
    assert!(
        stderr(&output).contains("--resume out"),
        "{}",
        stderr(&output)
    );
    bench.assert_nothing_left();

    std::fs::remove_file(bench.path("slow")).expect("own file");
    let mut resume = Command::new(env!("CARGO_BIN_EXE_corewire"));
    resume.args(["lab", "run", "guti", "--resume", "out"]);
    let output = resume
        .env("COREWIRE_PEERS", bench.dir.path())
        .current_dir(bench.dir.path())
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", stderr(&output));
    let complete = |r: &&Value| r["status"] == "complete" && r["options"]["request"]["repeat"] == 2;
    assert_eq!(bench.records("out").iter().filter(complete).count(), 2);
}

#[test]
fn a_second_ctrl_c_ends_at_once_and_leaves_nothing_behind() {
    let bench = Bench::new();
    // A client that hears no SIGINT: the lab would wait for it.
    let arguments = [&["--adapter", "HANGS", "--patience", "60"], CELL.as_slice()].concat();
    let arguments: Vec<&str> = arguments.into_iter().collect();
    let mut command = Command::new(env!("CARGO_BIN_EXE_corewire"));
    command.args(["lab", "run", "guti"]).args(arguments);
    command
        .env("COREWIRE_PEERS", bench.dir.path())
        .current_dir(bench.dir.path());
    let mut child = command
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("starts");
    let deadline = Instant::now() + PATIENCE;
    let started = || {
        let pids = std::fs::read_to_string(bench.path("pids")).unwrap_or_default();
        pids.lines().count() >= 2
    };
    while !started() {
        assert!(Instant::now() < deadline, "server and client did not start");
        sleep(Duration::from_millis(10));
    }
    signal(&child, "-INT");
    let status = loop {
        // Closer together they would count as one.
        sleep(Duration::from_millis(700));
        signal(&child, "-INT");
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        assert!(Instant::now() < deadline + PATIENCE, "it does not end");
    };
    assert_eq!(status.code(), Some(130));
    bench.assert_nothing_left();
}

#[test]
fn results_are_not_mixed_by_accident() {
    let bench = Bench::new();
    let arguments = [&["--adapter", "GOOD"], CELL.as_slice()].concat();
    assert!(bench.run(&arguments).status.success());
    let again = bench.run(&arguments);
    assert_eq!(again.status.code(), Some(1));
    assert!(stderr(&again).contains("--resume"), "{}", stderr(&again));
    assert_eq!(bench.records("out").len(), 1);
}

#[test]
fn nonsense_is_refused_before_anything_runs() {
    let bench = Bench::new();
    for (arguments, hint) in [
        (
            &["--adapter", "HTTP/9"][..],
            "there is no adapter \"HTTP/9\"",
        ),
        (&["--clients", "0"], "0 is not in 1..=1024"),
        (&["--payload", "10q"], "k = 1000"),
        (&["--payload", "-1"], "--payload"),
        (&["--rate", "fast"], "or max"),
        (
            &["--mode", "no-rate", "--rate", "100"],
            "leave one of them out",
        ),
        (
            &["--mode", "rate", "--rate", "max"],
            "leave one of them out",
        ),
        (&["--repeat", "0"], "0 is not in 1..=1000"),
        (&["--server-cpu", "4000"], "--server-cpu 4000"),
        (
            &["--resume", "nowhere", "--clients", "1"],
            "cannot be used with",
        ),
        (&["--peers-dir", "/nowhere"], "make peers"),
        (&["--adapter", "ABSENT"], "libabsent-dev"),
        (&["--peer", "mine"], "NAME=PROGRAM"),
        (&["--peer", "mine=/no/such/peer"], "/no/such/peer"),
        (&["--peer", "good=/bin/true"], "another"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_corewire"));
        let output = command
            .args(["lab", "run", "guti"])
            .args(arguments)
            .env("COREWIRE_PEERS", bench.dir.path())
            .current_dir(bench.dir.path())
            .output()
            .expect("the program starts");
        assert!(!output.status.success(), "{arguments:?}");
        assert!(
            stderr(&output).contains(hint),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
    assert!(!bench.path("out").exists());
    assert!(!bench.path("pids").exists(), "something ran");
}

#[test]
fn a_peer_of_the_users_own_is_run_beside_the_adapters() {
    let bench = Bench::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/example/peer.py");
    let peer = format!("mine={}", example.display());
    let arguments = [
        ["--adapter", "GOOD", "--peer", peer.as_str()].as_slice(),
        &["--mode", "no-rate,rate", "--rate", "100,max"],
        CELL.as_slice(),
    ]
    .concat();
    let output = bench.run(&arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let records = bench.records("out");
    let mine: Vec<&Value> = records.iter().filter(|r| r["subject"] == "MINE").collect();
    assert_eq!(mine.len(), 2, "{records:?}");
    for record in mine {
        assert_eq!(record["status"], "complete", "{record}");
        assert!(record["requests"].as_u64() > Some(0), "{record}");
        assert_eq!(record["errors"], 0, "{record}");
        assert!(record["cpu_us_per_request"]["server"].is_number());
        assert!(record["versions"]["python"].is_string());
    }
    let report = std::fs::read_to_string(bench.path("out/report.html")).expect("a report");
    assert!(report.contains("MINE"));
    bench.assert_nothing_left();

    // A result that is resumed knows the program; there is nothing left to do.
    let mut resume = Command::new(env!("CARGO_BIN_EXE_corewire"));
    resume.args(["lab", "run", "guti", "--resume", "out"]);
    let output = resume
        .env("COREWIRE_PEERS", bench.dir.path())
        .current_dir(bench.dir.path())
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(bench.records("out").len(), records.len());
}

#[test]
fn list_works_without_any_program_under_test() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = Command::new(env!("CARGO_BIN_EXE_corewire"))
        .args(["lab", "list"])
        .env("COREWIRE_PEERS", dir.path())
        .output()
        .expect("the program starts");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    for word in [
        "guti",
        "smoke",
        "cells 38 min",
        "THRIFT-NB",
        "missing",
        "make peers",
    ] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
}

#[test]
fn two_results_are_compared_and_nothing_is_claimed() {
    let bench = Bench::new();
    for out in ["one", "two"] {
        let cell = [
            "--adapter",
            "GOOD",
            "--clients",
            "1",
            "--payload",
            "0",
            "--out",
            out,
        ];
        assert!(bench.run(&cell).status.success());
    }
    let output = Command::new(env!("CARGO_BIN_EXE_corewire"))
        .args(["lab", "compare", "one", "two"])
        .current_dir(bench.dir.path())
        .output()
        .expect("the program starts");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(
        shown.contains("1.000") && shown.contains("1 of the 5 repetitions"),
        "{shown}"
    );
}
