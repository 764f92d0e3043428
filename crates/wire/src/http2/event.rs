//! What a session tells of its peer.

use super::ErrorCode;
use std::ops::Range;

/// What a session tells of its peer. Stream numbers are HTTP/2's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "its only user is in this workspace"
)]
pub enum Event {
    /// A whole header section.
    Headers {
        /// Its stream.
        stream: u32,
        /// Which section of the message it is.
        kind: HeadersKind,
        /// Where its fields stand: see [`super::Session::fields`].
        fields: Range<usize>,
        /// It was longer than [`super::Limits::max_header_list`], or a name longer than 255
        /// octets: fields are missing.
        oversized: bool,
    },
    /// Some octets of a body.
    Data {
        /// Its stream.
        stream: u32,
        /// Where they stand in the octets given to [`super::Session::receive`].
        octets: Range<usize>,
    },
    /// The peer's side of the stream ended well.
    End {
        /// Its stream.
        stream: u32,
    },
    /// The stream is gone, whoever ended it. Nothing more is told of it.
    Closed {
        /// Its stream.
        stream: u32,
        /// Why; `NO_ERROR` when both sides ended well.
        code: ErrorCode,
    },
    /// The peer takes no streams above this one.
    GoAway {
        /// The last stream of this side that it may have processed.
        last_stream: u32,
        /// Why.
        code: ErrorCode,
    },
    /// The peer gave credit or changed its settings: blocked streams may have room.
    Credit,
    /// The answer to a PING.
    Pong,
}

/// Which section of a message a header block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "closed by RFC 9113")]
pub enum HeadersKind {
    /// The first: of a request at a server, of a response at a client. A client also gets interim
    /// responses (1xx) as `Leading`, tells them by their status.
    Leading,
    /// Trailers.
    Later,
}

/// The fields of a header section, in order, pseudo-header fields included.
#[derive(Clone, Debug)]
pub struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a [u8], &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (&[name_len, v0, v1, v2], rest) = self.0.split_first_chunk::<4>()?;
        let (name, rest) = rest.split_at_checked(usize::from(name_len))?;
        let value_len = u32::from_le_bytes([v0, v1, v2, 0]) as usize;
        let (value, rest) = rest.split_at_checked(value_len)?;
        self.0 = rest;
        Some((name, value))
    }
}
