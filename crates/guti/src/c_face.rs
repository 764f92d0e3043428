//! The C face: `include/corewire_guti.h`, for servers that are written in C or C++.
//!
//! The header documents each function; here stands what keeps it sound. Every body runs inside a
//! panic boundary, since a panic must not unwind into C.
#![expect(
    unsafe_code,
    reason = "pointers from C are dereferenced here and nowhere else"
)]
#![expect(
    clippy::missing_safety_doc,
    reason = "the contract of each function is in the header"
)]

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use crate::message::{
    GUTI_MESSAGE_MAX, GutiNumbers, REQUEST_HEAD_MAX, RESPONSE_HEAD_MAX, allocate_request_payload,
    allocate_response_parts, encode_allocate_request_head, encode_allocate_response_head,
    encode_deallocate_request,
};
use crate::{Allocator, Guami, Guti};

const OK: c_int = 0;
const EXHAUSTED: c_int = 1;
const UNKNOWN: c_int = 2;
const INVALID: c_int = 3;
const MALFORMED: c_int = 4;
const INTERNAL: c_int = 5;

/// `cw_guti` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "part of the ABI")]
pub struct cw_guti {
    /// Mobile country code.
    pub mcc: u16,
    /// Mobile network code.
    pub mnc: u16,
    /// Its digits, 2 or 3.
    pub mnc_digits: u8,
    /// AMF region.
    pub amf_region: u8,
    /// AMF set, ten bits.
    pub amf_set: u16,
    /// AMF pointer, six bits.
    pub amf_pointer: u8,
    /// 5G-TMSI.
    pub tmsi: u32,
}

impl From<Guti> for cw_guti {
    fn from(guti: Guti) -> Self {
        let guami = guti.guami();
        Self {
            mcc: guami.plmn().mcc(),
            mnc: guami.plmn().mnc(),
            mnc_digits: guami.plmn().mnc_digits(),
            amf_region: guami.region().value(),
            amf_set: guami.set().value(),
            amf_pointer: guami.pointer().value(),
            tmsi: guti.tmsi().value(),
        }
    }
}

impl cw_guti {
    fn checked(self) -> Option<Guti> {
        let numbers = GutiNumbers {
            mcc: self.mcc.into(),
            mnc: self.mnc.into(),
            mnc_digits: self.mnc_digits.into(),
            amf_region: self.amf_region.into(),
            amf_set: self.amf_set.into(),
            amf_pointer: self.amf_pointer.into(),
            tmsi: self.tmsi,
        };
        numbers.guti().ok()
    }
}

/// Runs `body`; a panic in it becomes `on_panic`.
fn boundary<T>(on_panic: T, body: impl FnOnce() -> T) -> T {
    // What a panic could leave half-done stays unseen: the allocator's state is atomics, each of
    // which is whole, and outputs are written last.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(on_panic)
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn cw_guti_allocator_new() -> *mut Allocator {
    boundary(ptr::null_mut(), || match Allocator::new(Guami::default()) {
        Ok(allocator) => Box::into_raw(Box::new(allocator)),
        Err(_) => ptr::null_mut(),
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cw_guti_allocator_free(allocator: *mut Allocator) {
    boundary((), || {
        if !allocator.is_null() {
            // SAFETY: it came from `Box::into_raw` in `cw_guti_allocator_new`, and the header makes
            // the caller promise to free it once and to use it no more.
            drop(unsafe { Box::from_raw(allocator) });
        }
    });
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cw_guti_allocate(allocator: *mut Allocator, out: *mut cw_guti) -> c_int {
    boundary(INTERNAL, || {
        // SAFETY: null, or alive until `cw_guti_allocator_free`, says the header. Only shared
        // references to it are ever made, so threads may call this at the same time.
        let Some(allocator) = (unsafe { allocator.as_ref() }) else {
            return INVALID;
        };
        if out.is_null() {
            return INVALID;
        }
        let Ok(guti) = allocator.allocate() else {
            return EXHAUSTED;
        };
        // SAFETY: not null, and the header asks for a writable `cw_guti`.
        unsafe { out.write(guti.into()) };
        OK
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cw_guti_deallocate(
    allocator: *mut Allocator,
    guti: *const cw_guti,
) -> c_int {
    boundary(INTERNAL, || {
        // SAFETY: as in `cw_guti_allocate`.
        let Some(allocator) = (unsafe { allocator.as_ref() }) else {
            return INVALID;
        };
        // SAFETY: null, or a readable `cw_guti`, says the header; any bits are valid integers.
        let Some(guti) = (unsafe { guti.as_ref() }).and_then(|guti| guti.checked()) else {
            return INVALID;
        };
        match allocator.deallocate(&guti) {
            Ok(()) => OK,
            Err(_) => UNKNOWN,
        }
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cw_guti_encode_allocate_request_head(
    payload_len: usize,
    out: *mut u8,
) -> usize {
    boundary(0, || {
        if out.is_null() {
            return 0;
        }
        let mut head = [0; REQUEST_HEAD_MAX];
        let len = encode_allocate_request_head(payload_len, &mut head);
        // SAFETY: not null, and the header asks for 16 writable octets, which is REQUEST_HEAD_MAX.
        unsafe { out.copy_from_nonoverlapping(head.as_ptr(), len) };
        len
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cw_guti_encode_allocate_response_head(
    guti: *const cw_guti,
    payload_len: usize,
    out: *mut u8,
) -> usize {
    boundary(0, || {
        // SAFETY: as in `cw_guti_deallocate`.
        let Some(guti) = (unsafe { guti.as_ref() }).and_then(|guti| guti.checked()) else {
            return 0;
        };
        if out.is_null() {
            return 0;
        }
        let mut head = [0; RESPONSE_HEAD_MAX];
        let len = encode_allocate_response_head(&guti, payload_len, &mut head);
        // SAFETY: not null, and the header asks for 64 writable octets, which is RESPONSE_HEAD_MAX.
        unsafe { out.copy_from_nonoverlapping(head.as_ptr(), len) };
        len
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cw_guti_encode_deallocate_request(
    guti: *const cw_guti,
    out: *mut u8,
) -> usize {
    boundary(0, || {
        // SAFETY: as in `cw_guti_deallocate`.
        let Some(guti) = (unsafe { guti.as_ref() }).and_then(|guti| guti.checked()) else {
            return 0;
        };
        if out.is_null() {
            return 0;
        }
        let mut message = [0; GUTI_MESSAGE_MAX];
        let len = encode_deallocate_request(&guti, &mut message);
        // SAFETY: not null, and the header asks for 32 writable octets, which is GUTI_MESSAGE_MAX.
        unsafe { out.copy_from_nonoverlapping(message.as_ptr(), len) };
        len
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cw_guti_decode_allocate_request(
    message: *const u8,
    len: usize,
    payload: *mut *const u8,
    payload_len: *mut usize,
) -> c_int {
    boundary(INTERNAL, || {
        if payload.is_null() || payload_len.is_null() {
            return INVALID;
        }
        // SAFETY: the header asks for `len` readable octets that nobody changes meanwhile.
        let Some(message) = (unsafe { octets(message, len) }) else {
            return INVALID;
        };
        let Ok(found) = allocate_request_payload(message) else {
            return MALFORMED;
        };
        // SAFETY: not null, and the header asks for writable places.
        unsafe {
            payload.write(found.as_ptr());
            payload_len.write(found.len());
        }
        OK
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cw_guti_decode_allocate_response(
    message: *const u8,
    len: usize,
    guti: *mut cw_guti,
    payload: *mut *const u8,
    payload_len: *mut usize,
) -> c_int {
    boundary(INTERNAL, || {
        if guti.is_null() || payload.is_null() || payload_len.is_null() {
            return INVALID;
        }
        // SAFETY: the header asks for `len` readable octets that nobody changes meanwhile.
        let Some(message) = (unsafe { octets(message, len) }) else {
            return INVALID;
        };
        let Ok((found_guti, found)) = allocate_response_parts(message) else {
            return MALFORMED;
        };
        // SAFETY: not null, and the header asks for writable places.
        unsafe {
            guti.write(found_guti.into());
            payload.write(found.as_ptr());
            payload_len.write(found.len());
        }
        OK
    })
}

/// The octets at `start`; `None` for a null pointer to more than nothing.
///
/// # Safety
/// If not null, `start` points to `len` octets that are readable and not changed for `'a`.
unsafe fn octets<'a>(start: *const u8, len: usize) -> Option<&'a [u8]> {
    match (start.is_null(), len) {
        (true, 0) => Some(&[]),
        (true, _) => None,
        // No object is larger than half of the address space.
        (false, len) if isize::try_from(len).is_err() => None,
        // SAFETY: not null, of a possible size, and the caller keeps the rest of the contract.
        (false, len) => Some(unsafe { std::slice::from_raw_parts(start, len) }),
    }
}
