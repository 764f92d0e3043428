//! The octets of RMR, the RAN Intelligent Controller's message router: message header, SI95
//! transport framing, route tables as text, and what a route manager and a library say to each
//! other about them.
//!
//! Read and written as the C library does (version 3 of the message), since both must talk to it;
//! `docs/rmr-wire.md` is the page of it. Where that library trusts what a peer claims, this does
//! not. Which messages go where is `corewire-rmr`'s.

mod header;
pub mod record;
pub mod si95;
pub mod table;
pub mod table_message;

pub use header::{D1_OCTETS, HEADER_OCTETS, Header, HeaderFault, HeaderMut, Layout, flags};

/// The version of the message that is written: 3. Older ones are deprecated, and whatever a sender
/// claims is read as this one, as the C library does.
pub const VERSION: i32 = 3;

/// The port for messages where nothing else is said.
pub const DATA_PORT: u16 = 4560;

/// The port where a route manager's tables are expected where nothing else is said.
pub const CONTROL_PORT: u16 = 4561;

/// Octets of a transaction identifier.
pub const XACTION_OCTETS: usize = 32;

/// Octets of the sender identifier, which nobody uses.
pub const SENDER_ID_OCTETS: usize = 32;

/// Octets of the managed element's identifier, the closing NUL included.
pub const MEID_OCTETS: usize = 32;

/// Octets of a source, `host:port` or `address:port`, the closing NUL included.
pub const SOURCE_OCTETS: usize = 64;

/// A message type or subscription identifier that was not set.
pub const UNSET: i32 = -1;

/// Message types with a meaning to the library itself; 0 to 99 are reserved for it.
pub mod message_type {
    /// Records of a route table, from a route manager.
    pub const TABLE_DATA: i32 = 20;
    /// Asks a route manager for a table.
    pub const TABLE_REQUEST: i32 = 21;
    /// Tells a route manager whether its table was taken.
    pub const TABLE_STATE: i32 = 22;
    /// Asks an application whether it is well.
    pub const HEALTH_REQUEST: i32 = 100;
    /// Answers [`HEALTH_REQUEST`].
    pub const HEALTH_RESPONSE: i32 = 101;
}
