//! Service interfaces under spoilt requests: bodies, paths, queries and headers that were right and are
//! not any more, against every network function of a core, while UEs come and go.

#![cfg(target_os = "linux")]

mod core_program;

use core_program::Core;
use corewire::blocking::{Caller as _, Client};
use corewire::{Body, ClientOptions, Headers, Operation, Request};
use std::time::{Duration, Instant};

/// What a network function may grow by: what it was asked to keep, its allocator's, its buffers'.
const MOST_GROWN: u64 = 64 << 20;
/// How long an answer may take: some ask others, who are spoilt too.
const PATIENCE: Duration = Duration::from_secs(8);

/// How many requests are spoilt; `make hostile` asks for a million.
fn mutations() -> usize {
    std::env::var("COREWIRE_MUTATIONS").map_or(20_000, |text| text.parse().expect("a number"))
}

/// A request that is right: whom, method, path with query, media type, body.
struct Sample(
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    Vec<u8>,
);

const JSON: &str = "application/json";
const RELATED: &str = "multipart/related; boundary=b";
const SUPI: &str = "imsi-001010000099999";

/// A JSON part and an N1 part: PDU SESSION ESTABLISHMENT REQUEST (TS 24.501, 8.3.1).
fn with_n1(json: &str) -> Vec<u8> {
    let mut body = format!(
        "--b\r\nContent-Type: application/json\r\n\r\n{json}\r\n\
         --b\r\nContent-Type: application/vnd.3gpp.5gnas\r\nContent-Id: 5gnas-sm\r\n\r\n"
    )
    .into_bytes();
    body.extend([0x2e, 5, 1, 0xc1, 0xff, 0xff, 0x91]);
    body.extend(b"\r\n--b--\r\n");
    body
}

fn samples() -> Vec<Sample> {
    let json = |text: &str| text.replace("SUPI", SUPI).into_bytes();
    let create = r#"{"supi":"SUPI","pduSessionId":5,"dnn":"internet","sNssai":{"sst":1},"servingNfId":"a",
        "servingNetwork":{"mcc":"001","mnc":"01"},"requestType":"INITIAL_REQUEST","n1SmMsg":{"contentId":"5gnas-sm"},
        "anType":"3GPP_ACCESS","ratType":"NR","smContextStatusUri":"http://127.0.0.1:9/namf-callback/v1/SUPI/sm-context-status/5/1"}"#
        .replace("SUPI", SUPI);
    let transfer = r#"{"n1MessageContainer":{"n1MessageClass":"SM","n1MessageContent":{"contentId":"5gnas-sm"}},"pduSessionId":5}"#;
    let amf = r#"{"amfInstanceId":"a","deregCallbackUri":"http://127.0.0.1:9/x","guami":{"plmnId":{"mcc":"001","mnc":"01"},"amfId":"020040"},"ratType":"NR","initialRegistrationInd":true}"#;
    let profile = r#"{"nfInstanceId":"00000000-0000-4000-8000-0000000000b1","nfType":"AF","nfStatus":"REGISTERED","ipv4Addresses":["127.0.0.1"],"heartBeatTimer":1,
        "plmnList":[{"mcc":"001","mnc":"01"}],"sNssais":[{"sst":1,"sd":"010203"}],"fqdn":"a.b","capacity":3,"nfServices":[{"serviceInstanceId":"x",
        "serviceName":"naf-x","versions":[{"apiVersionInUri":"v1","apiFullVersion":"1.0.0"}],"scheme":"http","nfServiceStatus":"REGISTERED",
        "ipEndPoints":[{"ipv4Address":"127.0.0.1","port":9}]}]}"#;
    vec![
        Sample(
            "udm",
            "POST",
            "nudm-ueau/v1/imsi-001010000099999/security-information/generate-auth-data",
            JSON,
            json(
                r#"{"servingNetworkName":"5G:mnc001.mcc001.3gppnetwork.org","ausfInstanceId":"a","resynchronizationInfo":{"rand":"00000000000000000000000000000000","auts":"0000000000000000000000000000"}}"#,
            ),
        ),
        Sample(
            "udm",
            "POST",
            "nudm-ueau/v1/suci-0-001-01-0-1-1-b2e92f836055a255837debf850b528997ce0201cb82adfe4be1f587d07d8457dcb02352410cddd9e730ef3fa87/security-information/generate-auth-data",
            JSON,
            json(
                r#"{"servingNetworkName":"5G:mnc001.mcc001.3gppnetwork.org","ausfInstanceId":"a"}"#,
            ),
        ),
        Sample(
            "udm",
            "PUT",
            "nudm-uecm/v1/imsi-001010000099999/registrations/amf-3gpp-access",
            JSON,
            json(amf),
        ),
        Sample(
            "udm",
            "PATCH",
            "nudm-uecm/v1/imsi-001010000099999/registrations/amf-3gpp-access",
            "application/merge-patch+json",
            json(
                r#"{"guami":{"plmnId":{"mcc":"001","mnc":"01"},"amfId":"020040"},"purgeFlag":false,"ratType":null}"#,
            ),
        ),
        Sample(
            "udm",
            "GET",
            "nudm-sdm/v2/imsi-001010000099999/sm-data?single-nssai=%7B%22sst%22%3A1%7D&dnn=internet",
            "",
            Vec::new(),
        ),
        Sample(
            "udm",
            "POST",
            "nudm-sdm/v2/imsi-001010000099999/sdm-subscriptions",
            JSON,
            json(
                r#"{"nfInstanceId":"a","callbackReference":"http://127.0.0.1:9/x","monitoredResourceUris":["x"]}"#,
            ),
        ),
        Sample(
            "ausf",
            "POST",
            "nausf-auth/v1/ue-authentications",
            JSON,
            json(
                r#"{"supiOrSuci":"SUPI","servingNetworkName":"5G:mnc001.mcc001.3gppnetwork.org"}"#,
            ),
        ),
        Sample(
            "ausf",
            "PUT",
            "nausf-auth/v1/ue-authentications/1/5g-aka-confirmation",
            JSON,
            json(r#"{"resStar":"00000000000000000000000000000000"}"#),
        ),
        Sample(
            "nrf",
            "PUT",
            "nnrf-nfm/v1/nf-instances/00000000-0000-4000-8000-0000000000b1",
            JSON,
            json(profile),
        ),
        Sample(
            "nrf",
            "PATCH",
            "nnrf-nfm/v1/nf-instances/00000000-0000-4000-8000-0000000000b1",
            "application/json-patch+json",
            json(
                r#"[{"op":"replace","path":"/nfStatus","value":"REGISTERED"},{"op":"add","path":"/nfServices/0/priority","value":7},{"op":"copy","from":"/fqdn","path":"/x"}]"#,
            ),
        ),
        Sample(
            "nrf",
            "GET",
            "nnrf-disc/v1/nf-instances?target-nf-type=AF&requester-nf-type=AMF&snssais=%5B%7B%22sst%22%3A1%7D%5D&limit=3",
            "",
            Vec::new(),
        ),
        Sample(
            "nrf",
            "POST",
            "nnrf-nfm/v1/subscriptions",
            JSON,
            json(
                r#"{"nfStatusNotificationUri":"http://127.0.0.1:9/x","subscrCond":{"nfType":"AF"},"validityTime":"2030-01-01T00:00:00Z"}"#,
            ),
        ),
        Sample(
            "nrf",
            "POST",
            "oauth2/token",
            "application/x-www-form-urlencoded",
            b"grant_type=client_credentials&nfInstanceId=00000000-0000-4000-8000-0000000000b1&nfType=AF&targetNfType=AF&scope=naf-x"
                .to_vec(),
        ),
        Sample(
            "udsf",
            "PUT",
            "nudsf-dr/v1/hostile/x/records/1",
            JSON,
            json(r#"{"a":[1,2,{"b":null}]}"#),
        ),
        Sample(
            "udsf",
            "GET",
            "nudsf-dr/v1/hostile/x/records?prefix=&after=",
            "",
            Vec::new(),
        ),
        Sample(
            "upf",
            "PUT",
            "corewire-upf/v1/sessions/h",
            JSON,
            json(r#"{"uplink":{"address":"127.0.0.1","teid":4000000000}}"#),
        ),
        Sample(
            "upf",
            "POST",
            "corewire-upf/v1/sessions/h/modify",
            JSON,
            json(r#"{"downlink":{"address":"127.0.0.1","teid":7}}"#),
        ),
        Sample(
            "smf-gateway",
            "POST",
            "nsmf-pdusession/v1/sm-contexts",
            RELATED,
            with_n1(&create),
        ),
        Sample(
            "smf-pdu-session-0",
            "POST",
            "nsmf-pdusession/v1/sm-contexts",
            RELATED,
            with_n1(&create),
        ),
        Sample(
            "smf-pdu-session-0",
            "POST",
            "nsmf-pdusession/v1/sm-contexts/7f0000010009-0000000000000001/modify",
            RELATED,
            with_n1(r#"{"n1SmMsg":{"contentId":"5gnas-sm"},"upCnxState":"ACTIVATING"}"#),
        ),
        Sample(
            "amf",
            "POST",
            "namf-comm/v1/ue-contexts/imsi-001010000099999/n1-n2-messages",
            RELATED,
            with_n1(transfer),
        ),
        Sample(
            "amf",
            "POST",
            "namf-callback/v1/imsi-001010000099999/sm-context-status/5/1",
            JSON,
            json(r#"{"statusInfo":{"resourceStatus":"RELEASED"}}"#),
        ),
    ]
}

/// xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).expect("it is below")
    }

    /// Another text than it was.
    fn spoil(&mut self, octets: &mut Vec<u8>) {
        const PIECES: [&[u8]; 12] = [
            b"\"",
            b"{",
            b"[[[[[[[[[[[[[[[[",
            b"null",
            b"-1",
            b"1e999",
            b"18446744073709551616",
            b"\\u0000",
            b"\xff",
            b"%00",
            b"\r\n--b\r\n",
            b"../",
        ];
        for _ in 0..=self.below(3) {
            let place = self.below(octets.len() + 1);
            match self.below(5) {
                0 => octets.truncate(place),
                1 if place < octets.len() => {
                    octets[place] = u8::try_from(self.below(256)).expect("an octet")
                }
                2 => {
                    let piece = PIECES[self.below(PIECES.len())];
                    octets.splice(place..place, piece.iter().copied());
                }
                3 => {
                    let end = (place + self.below(20)).min(octets.len());
                    octets.drain(place..end);
                }
                _ => {
                    let end = (place + self.below(200)).min(octets.len());
                    octets.extend_from_within(place..end);
                }
            }
        }
    }
}

fn resident(core: &Core, nf: &str) -> u64 {
    core.status(nf)["residentOctets"]
        .as_u64()
        .expect("it lives")
}

#[test]
fn spoilt_requests_are_answered_and_harm_nobody() {
    // Without tokens: what has none is refused before anything of it is read.
    let core = Core::up(&["--oauth2", "false"]);
    let warm = core.attach(&["--ues", "3", "--detach"]);
    assert_eq!(warm["failed"], 0, "{warm}\n{}", core.logs());
    let names = [
        "amf",
        "ausf",
        "udm",
        "smf-gateway",
        "smf-pdu-session-0",
        "nrf",
        "udsf",
        "upf",
    ];
    let before: Vec<_> = names
        .iter()
        .map(|nf| (*nf, core.status(nf)["pid"].clone(), resident(&core, nf)))
        .collect();
    let clients: Vec<(&str, Client)> = names
        .iter()
        .map(|nf| {
            let endpoint = format!("rest://{}", core.address(nf)).parse().expect("one");
            (*nf, Client::new(endpoint, ClientOptions::default()))
        })
        .collect();
    let bystanders =
        core.start_attach(&["--ues", "40", "--rate", "4", "--first", "500", "--detach"]);
    let seed = u64::from(std::process::id()) << 32 | 0x9e37_79b9;
    let mut random = Random(seed);
    let (samples, wanted) = (samples(), mutations());
    let (mut sent, mut answered) = (0_usize, 0_usize);
    let started = Instant::now();
    while sent < wanted {
        let Sample(nf, method, path, media_type, body) = &samples[random.below(samples.len())];
        let (mut path, mut body) = (path.as_bytes().to_vec(), body.clone());
        let (mut method, mut media_type) = ((*method).to_owned(), media_type.as_bytes().to_vec());
        let mut headers = Headers::new();
        match random.below(8) {
            0 => random.spoil(&mut path),
            1 => random.spoil(&mut media_type),
            2 => {
                method =
                    ["GET", "PUT", "PATCH", "DELETE", "POST", "OPTIONS"][random.below(6)].to_owned()
            }
            3 => {
                const NAMES: [&str; 6] = [
                    "3gpp-sbi-max-rsp-time",
                    "3gpp-sbi-message-priority",
                    "3gpp-sbi-binding",
                    "3gpp-sbi-oci",
                    "if-match",
                    "3gpp-sbi-correlation-info",
                ];
                let mut value = b"bl=nf-set; nfset=set1.smfset.5gc.mnc012.mcc345".to_vec();
                random.spoil(&mut value);
                let _not_a_header = headers.append(NAMES[random.below(6)], value);
            }
            _ => random.spoil(&mut body),
        }
        let Ok(path) = String::from_utf8(path) else {
            continue;
        };
        let (path, query) = path.split_once('?').unwrap_or((&path, ""));
        let Ok(operation) = Operation::parse(path) else {
            continue;
        };
        headers.append("corewire-method", &method).expect("a word");
        let _not_a_header = headers.append("corewire-query", query);
        let _not_a_header = headers.append("content-type", &media_type);
        let request = Request::new(operation)
            .with_headers(headers)
            .with_body(Body::from(body))
            .with_deadline(Instant::now() + PATIENCE);
        let (_, client) = clients
            .iter()
            .find(|(name, _)| name == nf)
            .expect("it is one");
        let result = client.call(request);
        sent += 1;
        answered += usize::from(match &result {
            Ok(_) => true,
            Err(error) => error.response().is_some(),
        });
    }
    let bystanders = bystanders.result();
    eprintln!(
        "{sent} requests (seed {seed:#x}) in {:.1} s, {answered} answered",
        started.elapsed().as_secs_f64()
    );
    assert_eq!(
        bystanders["failed"],
        0,
        "seed {seed:#x}: {bystanders}\n{}",
        core.logs()
    );
    // Those that are not answered never left: no header, no path.
    assert!(
        answered * 10 > sent * 9,
        "seed {seed:#x}: {answered} of {sent} answered"
    );
    for (nf, pid, memory) in before {
        let status = core.status(nf);
        assert_eq!(status["pid"], pid, "seed {seed:#x}: {nf}");
        assert_eq!(
            status["alive"],
            true,
            "seed {seed:#x}: {nf}\n{}",
            core.logs()
        );
        let grown = resident(&core, nf).saturating_sub(memory);
        assert!(
            grown < MOST_GROWN,
            "seed {seed:#x}: {nf} has grown by {grown} octets"
        );
        eprintln!("{nf}: {} KiB more than before", grown >> 10);
    }
    let logs = core.logs();
    assert!(!logs.contains("panicked"), "seed {seed:#x}: {logs}");
    let after = core.attach(&["--ues", "3", "--detach"]);
    assert_eq!(after["failed"], 0, "seed {seed:#x}: {after}\n{logs}");
}
