//! What a discovery costs an NRF, by the number of profiles that fit: an NRF of its own, one caller that
//! asks again and again.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use corewire::blocking::{Caller as _, Client};
use corewire::{Body, ClientOptions, Headers, Operation, Request};
use serde_json::{Value, json};

use super::core::failure;
use super::plan::Case;
use super::usage;
use crate::record::Failure;

const PLACE: &str = "NRF discovery";
/// How long a start and a call may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Calls before anything is counted.
const WARM_UP: u64 = 200;

/// What came of it.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// How long each call took, microseconds.
    pub(super) took_us: Vec<f64>,
    /// Of the NRF.
    pub(super) cpu: Duration,
}

/// Starts an NRF, registers as many profiles as the case has UEs, and asks for all of them.
pub(super) fn run(program: &Path, case: &Case, calls: u64) -> Result<Found, Failure> {
    let nrf = Nrf::start(program)?;
    let endpoint = format!("{}://{}", case.transport, nrf.address);
    let endpoint = endpoint
        .parse()
        .map_err(|error| failure(format!("{endpoint}: {error}"), PLACE))?;
    let client = Client::new(endpoint, ClientOptions::default());
    for number in 0..case.ues {
        register(&client, number)?;
    }
    let query = "target-nf-type=UDM&requester-nf-type=AMF";
    let ask = || {
        let begun = Instant::now();
        let answer = call(&client, "GET", "nnrf-disc/v1/nf-instances", query, None)?;
        Ok::<_, Failure>((begun.elapsed(), answer))
    };
    let (_, answer) = ask()?;
    let listed = answer["nfInstances"].as_array().map_or(0, Vec::len);
    if listed != case.ues as usize {
        let what = format!("{listed} profiles are found of {}", case.ues);
        return Err(failure(what, PLACE));
    }
    for _ in 0..WARM_UP {
        ask()?;
    }
    let before = usage::cpu_of(nrf.child.id());
    let mut took_us = Vec::new();
    for _ in 0..calls {
        took_us.push(ask()?.0.as_secs_f64() * 1e6);
    }
    Ok(Found {
        took_us,
        cpu: usage::cpu_of(nrf.child.id()).saturating_sub(before),
    })
}

/// A UDM with three services, as one registers here.
fn register(client: &Client, number: u32) -> Result<(), Failure> {
    let id = format!("4947a69a-f61b-4bc1-b9da-{number:012x}");
    let service = |name: &str| {
        json!({
            "serviceInstanceId": name, "serviceName": name, "nfServiceStatus": "REGISTERED",
            "versions": [{"apiVersionInUri": "v1", "apiFullVersion": "1.0.0"}], "scheme": "http",
            "ipEndPoints": [{"ipv4Address": "127.0.0.1", "transport": "TCP", "port": 7000 + number}],
        })
    };
    let profile = json!({
        "nfInstanceId": id, "nfType": "UDM", "nfStatus": "REGISTERED", "heartBeatTimer": 60,
        "ipv4Addresses": ["127.0.0.1"], "priority": 0, "capacity": 100, "load": 0,
        "nfServices": [service("nudm-ueau"), service("nudm-sdm"), service("nudm-uecm")],
    });
    let path = format!("nnrf-nfm/v1/nf-instances/{id}");
    call(client, "PUT", &path, "", Some(&profile)).map(drop)
}

fn call(
    client: &Client,
    method: &str,
    path: &str,
    query: &str,
    document: Option<&Value>,
) -> Result<Value, Failure> {
    let wrong = |error: &dyn std::fmt::Display| failure(format!("{path}: {error}"), PLACE);
    let operation = Operation::parse(path).map_err(|error| wrong(&error))?;
    let mut headers = Headers::new();
    let mut add = |name: &str, value: &str| headers.append(name, value);
    add("corewire-method", method).map_err(|error| wrong(&error))?;
    if !query.is_empty() {
        add("corewire-query", query).map_err(|error| wrong(&error))?;
    }
    let mut request = Request::new(operation).with_deadline(Instant::now() + PATIENCE);
    if let Some(document) = document {
        add("content-type", "application/json").map_err(|error| wrong(&error))?;
        request = request.with_body(Body::from(document.to_string()));
    }
    let answer = client
        .call(request.with_headers(headers))
        .map_err(|error| wrong(&error))?;
    if !answer.status.is_ok() {
        return Err(wrong(&format!("{:?}", answer.status)));
    }
    Ok(serde_json::from_slice(&answer.body.into_bytes()).unwrap_or_default())
}

/// An NRF. Dropping it ends it.
struct Nrf {
    child: Child,
    address: String,
}

impl Nrf {
    fn start(program: &Path) -> Result<Self, Failure> {
        let mut child = Command::new(program)
            .args(["nf", "nrf", "--json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failure(error.to_string(), PLACE))?;
        let (tell, lines) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || {
                let mut line = String::new();
                // One line: ready, or why not.
                if BufReader::new(stdout).read_line(&mut line).is_ok() {
                    // Nothing is lost when the receiver has gone.
                    let _ = tell.send(line);
                }
            });
        }
        let line = lines.recv_timeout(PATIENCE).unwrap_or_default();
        let event: Value = serde_json::from_str(&line).unwrap_or_default();
        let nrf = Self {
            child,
            address: event["address"].as_str().unwrap_or_default().to_owned(),
        };
        if nrf.address.is_empty() {
            Err(failure("it did not come up".to_owned(), "corewire nf nrf"))
        } else {
            Ok(nrf)
        }
    }
}

impl Drop for Nrf {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        // Its status does not matter.
        let _ = self.child.wait();
    }
}
