//! Where C meets Rust: panics end here, pointers are checked here.

use crate::error::{Fault, corewire_code, corewire_error};
use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `body`; a panic in it becomes `on_panic`.
pub(crate) fn boundary<T>(on_panic: T, body: impl FnOnce() -> T) -> T {
    // What a panic could leave half-done is behind locks that tolerate it, or is not used again.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(on_panic)
}

/// Runs `body`; what goes wrong in it becomes the code returned and the error written.
///
/// # Safety
/// `error` is null or points to a place for a pointer.
pub(crate) unsafe fn reporting(
    error: *mut *mut corewire_error,
    body: impl FnOnce() -> Result<(), Fault>,
) -> corewire_code {
    let result =
        catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| Err(corewire_error::internal()));
    let (code, fault) = match result {
        Ok(()) => (corewire_code::COREWIRE_OK, std::ptr::null_mut()),
        Err(fault) => (fault.code(), Box::into_raw(fault)),
    };
    if error.is_null() {
        if !fault.is_null() {
            // SAFETY: just made by `Box::into_raw`, and nobody else has seen it.
            drop(unsafe { Box::from_raw(fault) });
        }
    } else {
        // SAFETY: not null, and the caller keeps the rest of the contract.
        unsafe { error.write(fault) };
    }
    code
}

/// The referent of a pointer argument; a null one ends the function with a fault that names it.
macro_rules! borrow {
    ($pointer:ident) => {
        // SAFETY: null, or alive and of this type, says the header; handles are only shared
        // borrows, so that threads may use one at the same time.
        match unsafe { $pointer.as_ref() } {
            Some(referent) => referent,
            None => return Err($crate::error::corewire_error::null(stringify!($pointer))),
        }
    };
}

/// Fails when a place for a result is null.
macro_rules! require {
    ($pointer:ident) => {
        if $pointer.is_null() {
            return Err($crate::error::corewire_error::null(stringify!($pointer)));
        }
    };
}

pub(crate) use {borrow, require};

/// Writes a result to a place that C gave; `false` when the place is null.
///
/// # Safety
/// `place` is null or writable and aligned.
pub(crate) unsafe fn put<T>(place: *mut T, value: T) -> bool {
    if place.is_null() {
        return false;
    }
    // SAFETY: not null, and the caller keeps the rest of the contract.
    unsafe { place.write(value) };
    true
}

/// A text from C.
///
/// # Safety
/// `text` is null or ends with NUL and is not changed for `'a`.
pub(crate) unsafe fn text<'a>(text: *const c_char, name: &str) -> Result<&'a str, Fault> {
    if text.is_null() {
        return Err(corewire_error::null(name));
    }
    // SAFETY: not null, and the caller keeps the rest of the contract.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str()
        .map_err(|_| corewire_error::misuse(format!("{name} is not UTF-8")))
}

thread_local! {
    /// Whether this thread is inside a callback of an event loop, where nothing may block.
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Runs a callback of the application.
pub(crate) fn callback<T>(run: impl FnOnce() -> T) -> T {
    let outer = IN_CALLBACK.replace(true);
    let result = run();
    IN_CALLBACK.set(outer);
    result
}

/// Whether this thread is inside a callback of an event loop.
pub(crate) fn in_callback() -> bool {
    IN_CALLBACK.get()
}

/// Fails inside a callback of an event loop: what follows would block it, perhaps for ever.
pub(crate) fn may_block() -> Result<(), Fault> {
    if in_callback() {
        Err(corewire_error::precondition(
            "this function blocks and must not be called from a callback",
        ))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{corewire_error_free, corewire_error_kind, corewire_error_kind_of};

    #[test]
    fn a_panic_becomes_an_error() {
        let mut error = std::ptr::null_mut();
        // SAFETY: a place for a pointer.
        let code = unsafe { reporting(&raw mut error, || panic!("caught")) };
        assert_eq!(code, corewire_code::COREWIRE_INTERNAL);
        // SAFETY: just made, and freed once.
        unsafe {
            let kind = corewire_error_kind_of(error);
            assert_eq!(kind, corewire_error_kind::COREWIRE_ERROR_INTERNAL);
            corewire_error_free(error);
        }
        assert_eq!(boundary(7, || panic!("caught")), 7);
    }

    #[test]
    fn success_clears_the_place_for_an_error() {
        let mut error = std::ptr::dangling_mut();
        // SAFETY: a place for a pointer.
        let code = unsafe { reporting(&raw mut error, || Ok(())) };
        assert_eq!(code, corewire_code::COREWIRE_OK);
        assert!(error.is_null());
    }

    #[test]
    fn nothing_blocks_inside_a_callback_however_deep() {
        callback(|| {
            callback(|| assert!(may_block().is_err()));
            assert!(may_block().is_err());
        });
        assert!(may_block().is_ok());
    }
}
