//! The event loop, the blocking driver and the one-port listener over the sans-IO cores.
//!
//! | who calls | takes | driven by |
//! |---|---|---|
//! | a future, any runtime | [`Client`] from [`LoopHandle::connect`] | an [`EventLoop`] |
//! | a thread | [`blocking::Client`] | that thread itself: nothing is handed over |
//!
//! | who answers | takes |
//! |---|---|
//! | a process | [`Server::start`]: one loop a core, every protocol on one port |
//! | a thread | [`EventLoop::listen`] |
//!
//! Not here: where a call goes, whether it may, how often it is tried. That is the mesh.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]

pub mod blocking;
mod client_core;
mod detection;
mod endpoint;
mod event_loop;
pub mod http2;
#[cfg(feature = "clap")]
mod limit_args;
mod names;
mod options;
pub mod overload;
pub mod sctp;
mod server;
pub mod tls;

pub use corewire_driver::Resolver;
pub use corewire_sys::Address;
pub use corewire_wire::{mapping, native};
pub use endpoint::{Endpoint, EndpointFault, Protocol, parse_address};
pub use event_loop::{Client, ConnectionWatcher, EventLoop, LoopHandle, ServerCounters};
#[cfg(feature = "clap")]
pub use limit_args::{LimitArgs, OverloadArgs};
pub use options::{ClientOptions, OnFault, ServerOptions};
pub use server::Server;
