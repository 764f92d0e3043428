//! NRF, UDM, AUSF and UDSF as processes, asked by curl as anybody would ask them.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

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
        .args(["-s", "--http2-prior-knowledge", "--max-time", "5"])
        .args(["-H", "content-type: application/json"])
        .args(["-w", "\n%{http_code}"])
        .args(arguments)
        .output()
        .expect("curl is installed");
    let text = String::from_utf8(output.stdout).expect("text");
    let (body, status) = text.rsplit_once('\n').expect("a status");
    (status.parse().expect("a number"), body.to_owned())
}

/// Begins an authentication; gives the status and the body.
fn authenticate(ausf: &Nf, supi: &str) -> (u16, String) {
    let url = format!("http://{}/nausf-auth/v1/ue-authentications", ausf.address);
    let body = format!(r#"{{"supiOrSuci":"{supi}","servingNetworkName":"{NETWORK}"}}"#);
    curl(&[&url, "-d", &body])
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
            let (status, body) = authenticate(&ausf, "suci-0-001-01-0-0-0-0000000001");
            assert_eq!(status, 201, "{transport} {flow}: {body}");
            assert!(body.contains("\"authType\":\"5G_AKA\""), "{body}");
            let (status, body) = authenticate(&ausf, "imsi-999990000000001");
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
    let until = Instant::now() + Duration::from_secs(5);
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
