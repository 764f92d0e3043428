//! Trace data: octets that travel between header and payload.

use super::{length, message};
use crate::boundary::boundary;
use crate::errno;
use crate::message::Message;
use crate::pool;
use libc::{c_int, c_uchar, c_void};
use std::ptr::null_mut;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_get_trlen(msg: *mut Message) -> c_int {
    boundary(0, || {
        // SAFETY: as the header says.
        unsafe { message(msg) }.map_or(0, |message| trace(message).len() as c_int)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_get_trace(
    msg: *mut Message,
    dest: *mut c_uchar,
    size: c_int,
) -> c_int {
    boundary(0, || {
        // SAFETY: as the header says.
        let (Some(message), false) = (unsafe { message(msg) }, dest.is_null()) else {
            return 0;
        };
        let trace = trace(message);
        let copied = trace.len().min(length(size));
        // SAFETY: not null, so room for `size` octets, says the header.
        unsafe { std::ptr::copy(trace.as_ptr(), dest, copied) };
        copied as c_int
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_trace_ref(msg: *mut Message, sizeptr: *mut c_int) -> *mut c_void {
    boundary(null_mut(), || {
        // SAFETY: as the header says.
        let (message, size) = unsafe { (message(msg), sizeptr.as_mut()) };
        let length = message.as_ref().map_or(0, |message| trace(message).len());
        if let Some(size) = size {
            *size = length as c_int;
        }
        let Some(message) = message.filter(|_| length > 0) else {
            return null_mut();
        };
        message
            .place(message.trace_range())
            .map_or(null_mut(), |start| start.cast())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_set_trace(
    msg: *mut Message,
    data: *const c_uchar,
    size: c_int,
) -> c_int {
    boundary(0, || {
        // SAFETY: as the header says.
        let message = unsafe { message(msg) }.filter(|message| message.has_header());
        let Some(message) = message else {
            errno::set(libc::EINVAL);
            return 0;
        };
        errno::set(0);
        if size <= 0 {
            return 0;
        }
        if data.is_null() {
            errno::set(libc::EINVAL);
            return 0;
        }
        let mut before = None;
        if trace(message).len() != length(size) {
            let Some(mut resized) = message.with_trace(length(size)) else {
                errno::set(libc::ENOMEM);
                return 0;
            };
            // SAFETY: just made.
            message.swap_buffers(unsafe { resized.as_mut() });
            before = Some(resized);
        }
        let range = message.trace_range();
        let length = range.len();
        if let Some(area) = message.place(range) {
            // SAFETY: not null, so `size` octets, says the header, perhaps of this very message, as it
            // is or was; the area has as many.
            unsafe { std::ptr::copy(data, area, length) };
        }
        if let Some(before) = before {
            // SAFETY: made above, and nobody has it; what it holds is copied.
            unsafe { pool::free(before) };
        }
        size
    })
}

fn trace(message: &Message) -> &[u8] {
    let octets = message.rmr_octets();
    octets.get(message.trace_range()).unwrap_or_default()
}
