//! The core as others meet it: its addresses, which network functions it lets in, and what it does when
//! parts of it or of the radio network are gone.

#![cfg(target_os = "linux")]

mod core_program;

use core_program::{Core, PATIENCE, corewire, words};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_corewire");
const INSTANCE: &str = "11111111-2222-4333-8444-555555555555";

/// Asks with curl; gives the HTTP status and the body.
fn curl(arguments: &[&str]) -> (u16, String) {
    let output = Command::new("curl")
        .args(["-s", "--http2-prior-knowledge", "--max-time", "10"])
        .args(["-w", "\n%{http_code}"])
        .args(arguments)
        .output()
        .expect("curl is installed");
    let text = String::from_utf8(output.stdout).expect("text");
    let (body, status) = text.rsplit_once('\n').expect("a status");
    (status.parse().expect("a number"), body.to_owned())
}

/// Registers a network function of this type; gives the status.
fn register(nrf: &str, nf_type: &str, more: &[&str]) -> u16 {
    let profile = json!({
        "nfInstanceId": INSTANCE, "nfType": nf_type, "nfStatus": "REGISTERED",
        "ipv4Addresses": ["127.0.0.1"],
    });
    let uri = format!("http://{nrf}/nnrf-nfm/v1/nf-instances/{INSTANCE}");
    let profile = profile.to_string();
    let json = "content-type: application/json";
    let own = [&uri, "-X", "PUT", "-H", json, "-d", &profile];
    curl(&[&own[..], more].concat()).0
}

fn profiles(core: &Core) -> Vec<Value> {
    let nrf = core.address("nrf");
    let of = |nf_type: &str| {
        let uri = format!(
            "http://{nrf}/nnrf-disc/v1/nf-instances?target-nf-type={nf_type}&requester-nf-type=AMF"
        );
        let (status, body) = curl(&[&uri]);
        assert_eq!(status, 200, "{body}");
        let found: Value = serde_json::from_str(&body).expect("JSON");
        found["nfInstances"].as_array().expect("a list").clone()
    };
    ["AMF", "SMF", "AUSF", "UDM", "UDSF", "UPF"]
        .iter()
        .flat_map(|nf_type| of(nf_type))
        .collect()
}

#[test]
fn nfs_at_a_wildcard_address_register_one_that_others_can_call() {
    let core = Core::up(&["--listen", "0.0.0.0", "--nrf-listen", "127.0.0.1:0"]);
    let profiles = profiles(&core);
    assert!(profiles.len() >= 5, "{profiles:?}");
    for profile in &profiles {
        assert_eq!(profile["ipv4Addresses"], json!(["127.0.0.1"]), "{profile}");
        let text = profile.to_string();
        assert!(!text.contains("0.0.0.0"), "{text}");
    }
    assert_eq!(core.attach_one(0)["finished"], 1, "{}", core.logs());
}

#[test]
fn a_core_on_ipv6_registers_ipv6_addresses_and_serves_a_ue() {
    let core = Core::up(&["--listen", "::1"]);
    for profile in &profiles(&core) {
        assert_eq!(profile["ipv6Addresses"], json!(["::1"]), "{profile}");
        assert!(profile.get("ipv4Addresses").is_none(), "{profile}");
    }
    assert_eq!(core.attach_one(0)["finished"], 1, "{}", core.logs());
}

#[test]
fn a_core_with_a_host_name_registers_it_as_fqdn_and_serves_a_ue() {
    let core = Core::up(&["--advertise", "localhost", "--listen", "127.0.0.1"]);
    for profile in &profiles(&core) {
        assert_eq!(profile["fqdn"], "localhost", "{profile}");
        assert!(profile.get("ipv4Addresses").is_none(), "{profile}");
    }
    assert_eq!(core.attach_one(0)["finished"], 1, "{}", core.logs());
}

#[test]
fn nfs_that_the_operator_allows_register_as_their_type_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("smf.secret");
    fs::write(&file, "0123456789abcdef").expect("written");
    let allowed = format!("SMF:{}", file.display());
    let core = Core::up(&["--allow-nf", &allowed, "--allow-nf", "NWDAF:loopback"]);
    let nrf = core.address("nrf");
    let secret = ["-H", "authorization: Bearer 0123456789abcdef"];
    assert_eq!(register(&nrf, "SMF", &[]), 403, "no secret: as NWDAF only");
    assert_eq!(register(&nrf, "AMF", &secret), 403);
    assert_eq!(register(&nrf, "SMF", &secret), 201);
    // It is an SMF by now: the other rule does not let it be changed.
    assert_eq!(register(&nrf, "NWDAF", &[]), 403);
    let uri = format!("http://{nrf}/nnrf-nfm/v1/nf-instances/{INSTANCE}");
    assert_eq!(curl(&[&uri, "-X", "DELETE"]).0, 403);
    assert_eq!(
        curl(&[&[&uri, "-X", "DELETE"], &secret[..]].concat()).0,
        204
    );
    assert_eq!(register(&nrf, "NWDAF", &[]), 201);
    // It is given a token for a service that is for its type, and none for another's.
    let form = format!(
        "grant_type=client_credentials&nfInstanceId={INSTANCE}&nfType=NWDAF&targetNfType=NRF&scope=nnrf-disc"
    );
    let (_, answer) = curl(&[&format!("http://{nrf}/oauth2/token"), "-d", &form]);
    assert!(!answer.contains("invalid_client"), "{answer}");
}

#[test]
fn the_registry_of_the_mesh_is_changed_only_by_peers_that_show_the_secret() {
    let core = Core::up(&[]);
    let nrf = core.address("nrf");
    let secret = fs::read_to_string(core.state().join("client.secret")).expect("a secret");
    let bearer = format!("authorization: Bearer {secret}");
    let json = "content-type: application/json";
    let call = |operation: &str, body: &str, more: &[&str]| {
        let uri = format!("http://{nrf}/corewire.registry.v1.Registry/{operation}");
        curl(&[&[uri.as_str(), "-H", json, "-d", body], more].concat()).0
    };
    let instance = r#"{"service":"nudm-ueau","id":"x","address":"127.0.0.1:9"}"#;
    let id = r#"{"id":"x"}"#;
    assert_eq!(call("Register", instance, &[]), 401);
    assert_eq!(call("Leave", id, &[]), 401);
    assert_eq!(
        call("Heartbeat", id, &["-H", "authorization: Bearer wrong"]),
        401
    );
    let shown = call("Register", instance, &["-H", &bearer]);
    assert!(![401, 403].contains(&shown), "{shown}");
}

#[test]
fn an_idle_core_asks_the_nrf_for_little_more_than_heartbeats() {
    let core = Core::up(&[]);
    // The first questions are over when every NF says ready; what is late comes within the first second.
    std::thread::sleep(Duration::from_secs(1));
    let before = core.number("nrf", "requests");
    assert!(before > 0);
    let span = Duration::from_secs(5);
    std::thread::sleep(span);
    let asked = core.number("nrf", "requests") - before;
    // 7 NFs, a heartbeat of each every 5 s; two looks of this test. Polling was 60 and more.
    assert!(asked <= 25, "{asked} requests in {span:?}");
}

#[test]
fn a_new_instance_is_called_as_soon_as_it_is_registered() {
    let core = Core::up(&["--oauth2", "false"]);
    let nrf = core.address("nrf");
    // An AUSF of lower priority value takes all calls: it is nowhere, so calls go to the other one.
    let profile = json!({
        "nfInstanceId": INSTANCE, "nfType": "AUSF", "nfStatus": "REGISTERED", "heartBeatTimer": 3600,
        "ipv4Addresses": ["127.0.0.1"], "priority": 65535,
        "nfServices": [{
            "serviceInstanceId": "1", "serviceName": "nausf-auth", "scheme": "http",
            "versions": [{"apiVersionInUri": "v1", "apiFullVersion": "1.0.0"}],
            "nfServiceStatus": "REGISTERED", "ipEndPoints": [{"ipv4Address": "127.0.0.1", "port": 9}],
        }],
    });
    let uri = format!("http://{nrf}/nnrf-nfm/v1/nf-instances/{INSTANCE}");
    let json = "content-type: application/json";
    let before = core.number("nrf", "requests");
    let (status, _) = curl(&[&uri, "-X", "PUT", "-H", json, "-d", &profile.to_string()]);
    assert_eq!(status, 201);
    // The AMF is told, and discovers anew, long before the 30 s of validityPeriod are over.
    core.until(Duration::from_secs(5), "a discovery", || {
        core.number("nrf", "requests") > before + 2
    });
    // The instance that nobody listens at has the highest value: no UE meets it.
    let all = core.attach(&["--ues", "10", "--detach"]);
    assert_eq!(all["finished"], 10, "{all}");
}

#[test]
fn an_instance_of_the_next_priority_is_called_when_the_preferred_one_is_gone() {
    /// An AUSF beside the core's own.
    struct Ausf(Child);
    impl Drop for Ausf {
        fn drop(&mut self) {
            let _gone = self.0.kill();
            let _gone = self.0.wait();
        }
    }
    let core = Core::up(&[]);
    let nrf = core.address("nrf");
    let secret = core.state().join("client.secret");
    let requests = core.number("nrf", "requests");
    let second = Command::new(PROGRAM)
        .args([
            "nf",
            "ausf",
            "--nrf",
            &nrf,
            "--priority",
            "10",
            "--client-secret",
        ])
        .arg(&secret)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let _second = Ausf(second);
    core.counts("nrf", "instances", 8);
    core.until(PATIENCE, "a discovery by the AMF", || {
        core.number("nrf", "requests") > requests + 4
    });
    core.kill("ausf");
    // The lease of the first is not over: discovery still gives both.
    let all = core.attach(&["--ues", "5", "--detach"]);
    assert_eq!(all["finished"], 5, "{all}\n{}", core.logs());
}

#[test]
fn ues_of_a_lost_gnb_have_no_user_plane_any_more_although_the_smf_was_away() {
    const UES: u64 = 100;
    let core = Core::up(&[]);
    let ues = UES.to_string();
    let mut attach = core.start_attach(&["--ues", &ues, "--pause-before", "detach", "--detach"]);
    attach.wait_for_pause();
    core.counts("upf", "connected", UES);
    core.kill("smf-gateway");
    // The gNB is killed as well: its UEs are idle, and nobody takes that.
    drop(attach);
    core.counts("amf", "connected", 0);
    core.until(PATIENCE, "releases that wait", || {
        core.number("amf", "releases-waiting") > 0
    });
    assert_eq!(core.number("upf", "connected"), UES);
    let repaired = core.core(&["repair"]);
    assert!(repaired.status.success(), "{}", words(&repaired));
    core.counts("upf", "connected", 0);
    core.counts("amf", "releases-waiting", 0);
    assert_eq!(core.number("amf", "registered"), UES);
}

/// A program whose standard error is kept.
fn attach(core: &Core, options: &[&str]) -> Child {
    Command::new(PROGRAM)
        .args([
            "ran",
            "attach",
            "--json",
            "--amf",
            &core.n2,
            "--subscribers",
        ])
        .arg(core.subscribers())
        .args(options)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args([name, &pid]).status();
    assert!(sent.expect("kill runs").success());
}

#[test]
fn ran_names_and_detaches_its_ues_when_it_is_interrupted() {
    for name in ["-INT", "-TERM"] {
        let core = Core::up(&[]);
        let child = attach(&core, &["--ues", "20", "--gnbs", "2", "--hold", "600"]);
        core.counts("amf", "registered", 20);
        signal(&child, name);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(130));
        let said = words(&output);
        assert!(
            said.contains("10 UEs are attached") && said.contains("imsi-001010000000"),
            "{said}"
        );
        let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(result["stopped"], true, "{result}");
        assert_eq!(
            (&result["left"], &result["attached"]),
            (&json!(20), &json!(0)),
            "{result}"
        );
        core.counts("amf", "registered", 0);
        core.counts("upf", "sessions", 0);
    }
}

#[test]
fn a_second_interrupt_ends_ran_at_once() {
    let core = Core::up(&[]);
    let mut child = attach(&core, &["--ues", "1", "--hold", "600"]);
    core.counts("amf", "registered", 1);
    // Nothing answers the detach.
    let amf = core.status("amf")["pid"].to_string();
    assert!(
        Command::new("kill")
            .args(["-STOP", &amf])
            .status()
            .expect("kill runs")
            .success()
    );
    signal(&child, "-INT");
    std::thread::sleep(Duration::from_millis(500));
    assert!(
        child.try_wait().expect("a child").is_none(),
        "it waits for the AMF"
    );
    signal(&child, "-INT");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(130));
    assert!(
        Command::new("kill")
            .args(["-CONT", &amf])
            .status()
            .expect("kill runs")
            .success()
    );
}

#[test]
fn repair_right_after_a_kill_starts_the_process_again() {
    let core = Core::up(&[]);
    for nf in ["ausf", "amf", "udm", "ausf"] {
        let pid = core.status(nf)["pid"].to_string();
        // Not waited for: what was killed may still be on its way out.
        assert!(
            Command::new("kill")
                .args(["-9", &pid])
                .status()
                .expect("kill runs")
                .success()
        );
        let repaired = core.core(&["repair"]);
        let said = String::from_utf8_lossy(&repaired.stdout).into_owned();
        assert!(repaired.status.success(), "{said}{}", words(&repaired));
        assert!(
            said.contains(nf) && said.contains("started again"),
            "{said}"
        );
    }
    let nothing = core.core(&["repair"]);
    let said = String::from_utf8_lossy(&nothing.stdout).into_owned();
    assert!(said.contains("nothing to repair"), "{said}");
    assert_eq!(core.attach_one(0)["finished"], 1, "{}", core.logs());
}

#[test]
fn core_up_whose_reader_has_left_leaves_a_core_that_can_be_ended_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    let mut child = Command::new(PROGRAM)
        .args(["core", "up", "--n2-listen", "127.199.7.1:38412", "--state"])
        .arg(&state)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    let said = words(&output);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("corewire core down") && !said.contains("panicked"),
        "{said}"
    );
    let down = corewire(["core", "down"], &state);
    let said = String::from_utf8_lossy(&down.stdout).into_owned();
    assert!(
        down.status.success() && said.contains("8 NFs ended"),
        "{said}"
    );
}

#[test]
fn what_a_core_writes_is_its_users_alone() {
    let core = Core::up(&["--trace"]);
    assert_eq!(core.attach_one(0)["finished"], 1);
    core.kill("udm");
    assert!(core.core(&["repair"]).status.success());
    let mut folders = vec![core.state()];
    while let Some(folder) = folders.pop() {
        let mode = |path: &std::path::Path| {
            fs::metadata(path)
                .expect("it is there")
                .permissions()
                .mode()
                & 0o777
        };
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
            }
        }
    }
}

#[test]
fn a_core_that_says_ready_serves_its_first_ue_without_a_refusal() {
    let core = Core::up(&[]);
    let began = Instant::now();
    let one = core.attach_one(0);
    assert_eq!(one["finished"], 1, "{one}");
    let logs = core.logs();
    for refusal in [
        "no access token",
        "no instance offers",
        "does not answer yet",
    ] {
        assert!(!logs.contains(refusal), "{logs}");
    }
    assert!(began.elapsed() < PATIENCE);
}
