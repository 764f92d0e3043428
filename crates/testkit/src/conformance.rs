//! One suite of promises that every transport keeps.
//!
//! Each promise is one small test in [`promises`], named for what it checks, written once against
//! a [`Bench`]: a server with the suite's [`SuiteService`], a client of it, a clock. A transport
//! joins with one line for each [`Fixture`]:
//!
//! ```
//! use corewire_testkit::conformance::{Family, Sockets};
//! use corewire_testkit::conformance_suite;
//! use corewire_transport::Protocol;
//!
//! conformance_suite!(native_tcp_event_loop, [everywhere, futures, loops, sockets], || {
//!     Sockets::event_loop(Protocol::Native, Family::Tcp)
//! });
//! # fn main() {}
//! ```
//!
//! The groups: `everywhere` holds for every transport and driver, `futures` for callers that await,
//! `threads` for callers that wait, `loops` where the event loop drives, `sockets` where a real
//! server answers.

mod bench;
mod gate;
mod join;
pub mod operations;
pub mod promises;
mod service;
mod simulated;
mod sockets;
mod suite;
mod threaded;
mod watchdog;

pub use bench::{Bench, Fixture, MAX_MESSAGE, Started, hold};
pub use gate::Gate;
pub use join::{either, join_all};
pub use service::{FLOOD_MESSAGE, Probe, SuiteService, Taken};
pub use simulated::{Simulated, Spoken};
pub use sockets::{Family, Sockets, own_address};
pub use threaded::Threaded;
pub use watchdog::{LONGEST_TEST, block_on, watched};
