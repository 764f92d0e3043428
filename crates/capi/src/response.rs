//! Answers, as their caller reads them.

use crate::body::{contiguous, corewire_slice};
use crate::boundary::boundary;
use crate::error::corewire_code;
use crate::headers::{corewire_headers, lend};
use corewire_message::Response;

/// The answer to a call. Owned by whoever received it, who gives it to corewire_response_free;
/// what the functions below return is borrowed from it.
pub struct corewire_response(Response);

impl corewire_response {
    pub(crate) fn give(mut response: Response) -> *mut Self {
        response.body = contiguous(response.body);
        Box::into_raw(Box::new(Self(response)))
    }
}

/// How the call ended: the code with which the service answered. COREWIRE_INTERNAL for NULL. Any
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_response_code(
    response: *const corewire_response,
) -> corewire_code {
    boundary(corewire_code::COREWIRE_INTERNAL, || {
        // SAFETY: null, or not yet freed, says the header.
        unsafe { response.as_ref() }.map_or(corewire_code::COREWIRE_INTERNAL, |response| {
            response.0.status.code().into()
        })
    })
}

/// The service's sentence for people, UTF-8; may be empty. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_response_message(
    response: *const corewire_response,
) -> corewire_slice {
    boundary(corewire_slice::EMPTY, || {
        // SAFETY: null, or not yet freed, says the header.
        unsafe { response.as_ref() }.map_or(corewire_slice::EMPTY, |response| {
            corewire_slice::of(response.0.status.message().as_bytes())
        })
    })
}

/// The body, in one piece; with a failure, its detail. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_response_body(
    response: *const corewire_response,
) -> corewire_slice {
    boundary(corewire_slice::EMPTY, || {
        // SAFETY: null, or not yet freed, says the header.
        unsafe { response.as_ref() }.map_or(corewire_slice::EMPTY, |response| {
            corewire_slice::of(response.0.body.tail())
        })
    })
}

/// The headers; NULL only for NULL. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_response_headers(
    response: *const corewire_response,
) -> *const corewire_headers {
    boundary(std::ptr::null(), || {
        // SAFETY: null, or not yet freed, says the header.
        unsafe { response.as_ref() }.map_or(std::ptr::null(), |response| lend(&response.0.headers))
    })
}

/// Frees a response. NULL is allowed and does nothing. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_response_free(response: *mut corewire_response) {
    boundary((), || {
        if !response.is_null() {
            // SAFETY: it came from `Box::into_raw`, and the header makes its owner free it once.
            drop(unsafe { Box::from_raw(response) });
        }
    });
}
