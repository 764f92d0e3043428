//! The suite in simulated time.

use super::bench::{Fixture, MAX_MESSAGE};
use super::service::{Probe, SuiteService};
use crate::clock::{BoxFuture, Clock};
use crate::sim::{Chunks, Link, Network, NodeId, OnLoss, Sim};
use corewire_message::Channel;
use corewire_transport::{http2, native};
use corewire_wire::{Core, KindOf};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What is spoken over the simulated network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the protocols that there are")]
pub enum Spoken {
    /// The native protocol.
    Native,
    /// HTTP/2.
    Http2(http2::Flavour),
}

/// A [`Fixture`] of two simulated nodes.
#[derive(Debug)]
pub struct Simulated {
    sim: Mutex<Sim>,
    network: Network,
    spoken: Spoken,
    smf: NodeId,
    amf: NodeId,
    nowhere: NodeId,
    probe: Arc<Probe>,
}

impl Simulated {
    /// Two nodes and this protocol.
    #[must_use]
    pub fn new(spoken: Spoken, seed: u64) -> Self {
        let sim = Sim::new(seed);
        let (smf, amf, nowhere) = (sim.node("smf"), sim.node("amf"), sim.node("nowhere"));
        let probe = Arc::new(Probe::default());
        let service = SuiteService::new(Arc::new(sim.network()), Arc::clone(&probe));
        sim.serve(amf, Arc::new(service), move |kind_of, now| {
            server_core(spoken, kind_of, now)
        });
        Self {
            network: sim.network(),
            sim: Mutex::new(sim),
            spoken,
            smf,
            amf,
            nowhere,
            probe,
        }
    }

    /// The same over a network that delays, loses and cuts to pieces.
    #[must_use]
    pub fn rough(spoken: Spoken, seed: u64) -> Self {
        let fixture = Self::new(spoken, seed);
        fixture.network.set_default_link(Link {
            latency: Duration::from_micros(500),
            jitter: Duration::from_millis(1),
            loss: 0.01,
            on_loss: OnLoss::Retransmit(Duration::from_millis(3)),
            segment: 1460,
            chunks: Chunks::UpTo(1000),
            ..Link::default()
        });
        fixture
    }

    fn client(&self, to: NodeId, max_message: usize) -> Channel {
        let spoken = self.spoken;
        let client = self.network.connect(self.smf, to, move |now| {
            client_core(spoken, max_message, now)
        });
        Channel::new(client)
    }
}

fn native_config(max_message: usize) -> native::Config {
    let mut config = native::Config::default();
    config.max_message = u32::try_from(max_message).unwrap_or(u32::MAX);
    config
}

fn http2_config(max_message: usize) -> http2::Config {
    let mut config = http2::Config::default();
    config.max_message = max_message;
    config
}

fn client_core(spoken: Spoken, max_message: usize, now: Instant) -> Box<dyn Core + Send> {
    match spoken {
        Spoken::Native => Box::new(native::Connection::client(native_config(max_message), now)),
        Spoken::Http2(flavour) => {
            let config = http2_config(max_message);
            Box::new(http2::Connection::client(config, flavour, "amf", now))
        }
    }
}

fn server_core(spoken: Spoken, kind_of: KindOf, now: Instant) -> Box<dyn Core + Send> {
    match spoken {
        Spoken::Native => {
            let config = native_config(MAX_MESSAGE);
            Box::new(native::Connection::server(config, kind_of, now))
        }
        Spoken::Http2(_) => {
            let config = http2_config(MAX_MESSAGE);
            Box::new(http2::Connection::server(config, kind_of, now))
        }
    }
}

impl Fixture for Simulated {
    fn carries_any_octets(&self) -> bool {
        self.spoken == Spoken::Native
    }

    fn protocol(&self) -> &'static str {
        match self.spoken {
            Spoken::Native => "native",
            Spoken::Http2(flavour) => flavour.name(),
        }
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(self.network.clone())
    }

    fn probe(&self) -> Arc<Probe> {
        Arc::clone(&self.probe)
    }

    fn connect(&self, max_message: usize) -> Channel {
        self.client(self.amf, max_message)
    }

    fn connect_to_nowhere(&self) -> Channel {
        self.client(self.nowhere, MAX_MESSAGE)
    }

    fn spawn(&self, task: BoxFuture<()>) {
        self.network.spawn(task);
    }

    fn run(&self, test: Pin<Box<dyn Future<Output = ()> + '_>>) {
        let mut sim = self.sim.lock().unwrap_or_else(PoisonError::into_inner);
        sim.run(test);
    }

    fn stop_server(&self) {
        self.network.stop(self.amf);
    }

    fn start_server(&self) {
        self.network.start(self.amf);
    }

    fn drain_server(&self) {
        self.network.drain(self.amf);
    }
}
