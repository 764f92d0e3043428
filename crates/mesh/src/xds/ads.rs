//! The client's side of xDS, aggregated on one stream, without I/O: what came in, what is to be said,
//! what follows from it.
//!
//! ```text
//!   watch(target) ──▶ LDS ──▶ RDS ──▶ CDS ──▶ EDS        each asked for because the one before
//!                      │       │       │       │         names it
//!                      └───────┴───────┴───────┴──▶ Snapshot, when what is new is complete
//! ```
//!
//! The five verbs are those of every core of Corewire: [`handle_event`](AdsCore::handle_event),
//! [`handle_timeout`](AdsCore::handle_timeout), [`poll_transmit`](AdsCore::poll_transmit),
//! [`poll_timeout`](AdsCore::poll_timeout), [`poll`](AdsCore::poll).
//!
//! What holds, whatever a server does:
//!
//! - The last good state of a resource stays until a better one comes, or the server takes it away.
//! - Good resources of a response count, be others in it wrong (gRFC A46); the refusal names all of
//!   them with the path of each field.
//! - Refusals leave at most once a second a kind, requests never pile up, and memory is bounded by
//!   the limits of [`AdsOptions`].

mod apply;
mod dns;
mod graph;
mod limits;
mod response;
mod servers;
mod status;
mod store;
mod stream;
mod target;

pub use limits::AdsOptions;
pub use status::{AdsStatus, Counters, Event, ResourceStatus, ServerStatus};
pub use stream::{StreamId, Variant};

use crate::config::{Fault, Notice, Snapshot};
use crate::policy::random::SplitMix;
use bytes::Bytes;
use corewire_xds::envoy::config::core::v3::Node;
use dns::Hosts;
use graph::{Bounds, Graph};
use servers::{Server, ServerState};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;
use store::{Store, resource_id};
use stream::{Context, Lasting};

/// Events that are kept until somebody asks for them; of more, the oldest are dropped.
const MAX_EVENTS: usize = 256;

/// What a server of the list is like.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::exhaustive_structs,
    reason = "what the core knows of a server; the rest is its driver's"
)]
pub struct ServerConfig {
    /// How it is asked.
    pub variant: Variant,
    /// Resources that it takes away are kept (`ignore_resource_deletion`, gRFC A53).
    pub ignores_deletion: bool,
}

/// Something from outside.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "what a driver can tell")]
pub enum Input {
    /// The stream is open: requests can be sent.
    Opened(StreamId),
    /// A message came.
    Message(StreamId, Bytes),
    /// The stream ended, or could not be opened.
    Closed(StreamId, String),
    /// A host was looked up.
    Resolved {
        /// The host.
        host: Arc<str>,
        /// The port that its addresses are given.
        port: u16,
        /// Its addresses, or why there are none.
        result: Result<Vec<SocketAddr>, String>,
    },
}

/// Something for the driver to do or to tell.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "what a driver has to do")]
pub enum Output {
    /// Open a stream to this server of the list.
    Connect {
        /// The number of the new stream.
        stream: StreamId,
        /// The server's place in the list.
        server: usize,
        /// Which of the two methods to call.
        variant: Variant,
    },
    /// Close this stream; nothing more is told about it.
    Disconnect(StreamId),
    /// Look this host up, and give the result as [`Input::Resolved`].
    Resolve {
        /// The host.
        host: Arc<str>,
        /// The port that its addresses are given.
        port: u16,
    },
    /// Everything that holds from now on.
    Snapshot(Snapshot),
    /// Something happened.
    Event(Event),
}

/// The client's side of xDS.
#[derive(Debug)]
pub struct AdsCore {
    options: AdsOptions,
    node: Node,
    random: SplitMix,
    servers: Vec<Server>,
    /// Who has the say: the last that answered, unless a more preferred one does.
    active: Option<usize>,
    next_stream: u64,
    lasting: Lasting,
    store: Store,
    graph: Graph,
    hosts: Hosts,
    /// How often each target is watched.
    watches: BTreeMap<Arc<str>, u64>,
    outputs: VecDeque<Output>,
    events: VecDeque<Event>,
    counters: Counters,
    /// What is published changed since the last snapshot.
    publish: bool,
    /// Notices or refusals changed since the last snapshot.
    remarks_changed: bool,
    notices: Arc<[Notice]>,
    refused: Arc<[Fault]>,
    /// When the first resource counts as missing; never too late, sometimes too early.
    resource_deadline: Option<Instant>,
    /// Up to when it was told that time has passed.
    told: Option<Instant>,
}

impl AdsCore {
    /// A client that asks these servers, the most preferred first, as this node. Randomness comes
    /// from `seed`.
    #[must_use]
    pub fn new(options: AdsOptions, node: Node, servers: &[ServerConfig], seed: u64) -> Self {
        let servers = servers.iter();
        Self {
            options,
            node,
            random: SplitMix::new(seed),
            servers: servers
                .map(|it| Server::new(it.variant, it.ignores_deletion))
                .collect(),
            active: None,
            next_stream: 0,
            lasting: Lasting::default(),
            store: Store::default(),
            graph: Graph::default(),
            hosts: Hosts::default(),
            watches: BTreeMap::new(),
            outputs: VecDeque::new(),
            events: VecDeque::new(),
            counters: Counters::default(),
            publish: false,
            remarks_changed: false,
            notices: Arc::from([]),
            refused: Arc::from([]),
            resource_deadline: None,
            told: None,
        }
    }

    /// Asks for a target, whose listener has this name. Several watches of one target are one.
    ///
    /// # Errors
    /// When [`AdsOptions::max_targets`] are watched already.
    pub fn watch(
        &mut self,
        now: Instant,
        target: &str,
        listener: &str,
    ) -> Result<(), TooManyTargets> {
        if let Some(count) = self.watches.get_mut(target) {
            *count += 1;
            return Ok(());
        }
        if self.watches.len() >= self.options.max_targets {
            return Err(TooManyTargets);
        }
        let name: Arc<str> = target.into();
        self.graph.watch(&name, listener.into());
        self.watches.insert(name, 1);
        self.refresh(now);
        self.publish = true;
        self.tend_servers(now);
        Ok(())
    }

    /// Takes one watch of a target back.
    pub fn unwatch(&mut self, now: Instant, target: &str) {
        let Some(count) = self.watches.get_mut(target) else {
            return;
        };
        *count -= 1;
        if *count == 0 {
            self.watches.remove(target);
            self.graph.unwatch(target);
            self.refresh(now);
            self.publish = true;
            self.tend_servers(now);
        }
    }

    /// Something from outside. Afterwards there may be something to transmit, to time and to poll.
    pub fn handle_event(&mut self, now: Instant, input: Input) {
        match input {
            Input::Opened(id) => {
                if let Some((_, server)) = self.server_of(id)
                    && let Some(stream) = server.stream_mut()
                {
                    stream.opened = Some(now);
                    self.ask_again(now);
                }
            }
            Input::Message(id, octets) => self.message(now, id, octets),
            Input::Closed(id, reason) => {
                if let Some((at, _)) = self.server_of(id) {
                    self.closed(now, at, reason);
                }
            }
            Input::Resolved { host, port, result } => {
                let refresh = self.options.dns_refresh;
                if self.hosts.resolved(now, &(host, port), result, refresh) {
                    self.refresh(now);
                }
            }
        }
        self.tend_servers(now);
    }

    /// The time that [`poll_timeout`](Self::poll_timeout) gave has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.told = self.told.max(Some(now));
        if self.resource_deadline.is_some_and(|at| at <= now) {
            self.time_resources_out(now);
        }
        for at in 0..self.servers.len() {
            if self.silence_of(at).is_some_and(|until| until <= now) {
                let id = self.servers[at].stream().map(|stream| stream.id);
                self.outputs.extend(id.map(Output::Disconnect));
                self.closed(now, at, "it says nothing".into());
            }
        }
        self.tend_servers(now);
    }

    /// When to call [`handle_timeout`](Self::handle_timeout), and to ask
    /// [`poll_transmit`](Self::poll_transmit) again, if nothing else happens before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let interval = self.options.refusal_interval;
        let of_servers = self.servers.iter().enumerate().flat_map(|(at, server)| {
            let waits = match &server.state {
                ServerState::Waiting(until) => Some(*until),
                // What is due since then waits for room on the stream, not for time.
                ServerState::Stream(stream) => stream.next_due(&self.lasting, interval, self.told),
                ServerState::Idle => None,
            };
            [waits, self.silence_of(at)]
        });
        let others = [self.resource_deadline, self.hosts.next_due()];
        of_servers.chain(others).flatten().min()
    }

    /// The next message for this stream. Ask when the stream has room; what is not asked for waits,
    /// and does not pile up.
    pub fn poll_transmit(&mut self, now: Instant, id: StreamId) -> Option<Vec<u8>> {
        let at = self.servers.iter().position(|server| {
            let stream = server.stream();
            stream.is_some_and(|stream| stream.id == id)
        })?;
        let cx = Context {
            now,
            server: at,
            node: &self.node,
            store: &self.store,
            refusal_interval: self.options.refusal_interval,
        };
        let stream = self.servers[at].stream_mut()?;
        let request = stream.next_request(&cx, &mut self.lasting)?;
        self.counters.requests += 1;
        self.counters.refused += u64::from(request.is_refusal);
        self.counters.accepted += u64::from(request.is_ack);
        let timer = now.checked_add(self.options.resource_timeout);
        for name in &request.first_asked {
            if let Some(entry) = self.store.get_mut(request.kind, name)
                && !entry.is_settled()
            {
                entry.timer = timer;
                self.resource_deadline =
                    [self.resource_deadline, timer].into_iter().flatten().min();
            }
        }
        Some(request.octets)
    }

    /// What is to be done or told. A snapshot holds everything that came until now: ask after all
    /// that is there was handled, not after each.
    pub fn poll(&mut self) -> Option<Output> {
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        if let Some(event) = self.events.pop_front() {
            return Some(Output::Event(event));
        }
        if std::mem::take(&mut self.publish) || self.remarks_changed {
            self.counters.snapshots += 1;
            return Some(Output::Snapshot(self.snapshot()));
        }
        None
    }

    /// What the client is doing.
    #[must_use]
    pub fn status(&self) -> AdsStatus {
        let servers = self.servers.iter().enumerate().map(|(at, server)| {
            let state = match (&server.state, server.stream()) {
                (ServerState::Idle, _) => "idle",
                (ServerState::Waiting(_), _) => "waiting to be tried again",
                (_, Some(stream)) if stream.responded => "connected",
                (_, Some(stream)) if stream.opened.is_some() => "asked",
                _ => "connecting",
            };
            ServerStatus {
                state,
                is_active: self.active == Some(at),
                last_failure: server.last_failure.clone(),
                stream: server.stream().map(|stream| stream.id),
            }
        });
        let resources = self.store.iter().map(|(kind, name, entry)| ResourceStatus {
            resource: resource_id(kind, name),
            is_known: entry.value.is_some(),
            missing: entry.missing.as_ref().map(ToString::to_string),
            is_refused: !entry.refused.is_empty(),
            notices: entry.notices.len(),
        });
        AdsStatus {
            servers: servers.collect(),
            resources: resources.collect(),
            counters: self.counters,
        }
    }

    fn snapshot(&mut self) -> Snapshot {
        if std::mem::take(&mut self.remarks_changed) {
            let mut notices = Vec::new();
            let mut refused = Vec::new();
            for (kind, name, entry) in self.store.iter() {
                let of_entry = entry.notices.iter().map(|notice| Notice {
                    resource: resource_id(kind, name),
                    path: notice.path.clone(),
                    reason: notice.reason.clone(),
                });
                notices.extend(of_entry);
                if !entry.refused.is_empty() {
                    refused.push(Fault {
                        resource: resource_id(kind, name),
                        faults: entry.refused.clone(),
                    });
                }
            }
            notices.sort();
            notices.dedup();
            self.notices = notices.into();
            self.refused = refused.into();
        }
        let targets = self.graph.targets();
        Snapshot {
            version: 0,
            targets: targets
                .map(|(name, view)| (Arc::clone(name), view.clone()))
                .collect(),
            clusters: self.graph.clusters.clone(),
            waits_for: self.graph.waits_for.clone(),
            notices: Arc::clone(&self.notices),
            refused: Arc::clone(&self.refused),
        }
    }

    fn refresh(&mut self, now: Instant) {
        let bounds = Bounds {
            max_resources: self.options.max_resources,
            now,
        };
        let changed = self.graph.refresh(&mut self.store, &mut self.hosts, bounds);
        self.publish |= changed;
        self.remarks_changed |= std::mem::take(&mut self.store.dropped_remarks);
        self.resource_deadline = self.next_resource_timeout();
    }

    fn tell(&mut self, event: Event) {
        if self.events.len() == MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    fn server_of(&mut self, id: StreamId) -> Option<(usize, &mut Server)> {
        let mut servers = self.servers.iter_mut().enumerate();
        servers.find(|(_, server)| server.stream().is_some_and(|stream| stream.id == id))
    }
}

/// More targets are watched than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooManyTargets;

impl std::fmt::Display for TooManyTargets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("too many targets are watched already (max_targets)")
    }
}

impl std::error::Error for TooManyTargets {}
