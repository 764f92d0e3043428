//! The inline mesh: where a message goes, whether it may, how often it is tried, what is recorded.
//!
//! A network function calls as before; the mesh stands between it and the transports, in the same
//! process, and does what a sidecar would do: resolve, route, balance, protect, observe. Which
//! endpoints there are and what holds for them comes as one immutable snapshot, from code or from a
//! control plane.
//!
//! Not here: bytes on a wire (`corewire-wire`), sockets (`corewire-transport`), who is registered
//! where (`corewire-control`).
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests begin at the time of the clock"
    )
)]
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod balanced;
pub mod bridge;
mod channel;
pub mod config;
pub mod file;
pub mod observe;
pub mod policy;
pub mod xds;

pub use channel::{
    ClusterState, Discovery, EndpointState, LineState, Mesh, MeshChannel, MeshOptions, MeshState,
    RepeatRule, TRANSPORT_VARIABLE, TargetSummary,
};

/// The same for threads that wait.
pub mod blocking {
    pub use crate::channel::blocking::MeshChannel;
}
