//! Channels through the mesh: what a network function holds, and what stands behind it.
//!
//! ```text
//!   MeshChannel, blocking::MeshChannel, simulator    drivers: they wait and send
//!        │
//!        ▼
//!   CallAttempts   one call as a state machine       attempts.rs
//!        │ reads
//!        ▼
//!   Plan ─▶ ClusterRuntime ─▶ Endpoint               immutable, or shared by atomics
//!        ▲ makes plans and balancers, connects, ejects, readmits
//!        │
//!   reconciler ◀─ snapshot                           a thread of its own
//! ```
//!
//! A call reads the plan and a balancer, both without a lock, and touches counters; everything
//! that takes longer is the reconciler's.

mod attempts;
pub(crate) mod blocking;
mod chance;
mod check;
mod cluster;
mod connection;
mod discovery;
mod endpoint;
mod env;
mod loop_client;
mod mesh_channel;
mod message;
mod mirror;
mod options;
mod own_loop;
mod permit;
mod pick;
mod plan;
mod reconciler;
mod record;
mod replay;
mod secure;
mod shared;
mod signal;
#[cfg(test)]
mod simulator;
mod state;
mod stream;
mod target;

pub use connection::LineState;
pub use discovery::Discovery;
pub use mesh_channel::MeshChannel;
pub use options::{MeshOptions, RepeatRule, TRANSPORT_VARIABLE};
pub use state::{ClusterState, EndpointState, MeshState, TargetSummary};

use crate::config::{Snapshot, SnapshotSource};
use crate::policy::resolve;
use crate::xds;
use chance::clock;
use env::Env;
use own_loop::OwnLoop;
use shared::Shared;
use std::fmt;
use std::io;
use std::sync::Arc;

/// The inline mesh of a process. Clones share it; it ends with its last clone and channel.
#[derive(Clone)]
pub struct Mesh(Arc<Shared>);

impl Mesh {
    /// A mesh whose policy comes from here: a [`SnapshotSource`] or a client of a control plane.
    ///
    /// # Errors
    /// When a thread or an event loop cannot be started.
    pub fn start(discovery: impl Discovery, options: MeshOptions) -> io::Result<Self> {
        let own_loop = match options.loops.as_slice() {
            [] => Some(OwnLoop::start()?),
            _ => None,
        };
        let loops = match &own_loop {
            Some(own) => vec![own.handle().clone()],
            None => options.loops.clone(),
        };
        let env = Env::new(options, loops, clock());
        let shared = Shared::new(Box::new(discovery), env, own_loop);
        reconciler::start(&shared)?;
        Ok(Self(shared))
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
        MeshChannel::new(&self.0, resolve::target_key(target), loop_index)
    }

    /// A channel to a target for threads that wait. Connects at the first call to each endpoint.
    #[must_use]
    pub fn blocking(&self, target: &str) -> blocking::MeshChannel {
        blocking::MeshChannel::new(&self.0, resolve::target_key(target))
    }

    /// What it knows and has counted, for people and for tests.
    #[must_use]
    pub fn state(&self) -> MeshState {
        state::of(&self.0, clock())
    }
}

impl fmt::Debug for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mesh({:?})", self.0.discovery.source())
    }
}
