//! What a session grants its peer, and what it takes for an attack.

use super::{Error, ErrorCode};
use std::time::Instant;

/// What a session grants its peer, and what it takes for an attack.
///
/// Exceeding one from `max_continuations` to `oversized_headers` ends the connection with GOAWAY,
/// `ENHANCE_YOUR_CALM` (RFC 9113, 10.5).
#[derive(Clone, Debug)]
pub struct Limits {
    /// Octets the peer may send on one stream before they are consumed.
    pub stream_window: u32,
    /// Octets the peer may send on all streams together before they are consumed; 65,535 at least.
    pub connection_window: u32,
    /// Streams the peer may have open at once (RFC 9113, 5.1.2).
    pub max_streams: u32,
    /// The longest frame payload that is taken, octets (16,384 to 16,777,215).
    pub max_frame: u32,
    /// The longest header list that is kept: octets of names and values and 32 for each
    /// (RFC 9113, 6.5.2). What is longer is dropped and reported as [`super::Event::Headers`]
    /// with `oversized`.
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
    /// Header sections beyond `max_header_list` the peer may send: at once, and a second from then on.
    pub oversized_headers: (u64, u64),
    /// Work that [`Session::receive`](super::Session::receive) does at a time: octets of decoded header
    /// fields, and 256 for each frame. A section is read whole all the same.
    pub turn_work: usize,
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
            oversized_headers: (100, 10),
            turn_work: 128 << 10,
        }
    }
}

impl Limits {
    /// Whether HTTP/2 can say them (RFC 9113, 6.5.2 and 6.9.1).
    pub(super) const fn check(&self) -> Result<(), Error> {
        const WINDOW: u32 = i32::MAX as u32;
        if self.stream_window > WINDOW
            || self.connection_window > WINDOW
            || self.max_frame < 1 << 14
            || self.max_frame >= 1 << 24
        {
            return Err(Error::InvalidLimit);
        }
        Ok(())
    }
}

/// So many at once, and so many a second from then on.
#[derive(Debug)]
pub(super) struct Rate {
    left: u64,
    burst: u64,
    a_second: u64,
    /// When `left` was last added to.
    since: Option<Instant>,
}

impl Rate {
    pub(super) const fn new((burst, a_second): (u64, u64)) -> Self {
        Self {
            left: burst,
            burst,
            a_second,
            since: None,
        }
    }

    /// Counts one.
    ///
    /// # Errors
    /// When it is one too many.
    pub(super) fn count(&mut self, now: Instant) -> Result<(), ErrorCode> {
        let since = *self.since.get_or_insert(now);
        let seconds = now.saturating_duration_since(since).as_secs();
        if seconds > 0 {
            let more = self.a_second.saturating_mul(seconds);
            self.left = self.left.saturating_add(more).min(self.burst);
            self.since = Some(now);
        }
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(ErrorCode::ENHANCE_YOUR_CALM),
        }
    }
}

/// How often the peer may do what an honest one seldom does: see [`Limits`].
#[derive(Debug)]
pub(super) struct Rates {
    pub(super) resets: Rate,
    pub(super) glitches: Rate,
    pub(super) oversized: Rate,
}

impl Rates {
    pub(super) const fn new(limits: &Limits) -> Self {
        Self {
            resets: Rate::new(limits.stream_resets),
            glitches: Rate::new(limits.glitches),
            oversized: Rate::new(limits.oversized_headers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// RFC 9113, 6.5.2 and 6.9.1.
    #[test]
    fn only_what_http2_can_say_is_a_limit() {
        let is_one = |change: fn(&mut Limits, u32), value| {
            let mut limits = Limits::default();
            change(&mut limits, value);
            limits.check().is_ok()
        };
        type Change = fn(&mut Limits, u32);
        let stream: Change = |limits, value| limits.stream_window = value;
        let connection: Change = |limits, value| limits.connection_window = value;
        for window in [stream, connection] {
            assert!(is_one(window, (1 << 31) - 1) && !is_one(window, 1 << 31));
        }
        let frame: Change = |limits, value| limits.max_frame = value;
        assert!(is_one(frame, 16_384) && !is_one(frame, 16_383));
        assert!(is_one(frame, 16_777_215) && !is_one(frame, 16_777_216));
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a test has to begin at some time"
    )]
    fn so_many_at_once_and_so_many_a_second() {
        let mut now = Instant::now();
        let mut rate = Rate::new((10, 2));
        let taken = |rate: &mut Rate, now| (0..100).filter(|_| rate.count(now).is_ok()).count();
        assert_eq!(taken(&mut rate, now), 10);
        now += Duration::from_millis(900);
        assert_eq!(taken(&mut rate, now), 0);
        now += Duration::from_millis(2200);
        assert_eq!(taken(&mut rate, now), 6);
        now += Duration::from_secs(100);
        assert_eq!(taken(&mut rate, now), 10);
    }
}
