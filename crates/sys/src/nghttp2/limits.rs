//! What a session grants its peer, and what it takes for an attack.

/// What a session grants its peer, and what it takes for an attack.
///
/// Exceeding one of the last five ends the connection: nghttp2 sends GOAWAY.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Octets the peer may send on one stream before they are consumed.
    pub stream_window: u32,
    /// Octets the peer may send on all streams together before they are consumed.
    pub connection_window: u32,
    /// Streams the peer may have open at once.
    pub max_streams: u32,
    /// The longest frame payload that is taken, octets (16,384 to 16,777,215).
    pub max_frame: u32,
    /// The longest header list that is kept: octets of names and values and 32 for each
    /// (RFC 9113, 6.5.2). What is longer is dropped and reported as [`super::Event::Headers`]
    /// with `oversized`. Longer ones are not sent either.
    pub max_header_list: u32,
    /// CONTINUATION frames that may follow one HEADERS frame.
    pub max_continuations: usize,
    /// Answers to SETTINGS and PING that may wait to be sent.
    pub max_outbound_acks: usize,
    /// Entries in one SETTINGS frame.
    pub max_settings: usize,
    /// RST_STREAM frames the peer may send: at once, and a second from then on (servers only).
    pub stream_resets: (u64, u64),
    /// Suspicious frames the peer may send: at once, and a second from then on.
    pub glitches: (u64, u64),
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            stream_window: 1 << 20,
            connection_window: 16 << 20,
            max_streams: 4096,
            max_frame: 256 << 10,
            max_header_list: 64 << 10,
            max_continuations: 8,
            max_outbound_acks: 1000,
            max_settings: 32,
            stream_resets: (4096, 500),
            glitches: (1000, 33),
        }
    }
}
