//! Receiving.

use super::{bad_argument, context, message, to_c};
use crate::boundary::boundary;
use crate::context::Context;
use crate::deadline::Deadline;
use crate::errno;
use crate::message::Message;
use crate::state;
use libc::{c_char, c_int, c_void};
use std::ffi::CStr;
use std::ptr::{NonNull, null_mut};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_rcv_msg(vctx: *mut c_void, old_msg: *mut Message) -> *mut Message {
    // SAFETY: the contract is the same.
    unsafe { rmr_mt_rcv(vctx, old_msg, -1) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_torcv_msg(
    vctx: *mut c_void,
    old_msg: *mut Message,
    ms_to: c_int,
) -> *mut Message {
    // SAFETY: the contract is the same.
    unsafe { rmr_mt_rcv(vctx, old_msg, ms_to) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_mt_rcv(
    vctx: *mut c_void,
    msg: *mut Message,
    max_wait: c_int,
) -> *mut Message {
    boundary(null_mut(), || {
        // SAFETY: as the header says.
        let Some(context) = (unsafe { context(vctx) }) else {
            // SAFETY: as the header says.
            return unsafe { bad_argument(msg) };
        };
        // SAFETY: as the header says.
        unsafe { receive(context, msg, Deadline::from_millis(max_wait)) }
    })
}

/// # Safety
/// `old` is a message as the header says.
unsafe fn receive(context: &Context, old: *mut Message, deadline: Deadline) -> *mut Message {
    // SAFETY: as the caller says.
    let received = unsafe {
        context
            .inbox()
            .receive(context.pool(), NonNull::new(old), deadline)
    };
    if received.is_some() {
        errno::set(0);
        return to_c(received);
    }
    errno::set(libc::ETIMEDOUT);
    // SAFETY: nothing was received, so the old message is untouched.
    if let Some(old) = unsafe { message(old) } {
        old.state = state::TIMEOUT;
        old.tp_state = libc::ETIMEDOUT;
        old.len = 0;
    }
    old
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_rcv_specific(
    vctx: *mut c_void,
    msg: *mut Message,
    expect: *const c_char,
    allow2queue: c_int,
) -> *mut Message {
    boundary(null_mut(), || {
        // SAFETY: as the header says.
        let Some(context) = (unsafe { context(vctx) }) else {
            // SAFETY: as the header says.
            return unsafe { bad_argument(msg) };
        };
        let expected = if expect.is_null() {
            &[]
        } else {
            // SAFETY: not null, so a text that ends with NUL, says the header.
            unsafe { CStr::from_ptr(expect) }.to_bytes()
        };
        let expected = &expected[..expected.len().min(32)];
        if expected.is_empty() {
            // SAFETY: as the header says.
            return unsafe { receive(context, msg, Deadline::NEVER) };
        }
        let mut others: Vec<NonNull<Message>> = Vec::new();
        let mut next = msg;
        let found = loop {
            if others.len() >= super::length(allow2queue) {
                errno::set(libc::ETIMEDOUT);
                break null_mut();
            }
            // SAFETY: as the header says; the old message is given once.
            next = unsafe { receive(context, next, Deadline::NEVER) };
            // SAFETY: as it was received.
            let Some(received) = (unsafe { message(next) }) else {
                break null_mut();
            };
            if received.state != state::OK {
                break next;
            }
            if received.rmr_octets().get(12..12 + expected.len()) == Some(expected) {
                break next;
            }
            others.extend(NonNull::new(next));
            next = null_mut();
        };
        // SAFETY: they were received just now, and nobody else has them.
        unsafe { context.inbox().requeue(others) };
        found
    })
}

/// Beyond RMR: `rmr_corewire.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_rx_time_ns(msg: *const Message) -> u64 {
    // SAFETY: null or a message that nobody writes now, says the header.
    unsafe { msg.as_ref() }.map_or(0, Message::arrival)
}
