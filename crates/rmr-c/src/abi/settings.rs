//! What a program may set on a context.

use super::context;
use crate::boundary::boundary;
use crate::errno;
use crate::log::say;
use libc::{c_int, c_void};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_init_trace(vctx: *mut c_void, size: c_int) -> c_int {
    boundary(0, || {
        errno::set(0);
        // SAFETY: as the header says.
        let Some(context) = (unsafe { context(vctx) }) else {
            errno::set(libc::EINVAL);
            return 0;
        };
        context.set_trace(size);
        1
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_set_stimeout(vctx: *mut c_void, time: c_int) -> c_int {
    boundary(-1, || {
        // SAFETY: as the header says.
        let Some(context) = (unsafe { context(vctx) }) else {
            return -1;
        };
        context.set_retries(time);
        crate::state::OK
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_set_rtimeout(_vctx: *mut c_void, _time: c_int) -> c_int {
    boundary(0, || {
        say!(
            Warning,
            "rmr_set_rtimeout has no effect; rmr_torcv_msg has a timeout"
        );
        0
    })
}

/// Small messages are never held back by the kernel, so there is nothing to switch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_set_low_latency(_vctx: *mut c_void) {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_set_fack(vctx: *mut c_void) {
    boundary((), || {
        // SAFETY: as the header says.
        if let Some(context) = unsafe { context(vctx) } {
            context.shared().set_quick_ack();
        }
    });
}
