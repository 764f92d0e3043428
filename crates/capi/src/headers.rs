//! Headers across the boundary.

use crate::body::{array, corewire_slice};
use crate::boundary::{boundary, put};
use crate::error::{Fault, corewire_error};
use corewire_message::Headers;
use std::ffi::{CStr, c_char};

/// One header to send or received. Names are lower-case token characters (RFC 9110, 5.6.2), at
/// most 255 octets; values at most 2^24 - 1, without CR, LF or NUL unless the name ends in -bin.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct corewire_header {
    /// Its name.
    pub name: corewire_slice,
    /// Its value.
    pub value: corewire_slice,
}

/// Received headers, in order; names may repeat. Borrowed from what they came with.
// Never made: stands for `Headers` in the header.
pub struct corewire_headers {
    _opaque: [u8; 0],
}

/// As C borrows headers.
pub(crate) const fn lend(headers: &Headers) -> *const corewire_headers {
    std::ptr::from_ref(headers).cast()
}

/// Headers from C.
///
/// # Safety
/// `first` is null or points to `count` headers whose slices are readable.
pub(crate) unsafe fn collect(
    first: *const corewire_header,
    count: usize,
) -> Result<Headers, Fault> {
    let mut headers = Headers::new();
    // SAFETY: the caller's contract.
    for header in unsafe { array(first, count, "headers") }? {
        // SAFETY: the caller's contract.
        let (name, value) = unsafe { (header.name.octets()?, header.value.octets()?) };
        let name = std::str::from_utf8(name)
            .map_err(|_| corewire_error::misuse("a header name is not ASCII"))?;
        headers
            .append(name, value)
            .map_err(|fault| corewire_error::misuse(fault.to_string()))?;
    }
    Ok(headers)
}

/// # Safety
/// `headers` is null or came from [`lend`] and what it borrows from is alive.
unsafe fn received<'a>(headers: *const corewire_headers) -> Option<&'a Headers> {
    // SAFETY: the caller's contract.
    unsafe { headers.cast::<Headers>().as_ref() }
}

/// How many headers there are; 0 for NULL. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_headers_count(headers: *const corewire_headers) -> usize {
    boundary(0, || {
        // SAFETY: null, or borrowed from what is not yet freed, says the header.
        unsafe { received(headers) }.map_or(0, Headers::len)
    })
}

/// Writes the header at `index` (from 0) to *header, borrowed like the headers themselves. False,
/// and nothing written, when there is none. Walks from the first one at each call. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_headers_at(
    headers: *const corewire_headers,
    index: usize,
    header: *mut corewire_header,
) -> bool {
    boundary(false, || {
        // SAFETY: null, or borrowed from what is not yet freed, says the header.
        let Some(headers) = (unsafe { received(headers) }) else {
            return false;
        };
        let Some((name, value)) = headers.iter().nth(index) else {
            return false;
        };
        let found = corewire_header {
            name: corewire_slice::of(name.as_bytes()),
            value: corewire_slice::of(value),
        };
        // SAFETY: null or writable, says the header.
        unsafe { put(header, found) }
    })
}

/// Writes the first value of this name to *value, borrowed like the headers themselves. False, and
/// nothing written, when there is none. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_headers_find(
    headers: *const corewire_headers,
    name: *const c_char,
    value: *mut corewire_slice,
) -> bool {
    boundary(false, || {
        // SAFETY: null, or borrowed from what is not yet freed, says the header.
        let Some(headers) = (unsafe { received(headers) }) else {
            return false;
        };
        if name.is_null() {
            return false;
        }
        // SAFETY: not null, and a text ended by NUL, says the header.
        let Ok(name) = (unsafe { CStr::from_ptr(name) }).to_str() else {
            return false;
        };
        let Some(found) = headers.get(name) else {
            return false;
        };
        // SAFETY: null or writable, says the header.
        unsafe { put(value, corewire_slice::of(found)) }
    })
}
