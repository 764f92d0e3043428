//! Wormholes: messages to an endpoint that the program names itself.

use super::{bad_argument, context, message, refuse};
use crate::boundary::boundary;
use crate::context::Context;
use crate::errno;
use crate::link::Link;
use crate::log::say;
use crate::message::Message;
use crate::send;
use crate::state::{self, Refused};
use libc::{c_char, c_int, c_void};
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::Arc;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_wh_open(vctx: *mut c_void, target: *const c_char) -> c_int {
    boundary(-1, || {
        // SAFETY: as the header says.
        let context = unsafe { context(vctx) };
        let (Some(context), false) = (context, target.is_null()) else {
            errno::set(libc::EINVAL);
            return -1;
        };
        // SAFETY: not null, so a text that ends with NUL, says the header.
        let target = unsafe { CStr::from_ptr(target) }.to_string_lossy();
        let Some(link) = context.link_to(&target) else {
            say!(Error, "rmr_wh_open: {target:?} is no \"host:port\"");
            errno::set(libc::EINVAL);
            return -1;
        };
        if link.connect().is_err() {
            errno::set(libc::ECONNREFUSED);
            return -1;
        }
        errno::set(0);
        enter(context, link)
    })
}

/// The number of the wormhole along a link: the one that it has, or a free one.
fn enter(context: &Context, link: Arc<Link>) -> c_int {
    let mut wormholes = context.wormholes();
    let places = wormholes.get_or_insert_default();
    let ours = |place: &Option<Arc<Link>>| place.as_ref().is_some_and(|it| Arc::ptr_eq(it, &link));
    let place = places
        .iter()
        .position(ours)
        .or_else(|| places.iter().position(Option::is_none));
    let place = place.unwrap_or_else(|| {
        places.push(None);
        places.len() - 1
    });
    places[place] = Some(link);
    c_int::try_from(place).unwrap_or(-1)
}

fn find(context: &Context, whid: c_int) -> Result<Arc<Link>, Refused> {
    let wormholes = context.wormholes();
    let places = wormholes
        .as_ref()
        .ok_or(Refused::new(state::NO_WORMHOLE_OPEN, libc::EINVAL))?;
    usize::try_from(whid)
        .ok()
        .and_then(|place| places.get(place)?.clone())
        .ok_or(Refused::new(state::WORMHOLE_ID, libc::EINVAL))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_wh_send_msg(
    vctx: *mut c_void,
    whid: c_int,
    msg: *mut Message,
) -> *mut Message {
    boundary(msg, || {
        // SAFETY: as the header says.
        let (Some(context), Some(message)) = (unsafe { (context(vctx), message(msg)) }) else {
            // SAFETY: as the header says.
            return unsafe { bad_argument(msg) };
        };
        let link = match find(context, whid) {
            Ok(_) if !message.has_header() => {
                refuse(message, super::send::NO_HEADER);
                return msg;
            }
            Ok(link) => link,
            Err(refused) => {
                refuse(message, refused);
                return msg;
            }
        };
        send::set_call(message, 0, false);
        let result = send::direct(context, message, &link, context.send_timeout());
        super::send::finish(context, message, result);
        msg
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_wh_call(
    vctx: *mut c_void,
    whid: c_int,
    msg: *mut Message,
    call_id: c_int,
    max_wait: c_int,
) -> *mut Message {
    boundary(null_mut(), || {
        // SAFETY: as the header says.
        let (Some(context), Some(message)) = (unsafe { (context(vctx), message(msg)) }) else {
            // SAFETY: as the header says.
            return unsafe { bad_argument(msg) };
        };
        // 0 means no call. The number of `rmr_call` was always let through here.
        let Some(call_id) = u8::try_from(call_id).ok().filter(|id| *id > 0) else {
            // SAFETY: as the header says.
            return unsafe { bad_argument(msg) };
        };
        match find(context, whid) {
            // SAFETY: as the header says.
            Ok(link) => unsafe {
                super::call::call(context, msg, Some(call_id), max_wait, Some(&link))
            },
            Err(refused) => {
                refuse(message, refused);
                msg
            }
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_wh_state(vctx: *mut c_void, whid: c_int) -> c_int {
    boundary(state::BAD_ARGUMENT, || {
        // SAFETY: as the header says.
        let Some(context) = (unsafe { context(vctx) }) else {
            errno::set(libc::EINVAL);
            return state::BAD_ARGUMENT;
        };
        match find(context, whid) {
            Ok(link) => {
                errno::set(0);
                if link.look_open() {
                    state::OK
                } else {
                    state::NO_ENDPOINT
                }
            }
            Err(refused) => {
                errno::set(refused.errno);
                refused.state
            }
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_wh_close(vctx: *mut c_void, whid: c_int) {
    boundary((), || {
        // SAFETY: as the header says.
        let Some(context) = (unsafe { context(vctx) }) else {
            return;
        };
        // The connection stays: others may use it.
        if let Some(places) = context.wormholes().as_mut()
            && let Ok(place) = usize::try_from(whid)
            && let Some(place) = places.get_mut(place)
        {
            *place = None;
        }
    });
}
