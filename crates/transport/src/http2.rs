//! HTTP/2: REST and gRPC as two flavours of one sans-IO connection.
//!
//! ```text
//!   octets -> session (wire::http2) -> events -> client.rs / server.rs, answer.rs -> messages
//!                                           |            |
//!                                       head.rs (header sections, both ways)
//!                                       body.rs (unary bodies), grpc::Deframer (messages)
//! ```
//!
//! [`Connection`] implements [`corewire_wire::Core`], so that the drivers of the native protocol
//! drive it too. A server connection answers both flavours, stream by stream, by their content
//! type. What stands in which header is documented in `docs/http2.md`; the tables are
//! [`corewire_wire::mapping`].

mod answer;
mod body;
mod call;
mod client;
mod config;
mod connection;
mod core;
mod fields;
mod flow;
mod head;
mod header_prefixes;
mod keep_alive;
mod operations;
mod received;
mod server;
mod sink;
#[cfg(test)]
mod tests;
mod varying;

pub use config::{Config, Flavour};
pub use connection::Connection;
