//! Opening and closing a context, and what it tells about itself.

use super::context;
use crate::boundary::boundary;
use crate::errno;
use crate::open::open;
use libc::{c_char, c_int, c_void};
use std::ffi::CStr;
use std::ptr::null_mut;

/// `rmr_rx_debug_t`.
#[repr(C)]
pub struct ReceiveCounts {
    drop: u64,
    enqueue: u64,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_init(
    proto_port: *const c_char,
    max_msg_size: c_int,
    flags: c_int,
) -> *mut c_void {
    boundary(null_mut(), || {
        let port = if proto_port.is_null() {
            None
        } else {
            // SAFETY: not null, so a text that ends with NUL, says the header.
            Some(unsafe { CStr::from_ptr(proto_port) }.to_string_lossy())
        };
        match open(port.as_deref(), max_msg_size, flags) {
            Ok(context) => {
                errno::set(0);
                std::ptr::from_ref(context).cast_mut().cast()
            }
            Err(error) => {
                errno::set(errno::of(&error));
                null_mut()
            }
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_close(vctx: *mut c_void) {
    boundary((), || {
        // SAFETY: as the header says.
        if let Some(context) = unsafe { context(vctx) } {
            context.close_now();
        }
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_ready(vctx: *mut c_void) -> c_int {
    boundary(0, || {
        // SAFETY: as the header says.
        let context = unsafe { context(vctx) };
        c_int::from(context.is_some_and(|context| context.router().is_ready()))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_get_rcvfd(vctx: *mut c_void) -> c_int {
    boundary(-1, || {
        // SAFETY: as the header says.
        let Some(context) = (unsafe { context(vctx) }) else {
            return -1;
        };
        context.receive_descriptor().unwrap_or_else(|error| {
            errno::set(errno::of(&error));
            -1
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_get_rx_debug_info(
    vctx: *mut c_void,
    rx_debug: *mut ReceiveCounts,
) -> c_int {
    boundary(libc::EINVAL, || {
        // SAFETY: as the header says.
        let (context, rx_debug) = unsafe { (context(vctx), rx_debug.as_mut()) };
        let (Some(context), Some(rx_debug)) = (context, rx_debug) else {
            errno::set(libc::EINVAL);
            return libc::EINVAL;
        };
        (rx_debug.enqueue, rx_debug.drop) = context.inbox().counts();
        0
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_reset_rx_debug_count(vctx: *mut c_void) -> c_int {
    boundary(libc::EINVAL, || {
        // SAFETY: as the header says.
        let Some(context) = (unsafe { context(vctx) }) else {
            errno::set(libc::EINVAL);
            return libc::EINVAL;
        };
        context.inbox().reset_counts();
        0
    })
}
