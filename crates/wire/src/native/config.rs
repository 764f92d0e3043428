//! What one end of a connection allows, limit by limit.

use crate::memory::{MAX_CONNECTION_MEMORY, ProcessMemory};
use std::time::Duration;

/// What this end allows its peer and itself. Every limit has a documented default; those marked
/// *announced* are told to the peer in HELLO and hold it from then on.
///
/// A sender obeys the smaller of its own limit and its peer's.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The longest body of one message, in octets; announced. Default 16 MiB.
    pub max_message: u32,
    /// The longest payload of one frame, in octets; announced. Longer messages go in fragments, so
    /// that others come in between. At least `max_header_block` and 4 KiB. Default 256 KiB.
    pub max_frame: u32,
    /// Calls in flight on one connection; announced. Default 4096.
    pub max_concurrent_calls: u32,
    /// What one stream may send that the application has not consumed, in octets; announced.
    /// Default 1 MiB.
    pub stream_credit: u32,
    /// What all messages together may bring that was not taken, in octets; announced. Memory held
    /// for one peer is at most this and one message more. Default 16 MiB.
    pub connection_credit: u32,
    /// The longest header block of one message, in octets; announced. Default 64 KiB.
    pub max_header_block: u32,
    /// Operation names kept for the peer, so that it sends each once; announced. Default 1024, at
    /// most 65,534.
    pub max_operations: u16,
    /// Octets of bodies that may wait here for the peer's credit or the socket before calls and
    /// events are refused as overloaded. Default 64 MiB.
    pub max_backlog: usize,
    /// Octets that the calls of one connection may hold here until they have ended: headers, bodies, and
    /// 1 KiB for each call. Headers alone may be an eighth of it. What is more is refused as overloaded.
    /// Default 64 MiB.
    pub max_connection_memory: usize,
    /// The same for all connections that share this counter. Default: one for the whole process, 512 MiB.
    pub process_memory: ProcessMemory,
    /// Work that is done for one connection before others have their turn: 256 for each frame, and a
    /// quarter of its octets. Default 128 KiB.
    pub turn_work: usize,
    /// Octets of control frames (answers to pings, refusals, credit) that may wait for a peer that
    /// does not read, before the connection is given up. Default 1 MiB.
    pub max_control_backlog: usize,
    /// Pings that may wait for their answer to be written. Default 16.
    pub max_pending_pings: u32,
    /// Silence after which the peer is asked whether it lives; `None` never asks. Default 10 s.
    pub keep_alive_interval: Option<Duration>,
    /// Silence after a ping that counts as death. Default 5 s.
    pub keep_alive_timeout: Duration,
    /// This end reads only while a call waits for it, so the peer must not expect answers to pings;
    /// announced. Default `false`; a client that a blocking caller drives sets it.
    pub passive: bool,
}

impl Config {
    /// The defaults, changed by `change`: the limits can grow in number, so there is no literal.
    #[must_use]
    pub fn with(change: impl FnOnce(&mut Self)) -> Self {
        let mut config = Self::default();
        change(&mut config);
        config
    }

    /// The defaults for a client that a blocking caller drives: it asks for no sign of life and
    /// promises none.
    #[must_use]
    pub fn blocking() -> Self {
        Self {
            keep_alive_interval: None,
            passive: true,
            ..Self::default()
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_message: 16 << 20,
            max_frame: 256 << 10,
            max_concurrent_calls: 4096,
            stream_credit: 1 << 20,
            connection_credit: 16 << 20,
            max_header_block: 64 << 10,
            max_operations: 1024,
            max_backlog: 64 << 20,
            max_connection_memory: MAX_CONNECTION_MEMORY,
            process_memory: ProcessMemory::shared(),
            turn_work: 128 << 10,
            max_control_backlog: 1 << 20,
            max_pending_pings: 16,
            keep_alive_interval: Some(Duration::from_secs(10)),
            keep_alive_timeout: Duration::from_secs(5),
            passive: false,
        }
    }
}
