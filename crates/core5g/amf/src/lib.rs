//! AMF (TS 23.501, 6.2.1): N1 and N2, registration, mobility; one file a procedure.
//!
//! ```text
//!   driver      event loops, SCTP, the mesh               the only one with clock, sockets, tasks
//!   task        a UE's task: its procedures in order      mailbox ─▶ dispatch ─▶ park
//!   procedures  one 3GPP procedure a file                 await the next NAS message, or a timer
//!   peers       requests to other NFs, one service a file
//!   context     UEs, gNBs, sessions, timers as data       waits for nothing
//!   ports       Clock, Peers, Association                 scripted in transcripts
//! ```
//!
//! A file imports from its own layer and from those below it. A UE belongs to one event loop. Its context
//! is parked as data while nothing happens and is moved into a task when a message comes; the task runs
//! procedures one after the other, in the order in which messages came. What must outlive this process
//! is in the UDSF.
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

pub use args::AmfArgs;
