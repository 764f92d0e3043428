//! What goes wrong: here, and on the wire.

use std::fmt;

/// Why a session cannot do what it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// What came does not begin as HTTP/2 does: the connection is to be closed.
    NotHttp2,
    /// A limit is outside of what HTTP/2 can say.
    InvalidLimit,
    /// The peer or this side takes no new streams.
    GoingAway,
    /// Stream numbers are used up.
    NoStreamsLeft,
    /// The stream is gone, or was answered.
    NoSuchStream,
    /// A header field is longer than HTTP/2 is asked to carry here.
    FieldTooLong,
}

impl Error {
    /// A sentence for it.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::NotHttp2 => "the peer does not begin as HTTP/2 does",
            Self::InvalidLimit => "a limit is none that HTTP/2 can say",
            Self::GoingAway => "no more streams are taken on this connection",
            Self::NoStreamsLeft => "the connection's stream numbers are used up",
            Self::NoSuchStream => "the stream is gone or was answered",
            Self::FieldTooLong => "a header field is too long",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for Error {}

/// Why a stream or a connection ended, as the wire says it (RFC 9113, 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// No error: graceful.
    pub const NO_ERROR: Self = Self(0);
    /// The peer broke the protocol.
    pub const PROTOCOL_ERROR: Self = Self(1);
    /// A fault of the sender.
    pub const INTERNAL_ERROR: Self = Self(2);
    /// More octets than the window allowed (RFC 9113, 6.9.1).
    pub const FLOW_CONTROL_ERROR: Self = Self(3);
    /// A frame on a closed stream (RFC 9113, 5.1).
    pub const STREAM_CLOSED: Self = Self(5);
    /// A frame of a length that it cannot have (RFC 9113, 4.2).
    pub const FRAME_SIZE_ERROR: Self = Self(6);
    /// The stream was not processed: it may be tried again (RFC 9113, 8.7).
    pub const REFUSED_STREAM: Self = Self(7);
    /// The stream is no longer wanted.
    pub const CANCEL: Self = Self(8);
    /// A header section that cannot be decompressed (RFC 9113, 4.3).
    pub const COMPRESSION_ERROR: Self = Self(9);
    /// The peer loads this side too much (RFC 9113, 10.5).
    pub const ENHANCE_YOUR_CALM: Self = Self(11);
    /// The transport is not safe enough (RFC 9113, 9.2).
    pub const INADEQUATE_SECURITY: Self = Self(12);

    /// Its name in RFC 9113.
    #[must_use]
    pub const fn name(self) -> &'static str {
        const NAMES: [&str; 14] = [
            "NO_ERROR",
            "PROTOCOL_ERROR",
            "INTERNAL_ERROR",
            "FLOW_CONTROL_ERROR",
            "SETTINGS_TIMEOUT",
            "STREAM_CLOSED",
            "FRAME_SIZE_ERROR",
            "REFUSED_STREAM",
            "CANCEL",
            "COMPRESSION_ERROR",
            "CONNECT_ERROR",
            "ENHANCE_YOUR_CALM",
            "INADEQUATE_SECURITY",
            "HTTP_1_1_REQUIRED",
        ];
        if (self.0 as usize) < NAMES.len() {
            NAMES[self.0 as usize]
        } else {
            "unknown error code"
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_printed_as_sentences() {
        let text = "the peer does not begin as HTTP/2 does";
        assert_eq!(Error::NotHttp2.text(), text);
        assert_eq!(Error::NotHttp2.to_string(), text);
    }

    #[test]
    fn codes_are_called_as_rfc_9113_calls_them_and_others_are_unknown() {
        for (code, name) in [
            (ErrorCode::NO_ERROR, "NO_ERROR"),
            (ErrorCode::PROTOCOL_ERROR, "PROTOCOL_ERROR"),
            (ErrorCode::INTERNAL_ERROR, "INTERNAL_ERROR"),
            (ErrorCode::FLOW_CONTROL_ERROR, "FLOW_CONTROL_ERROR"),
            (ErrorCode::STREAM_CLOSED, "STREAM_CLOSED"),
            (ErrorCode::FRAME_SIZE_ERROR, "FRAME_SIZE_ERROR"),
            (ErrorCode::REFUSED_STREAM, "REFUSED_STREAM"),
            (ErrorCode::CANCEL, "CANCEL"),
            (ErrorCode::COMPRESSION_ERROR, "COMPRESSION_ERROR"),
            (ErrorCode::ENHANCE_YOUR_CALM, "ENHANCE_YOUR_CALM"),
            (ErrorCode::INADEQUATE_SECURITY, "INADEQUATE_SECURITY"),
            (ErrorCode(13), "HTTP_1_1_REQUIRED"),
            (ErrorCode(14), "unknown error code"),
            (ErrorCode(u32::MAX), "unknown error code"),
        ] {
            assert_eq!(code.name(), name);
        }
    }
}
