//! Sans-IO protocol cores: octets in, octets and messages out; no socket, no clock, no lock.
//!
//! Every protocol implements [`Core`], the seam between protocols and drivers, and every decoder
//! here is a pure function with a fuzz target. Byte-level pages: `docs/native-protocol.md`,
//! `docs/rmr-wire.md`.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]

mod core;
mod deadlines;
pub mod grpc;
pub mod hpack;
pub mod http2;
pub mod mapping;
pub mod memory;
pub mod native;
mod outbox;
pub mod rmr;

pub use crate::core::{CallId, Core, Fault, Input, KindOf, Output};
pub use deadlines::{DeadlineId, Deadlines};
pub use outbox::Outbox;
