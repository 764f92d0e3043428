//! The mesh experiment through the program itself: real gateways and replicas, for a moment; and
//! what wrong options lead to.

#![cfg(unix)]

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn run(dir: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_corewire"))
        .args(["lab", "run", "mesh", "--profile", "smoke"])
        .args(arguments)
        .current_dir(dir)
        .env("PATH", "/usr/bin:/bin")
        .env_remove("COREWIRE_ENVOY")
        .env_remove("COREWIRE_TRANSPORT")
        // Neither peers nor Envoy: the same on every machine.
        .env("COREWIRE_PEERS", dir)
        // And not behind a lab that measures on this machine.
        .env("TMPDIR", dir)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn records(dir: &Path) -> Vec<Value> {
    std::fs::read_to_string(dir.join("out/results.jsonl"))
        .expect("results")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a record"))
        .collect()
}

/// Runs of the next test whose paths need C++.
const HOLES: usize = 4;

#[test]
fn direct_paths_and_chains_are_measured_and_holes_name_their_reason() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = run(
        dir.path(),
        &[
            "--path",
            "direct-rest,direct-shm,ref-grpc,grpc-xds",
            "--rate",
            "300",
            "--replicas",
            "3",
            "--hops",
            "1,3",
            "--gateways",
            "2",
            "--repeat",
            "1",
            "--out",
            "out",
        ],
    );
    let mut said = stderr(&output);
    // A path that was named and cannot be run is a failure of the command.
    assert_eq!(output.status.code(), Some(1), "{said}");
    // The half second of a run may be one in which the machine stood still: such runs are made again.
    let stood_still = |record: &Value| {
        let what = record["error"]["what"].as_str().unwrap_or_default();
        what.contains("no request was answered")
    };
    let all_measured = |records: &[Value]| {
        let complete = records.iter().filter(|it| it["status"] == "complete");
        complete.count() == 8 - HOLES
    };
    for _ in 0..5 {
        if !records(dir.path()).iter().any(stood_still) || all_measured(&records(dir.path())) {
            break;
        }
        let resumed = Command::new(env!("CARGO_BIN_EXE_corewire"))
            .args(["lab", "run", "mesh", "--resume", "out"])
            .current_dir(dir.path())
            .env("COREWIRE_PEERS", dir.path())
            .env("TMPDIR", dir.path())
            .stdin(Stdio::null())
            .output();
        said.push_str(&stderr(&resumed.expect("the program starts")));
    }
    let mut records = records(dir.path());
    // A resumed session writes its holes down again.
    let mut holes = 0;
    records.retain(|record| {
        holes += usize::from(record["status"] != "complete" && !stood_still(record));
        record["status"] == "complete" || (!stood_still(record) && holes <= HOLES)
    });
    assert_eq!(records.len(), 8, "{said}");
    for record in &records {
        let subject = record["subject"].as_str().expect("a path");
        let error = || record["error"]["what"].as_str().expect("a sentence");
        match subject {
            "ref-grpc" | "grpc-xds" => assert!(error().contains("C++"), "{record}"),
            _ => {
                assert_eq!(record["status"], "complete", "{record}");
                assert_eq!(record["errors"], 0, "{record}");
                assert!(record["requests"].as_u64().expect("a count") > 0);
                let extra = &record["extra"];
                assert!(extra["one_way_us"]["p50"].as_f64().expect("a time") > 0.0);
                let processes = extra["processes"].as_array().expect("processes").len();
                let links = extra["hops"].as_u64().expect("a count") - 1;
                assert_eq!(processes as u64, 2 + 3 + links, "{record}");
                let hops = extra["hops_one_way_us"].as_array().map_or(1, Vec::len);
                assert_eq!(hops as u64, links + 1, "{record}");
            }
        }
    }
    let page = std::fs::read_to_string(dir.path().join("out/report.html")).expect("a report");
    assert!(page.contains("hop 3"), "the chain's shares");
}

/// A replica that listens nowhere, and a gateway that fails in the way its rate says.
const MISBEHAVING: [(&str, &str); 2] = [
    (
        "corewire-mesh-replica",
        r#"echo '{"event":"ready","address":"127.0.0.1:1"}'; cat > /dev/null"#,
    ),
    (
        "corewire-mesh-gateway",
        r#"case "$*" in
            *"--rate 100 "*) echo "out of memory" >&2; exit 3;;
            *"--rate 200 "*) echo '{"event":"result","requests":1'; cat > /dev/null;;
            *"--rate 300 "*) echo '{"event":"error","what":"no replica answers","where":"x"}'; exit 1;;
            *) echo '{"event":"connected"}'; cat > /dev/null;;
        esac"#,
    ),
];

#[test]
fn a_gateway_that_fails_is_a_record_with_its_reason_and_the_series_goes_on() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().expect("a directory");
    for (name, script) in MISBEHAVING {
        let program = dir.path().join(name);
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("room");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&program, executable).expect("own file");
    }
    let arguments = [
        "--path",
        "ref-grpc",
        "--rate",
        "100,200,300,400",
        "--replicas",
        "2",
        "--repeat",
        "1",
        "--patience",
        "5",
        "--out",
        "out",
    ];
    let output = run(dir.path(), &arguments);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let records = records(dir.path());
    let failure = |rate: u64| {
        let record = records.iter().find(|record| record["rate"] == rate);
        let error = &record.expect("a record for each rate")["error"];
        format!("{} {}", error["what"], error["where"])
    };
    for (rate, why) in [
        (100, "ended with exit code 3"),
        (100, "out of memory"),
        (200, "a line is not understood"),
        (300, "no replica answers"),
        (400, "gave no result"),
    ] {
        assert!(failure(rate).contains(why), "{rate}: {}", failure(rate));
    }
}

#[test]
fn what_does_not_exist_is_said() {
    let dir = tempfile::tempdir().expect("a directory");
    let refused = |arguments: &[&str], why: &str| {
        let output = run(dir.path(), arguments);
        let said = stderr(&output);
        assert!(!output.status.success(), "{said}");
        assert!(said.contains(why), "{why} in {said}");
    };
    refused(&["--path", "ref-grpc"], "nothing can be run");
    refused(&["--path", "envoy-3-rest"], "there is no path");
    refused(&["--rate", "2", "--gateways", "4"], "cannot be shared");
    assert!(!dir.path().join("out").exists());
}

#[test]
fn a_gateway_by_hand_measures_replicas_by_hand() {
    let gateway = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_corewire"))
            .args(["nf", "smf-gateway"])
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .expect("the program starts")
    };
    let nobody = gateway(&["--target", "127.0.0.1:1", "--patience", "0.2"]);
    assert!(stderr(&nobody).contains("no replica answers"));
    let soap = gateway(&["--target", "127.0.0.1:1", "--transport", "soap"]);
    assert!(stderr(&soap).contains("shm"), "{}", stderr(&soap));
    let rate = gateway(&["--target", "127.0.0.1:1", "--rate", "fast"]);
    assert_eq!(rate.status.code(), Some(2));
}
