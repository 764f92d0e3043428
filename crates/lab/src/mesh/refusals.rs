//! How often a client refuses the same thing: a control plane that sends what was refused again at
//! once (as go-control-plane does, envoyproxy/go-control-plane#962) makes a storm of a client
//! without a damper.
//!
//! The control plane is played here: it answers the first request for listeners, and every refusal,
//! with a listener that no client can use. What is timed is from one refusal to the next.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use corewire::{
    Body, CallContext, CallKind, Inbound, Operation, Outbound, Request, Response, Server,
    ServerOptions, Service, parse_address,
};
use serde_json::Map;

use super::bench::{Bench, Raw, total_cpu};
use super::case::Case;
use super::control;
use super::path::Ends;
use super::scratch::Scratch;
use super::talk::LOOK;
use super::topology::{BOOTSTRAP, Place, SERVICE, failed, spawn, words};
use super::update::figures;
use super::usage::{Role, Watched};
use crate::machine::LoadWatch;
use crate::record::Failure;
use crate::scenario::NoResult;

const STREAM: Operation = Operation::from_static(
    "envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
);
const LISTENER: &str = "type.googleapis.com/envoy.config.listener.v3.Listener";
/// Refusals that are kept: of a storm, the first are enough.
const MOST: usize = 100_000;

/// Lets one client refuse for so long.
pub(super) fn run(
    bench: &Bench,
    place: &Place<'_>,
    case: &Case,
    window: Duration,
    ours: &mut Vec<u32>,
) -> Result<Raw, NoResult> {
    let scratch = Scratch::new().map_err(failed)?;
    let said = Arc::new(Refusals::default());
    let server = serve(&said).map_err(|error| failed(error.into()))?;
    let address = server.addresses().first().map(ToString::to_string);
    let port = address
        .as_deref()
        .and_then(|address| address.rsplit_once(':')?.1.parse().ok())
        .unwrap_or(0);
    let bootstrap = control::grpc_bootstrap(port, case.path.gateway, None).to_string();
    let bootstrap = scratch.write("bootstrap.json", &bootstrap);
    let bootstrap = bootstrap.map_err(failed)?.display().to_string();
    let (program, mut arguments) = match (case.path.gateway, &bench.programs.peers) {
        (Ends::Peer(kind), Some((gateway, _))) => (gateway, words(&["--kind", kind])),
        _ => (&bench.programs.corewire, words(&["nf", "smf-gateway"])),
    };
    let target = format!("xds:///{SERVICE}");
    // It never gets to a request: it asks for longer than it is watched.
    arguments.extend(words(&["--json", "--patience", "600", "--target", &target]));
    let environment = [(BOOTSTRAP, bootstrap)];
    let gateway = spawn(program, arguments, &environment, &bench.cpus.client)?;
    let watched = [Watched {
        role: Role::Gateway,
        pid: gateway.id(),
    }];
    ours.push(gateway.id());
    let watch = LoadWatch::begin();
    let before = total_cpu(&watched);
    let begun = Instant::now();
    let deadline = begun + place.patience;
    while said.refusals().is_empty() {
        if place.stop.asked() {
            return Err(NoResult::Stopped);
        }
        if gateway.ended().is_some() || Instant::now() >= deadline {
            return Err(NoResult::Failed(Failure {
                what: "the client refused nothing".to_owned(),
                place: gateway.last_words(),
                next: String::new(),
            }));
        }
        thread::sleep(LOOK / 10);
    }
    let end = Instant::now() + window;
    while Instant::now() < end && !place.stop.asked() {
        thread::sleep(LOOK.min(end.saturating_duration_since(Instant::now())));
    }
    let load = watch.end(total_cpu(&watched).saturating_sub(before));
    drop(gateway);
    let refusals = said.refusals();
    let between: Vec<u64> = refusals
        .windows(2)
        .map(|pair| u64::try_from((pair[1] - pair[0]).as_nanos()).unwrap_or(u64::MAX))
        .collect();
    let mut extra = Map::new();
    extra.insert("refusals".into(), refusals.len().into());
    let first_to_last = refusals
        .first()
        .zip(refusals.last())
        .map_or(0.0, |(first, last)| (*last - *first).as_secs_f64());
    if first_to_last > 0.0 {
        // To hundredths: the clocks of two processes do not agree on more.
        let rate = between.len() as f64 / first_to_last;
        let rate = (rate * 100.0).round() / 100.0;
        extra.insert("refusals_per_second".into(), rate.into());
    }
    if between.is_empty() {
        return Err(NoResult::Failed(Failure {
            what: format!("the client refused once in {} s", window.as_secs_f64()),
            place: case.path.name.to_owned(),
            next: String::new(),
        }));
    }
    Ok(Raw {
        measured: figures(&between, begun.elapsed())?,
        partial: place.stop.asked(),
        load,
        extra,
        versions: std::collections::BTreeMap::new(),
    })
}

/// When the client refused.
#[derive(Debug, Default)]
struct Refusals(Mutex<Vec<Instant>>);

impl Refusals {
    fn refused(&self) {
        let mut refusals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if refusals.len() < MOST {
            refusals.push(Instant::now());
        }
    }

    fn refusals(&self) -> Vec<Instant> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

fn serve(said: &Arc<Refusals>) -> std::io::Result<Server> {
    let anywhere = parse_address("127.0.0.1:0").map_err(std::io::Error::other)?;
    let mut options = ServerOptions::default();
    options.loops = 1;
    Server::start(
        &[anywhere],
        Arc::new(RetryingServer(Arc::clone(said))),
        options,
    )
}

/// A control plane that insists.
#[derive(Debug)]
struct RetryingServer(Arc<Refusals>);

impl Service for RetryingServer {
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        (*operation == STREAM).then_some(CallKind::Stream)
    }

    async fn call(&self, _context: &CallContext, _request: Request) -> Response {
        Response::ok(Body::new())
    }

    async fn stream(
        &self,
        _context: &CallContext,
        _request: Request,
        mut inbound: Inbound,
        mut outbound: Outbound,
    ) -> Response {
        let mut nonce = 0_u64;
        // Ends with the client.
        while let Ok(Some(request)) = inbound.message().await {
            let fields = fields(&request.into_bytes());
            if fields.type_url != LISTENER {
                continue;
            }
            if fields.refuses {
                self.0.refused();
            }
            nonce += 1;
            if outbound.send(unusable(nonce)).await.is_err() {
                break;
            }
        }
        Response::ok(Body::new())
    }
}

/// What of a `DiscoveryRequest` matters here.
#[derive(Debug, Default, PartialEq, Eq)]
struct Fields {
    type_url: String,
    refuses: bool,
}

/// Fields 4 (`type_url`) and 5 (`error_detail`); nothing of octets that are none.
fn fields(octets: &[u8]) -> Fields {
    let mut found = Fields::default();
    let mut rest = octets;
    while let Some((key, after)) = varint(rest) {
        let value = match key & 7 {
            0 => varint(after).map(|(_, after)| (&[][..], after)),
            2 => varint(after)
                .and_then(|(length, after)| after.split_at_checked(usize::try_from(length).ok()?)),
            _ => None,
        };
        let Some((value, after)) = value else {
            break;
        };
        match key >> 3 {
            4 => found.type_url = String::from_utf8_lossy(value).into_owned(),
            5 => found.refuses = true,
            _ => {}
        }
        rest = after;
    }
    found
}

fn varint(octets: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (at, octet) in octets.iter().enumerate().take(9) {
        value |= u64::from(octet & 0x7f) << (7 * at);
        if octet & 0x80 == 0 {
            return Some((value, &octets[at + 1..]));
        }
    }
    None
}

/// A `DiscoveryResponse` with a listener that says nothing but its name.
fn unusable(nonce: u64) -> Vec<u8> {
    let listener = field(1, SERVICE.as_bytes());
    let any = [field(1, LISTENER.as_bytes()), field(2, &listener)].concat();
    let parts = [
        field(1, b"1"),
        field(2, &any),
        field(4, LISTENER.as_bytes()),
        field(5, nonce.to_string().as_bytes()),
    ];
    parts.concat()
}

/// A field of octets.
fn field(number: u8, octets: &[u8]) -> Vec<u8> {
    let mut field = vec![(number << 3) | 2];
    let mut length = octets.len();
    while length >= 0x80 {
        field.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    field.push(length as u8);
    field.extend_from_slice(octets);
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_far_as_they_matter() {
        let asks = [field(3, b"smf"), field(4, LISTENER.as_bytes())].concat();
        let asked = fields(&asks);
        assert_eq!((asked.type_url.as_str(), asked.refuses), (LISTENER, false));
        let long = vec![b'x'; 300];
        let refuses = [field(6, &long), asks, field(5, &long)].concat();
        assert!(fields(&refuses).refuses);
        for cut in 0..refuses.len() {
            let _nothing_breaks = fields(&refuses[..cut]);
        }
    }

    #[test]
    fn a_response_holds_what_it_should() {
        let made = unusable(7);
        assert_eq!(fields(&made).type_url, LISTENER, "the same number in both");
    }
}
