//! Operations, prepared once so that no name is read at a call.

use crate::boundary::{boundary, put, reporting, require, text};
use crate::error::{corewire_code, corewire_error};
use corewire_message::Operation;
use std::ffi::c_char;

/// What a message asks for: "service/method". Made once and used for any number of calls, by any
/// number of threads at once.
pub struct corewire_operation(pub(crate) Operation);

/// The operation of this name: "service/method" in visible ASCII, at most 1024 octets, ended by
/// NUL; the service may contain slashes. *operation is owned by the caller, who gives it to
/// corewire_operation_free. COREWIRE_INVALID_ARGUMENT for anything else. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_operation_new(
    name: *const c_char,
    operation: *mut *mut corewire_operation,
    error: *mut *mut corewire_error,
) -> corewire_code {
    let body = || {
        require!(operation);
        // SAFETY: null or ended by NUL, says the header.
        let name = unsafe { text(name, "name") }?;
        let made = Operation::parse(name)
            .map_err(|fault| corewire_error::misuse(format!("{name:?}: {fault}")))?;
        // SAFETY: not null, and writable, says the header.
        unsafe { put(operation, Box::into_raw(Box::new(corewire_operation(made)))) };
        Ok(())
    };
    // SAFETY: null or writable, says the header.
    unsafe { reporting(error, body) }
}

/// Frees an operation; calls in flight are not affected. NULL is allowed. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_operation_free(operation: *mut corewire_operation) {
    boundary((), || {
        if !operation.is_null() {
            // SAFETY: it came from `Box::into_raw`, and the header makes its owner free it once.
            drop(unsafe { Box::from_raw(operation) });
        }
    });
}
