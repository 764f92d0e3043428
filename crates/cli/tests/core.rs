//! The 5G core through the program itself: every network function a process, a simulated gNB and UEs
//! that check what they get.

#![cfg(unix)]

mod core_program;

use core_program::{Core, corewire, words};
use std::time::{Duration, Instant};

/// Ten UEs register, open a session each, and detach.
fn ten_come_and_go(options: &[&str]) {
    let core = Core::up(options);
    let stays = core.attach(&["--ues", "10"]);
    assert_eq!(stays["failed"], 0, "{stays}\n{}", core.logs());
    core.counts("amf", "registered", 10);
    core.counts("upf", "sessions", 10);
    // The same ten again: what was is the past, and nothing of it is left.
    let goes = core.attach(&["--ues", "10", "--detach"]);
    assert_eq!(goes["failed"], 0, "{goes}\n{}", core.logs());
    core.counts("amf", "registered", 0);
    core.counts("upf", "sessions", 0);
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
        let ran = core.beside("ran.trace");
        let trace = ran.display().to_string();
        let told = core.attach(&["--detach", "--trace", &trace]);
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
    let result = core.start_attach(&["--ues", "3", "--steps", steps]);
    let result = result.whole_result();
    assert_eq!(result["failed"], 0, "{result}\n{}", core.logs());
    assert_eq!(result["session_us"]["count"], 9, "{result}");
}

#[test]
fn who_is_not_subscribed_or_has_another_key_is_refused() {
    let core = Core::up(&[]);
    let own = std::fs::read_to_string(core.subscribers()).expect("a file");
    let other = core.beside("others.toml");
    std::fs::write(&other, own.replace("00101000000", "00101900000")).expect("written");
    let unknown = core.attach_of(&other, &["--ues", "2"]);
    assert_eq!(unknown["failed"], 2, "{unknown}");
    let key = own.replace(
        "465b5ce8b199b49faa5f0a2ee238a6bc",
        "00000000000000000000000000000001",
    );
    assert_ne!(key, own, "the key is where it was");
    std::fs::write(&other, key).expect("written");
    let forged = core.attach_of(&other, &["--ues", "2"]);
    assert_eq!(forged["failed"], 2, "{forged}");
    core.counts("amf", "registered", 0);
    // Whom they tried to be comes all the same.
    let right = core.attach(&["--ues", "2", "--detach"]);
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
fn an_amf_or_an_smf_that_was_killed_is_repaired_and_its_ues_can_come_anew() {
    let core = Core::up(&[]);
    let before = core.attach(&["--ues", "3"]);
    assert_eq!(before["failed"], 0, "{before}\n{}", core.logs());
    for nf in ["amf", "smf-pdu-session-0"] {
        core.kill(nf);
        let repaired = core.core(&["repair"]);
        assert!(repaired.status.success(), "{}", words(&repaired));
    }
    // The gateway tries its replica again now and then; until it has, sessions are refused.
    let give_up = Instant::now() + Duration::from_secs(20);
    loop {
        let first = core.attach(&["--ues", "1"]);
        if first["failed"] == 0 {
            break;
        }
        assert!(Instant::now() < give_up, "{first}\n{}", core.logs());
    }
    // Whoever registers anew under a name that is stored gets another address, and the UPF has both.
    let after = core.attach(&["--ues", "5", "--detach"]);
    assert_eq!(after["failed"], 0, "{after}\n{}", core.logs());
    core.counts("amf", "registered", 0);
}
