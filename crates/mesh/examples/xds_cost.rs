//! What changes of endpoints cost the xDS client: decoding, comparing, publishing.
//!
//! ```text
//! cargo run --release -p corewire-mesh --example xds_cost
//! ```
#![allow(
    clippy::disallowed_methods,
    reason = "a program of its own: it reads its clock"
)]

#[path = "../tests/support/resources.rs"]
mod resources;

use corewire_mesh::xds::ads::{AdsCore, AdsOptions, Input, Output, ServerConfig, StreamId};
use corewire_xds::envoy::service::discovery::v3::DiscoveryResponse;
use corewire_xds::{Any, Bytes, Message, ResourceType};
use std::time::{Duration, Instant};

fn main() {
    println!(
        "endpoints  clusters  octets/update  one changed: us/update  nothing changed: us/update"
    );
    for (endpoints, clusters) in [(30, 1), (1_000, 1), (10_000, 1), (30, 1_000)] {
        measure(endpoints, clusters);
    }
}

fn addresses(count: usize, first: usize) -> String {
    let all = (0..count).map(|at| {
        let at = if at == 0 { first } else { at };
        format!("10.{}.{}.{}:80", at / 65_536, at / 256 % 256, at % 256)
    });
    all.collect::<Vec<_>>().join(" ")
}

fn measure(endpoints: usize, clusters: usize) {
    let mut client = Client::new();
    let names: Vec<String> = (0..clusters).map(|at| format!("c{at}")).collect();
    let routes = names
        .iter()
        .map(|name| format!("{name}=1"))
        .collect::<Vec<_>>();
    client.respond(
        ResourceType::Listener,
        vec![format!("listener smf inline weighted {}", routes.join(" "))],
    );
    let all = names
        .iter()
        .map(|name| format!("cluster {name} eds {name}"));
    client.respond(ResourceType::Cluster, all.collect());
    let some = addresses(endpoints, 70_000);
    let all = names.iter().map(|name| format!("endpoints {name} {some}"));
    client.respond(ResourceType::Endpoints, all.collect());
    assert!(client.snapshots >= 2);

    // Two states of one cluster's endpoints, sent in turn.
    let state = |first| {
        let text = format!("endpoints c0 {}", addresses(endpoints, first));
        response(ResourceType::Endpoints, vec![text])
    };
    let states = [state(70_001), state(70_002)];
    let changed = client.repeat(&[&states[0], &states[1]]);
    let same = client.repeat(&[&states[1]]);
    println!(
        "{endpoints:9} {clusters:9} {:14} {:23.1} {:27.1}",
        states[0].len(),
        changed.as_secs_f64() * 1e6,
        same.as_secs_f64() * 1e6,
    );
}

fn response(kind: ResourceType, lines: Vec<String>) -> Bytes {
    let resources: Vec<Any> = lines
        .iter()
        .map(|line| resources::resource(line).1)
        .collect();
    let response = DiscoveryResponse {
        version_info: "1".into(),
        resources,
        type_url: kind.type_url().into(),
        nonce: "1".into(),
        ..Default::default()
    };
    response.encode_to_vec().into()
}

struct Client {
    core: AdsCore,
    now: Instant,
    stream: Option<StreamId>,
    snapshots: u64,
}

impl Client {
    fn new() -> Self {
        let mut client = Self {
            core: AdsCore::new(
                AdsOptions::default(),
                Default::default(),
                &[ServerConfig::default()],
                1,
            ),
            now: Instant::now(),
            stream: None,
            snapshots: 0,
        };
        client.core.watch(client.now, "smf", "smf").unwrap();
        client.turn();
        client
    }

    fn turn(&mut self) {
        loop {
            let mut more = false;
            while let Some(output) = self.core.poll() {
                more = true;
                match output {
                    Output::Connect { stream, .. } => {
                        self.stream = Some(stream);
                        self.core.handle_event(self.now, Input::Opened(stream));
                    }
                    Output::Snapshot(_) => self.snapshots += 1,
                    _ => {}
                }
            }
            let stream = self.stream.expect("a stream");
            while self.core.poll_transmit(self.now, stream).is_some() {
                more = true;
            }
            if !more {
                return;
            }
        }
    }

    fn message(&mut self, octets: &Bytes) {
        let stream = self.stream.expect("a stream");
        self.core
            .handle_event(self.now, Input::Message(stream, octets.clone()));
        self.turn();
    }

    fn respond(&mut self, kind: ResourceType, lines: Vec<String>) {
        self.message(&response(kind, lines));
    }

    /// The time a message takes, with what follows from it.
    fn repeat(&mut self, messages: &[&Bytes]) -> Duration {
        let began = Instant::now();
        let mut count: u32 = 0;
        while began.elapsed() < Duration::from_millis(300) {
            for message in messages {
                self.message(message);
                count += 1;
            }
        }
        began.elapsed() / count
    }
}
