//! Any one network function of the core is killed as a fault would, under load, and started again:
//! UEs that are attached stay so, new ones come again within two seconds, nothing is left behind.
//!
//! The load is small, so that a debug build on a busy machine can carry it; `make hostile` asks for 100
//! attaches a second of a release build (`COREWIRE_ATTACHES`).

#![cfg(target_os = "linux")]

mod core_program;

use core_program::{Core, PATIENCE};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// New UEs a second while something is killed.
fn attaches() -> u32 {
    std::env::var("COREWIRE_ATTACHES").map_or(5, |text| text.parse().expect("a number"))
}

/// UEs that are attached when something is killed.
fn attached() -> u64 {
    u64::from(attaches()).clamp(10, 200)
}

/// How soon new UEs must come again; a debug build among other tests starts a process more slowly, on a
/// machine that may stand still for a while.
fn soon() -> Duration {
    if cfg!(debug_assertions) {
        Duration::from_secs(15)
    } else {
        Duration::from_secs(2)
    }
}

/// Starts again what was killed, until the core ends.
struct Mender(Child);

impl Mender {
    fn of(core: &Core) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_corewire"))
            .args(["core", "repair", "--watch", "--state"])
            .arg(core.state())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("the program starts");
        Self(child)
    }
}

impl Drop for Mender {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

#[test]
fn a_core_that_is_ended_is_not_repaired() {
    let core = Core::up(&[]);
    let addresses = ["nrf", "udsf", "udm", "ausf", "upf", "amf"].map(|nf| core.address(nf));
    let mut mender = Mender::of(&core);
    // It watches.
    core.kill("udsf");
    let repaired = || core.status("udsf")["alive"] == true;
    core.until(PATIENCE, "the UDSF's start", repaired);
    // One that does not end when it is asked to: meanwhile the others have.
    let pid = core.status("amf")["pid"].to_string();
    let stopped = Command::new("kill").args(["-STOP", &pid]).status();
    assert!(stopped.expect("kill runs").success());
    let down = core.core(&["down"]);
    assert!(down.status.success(), "{down:?}");
    let ended = mender.0.wait().expect("it ends with the core");
    assert!(ended.success(), "{ended:?}");
    for address in addresses {
        let still = TcpStream::connect(&address);
        assert!(still.is_err(), "somebody is at {address}: {}", core.logs());
    }
}

fn killed_under_load(nf: &str) {
    let core = Core::up(&["--transport", "rest"]);
    let _mender = Mender::of(&core);
    let (population, rate) = (attached(), attaches());
    let population_text = population.to_string();
    // They have nothing to say when it happens, and everything afterwards.
    let mut staying = core.start_attach(&[
        "--ues",
        &population_text,
        "--at-once",
        &population_text,
        "--steps",
        "registration,session,idle,wait,service,periodic,idle,service,detach",
        "--pause-before",
        "wait",
    ]);
    staying.wait_for_pause();
    core.counts("upf", "sessions", population);
    core.counts("amf", "connected", 0);
    // Others come all the while. Who is in the middle of a step when it happens may fail.
    let coming = core.start_attach(&[
        "--ues",
        &(rate * 8).to_string(),
        "--first",
        "10000",
        "--rate",
        &rate.to_string(),
        "--at-once",
        "1000",
        "--patience",
        "5",
        "--detach",
    ]);
    std::thread::sleep(Duration::from_secs(1));
    core.kill(nf);
    let killed = Instant::now();
    // New ones, each another, until the first is through, and some more, who all must be.
    let mut first = 20_000;
    let again = loop {
        first += 1;
        let result = core.try_one(first);
        if result["failed"] == 0 && result["finished"] == 1 {
            break killed.elapsed();
        }
        assert!(
            killed.elapsed() < PATIENCE,
            "{nf}: nobody comes any more: {result}\n{}",
            core.logs()
        );
    };
    for _ in 0..5 {
        first += 1;
        let result = core.attach_one(first);
        assert_eq!(result["failed"], 0, "{nf}: {result}\n{}", core.logs());
    }
    staying.go_on();
    let coming = coming.result();
    let staying = staying.result();
    eprintln!(
        "{nf}: new UEs come again after {again:?}; of {} on their way {} failed",
        coming["ues"], coming["failed"]
    );
    assert_eq!(staying["failed"], 0, "{nf}: {staying}\n{}", core.logs());
    assert_eq!(
        staying["faults"].as_array().map(Vec::len),
        Some(0),
        "{staying}"
    );
    assert!(again < soon(), "{nf}: {again:?}\n{}", core.logs());
    // Who failed in the middle comes anew and goes: nothing of anybody is left.
    let ues = (rate * 8).to_string();
    let rest = core.attach(&["--ues", &ues, "--first", "10000", "--detach"]);
    assert_eq!(rest["failed"], 0, "{nf}: {rest}\n{}", core.logs());
    if first > 20_001 {
        let probes = (first - 20_000).to_string();
        let rest = core.attach(&["--ues", &probes, "--first", "20001", "--detach"]);
        assert_eq!(rest["failed"], 0, "{nf}: {rest}\n{}", core.logs());
    }
    core.counts("smf-pdu-session-0", "sessions", 0);
    if nf != "upf" {
        core.counts("upf", "sessions", 0);
    }
}

#[test]
fn the_amf() {
    killed_under_load("amf");
}

#[test]
fn the_ausf() {
    killed_under_load("ausf");
}

#[test]
fn the_udm() {
    killed_under_load("udm");
}

#[test]
fn the_smf_gateway() {
    killed_under_load("smf-gateway");
}

#[test]
fn the_smf_replica() {
    killed_under_load("smf-pdu-session-0");
}

#[test]
fn the_nrf() {
    killed_under_load("nrf");
}

#[test]
fn the_udsf() {
    killed_under_load("udsf");
}

#[test]
fn the_upf() {
    killed_under_load("upf");
}

/// Waits between attempts to connect grow while nobody is there: not beyond what UEs notice.
#[test]
fn sessions_come_again_at_once_after_a_replica_was_away_for_long() {
    // Less than waits between attempts would have grown to meanwhile.
    let at_once = soon().min(Duration::from_millis(4500));
    let core = Core::up(&[]);
    let mut first = 30_000;
    // A machine that stands still at the wrong moment spoils one round, not three.
    let mut took = Vec::new();
    for _ in 0..3 {
        core.kill("smf-pdu-session-0");
        let killed = Instant::now();
        // Somebody asks all the while.
        while killed.elapsed() < Duration::from_secs(9) {
            first += 1;
            assert_ne!(core.try_one(first)["failed"], 0, "nobody is there");
        }
        let repaired = core.core(&["repair"]);
        assert!(repaired.status.success(), "{repaired:?}");
        let there = Instant::now();
        loop {
            first += 1;
            if core.try_one(first)["failed"] == 0 {
                break;
            }
            assert!(there.elapsed() < PATIENCE, "{}", core.logs());
        }
        took.push(there.elapsed());
        if there.elapsed() < at_once {
            return;
        }
    }
    panic!("not at once: {took:?}\n{}", core.logs());
}

/// The AMF forgets a session when it has asked for its release, whoever is there to do it.
#[test]
fn what_is_let_go_of_while_no_replica_is_there_is_released_when_one_is() {
    let core = Core::up(&[]);
    let steps = "registration,session,detach";
    let mut leaving =
        core.start_attach(&["--ues", "5", "--steps", steps, "--pause-before", "detach"]);
    leaving.wait_for_pause();
    core.counts("upf", "sessions", 5);
    core.kill("smf-pdu-session-0");
    leaving.go_on();
    let leaving = leaving.result();
    assert_eq!(leaving["failed"], 0, "{leaving}\n{}", core.logs());
    let repaired = core.core(&["repair"]);
    assert!(repaired.status.success(), "{repaired:?}");
    core.counts("upf", "sessions", 0);
    core.counts("amf", "registered", 0);
}
