//! The 5G core through the program itself: every network function a process, a simulated gNB and UEs
//! that check what they get.

#![cfg(unix)]

use serde_json::Value;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A core that ends with the test.
struct Core {
    folder: tempfile::TempDir,
    n2: String,
}

impl Core {
    fn up(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let n2 = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a port")
            .to_string();
        let core = Self { folder, n2 };
        let n2 = core.n2.clone();
        let mut all = vec!["up", "--json", "--n2-listen", &n2];
        all.extend(options);
        let output = core.core(&all);
        assert!(output.status.success(), "{}", words(&output));
        core
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn core(&self, arguments: &[&str]) -> Output {
        corewire(["core"].iter().chain(arguments).copied(), &self.state())
    }

    /// Attaches UEs; what the program says at its end.
    fn attach(&self, subscribers: &Path, options: &[&str]) -> Value {
        let output = Command::new(env!("CARGO_BIN_EXE_corewire"))
            .args(["ran", "attach", "--json", "--n2", "tcp", "--amf", &self.n2])
            .arg("--subscribers")
            .arg(subscribers)
            .args(options)
            .stdin(Stdio::null())
            .output()
            .expect("the program starts");
        let text = String::from_utf8_lossy(&output.stdout);
        let last = text.lines().rfind(|line| line.contains("\"result\""));
        let last = last.unwrap_or_else(|| panic!("no result: {text}{}", words(&output)));
        serde_json::from_str(last).expect("JSON")
    }

    fn subscribers(&self) -> PathBuf {
        self.state().join("subscribers.toml")
    }

    /// What an NF counts.
    fn number(&self, nf: &str, name: &str) -> u64 {
        let output = self.core(&["status", "--json"]);
        let status: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let nfs = status["nfs"].as_array().expect("a list");
        let found = nfs.iter().find(|one| one["name"] == nf).expect("it runs");
        found["numbers"][name].as_u64().expect("a number")
    }

    /// Kills an NF as a fault would.
    fn kill(&self, nf: &str) {
        let output = self.core(&["status", "--json"]);
        let status: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let nfs = status["nfs"].as_array().expect("a list");
        let found = nfs.iter().find(|one| one["name"] == nf).expect("it runs");
        let pid = found["pid"].to_string();
        let killed = Command::new("kill").args(["-9", &pid]).status();
        assert!(killed.expect("kill runs").success());
    }

    /// What all NFs have written to their logs.
    fn logs(&self) -> String {
        let mut all = String::new();
        for entry in std::fs::read_dir(self.state()).expect("a folder").flatten() {
            if entry
                .path()
                .extension()
                .is_some_and(|ending| ending == "log")
            {
                let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
                all.push_str(&format!("{}:\n{text}", entry.path().display()));
            }
        }
        all
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let output = self.core(&["down"]);
        assert!(output.status.success(), "{}", words(&output));
    }
}

fn corewire<'a>(arguments: impl IntoIterator<Item = &'a str>, state: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_corewire"))
        .args(arguments)
        .arg("--state")
        .arg(state)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts")
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Ten UEs register, open a session each, and detach.
fn ten_come_and_go(options: &[&str]) {
    let core = Core::up(options);
    let stays = core.attach(&core.subscribers(), &["--ues", "10"]);
    assert_eq!(stays["failed"], 0, "{stays}\n{}", core.logs());
    assert_eq!(core.number("amf", "registered"), 10);
    assert_eq!(core.number("upf", "sessions"), 10);
    // The same ten again: what was is the past, and nothing of it is left.
    let goes = core.attach(&core.subscribers(), &["--ues", "10", "--detach"]);
    assert_eq!(goes["failed"], 0, "{goes}\n{}", core.logs());
    assert_eq!(core.number("amf", "registered"), 0, "{}", core.logs());
    assert_eq!(core.number("upf", "sessions"), 0, "{}", core.logs());
}

#[test]
fn ten_ues_come_and_go_over_rest() {
    ten_come_and_go(&["--transport", "rest"]);
}

#[test]
fn ten_ues_come_and_go_over_grpc() {
    ten_come_and_go(&["--transport", "grpc", "--threads", "2"]);
}

#[test]
fn ten_ues_come_and_go_over_the_native_protocol() {
    ten_come_and_go(&["--transport", "native"]);
}

#[test]
fn ten_ues_come_and_go_through_shared_memory() {
    ten_come_and_go(&["--transport", "shm"]);
}

#[test]
fn ten_ues_come_and_go_by_the_operations_of_the_core_of_2019() {
    ten_come_and_go(&["--transport", "rest", "--flow", "source3"]);
}

#[test]
fn every_hop_is_written_down_at_both_ends_when_that_is_asked_for() {
    for flow in ["3gpp", "source3"] {
        let core = Core::up(&["--trace", "--flow", flow]);
        let ran = core.folder.path().join("ran.trace");
        let trace = ran.display().to_string();
        let told = core.attach(&core.subscribers(), &["--detach", "--trace", &trace]);
        assert_eq!(told["failed"], 0, "{told}\n{}", core.logs());
        let ran = std::fs::read_to_string(&ran).expect("a trace");
        for words in [" registration", " session", " detach", " InitialUeMessage"] {
            assert!(ran.contains(words), "{words}: {ran}");
        }
        // The files are whole when their writers have ended.
        let down = core.core(&["down"]);
        assert!(down.status.success(), "{}", words(&down));
        let lines = |nf: &str, kind: &str| -> Vec<String> {
            let path = core.state().join(format!("{nf}.trace"));
            let text = std::fs::read_to_string(path).expect("a trace");
            let of_kind = text.lines().filter(|line| line.starts_with(kind));
            of_kind.map(str::to_owned).collect()
        };
        let number = |line: &String| line.split(' ').nth(1).map(str::to_owned);
        let called: Vec<_> = lines("amf", "call ").iter().map(number).collect();
        for nf in ["ausf", "udm", "udsf", "smf-gateway"] {
            let served = lines(nf, "serve ");
            let known = served.iter().any(|line| called.contains(&number(line)));
            assert!(known, "{nf}: {served:?} is not among {called:?}");
        }
        assert!(!lines("amf", "n2-out ").is_empty());
        let uecm = lines("udm", "serve ");
        let driven = uecm
            .iter()
            .filter(|line| line.contains(" source3/v1/nudm-uecm/"));
        // The operations (3) to (21) of its table.
        let driven = driven.filter_map(|line| line.rsplit('/').next());
        let driven: std::collections::BTreeSet<&str> = driven.collect();
        let all = if flow == "source3" { 19 } else { 0 };
        assert_eq!(driven.len(), all, "{driven:?}");
    }
}

#[test]
fn a_session_that_was_released_is_set_up_again() {
    let core = Core::up(&["--transport", "native"]);
    let steps = "registration,session,release,session,release,session,detach";
    let subscribers = core.subscribers();
    let result = core.attach(&subscribers, &["--ues", "3", "--steps", steps]);
    assert_eq!(result["failed"], 0, "{result}\n{}", core.logs());
    assert_eq!(result["session_us"]["count"], 9, "{result}");
}

#[test]
fn who_is_not_subscribed_or_has_another_key_is_refused() {
    let core = Core::up(&[]);
    let own = std::fs::read_to_string(core.subscribers()).expect("a file");
    let other = core.folder.path().join("others.toml");
    std::fs::write(&other, own.replace("00101000000", "00101900000")).expect("written");
    let unknown = core.attach(&other, &["--ues", "2"]);
    assert_eq!(unknown["failed"], 2, "{unknown}");
    let key = own.replace(
        "465b5ce8b199b49faa5f0a2ee238a6bc",
        "00000000000000000000000000000001",
    );
    assert_ne!(key, own, "the key is where it was");
    std::fs::write(&other, key).expect("written");
    let forged = core.attach(&other, &["--ues", "2"]);
    assert_eq!(forged["failed"], 2, "{forged}");
    assert_eq!(core.number("amf", "registered"), 0);
    // Whom they tried to be comes all the same.
    let right = core.attach(&core.subscribers(), &["--ues", "2", "--detach"]);
    assert_eq!(right["failed"], 0, "{right}\n{}", core.logs());
}

#[test]
fn a_core_comes_up_once_and_says_what_is_wrong() {
    let core = Core::up(&[]);
    let again = core.core(&["up"]);
    assert!(!again.status.success());
    assert!(words(&again).contains("runs already"), "{}", words(&again));
    let status = core.core(&["status"]);
    let text = String::from_utf8_lossy(&status.stdout);
    for nf in [
        "nrf",
        "udsf",
        "udm",
        "ausf",
        "upf",
        "smf-gateway",
        "smf-pdu-session-0",
        "amf",
    ] {
        assert!(text.contains(nf), "{text}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    let soap = corewire(["core", "up", "--transport", "soap"], &state);
    assert!(words(&soap).contains("soap"), "{}", words(&soap));
    // N2's address is in use.
    let taken = corewire(["core", "up", "--n2-listen", &core.n2], &state);
    assert!(!taken.status.success());
    assert!(
        words(&taken).contains("amf did not come up"),
        "{}",
        words(&taken)
    );
    let none = corewire(["core", "status"], &state);
    assert!(
        !none.status.success(),
        "nothing is left of a core that did not come up"
    );
}

#[test]
fn an_amf_or_an_smf_that_was_killed_is_mended_and_its_ues_can_come_anew() {
    let core = Core::up(&[]);
    let before = core.attach(&core.subscribers(), &["--ues", "3"]);
    assert_eq!(before["failed"], 0, "{before}\n{}", core.logs());
    for nf in ["amf", "smf-pdu-session-0"] {
        core.kill(nf);
        let mended = core.core(&["mend"]);
        assert!(mended.status.success(), "{}", words(&mended));
    }
    // The gateway tries its replica again now and then; until it has, sessions are refused.
    let give_up = Instant::now() + Duration::from_secs(20);
    loop {
        let first = core.attach(&core.subscribers(), &["--ues", "1"]);
        if first["failed"] == 0 {
            break;
        }
        assert!(Instant::now() < give_up, "{first}\n{}", core.logs());
    }
    // Whoever registers anew under a name that is stored gets another address, and the UPF has both.
    let after = core.attach(&core.subscribers(), &["--ues", "5", "--detach"]);
    assert_eq!(after["failed"], 0, "{after}\n{}", core.logs());
    assert_eq!(core.number("amf", "registered"), 0, "{}", core.logs());
}
