//! Client: the streams that it opens, in the order of their numbers (RFC 9113, 5.1.1).

use super::Error;
use super::flow::MAX_WINDOW;

/// The highest stream number: 31 bits, like the largest window.
pub(super) const MAX_STREAM: u32 = MAX_WINDOW;

/// How far a client's requests are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Requests {
    /// The next stream's number.
    pub(super) next_stream: u32,
    /// Streams whose requests are written and that are not gone.
    pub(super) started: usize,
    /// The last request whose header section was written; 0 before the first.
    pub(super) last_written: u32,
}

impl Requests {
    pub(super) const fn new() -> Self {
        Self {
            next_stream: 1,
            started: 0,
            last_written: 0,
        }
    }

    /// The number of the next request. Numbers are not used again.
    ///
    /// # Errors
    /// When they are used up.
    pub(super) const fn number(&self) -> Result<u32, Error> {
        if self.next_stream > MAX_STREAM {
            return Err(Error::NoStreamsLeft);
        }
        Ok(self.next_stream)
    }
}
