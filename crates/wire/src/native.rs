//! Corewire's own protocol: framed, multiplexed calls, events and streams over one connection.
//!
//! Octets are described in `docs/native-protocol.md`. [`Connection`] is either end of it:
//!
//! ```text
//!   commands  --> client, server, stream --> send_queue --> transmit --> Outbox
//!                        |                                     ^
//!                      calls, deadlines, credit             control (small, first)
//!                        |                                     |
//!   Output    <-- client, server, stream <----------------- receive  <-- octets
//! ```

mod calls;
mod client;
mod closing;
mod codec;
mod config;
mod connection;
mod control;
mod credit;
mod fault;
mod frame;
mod hello;
mod keep_alive;
mod messages;
mod operations;
mod outgoing;
mod reassembly;
mod receive;
mod send_queue;
mod server;
mod stream;
mod transmit;

pub use config::Config;
pub use connection::Connection;

/// The first octets that either end sends. The first is neither a letter (HTTP) nor 0x16 (a TLS
/// record), so that one port can serve all three.
pub const MAGIC: [u8; 4] = [0xC3, b'W', b'R', 0x01];
