//! The xDS client: policy from a control plane, without a proxy.
//!
//! ```text
//!   control plane ◀── gRPC stream ──▶ driver ──▶ ads::AdsCore ──▶ validate
//!                                      (a thread)      │
//!   calls ◀── config::SnapshotSource ◀─────────────────┘  one immutable snapshot, read without a lock
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`ads`] | the protocol, sans-IO: subscriptions, acknowledgements, timers, fallback, warm-up |
//! | `validate` | from messages to [`config`](crate::config): every fault with its path, every notice |
//! | `bootstrap` | where the control plane is: gRPC's bootstrap file |
//! | `client`, `driver` | the thread that drives it over this project's own transport |
//!
//! ```no_run
//! use corewire_mesh::xds::{Client, ClientOptions};
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::from_env(ClientOptions::default())?;
//! let watch = client.watch("xds:///smf-pdu-session")?;
//! println!("{:?}", watch.wait(Duration::from_secs(5)));
//! # Ok(())
//! # }
//! ```

pub mod ads;
mod bootstrap;
mod client;
mod driver;
mod mailbox;
mod name;
mod validate;

pub use bootstrap::{
    Bootstrap, BootstrapFault, BootstrapServer, BootstrapSource, UnknownAuthority,
};
pub use client::{Client, Watch};
pub use mailbox::{BootstrapWait, ClientOptions, Status};
pub use name::{TargetName, TargetNameFault};
