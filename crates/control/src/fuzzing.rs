//! A stream of the xDS server for the fuzz target, which stands outside of this crate.
#![expect(clippy::disallowed_methods, reason = "an instant to count from")]

use crate::catalog::Catalog;
use crate::config::{Config, RegistryConfig};
use crate::registry::{Instance, Registry};
use crate::snapshot::Snapshot;
use crate::xds::{AdsStream, Input, Variant};
use bytes::Bytes;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Three states that differ in everything, and what a stream makes of octets among them.
pub struct FuzzedStream {
    stream: AdsStream,
    states: [Arc<Snapshot>; 3],
    now: Instant,
    ended: bool,
}

impl FuzzedStream {
    /// A new stream, incremental or state of the world.
    #[must_use]
    pub fn new(delta: bool) -> Self {
        let now = Instant::now();
        let variant = if delta { Variant::Delta } else { Variant::Sotw };
        let states = [0, 1, 2].map(|n| state(now, n));
        Self {
            stream: AdsStream::new(variant, now, Arc::clone(&states[0])),
            states,
            now,
            ended: false,
        }
    }

    /// The client sends this; `false` when it was let go for it.
    pub fn send(&mut self, octets: &[u8]) -> bool {
        let input = Input::Message(Bytes::copy_from_slice(octets));
        self.ended |= self.stream.handle_event(self.now, input).is_err();
        !self.ended
    }

    /// Another state is served.
    pub fn serve(&mut self, n: u8) {
        let state = Arc::clone(&self.states[usize::from(n) % self.states.len()]);
        let served = self.stream.handle_event(self.now, Input::Snapshot(state));
        assert!(served.is_ok(), "a snapshot ends no stream");
    }

    /// Time passes.
    pub fn wait(&mut self, span: Duration) {
        self.now += span;
        self.ended |= self.stream.handle_timeout(self.now).is_err();
        while self.stream.poll().is_some() {}
        let _described = self.stream.status(self.now);
    }

    /// The client reads.
    pub fn receive(&mut self) -> Option<Bytes> {
        self.stream.poll_transmit(self.now)
    }
}

fn state(now: Instant, n: u8) -> Arc<Snapshot> {
    let sidecar = r#"
[[sidecar]]
name = "s"
node = "*"
outbound = [{ listen = "127.0.0.1:1", services = ["a"] }]
"#;
    let text = match n {
        0 => String::new(),
        1 => format!("[[service]]\nname = \"a\"\n{sidecar}"),
        _ => format!(
            "[[service]]\nname = \"a\"\nendpoints = [\"127.0.0.1:1\"]\n[[service]]\nname = \"b\"\n{sidecar}"
        ),
    };
    let config = Config::parse(&text).unwrap_or_else(|faults| panic!("{faults}"));
    let mut registry = Registry::new(RegistryConfig::default(), 10);
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], 2));
    registry.restore(now, [Instance::new("c", "i", address)]);
    let mut catalog = Catalog::new(u64::from(n));
    catalog.set_config(now, Arc::new(config), &registry);
    catalog.snapshot()
}
