//! How a session of the library is made: its callbacks and options.

use super::cell::Cell;
use super::memory::memory;
use super::{Error, Limits, Role, callbacks};
use libnghttp2_sys as ffi;
use std::ptr::{self, NonNull};

/// # Safety
/// `cell` must stay valid, and be borrowed by nobody while the library is called, until the
/// session is deleted.
pub(super) unsafe fn open(
    role: Role,
    limits: &Limits,
    cell: NonNull<Cell>,
) -> Result<NonNull<ffi::nghttp2_session>, Error> {
    let mut calls = ptr::null_mut();
    let mut option = ptr::null_mut();
    let mut raw = ptr::null_mut();
    let mut memory = memory();
    // SAFETY: each object is made before it is used and deleted once; the session copies
    // callbacks, options and memory. The callbacks have the types the library declares.
    let result = unsafe {
        Error::check(ffi::nghttp2_session_callbacks_new(&raw mut calls))?;
        if let Err(error) = Error::check(ffi::nghttp2_option_new(&raw mut option)) {
            ffi::nghttp2_session_callbacks_del(calls);
            return Err(error);
        }
        set_callbacks(calls);
        set_options(option, limits);
        let user = cell.as_ptr().cast();
        let result = match role {
            Role::Client => {
                ffi::nghttp2_session_client_new3(&raw mut raw, calls, user, option, &raw mut memory)
            }
            Role::Server => {
                ffi::nghttp2_session_server_new3(&raw mut raw, calls, user, option, &raw mut memory)
            }
        };
        ffi::nghttp2_option_del(option);
        ffi::nghttp2_session_callbacks_del(calls);
        result
    };
    Error::check(result)?;
    NonNull::new(raw).ok_or(Error::INTERNAL)
}

/// # Safety
/// `calls` is live.
unsafe fn set_callbacks(calls: *mut ffi::nghttp2_session_callbacks) {
    // SAFETY: by this function's contract.
    unsafe {
        ffi::nghttp2_session_callbacks_set_on_begin_headers_callback(
            calls,
            Some(callbacks::on_begin_headers),
        );
        ffi::nghttp2_session_callbacks_set_on_header_callback(calls, Some(callbacks::on_header));
        ffi::nghttp2_session_callbacks_set_on_invalid_header_callback(
            calls,
            Some(callbacks::on_invalid_header),
        );
        ffi::nghttp2_session_callbacks_set_on_frame_recv_callback(
            calls,
            Some(callbacks::on_frame_recv),
        );
        ffi::nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
            calls,
            Some(callbacks::on_data_chunk),
        );
        ffi::nghttp2_session_callbacks_set_on_stream_close_callback(
            calls,
            Some(callbacks::on_stream_close),
        );
        ffi::nghttp2_session_callbacks_set_on_frame_send_callback(
            calls,
            Some(callbacks::on_frame_send),
        );
        ffi::nghttp2_session_callbacks_set_on_frame_not_send_callback(
            calls,
            Some(callbacks::on_frame_not_send),
        );
        ffi::nghttp2_session_callbacks_set_data_source_read_length_callback2(
            calls,
            Some(callbacks::read_length),
        );
        ffi::nghttp2_session_callbacks_set_send_data_callback(calls, Some(callbacks::send_data));
    }
}

/// # Safety
/// `option` is live.
unsafe fn set_options(option: *mut ffi::nghttp2_option, limits: &Limits) {
    // SAFETY: by this function's contract.
    unsafe {
        // Credit goes back when the application says so, not when octets arrive.
        ffi::nghttp2_option_set_no_auto_window_update(option, 1);
        // Closed streams are kept only for priorities, which nobody uses here.
        ffi::nghttp2_option_set_no_closed_streams(option, 1);
        ffi::nghttp2_option_set_max_continuations(option, limits.max_continuations);
        ffi::nghttp2_option_set_max_outbound_ack(option, limits.max_outbound_acks);
        ffi::nghttp2_option_set_max_settings(option, limits.max_settings);
        ffi::nghttp2_option_set_max_send_header_block_length(
            option,
            limits.max_header_list as usize + OWN_HEADERS,
        );
        let (burst, rate) = limits.stream_resets;
        ffi::nghttp2_option_set_stream_reset_rate_limit(option, burst, rate);
        let (burst, rate) = limits.glitches;
        ffi::nghttp2_option_set_glitch_rate_limit(option, burst, rate);
    }
}

/// Octets beside the application's headers in a header section: what the library counts for
/// pseudo-header fields and the protocol's own.
const OWN_HEADERS: usize = 8 << 10;
