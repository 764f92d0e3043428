//! The ways out of the rmr scenario, through the program itself: what a library that cannot listen, a
//! dying or silent program, a loss and Ctrl-C lead to. The programs are a script that misbehaves.

#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A directory with the misbehaving programs and empty libraries, and a place for results.
struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    fn new(libraries: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lab/fake-rmr.sh");
        for name in ["rmr-sender", "rmr-receiver", "rmr-route-manager"] {
            let program = dir.path().join(name);
            std::fs::copy(&script, &program).expect("room");
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&program, executable).expect("own file");
        }
        for library in libraries {
            std::fs::write(dir.path().join(format!("lib{library}.so")), "").expect("room");
        }
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs the libraries of these names, flat out, once.
    fn command(&self, libraries: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_corewire"));
        command
            .args(["lab", "run", "rmr", "--profile", "smoke", "--patience", "8"])
            .args(["--rate", "max", "--out", "out"])
            .args(["--transport", &libraries.join(",")])
            .env("COREWIRE_PEERS", self.dir.path())
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for library in libraries {
            let file = self.path(&format!("lib{library}.so"));
            let given = format!("{library}={}", file.display());
            command.args(["--rmr-lib", &given]);
        }
        command
    }

    fn records(&self) -> Vec<Value> {
        std::fs::read_to_string(self.path("out/results.jsonl"))
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

#[test]
fn whatever_fails_is_a_record_with_its_reason_and_the_series_goes_on() {
    let libraries = [
        "sender-dies",
        "receiver-dies",
        "rubbish",
        "hangs",
        "cannot-listen",
        "loses",
        "good",
    ];
    let bench = Bench::new(&libraries);
    let output = bench.command(&libraries).output().expect("it starts");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let records = bench.records();
    assert_eq!(records.len(), libraries.len(), "{said}");
    let record = |subject: &str| {
        let found = records.iter().find(|record| record["subject"] == subject);
        found.unwrap_or_else(|| panic!("no record of {subject}"))
    };
    for (subject, what, place) in [
        (
            "sender-dies",
            "rmr-sender ended with signal 11",
            "segmentation fault, say",
        ),
        (
            "receiver-dies",
            "rmr-receiver ended with exit code 3",
            "out of memory",
        ),
        ("rubbish", "a line of rmr-sender is not understood", "many"),
        ("hangs", "rmr-sender said nothing", ""),
        ("cannot-listen", "no such transport", "getting ready"),
    ] {
        let error = &record(subject)["error"];
        let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
        assert!(text("what").contains(what), "{subject}: {error}");
        assert!(text("where").contains(place), "{subject}: {error}");
    }
    let good = record("good");
    assert_eq!(good["status"], "complete");
    assert_eq!(good["extra"]["lost_silently"], 0);
    assert_eq!(good["settings"]["nagle"], "off");
    assert_eq!(record("loses")["extra"]["lost_silently"], 1);
    assert!(bench.path("out/report.html").exists());
    bench.assert_nothing_left();
}

#[test]
fn ctrl_c_keeps_what_there_is_and_resume_does_the_rest() {
    let bench = Bench::new(&["slow"]);
    let child = bench.command(&["slow"]).spawn().expect("it starts");
    let deadline = Instant::now() + Duration::from_secs(40);
    while !bench.path("measuring").exists() {
        assert!(Instant::now() < deadline, "it did not measure");
        sleep(Duration::from_millis(10));
    }
    let status = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(status.expect("kill is everywhere").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let records = bench.records();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0]["status"], "partial");
    assert!(
        stderr(&output).contains("--resume out"),
        "{}",
        stderr(&output)
    );
    bench.assert_nothing_left();

    // The libraries are among what a session goes on with.
    std::fs::write(bench.path("fast"), "").expect("room");
    let output = Command::new(env!("CARGO_BIN_EXE_corewire"))
        .args(["lab", "run", "rmr", "--resume", "out"])
        .env("COREWIRE_PEERS", bench.dir.path())
        .current_dir(bench.dir.path())
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{}", stderr(&output));
    let last = bench.records().pop().expect("a record");
    assert_eq!(last["status"], "complete");
}

#[test]
fn nothing_to_run_is_said_with_what_to_do() {
    let bench = Bench::new(&[]);
    let mut command = bench.command(&["rmr"]);
    // No library of ours may be found around.
    let output = command
        .env_remove("COREWIRE_RMR_LIB")
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    // The file that --rmr-lib names is not there, which is said before anything is run.
    assert!(stderr(&output).contains("--rmr-lib"), "{}", stderr(&output));
    assert!(!bench.path("out").exists());
}
