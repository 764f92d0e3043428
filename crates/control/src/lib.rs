//! The control plane: a registry of network functions and an xDS server fed by it.
//!
//! ```text
//!   control.toml ──▶ config ─┐                     ┌─▶ our mesh client
//!                            ├─▶ catalog ─▶ xDS ───┼─▶ gRPC (xds:///…)
//!   instances ──▶ registry ──┘      │              └─▶ Envoy
//!                    └──▶ store     └ one snapshot, shared by all streams
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | the file, read whole or refused with all its faults |
//! | [`registry`] | who offers which service: a sans-IO core and its messages |
//! | `resources`, `catalog` | both, as xDS resources for each kind of client |
//! | `xds` | the server's side of one stream: a sans-IO core |
//! | `service`, `hub` | the same on our transport: native, gRPC and REST on one port |
//! | `store`, `watch` | what outlives a restart; the file that changes |
//!
//! It stands beside the data path, not in it: when it is gone, clients go on with what they have.
//! Not here: what clients do with their resources (`corewire-mesh`).
//!
//! ```no_run
//! use corewire_control::{Control, ControlOptions};
//!
//! let control = Control::start(ControlOptions::new("control.toml"))?;
//! println!("serving at {}", control.addresses()[0]);
//! # Ok::<(), corewire_control::StartFault>(())
//! ```
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests begin at the time of the clock"
    )
)]
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod catalog;
mod codec;
mod command;
pub mod config;
mod control;
#[doc(hidden)]
pub mod fuzzing;
mod generated;
mod hub;
mod log;
pub mod registry;
mod resources;
mod rights;
mod service;
mod snapshot;
mod store;
mod watch;
mod xds;

pub use command::{ControlArgs, run};
pub use control::{
    Control, ControlOptions, DEFAULT_LISTEN, Plane, PlaneOptions, RegistryHandle, ReloadHandle,
    StartFault, read_config,
};
pub use generated::control as status_messages;
pub use generated::registry as registry_messages;
pub use log::Log;
pub use service::{ControlService, DELTA_RESOURCES, STATUS, STREAM_RESOURCES};
