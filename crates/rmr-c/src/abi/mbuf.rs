//! Messages: their making and freeing, payload and fields.

use super::{context, length, message, to_c};
use crate::boundary::boundary;
use crate::errno;
use crate::message::Message;
use crate::pool;
use crate::state;
use libc::{c_int, c_uchar, c_void};
use std::ptr::{NonNull, null_mut};

const XACTION: usize = 12;
const XACTION_OCTETS: usize = 32;
const SOURCE: usize = 76;
const SOURCE_IP: usize = 216;
const SOURCE_OCTETS: usize = 64;
const MEID: usize = 140;
const MEID_OCTETS: usize = 32;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_alloc_msg(vctx: *mut c_void, size: c_int) -> *mut Message {
    boundary(null_mut(), || {
        // SAFETY: as the header says.
        let Some(context) = (unsafe { context(vctx) }) else {
            return null_mut();
        };
        let size = (size > 0).then(|| length(size));
        to_c(context.allocate(size, None))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_tralloc_msg(
    vctx: *mut c_void,
    size: c_int,
    tr_size: c_int,
    data: *const c_uchar,
) -> *mut Message {
    boundary(null_mut(), || {
        // SAFETY: as the header says.
        let Some(context) = (unsafe { context(vctx) }) else {
            return null_mut();
        };
        let size = (size > 0).then(|| length(size));
        let trace = (tr_size > 0).then(|| length(tr_size));
        let allocated = context.allocate(size, trace);
        if let Some(mut allocated) = allocated {
            // SAFETY: just allocated.
            let message = unsafe { allocated.as_mut() };
            let range = message.trace_range();
            match (data.is_null(), message.rmr_octets_mut().get_mut(range)) {
                // SAFETY: not null, so `tr_size` octets, says the header; the area is as long
                // when one was asked for, and empty or the context's otherwise.
                (false, Some(area)) if tr_size > 0 => unsafe {
                    std::ptr::copy_nonoverlapping(data, area.as_mut_ptr(), area.len());
                },
                _ if tr_size > 0 => message.state = state::INIT_FAILED,
                _ => {}
            }
        }
        to_c(allocated)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_free_msg(mbuf: *mut Message) {
    boundary((), || {
        let Some(message) = NonNull::new(mbuf) else {
            return;
        };
        // SAFETY: as the header says.
        if !unsafe { pool::free(message) } {
            crate::log::say!(Error, "rmr_free_msg: the message was freed before");
        }
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_payload_size(msg: *mut Message) -> c_int {
    boundary(-1, || {
        // SAFETY: as the header says.
        match unsafe { message(msg) } {
            Some(message) if message.has_header() => {
                errno::set(0);
                message.payload_size() as c_int
            }
            _ => {
                errno::set(libc::EINVAL);
                -1
            }
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_realloc_payload(
    old_msg: *mut Message,
    new_len: c_int,
    copy: c_int,
    clone: c_int,
) -> *mut Message {
    boundary(null_mut(), || {
        // SAFETY: as the header says.
        let old = unsafe { message(old_msg) }.filter(|message| message.has_header());
        let (Some(old), true) = (old, new_len > 0) else {
            errno::set(libc::EINVAL);
            return null_mut();
        };
        let (copy, clone) = (copy != 0, clone != 0);
        let wanted = length(new_len);
        if !clone && wanted <= old.payload_size() {
            return old_msg;
        }
        let kept = if copy { old.payload_size() } else { 0 };
        let payload_at = old.payload_at();
        let size = wanted.max(old.payload_size());
        let Some(mut larger) = old.with_payload_at(payload_at, size, payload_at + kept) else {
            errno::set(libc::ENOMEM);
            return null_mut();
        };
        // SAFETY: just made.
        let fresh = unsafe { larger.as_mut() };
        (fresh.mtype, fresh.sub_id, fresh.len) = if copy {
            (old.mtype, old.sub_id, old.len)
        } else {
            (-1, -1, 0)
        };
        if clone {
            return larger.as_ptr();
        }
        old.swap_buffers(fresh);
        (old.mtype, old.sub_id, old.len) = (fresh.mtype, fresh.sub_id, fresh.len);
        old.state = state::OK;
        // SAFETY: just made, and nobody has it.
        unsafe { pool::free(larger) };
        old_msg
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_realloc_msg(mbuf: *mut Message, new_tr_size: c_int) -> *mut Message {
    boundary(null_mut(), || {
        // SAFETY: as the header says.
        match unsafe { message(mbuf) }.filter(|message| message.has_header()) {
            Some(message) => to_c(message.with_trace(length(new_tr_size))),
            None => {
                errno::set(libc::EINVAL);
                null_mut()
            }
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_bytes2payload(mbuf: *mut Message, src: *const c_uchar, len: c_int) {
    boundary((), || {
        // SAFETY: as the header says.
        let message = unsafe { message(mbuf) }.filter(|message| message.has_header());
        let (Some(message), false) = (message, src.is_null()) else {
            return errno::set(libc::EINVAL);
        };
        let at = message.payload_at();
        let copied = length(len).min(message.payload_size());
        if let Some(room) = message.place(at..at + copied) {
            // SAFETY: not null, so `len` octets, says the header, perhaps of this very payload; the
            // room is in our buffer.
            unsafe { std::ptr::copy(src, room, copied) };
        }
        message.len = copied as c_int;
        if copied < length(len) {
            message.state = state::OVERFLOW;
            errno::set(libc::EMSGSIZE);
        } else {
            message.state = state::OK;
            errno::set(0);
        }
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_str2payload(mbuf: *mut Message, str: *const c_uchar) {
    if str.is_null() {
        return errno::set(libc::EINVAL);
    }
    // SAFETY: not null, so a text that ends with NUL, which is sent as well; else the same contract.
    unsafe { rmr_bytes2payload(mbuf, str, text_length(str) + 1) };
}

/// # Safety
/// `text` ends with NUL.
unsafe fn text_length(text: *const c_uchar) -> c_int {
    // SAFETY: as the caller says.
    let length = unsafe { libc::strlen(text.cast()) };
    c_int::try_from(length).unwrap_or(c_int::MAX - 1)
}

/// Copies octets from C into a field of the header; how many there were room for, or -1.
///
/// # Safety
/// `mbuf` and `src` are as the header says.
unsafe fn into_field(
    mbuf: *mut Message,
    src: *const c_uchar,
    len: c_int,
    at: usize,
    room: usize,
) -> c_int {
    // SAFETY: as the caller says.
    let message = unsafe { message(mbuf) }.filter(|message| message.has_header());
    let (Some(message), false) = (message, src.is_null()) else {
        errno::set(libc::EINVAL);
        return -1;
    };
    let fits = length(len).min(room);
    errno::set(if fits < length(len) {
        libc::EOVERFLOW
    } else {
        0
    });
    if let Some(field) = message.place(at..at + fits) {
        // SAFETY: not null, so `len` octets at least, says the header, perhaps of this very message; the
        // field is in our buffer.
        unsafe { std::ptr::copy(src, field, fits) };
    }
    fits as c_int
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_bytes2xact(
    mbuf: *mut Message,
    src: *const c_uchar,
    len: c_int,
) -> c_int {
    // SAFETY: the contract is the same.
    boundary(-1, || unsafe {
        into_field(mbuf, src, len, XACTION, XACTION_OCTETS)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_bytes2meid(
    mbuf: *mut Message,
    src: *const c_uchar,
    len: c_int,
) -> c_int {
    boundary(-1, || {
        // SAFETY: the contract is the same.
        let copied = unsafe { into_field(mbuf, src, len, MEID, MEID_OCTETS) };
        // SAFETY: as the header says.
        if let (0.., Some(message)) = (copied, unsafe { message(mbuf) }) {
            // It is a text wherever it is read: it ends with NUL.
            let end = length(copied).min(MEID_OCTETS - 1);
            if let Some(octet) = message.rmr_octets_mut().get_mut(MEID + end) {
                if length(copied) == MEID_OCTETS && *octet != 0 {
                    errno::set(libc::EOVERFLOW);
                }
                *octet = 0;
            }
        }
        copied
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_str2xact(mbuf: *mut Message, str: *const c_uchar) -> c_int {
    // SAFETY: the contract is the same.
    boundary(state::BAD_ARGUMENT, || unsafe {
        text_into_field(mbuf, str, XACTION_OCTETS, rmr_bytes2xact)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_str2meid(mbuf: *mut Message, str: *const c_uchar) -> c_int {
    // SAFETY: the contract is the same.
    boundary(state::BAD_ARGUMENT, || unsafe {
        text_into_field(mbuf, str, MEID_OCTETS, rmr_bytes2meid)
    })
}

/// # Safety
/// `mbuf` and `str` are as the header says.
unsafe fn text_into_field(
    mbuf: *mut Message,
    str: *const c_uchar,
    room: usize,
    put: unsafe extern "C" fn(*mut Message, *const c_uchar, c_int) -> c_int,
) -> c_int {
    // SAFETY: as the caller says.
    let has_header = unsafe { message(mbuf) }.is_some_and(|message| message.has_header());
    if str.is_null() || !has_header {
        errno::set(libc::EINVAL);
        return state::BAD_ARGUMENT;
    }
    // SAFETY: not null, so a text that ends with NUL.
    let length = unsafe { text_length(str) };
    if super::length(length) >= room {
        errno::set(libc::EOVERFLOW);
        return state::OVERFLOW;
    }
    // SAFETY: as the caller says; the NUL is one octet more.
    unsafe { put(mbuf, str, length + 1) };
    state::OK
}

/// Copies a field of the header to where C wants it, or into memory of its own.
///
/// # Safety
/// `mbuf` is as the header says; `dest` is null or has room for `room` octets.
unsafe fn out_of_field(
    mbuf: *mut Message,
    dest: *mut c_uchar,
    at: usize,
    room: usize,
) -> *mut c_uchar {
    // SAFETY: as the caller says.
    let message = unsafe { message(mbuf) }.filter(|message| message.has_header());
    let field = message
        .as_ref()
        .and_then(|message| message.rmr_octets().get(at..at + room));
    let Some(field) = field else {
        errno::set(libc::EINVAL);
        return null_mut();
    };
    let dest = if dest.is_null() {
        // SAFETY: malloc touches no memory of ours.
        unsafe { libc::malloc(room) }.cast()
    } else {
        dest
    };
    if dest.is_null() {
        errno::set(libc::ENOMEM);
        return null_mut();
    }
    errno::set(0);
    // SAFETY: room for as many, says the caller, or just allocated.
    unsafe { std::ptr::copy(field.as_ptr(), dest, room) };
    dest
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_get_xact(mbuf: *mut Message, dest: *mut c_uchar) -> *mut c_uchar {
    // SAFETY: the contract is the same.
    boundary(null_mut(), || unsafe {
        out_of_field(mbuf, dest, XACTION, XACTION_OCTETS)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_get_meid(mbuf: *mut Message, dest: *mut c_uchar) -> *mut c_uchar {
    // SAFETY: the contract is the same.
    boundary(null_mut(), || unsafe {
        out_of_field(mbuf, dest, MEID, MEID_OCTETS)
    })
}

/// A name from the header, always ended by NUL; null when there is no place for it.
///
/// # Safety
/// `mbuf` is as the header says; `dest` is null or has room for `RMR_MAX_SRC` octets.
unsafe fn name_out(mbuf: *mut Message, dest: *mut c_uchar, at: usize) -> *mut c_uchar {
    if dest.is_null() {
        return null_mut();
    }
    // SAFETY: as the caller says.
    let copied = unsafe { out_of_field(mbuf, dest, at, SOURCE_OCTETS) };
    if !copied.is_null() {
        // SAFETY: within the room that was just written.
        unsafe { *copied.add(SOURCE_OCTETS - 1) = 0 };
    }
    copied
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_get_src(msg: *mut Message, dest: *mut c_uchar) -> *mut c_uchar {
    // SAFETY: the contract is the same.
    boundary(null_mut(), || unsafe { name_out(msg, dest, SOURCE) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmr_get_srcip(msg: *mut Message, dest: *mut c_uchar) -> *mut c_uchar {
    boundary(null_mut(), || {
        errno::set(libc::EINVAL);
        // SAFETY: the contract is the same.
        unsafe { name_out(msg, dest, SOURCE_IP) }
    })
}
