//! NRF, UDM, AUSF and UDSF as processes, asked by curl as anybody would ask them.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long something that should happen soon may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

const NETWORK: &str = "5G:mnc001.mcc001.3gppnetwork.org";

/// A network function; killed when it is dropped.
struct Nf {
    process: Child,
    address: String,
}

impl Nf {
    fn start(arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_corewire"))
            .arg("nf")
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let output = process.stdout.take().expect("its output");
        let mut line = String::new();
        BufReader::new(output)
            .read_line(&mut line)
            .expect("a line comes");
        let address = line.trim().rsplit(' ').next().unwrap_or_default();
        Self {
            process,
            address: address.to_owned(),
        }
    }

    fn kill(mut self) {
        self.process.kill().expect("it was there");
        self.process.wait().expect("it ends");
    }
}

impl Drop for Nf {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _ended = self.process.wait();
    }
}

/// Asks with curl; gives the HTTP status and the body.
fn curl(arguments: &[&str]) -> (u16, String) {
    let output = Command::new("curl")
        .args(["-s", "--http2-prior-knowledge", "--max-time", "30"])
        .args(["-H", "content-type: application/json"])
        .args(["-w", "\n%{http_code}"])
        .args(arguments)
        .output()
        .expect("curl is installed");
    let text = String::from_utf8(output.stdout).expect("text");
    let (body, status) = text.rsplit_once('\n').expect("a status");
    (status.parse().expect("a number"), body.to_owned())
}

/// Begins an authentication, as an AMF with this token does; gives the status and the body.
fn authenticate(ausf: &Nf, token: &str, supi: &str) -> (u16, String) {
    let url = format!("http://{}/nausf-auth/v1/ue-authentications", ausf.address);
    let body = format!(r#"{{"supiOrSuci":"{supi}","servingNetworkName":"{NETWORK}"}}"#);
    let shown = format!("authorization: Bearer {token}");
    curl(&[&url, "-H", &shown, "-d", &body])
}

/// Registers at the NRF as an AMF, and gets a token for this service.
fn token(nrf: &Nf, target: &str, service: &str) -> String {
    let (status, body) = asked_for_token(nrf, target, service);
    assert_eq!(status, 200, "{body}");
    let answer: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    answer["access_token"].as_str().expect("a token").to_owned()
}

/// The same, and what came of it.
fn asked_for_token(nrf: &Nf, target: &str, service: &str) -> (u16, String) {
    let url = format!(
        "http://{}/nnrf-nfm/v1/nf-instances/00000000-0000-4000-8000-0000000003f1",
        nrf.address
    );
    let profile = r#"{"nfInstanceId":"00000000-0000-4000-8000-0000000003f1","nfType":"AMF","nfStatus":"REGISTERED","heartBeatTimer":60}"#;
    let (status, body) = curl(&["-X", "PUT", &url, "-d", profile]);
    assert!(matches!(status, 200 | 201), "{body}");
    let url = format!("http://{}/oauth2/token", nrf.address);
    let form = format!(
        "grant_type=client_credentials&nfInstanceId=00000000-0000-4000-8000-0000000003f1&targetNfType={target}&scope={service}"
    );
    curl(&[&url, "-d", &form])
}

#[test]
fn network_functions_find_and_call_each_other_over_every_transport() {
    let nrf = Nf::start(&["nrf"]);
    let udm = Nf::start(&["udm", "--nrf", &nrf.address]);
    for transport in ["rest", "grpc", "native", "shm"] {
        for flow in ["3gpp", "source3"] {
            let of = [
                "--nrf",
                &nrf.address,
                "--transport",
                transport,
                "--flow",
                flow,
            ];
            let ausf = Nf::start(&[&["ausf"], &of[..]].concat());
            let token = token(&nrf, "AUSF", "nausf-auth");
            let (status, body) = authenticate(&ausf, &token, "suci-0-001-01-0-0-0-0000000001");
            assert_eq!(status, 201, "{transport} {flow}: {body}");
            assert!(body.contains("\"authType\":\"5G_AKA\""), "{body}");
            let (status, body) = authenticate(&ausf, &token, "imsi-999990000000001");
            assert_eq!(
                (status, body.contains("USER_NOT_FOUND")),
                (404, true),
                "{body}"
            );
        }
    }
    let query = "target-nf-type=UDM&requester-nf-type=AUSF&service-names=nudm-ueau";
    let url = format!("http://{}/nnrf-disc/v1/nf-instances?{query}", nrf.address);
    let port = udm.address.rsplit(':').next().expect("a port");
    let (status, body) = curl(&[&url]);
    assert_eq!((status, body.contains(port)), (200, true), "{body}");
    // And the mesh has it: the same port tells the control plane's status.
    let status = Command::new(env!("CARGO_BIN_EXE_corewire"))
        .args(["control", "status", "--at", &nrf.address, "--json"])
        .output()
        .expect("the program starts");
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(status.contains("nudm-sdm"), "{status}");
}

/// What is answered to somebody with a token whose lifetime was not over; tokens live for two seconds
/// here, counted in whole ones.
fn in_time(ask: impl Fn() -> (u16, String)) -> (u16, String) {
    let until = Instant::now() + PATIENCE;
    loop {
        let began = Instant::now();
        let answer = ask();
        // It may have been late, on a machine that stood still.
        if began.elapsed() < Duration::from_secs(1) {
            return answer;
        }
        assert!(Instant::now() < until, "always late: {answer:?}");
    }
}

/// A form that curl sends is of this type by itself; JSON was said. Both are read.
#[test]
fn tokens_are_asked_for_shown_and_renewed() {
    // An address of its own: its port is free when it starts there again.
    let own = ["--listen", "127.79.0.1:0"];
    let nrf = Nf::start(&[&["nrf", "--token-lifetime", "2"], &own[..]].concat());
    let udm = Nf::start(&["udm", "--nrf", &nrf.address]);
    let ausf = Nf::start(&["ausf", "--nrf", &nrf.address]);
    let data = format!(
        "http://{}/nudm-sdm/v2/imsi-001010000000001/am-data",
        udm.address
    );
    // Without one, with nonsense, with one for somebody else, for something else, with the right one.
    let (status, body) = curl(&["-i", &data]);
    assert_eq!(status, 401, "{body}");
    assert!(body.contains("www-authenticate: Bearer realm="), "{body}");
    assert!(body.contains("application/problem+json"), "{body}");
    let shown = |token: &str| format!("authorization: Bearer {token}");
    let (status, body) = curl(&["-i", &data, "-H", &shown("a.b.c")]);
    assert_eq!(status, 401, "{body}");
    assert!(body.contains("error=\"invalid_token\""), "{body}");
    let for_ausf = token(&nrf, "AUSF", "nausf-auth");
    assert_eq!(curl(&[&data, "-H", &shown(&for_ausf)]).0, 401);
    let (status, body) = in_time(|| {
        let for_registrations = token(&nrf, "UDM", "nudm-uecm");
        curl(&["-i", &data, "-H", &shown(&for_registrations)])
    });
    assert_eq!(status, 403, "{body}");
    assert!(body.contains("error=\"insufficient_scope\""), "{body}");
    // Vectors are for an AUSF, and an AMF does not find them.
    let (status, body) = asked_for_token(&nrf, "UDM", "nudm-ueau");
    assert_eq!(
        (status, body.contains("unauthorized_client")),
        (400, true),
        "{body}"
    );
    let query = "target-nf-type=UDM&requester-nf-type=AMF";
    let find = format!("http://{}/nnrf-disc/v1/nf-instances?{query}", nrf.address);
    let (_, body) = curl(&[&find]);
    assert!(
        body.contains("nudm-sdm") && !body.contains("nudm-ueau"),
        "{body}"
    );
    let with_right = |url: &str| {
        in_time(|| {
            let right = token(&nrf, "UDM", "nudm-sdm");
            curl(&[url, "-H", &shown(&right)])
        })
    };
    assert_eq!(with_right(&data).0, 200);
    assert_eq!(with_right(&data.replace("am-data", "x")).0, 404);
    let right = token(&nrf, "UDM", "nudm-sdm");
    let began = Instant::now();
    // The AUSF's own for the UDM ends too, again and again, and nobody notices.
    while began.elapsed() < Duration::from_secs(5) {
        let (status, body) = in_time(|| {
            let token = token(&nrf, "AUSF", "nausf-auth");
            authenticate(&ausf, &token, "imsi-001010000000001")
        });
        assert_eq!(status, 201, "after {:?}: {body}", began.elapsed());
        std::thread::sleep(Duration::from_millis(50));
    }
    let (status, body) = curl(&["-i", &data, "-H", &shown(&right)]);
    assert_eq!(
        (status, body.contains("it has expired")),
        (401, true),
        "{body}"
    );
    // An NRF that starts anew has another key: what it signs is taken, what the former signed is not.
    let place = nrf.address.clone();
    let former = token(&nrf, "UDM", "nudm-sdm");
    nrf.kill();
    let nrf = Nf::start(&["nrf", "--listen", &place]);
    let until = Instant::now() + PATIENCE;
    let find = format!(
        "http://{place}/nnrf-disc/v1/nf-instances?target-nf-type=UDM&requester-nf-type=AMF"
    );
    while !curl(&[&find]).1.contains("nudm-sdm") {
        assert!(Instant::now() < until, "the UDM registers anew");
        std::thread::sleep(Duration::from_millis(50));
    }
    let again = token(&nrf, "UDM", "nudm-sdm");
    let (status, body) = curl(&[&data, "-H", &shown(&again)]);
    assert_eq!(status, 200, "{body}");
    assert_eq!(curl(&[&data, "-H", &shown(&former)]).0, 401);
}

#[test]
fn who_does_not_know_the_secret_neither_registers_nor_has_tokens() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("secret");
    std::fs::write(&file, "0123456789abcdef0123").expect("written");
    let secret = file.display().to_string();
    let nrf = Nf::start(&["nrf", "--client-secret", &secret]);
    let _udm = Nf::start(&["udm", "--nrf", &nrf.address, "--client-secret", &secret]);
    let url = format!(
        "http://{}/nnrf-nfm/v1/nf-instances/00000000-0000-4000-8000-0000000003f1",
        nrf.address
    );
    let profile = r#"{"nfInstanceId":"00000000-0000-4000-8000-0000000003f1","nfType":"AMF","nfStatus":"REGISTERED"}"#;
    let (status, body) = curl(&["-i", "-X", "PUT", &url, "-d", profile]);
    assert_eq!(status, 401, "{body}");
    assert!(body.contains("www-authenticate: Bearer"), "{body}");
    let shown = "authorization: Bearer 0123456789abcdef0123";
    assert_eq!(
        curl(&["-X", "PUT", &url, "-d", profile, "-H", shown]).0,
        201
    );
    let url = format!("http://{}/oauth2/token", nrf.address);
    let form = "grant_type=client_credentials&nfInstanceId=00000000-0000-4000-8000-0000000003f1&targetNfType=UDM&scope=nudm-sdm";
    let (status, body) = curl(&[&url, "-d", form]);
    assert_eq!(
        (status, body.contains("invalid_client")),
        (400, true),
        "{body}"
    );
    let with = format!("{form}&client_secret=0123456789abcdef0123");
    assert_eq!(curl(&[&url, "-d", &with]).0, 200);
}

#[test]
fn records_and_registrations_outlive_a_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = |name: &str| -> String { folder.path().join(name).display().to_string() };
    let url_of = |nf: &Nf, path: &str| format!("http://{}{path}", nf.address);
    let record = "/nudsf-dr/v1/realm/amf/records/ue-1";
    let udsf = Nf::start(&["udsf", "--store", &store("udsf")]);
    assert_eq!(
        curl(&["-X", "PUT", &url_of(&udsf, record), "-d", "{\"a\":1}"]).0,
        201
    );
    let registration = "/nudm-uecm/v1/imsi-001010000000001/registrations/smf-registrations/5";
    let udm = Nf::start(&["udm", "--store", &store("udm")]);
    let body = r#"{"smfInstanceId":"s","pduSessionId":5,"singleNssai":{"sst":1},"plmnId":{"mcc":"001","mnc":"01"}}"#;
    assert_eq!(
        curl(&["-X", "PUT", &url_of(&udm, registration), "-d", body]).0,
        201
    );
    // Answered from memory and written behind: soon, but not at once.
    settle(folder.path(), &["udsf/udsf.log", "udm/udm.log"]);
    udsf.kill();
    udm.kill();
    let udsf = Nf::start(&["udsf", "--store", &store("udsf")]);
    assert_eq!(
        curl(&[&url_of(&udsf, record)]),
        (200, "{\"a\":1}".to_owned())
    );
    let udm = Nf::start(&["udm", "--store", &store("udm")]);
    let (status, body) = curl(&[&url_of(&udm, registration)]);
    assert_eq!(
        (status, body.contains("\"pduSessionId\":5")),
        (200, true),
        "{body}"
    );
}

/// Waits until the logs hold what was asked of them.
fn settle(folder: &Path, logs: &[&str]) {
    let until = Instant::now() + PATIENCE;
    let holds = |log: &&str| {
        std::fs::read(folder.join(log)).is_ok_and(|octets| {
            let text = String::from_utf8_lossy(&octets).into_owned();
            text.contains("ue-1") || text.contains("state/imsi-")
        })
    };
    while !logs.iter().all(holds) {
        assert!(Instant::now() < until, "the logs are not written");
        std::thread::sleep(Duration::from_millis(10));
    }
}
