//! Sending by route, and back to the sender.

use super::{bad_argument, context, message, refuse};
use crate::boundary::boundary;
use crate::context::Context;
use crate::errno;
use crate::message::Message;
use crate::send;
use crate::send_timeout::SendTimeout;
use crate::state::{self, Refused};
use libc::{c_int, c_void};

/// A message without a buffer or header cannot be sent.
pub(super) const NO_HEADER: Refused = Refused::new(state::NO_HEADER, libc::EBADMSG);

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_send_msg(vctx: *mut c_void, msg: *mut Message) -> *mut Message {
    // SAFETY: the contract is the same.
    unsafe { rmr_mtosend_msg(vctx, msg, -1) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_mtosend_msg(
    vctx: *mut c_void,
    msg: *mut Message,
    max_to: c_int,
) -> *mut Message {
    boundary(msg, || {
        // SAFETY: as the header says.
        let (Some(context), Some(message)) = (unsafe { (context(vctx), message(msg)) }) else {
            // SAFETY: as the header says.
            return unsafe { bad_argument(msg) };
        };
        if !message.has_header() {
            refuse(message, NO_HEADER);
            return msg;
        }
        // What may be left of a call must not make the receiver take this for a reply.
        send::set_call(message, 0, false);
        let timeout = match max_to {
            ..0 => context.send_timeout(),
            retries => SendTimeout::from_retries(retries),
        };
        let result = send::routed(context, message, timeout);
        finish(context, message, result);
        msg
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_rts_msg(vctx: *mut c_void, msg: *mut Message) -> *mut Message {
    boundary(msg, || {
        // SAFETY: as the header says.
        let (Some(context), Some(message)) = (unsafe { (context(vctx), message(msg)) }) else {
            // SAFETY: as the header says.
            return unsafe { bad_argument(msg) };
        };
        if !message.has_header() {
            refuse(message, NO_HEADER);
            return msg;
        }
        // The call's number stays: the caller waits for it.
        send::clear_call_mark(message);
        match send::back(context, message, context.send_timeout()) {
            Ok(()) => {
                message.tp_state = 0;
                errno::set(0);
            }
            Err(refused) => refuse(message, refused),
        }
        msg
    })
}

/// After sending: the next message, or the same one with the reason.
pub(super) fn finish(context: &Context, message: &mut Message, result: Result<(), Refused>) {
    match result {
        Ok(()) => {
            context.renew(message);
            message.tp_state = 0;
            errno::set(0);
        }
        Err(refused) => refuse(message, refused),
    }
}
