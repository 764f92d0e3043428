//! The outcome of a call, in one word.

use std::fmt;

/// The outcome of a call. Numbers and meanings are those of gRPC's status codes, which every
/// protocol here can be mapped to (`grpc/doc/statuscodes.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the list is closed by its specification"
)]
#[repr(u8)]
pub enum Code {
    /// Done.
    Ok = 0,
    /// Given up by its caller.
    Cancelled = 1,
    /// No better word is known.
    Unknown = 2,
    /// The request is wrong whatever the state of the system.
    InvalidArgument = 3,
    /// The deadline passed first.
    DeadlineExceeded = 4,
    /// What the request names does not exist.
    NotFound = 5,
    /// What the request would create exists.
    AlreadyExists = 6,
    /// The caller is known and may not.
    PermissionDenied = 7,
    /// Some resource or quota is used up.
    ResourceExhausted = 8,
    /// The system is not in the state that the request needs.
    FailedPrecondition = 9,
    /// Given up because of a conflict; may be tried again from a higher level.
    Aborted = 10,
    /// Past the valid range.
    OutOfRange = 11,
    /// The operation is not known here.
    Unimplemented = 12,
    /// A fault of the answering side.
    Internal = 13,
    /// Not now; may be tried again.
    Unavailable = 14,
    /// Data is lost or broken for good.
    DataLoss = 15,
    /// The caller is not known.
    Unauthenticated = 16,
}

impl Code {
    /// Every code, in the order of its number.
    pub const ALL: [Self; 17] = [
        Self::Ok,
        Self::Cancelled,
        Self::Unknown,
        Self::InvalidArgument,
        Self::DeadlineExceeded,
        Self::NotFound,
        Self::AlreadyExists,
        Self::PermissionDenied,
        Self::ResourceExhausted,
        Self::FailedPrecondition,
        Self::Aborted,
        Self::OutOfRange,
        Self::Unimplemented,
        Self::Internal,
        Self::Unavailable,
        Self::DataLoss,
        Self::Unauthenticated,
    ];

    /// The code with this number; an unknown number is [`Code::Unknown`].
    #[must_use]
    pub fn from_number(number: u32) -> Self {
        usize::try_from(number)
            .ok()
            .and_then(|index| Self::ALL.get(index).copied())
            .unwrap_or(Self::Unknown)
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Its name as the field writes it, for example `NOT_FOUND`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Cancelled => "CANCELLED",
            Self::Unknown => "UNKNOWN",
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Self::NotFound => "NOT_FOUND",
            Self::AlreadyExists => "ALREADY_EXISTS",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::Aborted => "ABORTED",
            Self::OutOfRange => "OUT_OF_RANGE",
            Self::Unimplemented => "UNIMPLEMENTED",
            Self::Internal => "INTERNAL",
            Self::Unavailable => "UNAVAILABLE",
            Self::DataLoss => "DATA_LOSS",
            Self::Unauthenticated => "UNAUTHENTICATED",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_both_ways() {
        for code in Code::ALL {
            assert_eq!(Code::from_number(u32::from(code.number())), code);
        }
        assert_eq!(Code::from_number(17), Code::Unknown);
        assert_eq!(Code::from_number(u32::MAX), Code::Unknown);
    }
}
