//! What can be set.

use corewire_wire::http2::Limits;
use corewire_wire::memory::{MAX_CONNECTION_MEMORY, ProcessMemory};
use std::time::Duration;

/// How messages are written on HTTP/2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the two that service-based interfaces speak"
)]
pub enum Flavour {
    /// A resource, a method and a body.
    Rest,
    /// gRPC.
    Grpc,
}

impl Flavour {
    /// Its name: `rest`, `grpc`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rest => "rest",
            Self::Grpc => "grpc",
        }
    }
}

/// What one end of an HTTP/2 connection allows its peer and itself.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// What a server answers; a call of another flavour is refused (415). Default: both.
    pub flavours: Vec<Flavour>,
    /// What one stream may bring that was not consumed, octets; announced. Default 1 MiB.
    pub stream_window: u32,
    /// What all streams together may bring that was not consumed, octets; announced. Default
    /// 16 MiB.
    pub connection_window: u32,
    /// Calls in flight on one connection, each way; a server announces it. Default 4096.
    pub max_concurrent_calls: u32,
    /// The longest frame that is taken, octets; announced. Default 256 KiB.
    pub max_frame: u32,
    /// The longest header list that is taken, octets as RFC 9113, 6.5.2 counts; announced.
    /// Default 64 KiB.
    pub max_header_list: u32,
    /// The longest message, octets. Default 16 MiB.
    pub max_message: usize,
    /// Octets that the calls of one connection may hold here until they have ended: headers, bodies, and
    /// 1 KiB for each call. Headers alone may be an eighth of it. What is more is refused as overloaded
    /// (REST: 503). Default 64 MiB.
    pub max_connection_memory: usize,
    /// The same for all connections that share this counter. Default: one for the whole process, 512 MiB.
    pub process_memory: ProcessMemory,
    /// Octets that one stream may queue here at a time ([`corewire_wire::Core::room`] is at most
    /// this). Default 1 MiB.
    pub max_stream_backlog: usize,
    /// Octets of bodies that may wait here for the peer's credit or the socket before calls, events
    /// and messages are refused as overloaded, and answers replaced by a short one that says so.
    /// Default 64 MiB.
    pub max_backlog: usize,
    /// Silence after which the peer is asked whether it lives; `None` never asks. Default 10 s.
    pub keep_alive_interval: Option<Duration>,
    /// Silence after a PING that counts as death. Default 5 s.
    pub keep_alive_timeout: Duration,
    /// How long a draining server waits for the answer to its notice before it says which call
    /// was the last (RFC 9113, 6.8). Default 1 s.
    pub drain_notice: Duration,
    /// CONTINUATION frames that may follow one HEADERS frame. Default 8.
    pub max_continuations: usize,
    /// Answers to SETTINGS and PING that may wait for a peer that does not read. Default 1000.
    pub max_outbound_acks: usize,
    /// Entries of one SETTINGS frame. Default 32.
    pub max_settings: usize,
    /// Calls the peer may give up (RST_STREAM): at once, and a second from then on. Default 4096
    /// and 500.
    pub stream_resets: (u64, u64),
    /// Suspicious frames the peer may send: at once, and a second from then on. Default 1000 and
    /// 33.
    pub glitches: (u64, u64),
    /// Header sections longer than `max_header_list` that the peer may send: at once, and a second from
    /// then on. Each is refused (431); more end the connection (ENHANCE_YOUR_CALM). Default 100 and 10.
    pub oversized_headers: (u64, u64),
    /// Work that is done for one connection before others have their turn: octets of decoded header
    /// fields, and 256 for each frame. Default 128 KiB.
    pub turn_work: usize,
}

impl Config {
    /// The defaults, changed.
    #[must_use]
    pub fn with(change: impl FnOnce(&mut Self)) -> Self {
        let mut config = Self::default();
        change(&mut config);
        config
    }

    /// The defaults for a client that a blocking caller drives: it reads only while a call waits,
    /// so it asks for no sign of life.
    #[must_use]
    pub fn blocking() -> Self {
        Self {
            keep_alive_interval: None,
            ..Self::default()
        }
    }

    pub(super) const fn limits(&self) -> Limits {
        Limits {
            stream_window: self.stream_window,
            connection_window: self.connection_window,
            max_streams: self.max_concurrent_calls,
            max_frame: self.max_frame,
            max_header_list: self.max_header_list,
            max_continuations: self.max_continuations,
            max_outbound_acks: self.max_outbound_acks,
            max_settings: self.max_settings,
            stream_resets: self.stream_resets,
            glitches: self.glitches,
            oversized_headers: self.oversized_headers,
            turn_work: self.turn_work,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            flavours: vec![Flavour::Rest, Flavour::Grpc],
            stream_window: limits.stream_window,
            connection_window: limits.connection_window,
            max_concurrent_calls: limits.max_streams,
            max_frame: limits.max_frame,
            max_header_list: limits.max_header_list,
            max_message: 16 << 20,
            max_connection_memory: MAX_CONNECTION_MEMORY,
            process_memory: ProcessMemory::shared(),
            max_stream_backlog: 1 << 20,
            max_backlog: 64 << 20,
            keep_alive_interval: Some(Duration::from_secs(10)),
            keep_alive_timeout: Duration::from_secs(5),
            drain_notice: Duration::from_secs(1),
            max_continuations: limits.max_continuations,
            max_outbound_acks: limits.max_outbound_acks,
            max_settings: limits.max_settings,
            stream_resets: limits.stream_resets,
            glitches: limits.glitches,
            oversized_headers: limits.oversized_headers,
            turn_work: limits.turn_work,
        }
    }
}
