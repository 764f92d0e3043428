//! Outcomes: [`Code`] to and from HTTP status codes, gRPC status codes and HTTP/2 stream errors.
//!
//! gRPC status codes are [`Code`]'s own numbers. REST and gRPC read HTTP status codes differently
//! (a 404 is a missing resource to one and a missing method to the other), so there is a table for
//! each.

use corewire_message::{Code, Response};

/// The header of an answer that names its HTTP status, where the code's own is another one.
pub const HTTP_STATUS: &str = "corewire-http-status";

/// The HTTP status of an answer: the one that it names, where that goes with its code, otherwise the
/// code's own.
#[must_use]
pub fn http_status_of(response: &Response) -> u16 {
    let code = response.status.code();
    let named = response.headers.get(HTTP_STATUS).and_then(read_http_status);
    named
        .filter(|status| may_be_said_by(code, *status))
        .unwrap_or_else(|| http_status(code))
}

/// The HTTP status of an answer with this code: `google/rpc/code.proto`'s table.
#[must_use]
pub const fn http_status(code: Code) -> u16 {
    match code {
        Code::Ok => 200,
        Code::Cancelled => 499,
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => 400,
        Code::Unauthenticated => 401,
        Code::PermissionDenied => 403,
        Code::NotFound => 404,
        Code::AlreadyExists | Code::Aborted => 409,
        Code::ResourceExhausted => 429,
        Code::Unknown | Code::Internal | Code::DataLoss => 500,
        Code::Unimplemented => 501,
        Code::Unavailable => 503,
        Code::DeadlineExceeded => 504,
    }
}

/// What an HTTP status says of a REST answer that carries no code of its own.
///
/// Where several codes share a status the plainest is taken.
///
/// A redirection is no success for who does not follow it.
#[must_use]
pub const fn code_of_http_status(status: u16) -> Code {
    match status {
        200..=299 => Code::Ok,
        300..=399 => Code::FailedPrecondition,
        400 | 411 | 414 | 415 | 422 => Code::InvalidArgument,
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 | 410 => Code::NotFound,
        405 | 501 => Code::Unimplemented,
        408 | 504 => Code::DeadlineExceeded,
        409 => Code::Aborted,
        416 => Code::OutOfRange,
        413 | 429 | 431 => Code::ResourceExhausted,
        499 => Code::Cancelled,
        502 | 503 => Code::Unavailable,
        500 | 505..=599 => Code::Internal,
        402..=499 => Code::FailedPrecondition,
        _ => Code::Unknown,
    }
}

/// Whether a REST answer with this code may go out with this HTTP status, where it names one: both
/// must be of the same class, or the status must be one that strangers mean the code by.
#[must_use]
pub const fn may_be_said_by(code: Code, status: u16) -> bool {
    let means_it = code_of_http_status(status) as u8 == code as u8;
    status >= 200 && (means_it || http_status(code) / 100 == status / 100)
}

/// What an HTTP status says of a gRPC call that was answered without `grpc-status`
/// (`grpc/doc/http-grpc-status-mapping.md`).
#[must_use]
pub const fn code_of_grpc_http_status(status: u16) -> Code {
    match status {
        400 => Code::Internal,
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 => Code::Unimplemented,
        429 | 502 | 503 | 504 => Code::Unavailable,
        _ => Code::Unknown,
    }
}

/// What a stream error (RST_STREAM) says of a call (`grpc/doc/PROTOCOL-HTTP2.md`, Errors).
#[must_use]
pub const fn code_of_reset(error: u32) -> Code {
    match error {
        // REFUSED_STREAM
        7 => Code::Unavailable,
        // CANCEL
        8 => Code::Cancelled,
        // ENHANCE_YOUR_CALM
        11 => Code::ResourceExhausted,
        // INADEQUATE_SECURITY
        12 => Code::PermissionDenied,
        _ => Code::Internal,
    }
}

/// The stream error that says best that a call is given up with this code.
#[must_use]
pub const fn reset_of(code: Code) -> u32 {
    match code {
        Code::ResourceExhausted => 11,
        Code::PermissionDenied => 12,
        Code::Internal | Code::Unknown | Code::DataLoss => 2,
        // Never REFUSED_STREAM: it promises that nothing was executed.
        _ => 8,
    }
}

/// The code that a decimal number in a header (`grpc-status`, `corewire-status`) means; a number
/// that no code has is `Unknown`, what is no number `None`.
#[must_use]
pub fn read_code(value: &[u8]) -> Option<Code> {
    let number = super::decimal::read(value)?;
    Some(u32::try_from(number).map_or(Code::Unknown, Code::from_number))
}

/// The number of a code as header text.
#[must_use]
pub const fn code_text(code: Code) -> &'static str {
    const TEXTS: [&str; 17] = [
        "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16",
    ];
    TEXTS[code as usize]
}

/// An HTTP status code as header text; `None` outside 100 to 599.
#[must_use]
pub fn read_http_status(value: &[u8]) -> Option<u16> {
    match super::decimal::read(value) {
        Some(status @ 100..=599) if value.len() == 3 => u16::try_from(status).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_strangers_http_status_says() {
        for (statuses, code) in [
            (&[200, 204, 299][..], Code::Ok),
            (
                &[300, 307, 399, 402, 406, 412, 418, 498],
                Code::FailedPrecondition,
            ),
            (&[400, 411, 414, 415, 422], Code::InvalidArgument),
            (&[401], Code::Unauthenticated),
            (&[403], Code::PermissionDenied),
            (&[404, 410], Code::NotFound),
            (&[405, 501], Code::Unimplemented),
            (&[408, 504], Code::DeadlineExceeded),
            (&[409], Code::Aborted),
            (&[416], Code::OutOfRange),
            (&[413, 429, 431], Code::ResourceExhausted),
            (&[499], Code::Cancelled),
            (&[502, 503], Code::Unavailable),
            (&[500, 505, 599], Code::Internal),
            (&[0, 100, 199, 600], Code::Unknown),
        ] {
            for status in statuses {
                assert_eq!(code_of_http_status(*status), code, "{status}");
            }
        }
    }

    #[test]
    fn every_code_has_its_http_status_and_the_status_leads_back_to_its_plainest_code() {
        let table = [
            (Code::Ok, 200, Code::Ok),
            (Code::Cancelled, 499, Code::Cancelled),
            (Code::Unknown, 500, Code::Internal),
            (Code::InvalidArgument, 400, Code::InvalidArgument),
            (Code::DeadlineExceeded, 504, Code::DeadlineExceeded),
            (Code::NotFound, 404, Code::NotFound),
            (Code::AlreadyExists, 409, Code::Aborted),
            (Code::PermissionDenied, 403, Code::PermissionDenied),
            (Code::ResourceExhausted, 429, Code::ResourceExhausted),
            (Code::FailedPrecondition, 400, Code::InvalidArgument),
            (Code::Aborted, 409, Code::Aborted),
            (Code::OutOfRange, 400, Code::InvalidArgument),
            (Code::Unimplemented, 501, Code::Unimplemented),
            (Code::Internal, 500, Code::Internal),
            (Code::Unavailable, 503, Code::Unavailable),
            (Code::DataLoss, 500, Code::Internal),
            (Code::Unauthenticated, 401, Code::Unauthenticated),
        ];
        assert_eq!(table.map(|row| row.0), Code::ALL);
        for (code, status, back) in table {
            assert_eq!(http_status(code), status, "{code}");
            assert_eq!(code_of_http_status(status), back, "{status}");
            assert_eq!(http_status(back), status, "the plainest keeps the status");
        }
    }

    #[test]
    fn statuses_without_a_row_fall_to_their_class() {
        for (status, code) in [
            (204, Code::Ok),
            (302, Code::FailedPrecondition),
            (412, Code::FailedPrecondition),
            (418, Code::FailedPrecondition),
            (507, Code::Internal),
            (600, Code::Unknown),
        ] {
            assert_eq!(code_of_http_status(status), code, "{status}");
        }
    }

    #[test]
    fn a_code_is_said_by_statuses_of_its_class_only() {
        for (code, status, fits) in [
            (Code::Ok, 201, true),
            (Code::Ok, 204, true),
            (Code::Ok, 307, false),
            (Code::Ok, 404, false),
            (Code::Ok, 100, false),
            (Code::NotFound, 410, true),
            (Code::NotFound, 200, false),
            (Code::NotFound, 503, false),
            (Code::FailedPrecondition, 308, true),
            (Code::FailedPrecondition, 304, true),
            (Code::FailedPrecondition, 412, true),
            (Code::Aborted, 304, false),
            (Code::Unimplemented, 405, true),
            (Code::Unimplemented, 410, false),
            (Code::Unknown, 100, false),
            (Code::Unavailable, 502, true),
        ] {
            assert_eq!(may_be_said_by(code, status), fits, "{code} {status}");
        }
        for code in Code::ALL {
            assert!(may_be_said_by(code, http_status(code)));
        }
    }

    #[test]
    fn an_answer_has_the_status_that_it_names_where_that_goes_with_its_code() {
        let of = |code, named: Option<&str>| {
            let mut response = Response::failed(corewire_message::Status::of(code));
            if let Some(named) = named {
                response.headers.append(HTTP_STATUS, named).unwrap();
            }
            http_status_of(&response)
        };
        assert_eq!(of(Code::Unimplemented, Some("405")), 405);
        assert_eq!(of(Code::DeadlineExceeded, Some("408")), 408);
        assert_eq!(of(Code::Unavailable, None), 503);
        assert_eq!(of(Code::Unavailable, Some("200")), 503);
        assert_eq!(of(Code::Unavailable, Some("rubbish")), 503);
    }

    #[test]
    fn grpc_reads_http_statuses_its_own_way() {
        for (status, code) in [
            (400, Code::Internal),
            (401, Code::Unauthenticated),
            (403, Code::PermissionDenied),
            (404, Code::Unimplemented),
            (429, Code::Unavailable),
            (502, Code::Unavailable),
            (503, Code::Unavailable),
            (504, Code::Unavailable),
            (500, Code::Unknown),
            (418, Code::Unknown),
        ] {
            assert_eq!(code_of_grpc_http_status(status), code, "{status}");
        }
    }

    #[test]
    fn stream_errors_go_both_ways_where_they_have_a_code_of_their_own() {
        for code in [
            Code::ResourceExhausted,
            Code::PermissionDenied,
            Code::Internal,
            Code::Cancelled,
        ] {
            assert_eq!(code_of_reset(reset_of(code)), code, "{code}");
        }
        for error in 0..20 {
            let expected = match error {
                7 => Code::Unavailable,
                8 => Code::Cancelled,
                11 => Code::ResourceExhausted,
                12 => Code::PermissionDenied,
                _ => Code::Internal,
            };
            assert_eq!(code_of_reset(error), expected, "{error}");
        }
        assert!(Code::ALL.iter().all(|code| reset_of(*code) != 7));
    }

    #[test]
    fn code_numbers_go_both_ways_as_text() {
        for code in Code::ALL {
            assert_eq!(read_code(code_text(code).as_bytes()), Some(code));
            assert_eq!(code_text(code), code.number().to_string());
        }
        assert_eq!(read_code(b"17"), Some(Code::Unknown));
        assert_eq!(read_code(b"99999999999"), Some(Code::Unknown));
        assert_eq!(read_code(b"x"), None);
        assert_eq!(read_code(b""), None);
    }

    #[test]
    fn http_statuses_are_three_digits() {
        assert_eq!(read_http_status(b"200"), Some(200));
        for bad in ["", "99", "600", "0200", "2x0"] {
            assert_eq!(read_http_status(bad.as_bytes()), None, "{bad:?}");
        }
    }
}
