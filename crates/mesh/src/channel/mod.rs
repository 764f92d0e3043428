//! Channels through the mesh: what a network function holds, and what stands behind it.
//!
//! ```text
//!   request ─▶ decide ─▶ limit ─▶ faults ─▶ mirror ─▶ admit ─▶ ┌ pick ─▶ send ─▶ note ┐ ─▶ answer
//!              plan                                            └── again, elsewhere ◀──┘
//!                ▲                                                  ▲          │
//!   snapshot ─▶ keeper: makes plans and balancers, connects, ejects, readmits ◀┘
//! ```
//!
//! A call reads the plan and a balancer, both without a lock, and touches counters; everything
//! that takes longer is the keeper's, on a thread of its own.

pub(crate) mod blocking;
mod chance;
mod check;
mod endpoint;
mod journey;
mod keeper;
mod kept;
mod line;
mod options;
mod plan;
mod secure;
mod shared;
mod signal;
mod state;
mod stream;
mod unary;
mod unit;

pub use line::LineState;
pub use options::{MeshOptions, RepeatRule, TRANSPORT_VARIABLE};
pub use shared::Discovery;
pub use state::{ClusterState, EndpointState, MeshState, TargetSummary};

use crate::config::{Snapshot, SnapshotSource};
use crate::policy::resolve;
use crate::xds;
use chance::{after, clock};
use corewire_message::{CallError, CallStream, Caller, ErrorKind, Event, Request, Response};
use shared::{Shared, TargetState};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use unit::Side;

/// The inline mesh of a process. Clones share it; it ends with its last clone and channel.
#[derive(Clone)]
pub struct Mesh(Arc<Shared>);

impl Mesh {
    /// A mesh whose policy comes from here: a [`SnapshotSource`] or a client of a control plane.
    ///
    /// # Errors
    /// When a thread or an event loop cannot be started.
    pub fn start(discovery: impl Discovery, options: MeshOptions) -> io::Result<Self> {
        Shared::start(Box::new(discovery), options).map(Self)
    }

    /// A mesh whose control plane `GRPC_XDS_BOOTSTRAP` or `GRPC_XDS_BOOTSTRAP_CONFIG` names.
    ///
    /// # Errors
    /// When neither is set, the bootstrap is wrong, and as [`start`](Self::start).
    pub fn from_env(options: MeshOptions) -> io::Result<Self> {
        Self::start(
            xds::Client::from_env(xds::ClientOptions::default())?,
            options,
        )
    }

    /// A mesh whose policy stands.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn fixed(snapshot: Snapshot, options: MeshOptions) -> io::Result<Self> {
        Self::start(SnapshotSource::new(snapshot), options)
    }

    /// A channel to a target, `NAME` or `xds:///NAME`. Endpoints are connected to from now on;
    /// calls wait for that, at most until their deadline.
    #[must_use]
    pub fn channel(&self, target: &str) -> MeshChannel {
        self.channel_on(target, 0)
    }

    /// A channel whose calls leave by one of several loops, by its place in
    /// [`MeshOptions::loops`].
    #[must_use]
    pub fn channel_on(&self, target: &str, loop_index: usize) -> MeshChannel {
        let index = loop_index % self.0.loops().len();
        MeshChannel {
            target: self.0.target(resolve::target_key(target), Some(index)),
            shared: Arc::clone(&self.0),
            index,
        }
    }

    /// A channel to a target for threads that wait. Connects at the first call to each endpoint.
    #[must_use]
    pub fn blocking(&self, target: &str) -> blocking::MeshChannel {
        blocking::MeshChannel {
            target: self.0.target(resolve::target_key(target), None),
            shared: Arc::clone(&self.0),
        }
    }

    /// What it knows and has counted, for people and for tests.
    #[must_use]
    pub fn state(&self) -> MeshState {
        state::of(&self.0)
    }
}

impl fmt::Debug for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mesh({:?})", self.0.discovery.source())
    }
}

/// A way to a target through the mesh. Clones share it.
#[derive(Clone)]
pub struct MeshChannel {
    shared: Arc<Shared>,
    target: Arc<TargetState>,
    index: usize,
}

impl MeshChannel {
    /// The target's name.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target.name
    }

    /// The same channel by another of the mesh's loops.
    #[must_use]
    pub fn on(&self, loop_index: usize) -> Self {
        Mesh(Arc::clone(&self.shared)).channel_on(&self.target.name, loop_index)
    }

    /// Completes when a request could be sent at once: every cluster that the target leads to has
    /// a connected endpoint.
    ///
    /// # Errors
    /// When that is not so within `timeout`; the error says what is missing.
    ///
    /// # Cancel safety
    /// Safe: it only waits.
    pub async fn ready(&self, timeout: Duration) -> Result<(), CallError> {
        let until = after(clock(), timeout);
        loop {
            let seen = self.shared.waiters.generation();
            let Err(why) = self.missing() else {
                return Ok(());
            };
            if clock() >= until {
                let why = format!(
                    "target {} is not ready in {timeout:?}: {why}",
                    self.target()
                );
                return Err(journey::local(ErrorKind::NotSent, why));
            }
            unary::wait(&self.shared, self.index, seen, until).await?;
        }
    }

    /// What is missing for requests to be sent.
    fn missing(&self) -> Result<(), String> {
        let plan = self.target.plan.load();
        if plan.units.is_empty() {
            return Err(plan.describe());
        }
        for unit in &plan.units {
            let ready = |slot: &unit::Slot| {
                let line = slot.endpoint.line(self.index);
                line.is_some_and(|line| line.is_ready())
            };
            if !unit.slots.iter().any(ready) {
                return Err(unit.why_nobody(Side::Loop(self.index)));
            }
        }
        Ok(())
    }
}

impl Caller for MeshChannel {
    async fn call(&self, request: Request) -> Result<Response, CallError> {
        self.call_through(request).await
    }

    async fn send(&self, event: Event) -> Result<(), CallError> {
        self.send_through(event).await
    }

    async fn open(&self, request: Request) -> Result<CallStream, CallError> {
        self.open_through(request).await
    }
}

impl fmt::Debug for MeshChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MeshChannel({})", self.target.name)
    }
}
