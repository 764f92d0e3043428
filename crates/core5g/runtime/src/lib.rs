//! How an NF process starts, finds its peers, calls them, and ends.
//!
//! ```text
//!   serve ─▶ listen ─▶ register at the NRF ─▶ "ready" ─▶ until told to end ─▶ deregister, drain
//!                │
//!   Runtime: event loops ── spawn(loop, task)
//!            sbi(loop) ──▶ mesh ──▶ a service by name      (`--peer`, else discovered at the NRF)
//!                     └──▶ client ▶ one instance by address (Location and callback URIs)
//! ```
//!
//! An NF names services, never addresses; `--transport` says what carries its calls, and no NF code
//! sees it. A server takes every transport on its one port.
//!
//! | module | holds |
//! |---|---|
//! | [`ports`], [`event_loops`], [`due`] | what procedures need of the world; what gives it to them; timers as data |
//! | [`selection`] | which instance of a service a request goes to: priority, capacity, load, DNN, slice |
//! | [`durable`] | what outlives a process (`corewire-store`) |
//! | [`tls`] | certificates of a process |
//! | [`trace`] | begin and end of every hop, when asked for |
//! | [`source3`] | the other flow: operations of the REST-based core of 2019 |
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests begin at the time of the clock"
    )
)]

mod advertised;
mod both;
mod contain;
mod directory;
mod discovery;
pub mod due;
pub mod durable;
pub mod event_loops;
mod exchange;
mod gate;
mod gauge;
mod grants;
mod guard;
mod hosted;
mod load;
mod notices;
mod options;
pub mod ports;
mod profile;
mod registration;
mod report;
mod runtime;
mod sbi;
pub mod selection;
mod serve;
pub mod source3;
pub mod tls;
pub mod trace;

pub use both::both;
pub use contain::{Panicked, contain};
pub use exchange::{SbiAnswer, SbiFailure, SbiRequest, path_of};
pub use gauge::Gauge;
pub use hosted::STATUS;
pub use options::{Flow, NfOptions, random_instance, secret_in};
pub use profile::Profile;
pub use runtime::{Runtime, wall_clock};
pub use sbi::Sbi;
pub use serve::serve;
