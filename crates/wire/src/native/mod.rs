//! Corewire's own protocol: framed, multiplexed calls, events and streams over one connection.
//!
//! Bytes are described in `docs/native-protocol.md`.

mod config;
mod connection;

pub use config::Config;
pub use connection::Connection;

/// The first octets that either end sends. The first is neither a letter (HTTP) nor 0x16 (a TLS
/// record), so that one port can serve all three.
pub const MAGIC: [u8; 4] = [0xC3, b'W', b'R', 0x01];
