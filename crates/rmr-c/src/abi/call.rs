//! Calls: send, and wait for the reply.
//!
//! The caller's number travels with the message and comes back with the reply; the transaction
//! tells the reply from an earlier one that came too late.

use super::{bad_argument, context, message, refuse, to_c};
use crate::boundary::boundary;
use crate::context::Context;
use crate::deadline::Deadline;
use crate::errno;
use crate::link::Link;
use crate::message::Message;
use crate::send;
use crate::send_timeout::SendTimeout;
use crate::state::{self, Refused};
use libc::{c_int, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

/// Programs number their calls from this on: 0 means no call, and 1 is the original's `rmr_call`.
const LEAST_NUMBER: u8 = 2;
/// How long a plain call waits, in milliseconds.
const PLAIN_WAIT: c_int = 1000;
/// How long a call waits for a peer that does not read before it is refused.
const RETRIES: c_int = 0;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_call(vctx: *mut c_void, msg: *mut Message) -> *mut Message {
    boundary(null_mut(), || {
        // SAFETY: as the header says.
        let Some(context) = (unsafe { context(vctx) }) else {
            // SAFETY: as the header says.
            return unsafe { bad_argument(msg) };
        };
        // SAFETY: as the header says.
        unsafe { call(context, msg, None, PLAIN_WAIT, None) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_mt_call(
    vctx: *mut c_void,
    mbuf: *mut Message,
    call_id: c_int,
    max_wait: c_int,
) -> *mut Message {
    boundary(null_mut(), || {
        // SAFETY: as the header says.
        let context = unsafe { context(vctx) };
        let call_id = u8::try_from(call_id).ok().filter(|id| *id >= LEAST_NUMBER);
        let (Some(context), Some(_)) = (context, call_id) else {
            // SAFETY: as the header says.
            return unsafe { bad_argument(mbuf) };
        };
        // SAFETY: as the header says.
        unsafe { call(context, mbuf, call_id, max_wait, None) }
    })
}

/// Calls along a link, or by route; null when no reply came. Without a number any that is free is
/// used, so that threads may call at the same time.
///
/// # Safety
/// `pointer` is a message as the header says; it is consumed unless it is returned.
pub(super) unsafe fn call(
    context: &'static Context,
    pointer: *mut Message,
    call_id: Option<u8>,
    max_wait: c_int,
    link: Option<&Arc<Link>>,
) -> *mut Message {
    // SAFETY: as the caller says.
    let Some(message) = (unsafe { message(pointer) }) else {
        errno::set(libc::EINVAL);
        return null_mut();
    };
    if !message.has_header() {
        refuse(message, super::send::NO_HEADER);
        return pointer;
    }
    let xaction = <[u8; 32]>::try_from(message.field::<32>(12)).unwrap_or_default();
    let inbox = context.inbox();
    let announced = match call_id {
        Some(call_id) => inbox.expect(call_id, xaction).then_some(call_id),
        None => inbox.expect_any(xaction),
    };
    let Some(call_id) = announced else {
        // Another thread is calling with that number: its reply would be taken for ours.
        refuse(message, Refused::new(state::BAD_ARGUMENT, libc::EBUSY));
        return pointer;
    };
    if !send::set_call(message, call_id, true) {
        // It came from somebody who left no room for a call's number.
        inbox.forget(call_id);
        refuse(message, Refused::new(state::BAD_ARGUMENT, libc::EINVAL));
        return pointer;
    }
    let deadline = match max_wait {
        ..0 => Deadline::NEVER,
        wait => Deadline::from_millis(wait).begun(),
    };
    let timeout = SendTimeout::from_retries(RETRIES);
    let sent = match link {
        Some(link) => send::direct(context, message, link, timeout),
        None => send::routed(context, message, timeout),
    };
    if let Err(refused) = sent {
        context.inbox().forget(call_id);
        refuse(message, refused);
        return pointer;
    }
    if let Some(message) = NonNull::new(pointer) {
        // SAFETY: it is sent, and the caller gave it up.
        unsafe { crate::pool::free(message) };
    }
    let reply = context.inbox().reply(context.pool(), call_id, deadline);
    errno::set(if reply.is_some() { 0 } else { libc::ETIMEDOUT });
    to_c(reply)
}
