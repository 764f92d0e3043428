//! SMF as two microservices (TS 23.501, 6.2.2; TS 29.502): a gateway that others see as the SMF, and
//! replicas that each hold PDU sessions.
//!
//! ```text
//!   AMF ── nsmf-pdusession ──▶ gateway ── any replica for a new session ──▶ replica
//!    ▲                            └────── the replica that holds it ──────▶  │  │
//!    └──────────────── namf-comm: N1N2MessageTransfer ───────────────────────┘  └─▶ UPF, UDM, UDSF
//! ```
//!
//! A session's context is stored in the UDSF; when its replica is gone, another takes it over.
//!
//! ```text
//!   driver      event loops                                the only one that starts tasks
//!   task        what is done behind an answer, in its order
//!   procedures  one 3GPP procedure a file                  await peers, or a time
//!   peers       requests to other NFs, one service a file
//!   context     sessions, addresses, timers as data        waits for nothing
//!   ports       Clock, Peers                               scripted in transcripts
//! ```
//!
//! A file imports from its own layer and from those below it.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests begin at the time of the clock"
    )
)]

mod args;
mod context;
mod driver;
mod peers;
mod ports;
mod procedures;
mod task;
#[cfg(test)]
mod transcripts;

pub use args::SmfArgs;
