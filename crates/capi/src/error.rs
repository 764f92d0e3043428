//! What went wrong, as C sees it.

use crate::boundary::boundary;
use corewire_message::{CallError, Code, ErrorKind};
use corewire_transport::EndpointFault;
use corewire_transport::tls::TlsFault;
use std::error::Error;
use std::ffi::{CString, c_char};
use std::ptr;

/// How a call ended, or why a function did not do what it was asked. Numbers and meanings are
/// those of gRPC's status codes. New codes are never added.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum corewire_code {
    /// Done.
    COREWIRE_OK = 0,
    /// Given up by its caller.
    COREWIRE_CANCELLED = 1,
    /// No better word is known.
    COREWIRE_UNKNOWN = 2,
    /// The request is wrong whatever the state of the system; also a null or wrong argument.
    COREWIRE_INVALID_ARGUMENT = 3,
    /// The deadline passed first.
    COREWIRE_DEADLINE_EXCEEDED = 4,
    /// What the request names does not exist.
    COREWIRE_NOT_FOUND = 5,
    /// What the request would create exists.
    COREWIRE_ALREADY_EXISTS = 6,
    /// The caller is known and may not.
    COREWIRE_PERMISSION_DENIED = 7,
    /// Some resource or quota is used up.
    COREWIRE_RESOURCE_EXHAUSTED = 8,
    /// The system is not in the state that the request needs.
    COREWIRE_FAILED_PRECONDITION = 9,
    /// Given up because of a conflict; may be tried again from a higher level.
    COREWIRE_ABORTED = 10,
    /// Past the valid range.
    COREWIRE_OUT_OF_RANGE = 11,
    /// The operation is not known here.
    COREWIRE_UNIMPLEMENTED = 12,
    /// A fault of the answering side, or a defect of this library that was caught.
    COREWIRE_INTERNAL = 13,
    /// Not now; may be tried again.
    COREWIRE_UNAVAILABLE = 14,
    /// Data is lost or broken for good.
    COREWIRE_DATA_LOSS = 15,
    /// The caller is not known.
    COREWIRE_UNAUTHENTICATED = 16,
}

impl corewire_code {
    const ALL: [Self; 17] = [
        Self::COREWIRE_OK,
        Self::COREWIRE_CANCELLED,
        Self::COREWIRE_UNKNOWN,
        Self::COREWIRE_INVALID_ARGUMENT,
        Self::COREWIRE_DEADLINE_EXCEEDED,
        Self::COREWIRE_NOT_FOUND,
        Self::COREWIRE_ALREADY_EXISTS,
        Self::COREWIRE_PERMISSION_DENIED,
        Self::COREWIRE_RESOURCE_EXHAUSTED,
        Self::COREWIRE_FAILED_PRECONDITION,
        Self::COREWIRE_ABORTED,
        Self::COREWIRE_OUT_OF_RANGE,
        Self::COREWIRE_UNIMPLEMENTED,
        Self::COREWIRE_INTERNAL,
        Self::COREWIRE_UNAVAILABLE,
        Self::COREWIRE_DATA_LOSS,
        Self::COREWIRE_UNAUTHENTICATED,
    ];
}

impl From<Code> for corewire_code {
    fn from(code: Code) -> Self {
        Self::ALL[usize::from(code.number())]
    }
}

/// Why a call was not answered, or a function failed.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum corewire_error_kind {
    /// A null or wrong argument, or a call at the wrong time: a fault of the program.
    COREWIRE_ERROR_MISUSE = 0,
    /// A stream was ended by its service with a failure.
    COREWIRE_ERROR_ANSWERED = 1,
    /// It never left: no connection.
    COREWIRE_ERROR_NOT_SENT = 2,
    /// It left and nothing came back: the connection was lost.
    COREWIRE_ERROR_FATE_UNKNOWN = 3,
    /// The deadline passed first.
    COREWIRE_ERROR_DEADLINE_EXCEEDED = 4,
    /// Some limit is reached, here or there; it was not executed.
    COREWIRE_ERROR_OVERLOADED = 5,
    /// The peer says that it did not and will not execute it.
    COREWIRE_ERROR_REFUSED = 6,
    /// The caller gave it up.
    COREWIRE_ERROR_CANCELLED = 7,
    /// The message cannot be sent by this protocol (too large, a header it cannot carry).
    COREWIRE_ERROR_UNSENDABLE = 8,
    /// The peer broke the protocol.
    COREWIRE_ERROR_PROTOCOL = 9,
    /// The operating system refused, for example an address in use.
    COREWIRE_ERROR_SYSTEM = 10,
    /// A defect of this library, caught.
    COREWIRE_ERROR_INTERNAL = 11,
}

use corewire_error_kind as Kind;

impl From<ErrorKind> for Kind {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Answered => Self::COREWIRE_ERROR_ANSWERED,
            ErrorKind::NotSent => Self::COREWIRE_ERROR_NOT_SENT,
            ErrorKind::FateUnknown => Self::COREWIRE_ERROR_FATE_UNKNOWN,
            ErrorKind::DeadlineExceeded => Self::COREWIRE_ERROR_DEADLINE_EXCEEDED,
            ErrorKind::Overloaded => Self::COREWIRE_ERROR_OVERLOADED,
            ErrorKind::Refused => Self::COREWIRE_ERROR_REFUSED,
            ErrorKind::Cancelled => Self::COREWIRE_ERROR_CANCELLED,
            ErrorKind::Unsendable => Self::COREWIRE_ERROR_UNSENDABLE,
            ErrorKind::Protocol => Self::COREWIRE_ERROR_PROTOCOL,
            _ => Self::COREWIRE_ERROR_INTERNAL,
        }
    }
}

/// Why something failed. Owned by whoever received it, who gives it to corewire_error_free.
#[derive(Debug)]
pub struct corewire_error {
    code: corewire_code,
    kind: Kind,
    may_have_executed: bool,
    message: CString,
}

/// What functions fail with inside this crate.
pub(crate) type Fault = Box<corewire_error>;

impl corewire_error {
    fn make(code: corewire_code, kind: Kind, message: impl Into<String>) -> Fault {
        // NUL would end the text in C.
        let message = message.into().replace('\0', "\u{fffd}");
        let message = CString::new(message).unwrap_or_default();
        Box::new(Self {
            code,
            kind,
            may_have_executed: false,
            message,
        })
    }

    pub(crate) fn misuse(message: impl Into<String>) -> Fault {
        Self::make(
            corewire_code::COREWIRE_INVALID_ARGUMENT,
            Kind::COREWIRE_ERROR_MISUSE,
            message,
        )
    }

    pub(crate) fn null(argument: &str) -> Fault {
        Self::misuse(format!("{argument} is NULL"))
    }

    pub(crate) fn precondition(message: impl Into<String>) -> Fault {
        let code = corewire_code::COREWIRE_FAILED_PRECONDITION;
        Self::make(code, Kind::COREWIRE_ERROR_MISUSE, message)
    }

    pub(crate) fn stopped() -> Fault {
        let code = corewire_code::COREWIRE_CANCELLED;
        Self::make(
            code,
            Kind::COREWIRE_ERROR_CANCELLED,
            "the event loop was stopped",
        )
    }

    pub(crate) fn full(message: impl Into<String>) -> Fault {
        let code = corewire_code::COREWIRE_RESOURCE_EXHAUSTED;
        Self::make(code, Kind::COREWIRE_ERROR_OVERLOADED, message)
    }

    pub(crate) fn over() -> Fault {
        let code = corewire_code::COREWIRE_CANCELLED;
        Self::make(
            code,
            Kind::COREWIRE_ERROR_CANCELLED,
            "the call has ended: nobody waits for it",
        )
    }

    pub(crate) fn internal() -> Fault {
        let message = "a defect of this library was caught; please report it";
        Self::make(
            corewire_code::COREWIRE_INTERNAL,
            Kind::COREWIRE_ERROR_INTERNAL,
            message,
        )
    }

    pub(crate) const fn code(&self) -> corewire_code {
        self.code
    }
}

impl From<CallError> for Fault {
    fn from(error: CallError) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        let mut fault = corewire_error::make(error.code().into(), error.kind().into(), text);
        fault.may_have_executed = error.may_have_executed();
        fault
    }
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::InvalidInput {
            return corewire_error::misuse(error.to_string());
        }
        let code = corewire_code::COREWIRE_UNAVAILABLE;
        corewire_error::make(code, Kind::COREWIRE_ERROR_SYSTEM, error.to_string())
    }
}

impl From<EndpointFault> for Fault {
    fn from(fault: EndpointFault) -> Self {
        corewire_error::misuse(fault.to_string())
    }
}

impl From<TlsFault> for Fault {
    fn from(fault: TlsFault) -> Self {
        corewire_error::misuse(format!("TLS: {fault}"))
    }
}

/// The code that describes it best. COREWIRE_OK for NULL. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_error_code(error: *const corewire_error) -> corewire_code {
    boundary(corewire_code::COREWIRE_INTERNAL, || {
        // SAFETY: null, or not yet freed, says the header.
        unsafe { error.as_ref() }.map_or(corewire_code::COREWIRE_OK, |error| error.code)
    })
}

/// What happened. COREWIRE_ERROR_MISUSE for NULL. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_error_kind_of(
    error: *const corewire_error,
) -> corewire_error_kind {
    boundary(Kind::COREWIRE_ERROR_INTERNAL, || {
        // SAFETY: null, or not yet freed, says the header.
        unsafe { error.as_ref() }.map_or(Kind::COREWIRE_ERROR_MISUSE, |error| error.kind)
    })
}

/// Whether the service may have executed the call. If false, any call may be tried again; if true,
/// only one whose repetition does no harm. False for NULL. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_error_may_have_executed(error: *const corewire_error) -> bool {
    boundary(true, || {
        // SAFETY: null, or not yet freed, says the header.
        unsafe { error.as_ref() }.is_some_and(|error| error.may_have_executed)
    })
}

/// A sentence for people, UTF-8, ended by NUL; never NULL. Borrowed from the error. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_error_message(error: *const corewire_error) -> *const c_char {
    boundary(ptr::null(), || {
        // SAFETY: null, or not yet freed, says the header.
        unsafe { error.as_ref() }.map_or(c"".as_ptr(), |error| error.message.as_ptr())
    })
}

/// Frees an error. NULL is allowed and does nothing. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_error_free(error: *mut corewire_error) {
    boundary((), || {
        if !error.is_null() {
            // SAFETY: it came from `Box::into_raw`, and the header makes its owner free it once.
            drop(unsafe { Box::from_raw(error) });
        }
    });
}

/// The name of a code as the field writes it, for example "NOT_FOUND"; "UNKNOWN" for a number
/// that is no code. Lives as long as the program. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn corewire_code_name(code: u32) -> *const c_char {
    // Ended by NUL, which `Code::name` is not.
    const NAMES: [&std::ffi::CStr; 17] = [
        c"OK",
        c"CANCELLED",
        c"UNKNOWN",
        c"INVALID_ARGUMENT",
        c"DEADLINE_EXCEEDED",
        c"NOT_FOUND",
        c"ALREADY_EXISTS",
        c"PERMISSION_DENIED",
        c"RESOURCE_EXHAUSTED",
        c"FAILED_PRECONDITION",
        c"ABORTED",
        c"OUT_OF_RANGE",
        c"UNIMPLEMENTED",
        c"INTERNAL",
        c"UNAVAILABLE",
        c"DATA_LOSS",
        c"UNAUTHENTICATED",
    ];
    NAMES[usize::from(Code::from_number(code).number())].as_ptr()
}

/// The version of this library, for example "0.1.0". Lives as long as the program. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn corewire_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn codes_and_names_are_those_of_the_message_crate() {
        for code in Code::ALL {
            assert_eq!(corewire_code::from(code) as u32, u32::from(code.number()));
            let name = corewire_code_name(u32::from(code.number()));
            // SAFETY: a constant ended by NUL.
            assert_eq!(unsafe { CStr::from_ptr(name) }.to_str(), Ok(code.name()));
        }
        // SAFETY: a constant ended by NUL.
        let unknown = unsafe { CStr::from_ptr(corewire_code_name(99)) };
        assert_eq!(unknown, c"UNKNOWN");
    }
}
