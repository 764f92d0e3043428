//! Any sequence of what can happen to an xDS client: it never panics, comes to rest, keeps what is
//! good, and what it says fits what it holds.
#![allow(
    clippy::disallowed_methods,
    reason = "a program of its own: it reads its clock"
)]

#[path = "support/resources.rs"]
mod resources;

use corewire_mesh::config::{Resolution, RouteAction, Snapshot};
use corewire_mesh::xds::ads::{
    AdsCore, AdsOptions, Input, Output, ServerConfig, StreamId, Variant,
};
use corewire_xds::envoy::service::discovery::v3 as discovery;
use corewire_xds::{Message, ResourceType};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

#[derive(Clone, Debug)]
enum Step {
    Watch(usize),
    Unwatch(usize),
    Respond(usize, Vec<usize>),
    Close,
    Pass(u64),
}

/// For each kind, resources good and bad. All target `a` and `b`.
const LINES: [&[&str]; 4] = [
    &[
        "listener a rds r",
        "listener a inline cluster x",
        "listener a inline regex ( cluster x",
        "listener b rds r",
        "listener b rds s",
    ],
    &[
        "route r cluster x",
        "route r weighted x=1 y=1",
        "route r regex [ cluster x",
        "route s cluster y",
    ],
    &[
        "cluster x eds e",
        "cluster x eds f",
        "cluster x lb 99 eds e",
        "cluster y aggregate x y z",
        "cluster y static 10.0.0.9:80",
        "cluster z eds e",
    ],
    &[
        "endpoints e 10.0.0.1:80",
        "endpoints e 10.0.0.2:80 10.0.0.3:80",
        "endpoints e 10.0.0.400:80",
        "endpoints f 10.0.1.1:80",
    ],
];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => (0..2_usize).prop_map(Step::Watch),
        1 => (0..2_usize).prop_map(Step::Unwatch),
        8 => (0..4_usize, proptest::collection::vec(0..6_usize, 0..4))
            .prop_map(|(kind, lines)| Step::Respond(kind, lines)),
        1 => Just(Step::Close),
        2 => (1..20_u64).prop_map(Step::Pass),
    ];
    proptest::collection::vec(step, 1..60)
}

struct World {
    core: AdsCore,
    variant: Variant,
    now: Instant,
    stream: Option<StreamId>,
    snapshot: Snapshot,
    /// What the server was told to send, by kind.
    asked: BTreeMap<ResourceType, BTreeSet<String>>,
    refusals: BTreeMap<ResourceType, Instant>,
    nonce: u64,
}

impl World {
    fn new(variant: Variant) -> Self {
        let server = ServerConfig {
            variant,
            ignores_deletion: false,
        };
        Self {
            core: AdsCore::new(AdsOptions::default(), Default::default(), &[server], 3),
            variant,
            now: Instant::now(),
            stream: None,
            snapshot: Snapshot::default(),
            asked: BTreeMap::new(),
            refusals: BTreeMap::new(),
            nonce: 0,
        }
    }

    fn rest(&mut self) {
        for _ in 0..100 {
            let mut more = false;
            while let Some(output) = self.core.poll() {
                more = true;
                match output {
                    Output::Connect { stream, .. } => {
                        self.stream = Some(stream);
                        self.asked.clear();
                        self.core.handle_event(self.now, Input::Opened(stream));
                    }
                    Output::Disconnect(_) => self.stream = None,
                    Output::Snapshot(snapshot) => self.snapshot = snapshot,
                    Output::Resolve { .. } | Output::Event(_) => {}
                }
            }
            while let Some(octets) = self
                .stream
                .and_then(|stream| self.core.poll_transmit(self.now, stream))
            {
                more = true;
                self.told(&octets);
            }
            if !more {
                return;
            }
        }
        panic!("it does not come to rest");
    }

    fn told(&mut self, octets: &[u8]) {
        let (type_url, refuses) = match self.variant {
            Variant::StateOfTheWorld => {
                let request = discovery::DiscoveryRequest::decode(octets).unwrap();
                let kind = ResourceType::from_type_url(&request.type_url).unwrap();
                let names = request.resource_names.into_iter().collect();
                self.asked.insert(kind, names);
                (request.type_url, request.error_detail.is_some())
            }
            Variant::Incremental => {
                let request = discovery::DeltaDiscoveryRequest::decode(octets).unwrap();
                let kind = ResourceType::from_type_url(&request.type_url).unwrap();
                let names = self.asked.entry(kind).or_default();
                for name in request.resource_names_subscribe {
                    assert!(names.insert(name), "asked for twice");
                }
                for name in request.resource_names_unsubscribe {
                    assert!(names.remove(&name), "taken back, but never asked for");
                }
                (request.type_url, request.error_detail.is_some())
            }
        };
        let kind = ResourceType::from_type_url(&type_url).unwrap();
        if refuses {
            let last = self.refusals.insert(kind, self.now);
            // A change of what is asked for may take a refusal along.
            if self.variant == Variant::Incremental {
                let second = Duration::from_secs(1);
                assert!(last.is_none_or(|last| self.now - last >= second));
            }
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Watch(at) => {
                let name = ["a", "b"][*at];
                self.core.watch(self.now, name, name).unwrap();
            }
            Step::Unwatch(at) => self.core.unwatch(self.now, ["a", "b"][*at]),
            Step::Respond(kind, lines) => self.respond(*kind, lines),
            Step::Close => {
                if let Some(stream) = self.stream.take() {
                    self.core
                        .handle_event(self.now, Input::Closed(stream, "closed".into()));
                }
            }
            Step::Pass(seconds) => {
                self.now += Duration::from_secs(*seconds);
                self.core.handle_timeout(self.now);
            }
        }
        self.rest();
    }

    fn respond(&mut self, at: usize, lines: &[usize]) {
        let Some(stream) = self.stream else { return };
        let kind = ResourceType::ALL[at];
        let texts = lines.iter().map(|line| LINES[at][line % LINES[at].len()]);
        let made: Vec<_> = texts.map(resources::resource).collect();
        self.nonce += 1;
        let (version, nonce) = (self.nonce.to_string(), self.nonce.to_string());
        let type_url = kind.type_url().to_owned();
        let octets = match self.variant {
            Variant::StateOfTheWorld => discovery::DiscoveryResponse {
                version_info: version,
                resources: made.into_iter().map(|(_, any)| any).collect(),
                type_url,
                nonce,
                ..Default::default()
            }
            .encode_to_vec(),
            Variant::Incremental => discovery::DeltaDiscoveryResponse {
                resources: made
                    .into_iter()
                    .map(|(name, any)| discovery::Resource {
                        name,
                        version: version.clone(),
                        resource: Some(any),
                        ..Default::default()
                    })
                    .collect(),
                type_url,
                nonce,
                ..Default::default()
            }
            .encode_to_vec(),
        };
        let input = Input::Message(stream, octets.into());
        self.core.handle_event(self.now, input);
    }

    fn check(&self, before: &Snapshot) {
        // What is asked for is what the server was told, once it was told anything.
        let status = self.core.status();
        if self.stream.is_some() {
            let mut held: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
            for resource in &status.resources {
                let names = held.entry(resource.resource.kind).or_default();
                names.insert(resource.resource.name.to_string());
            }
            for kind in ResourceType::ALL {
                let told = self.asked.get(&kind).cloned().unwrap_or_default();
                let held = held.remove(kind.message_name()).unwrap_or_default();
                assert_eq!(told, held, "{kind}");
            }
        }
        // A target that is known leads to clusters that are there, known or known to be missing.
        for target in self.snapshot.targets.values() {
            let Resolution::Ready(target) = target else {
                continue;
            };
            let hosts = target.routes.virtual_hosts.iter();
            for route in hosts.flat_map(|host| &host.routes) {
                let RouteAction::Forward(forward) = &route.action else {
                    continue;
                };
                for name in forward.clusters.names() {
                    let entry = self
                        .snapshot
                        .cluster(name)
                        .expect("a cluster that is led to");
                    assert!(!entry.cluster.is_pending() && !entry.endpoints.is_pending());
                }
            }
        }
        // What was known of endpoints does not become unknown.
        for (name, entry) in &before.clusters {
            if let (Some(_), Some(after)) = (entry.endpoints.ready(), self.snapshot.cluster(name)) {
                assert!(!after.endpoints.is_pending(), "{name} is forgotten");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens(steps in steps(), incremental: bool) {
        let variant = if incremental { Variant::Incremental } else { Variant::StateOfTheWorld };
        let mut world = World::new(variant);
        for step in &steps {
            let before = world.snapshot.clone();
            world.step(step);
            world.check(&before);
        }
    }
}

/// A stream may have no room for what is due, for example because the server does not read. Whoever
/// drives the core would ask it again and again, and never see to the stream.
#[test]
fn a_refusal_that_is_due_and_has_no_room_does_not_ring_for_ever() {
    for variant in [Variant::StateOfTheWorld, Variant::Incremental] {
        let mut world = World::new(variant);
        world.step(&Step::Watch(0));
        // The first is refused at once, the second a second later.
        world.respond(0, &[2]);
        world.rest();
        assert_eq!(world.refusals.len(), 1);
        world.respond(0, &[2]);
        world.rest();
        let due = world.core.poll_timeout().expect("it is to be refused");
        assert_eq!(due, world.now + Duration::from_secs(1), "{variant:?}");
        world.now = due;
        world.core.handle_timeout(due);
        // Nobody asks for what to transmit: there is no room.
        let next = world.core.poll_timeout();
        assert!(next.is_none_or(|next| next > due), "{variant:?}: at once");
        world.rest();
        assert_eq!(world.refusals[&ResourceType::ALL[0]], due, "{variant:?}");
    }
}
