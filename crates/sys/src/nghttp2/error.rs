//! What goes wrong: in the library, and on the wire.

use libnghttp2_sys as ffi;
use std::ffi::CStr;
use std::fmt;

/// An error that nghttp2 reports, by its number (`nghttp2_error`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(i32);

impl Error {
    pub(super) const INTERNAL: Self = Self(ffi::NGHTTP2_ERR_CALLBACK_FAILURE);
    pub(super) const INVALID: Self = Self(ffi::NGHTTP2_ERR_INVALID_ARGUMENT);

    /// The error of a library call that returned this; not negative is success.
    pub(super) fn check(returned: i32) -> Result<i32, Self> {
        if returned < 0 {
            Err(Self(returned))
        } else {
            Ok(returned)
        }
    }

    /// As [`check`](Self::check), for calls that return a length.
    pub(super) fn check_length(returned: isize) -> Result<usize, Self> {
        usize::try_from(returned)
            .map_err(|_| Self(i32::try_from(returned).unwrap_or(ffi::NGHTTP2_ERR_FATAL)))
    }

    /// Whether the session can only be dropped now.
    #[must_use]
    pub const fn is_fatal(self) -> bool {
        self.0 < ffi::NGHTTP2_ERR_FATAL
    }

    /// Whether the peer sent too much of something for the library to go on, which then leaves it to
    /// others to say so.
    pub(super) const fn is_excess(self) -> bool {
        matches!(
            self.0,
            ffi::NGHTTP2_ERR_FLOODED | ffi::NGHTTP2_ERR_TOO_MANY_CONTINUATIONS
        )
    }

    /// The library's sentence for it.
    #[must_use]
    pub fn text(self) -> &'static str {
        // SAFETY: nghttp2_strerror takes any number and returns a NUL-terminated string that
        // lives as long as the program.
        unsafe { CStr::from_ptr(ffi::nghttp2_strerror(self.0)) }
            .to_str()
            .unwrap_or("nghttp2 error")
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
    /// More octets than the window allowed.
    pub const FLOW_CONTROL_ERROR: Self = Self(3);
    /// A frame on a closed stream.
    pub const STREAM_CLOSED: Self = Self(5);
    /// The stream was not processed: it may be tried again.
    pub const REFUSED_STREAM: Self = Self(7);
    /// The stream is no longer wanted.
    pub const CANCEL: Self = Self(8);
    /// The peer loads this side too much.
    pub const ENHANCE_YOUR_CALM: Self = Self(11);
    /// The transport is not safe enough.
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
