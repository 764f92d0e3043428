//! How a connection comes to its end: GOAWAY (RFC 9113, 6.8), said and heard.

use super::ErrorCode;

/// Which ends were announced.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Closing {
    /// A GOAWAY that was no notice went out.
    pub(super) said_goodbye: bool,
    /// The last stream that the peer's GOAWAY takes.
    pub(super) heard_goodbye: Option<u32>,
    /// Why this side ends the connection, when it does.
    pub(super) terminated: Option<ErrorCode>,
}

impl Closing {
    /// Whether this side may open another stream.
    pub(super) const fn takes_requests(&self) -> bool {
        self.heard_goodbye.is_none() && self.terminated.is_none()
    }

    /// Whether neither end has said that it takes no more streams.
    pub(super) const fn is_open(&self) -> bool {
        !self.said_goodbye && self.heard_goodbye.is_none()
    }
}
