//! The exported functions, as `rmr/rmr.h` declares them. One module a group.
//!
//! What "the header says" is the contract that each `// SAFETY:` here rests on: a message is null
//! or one that this library gave and that was not freed; it is used by one thread at a time; a
//! context is null or what `rmr_init` gave.

mod accounts;
mod call;
mod constants;
mod logging;
mod mbuf;
mod process;
mod receive;
mod send;
mod settings;
mod symbols;
#[cfg(test)]
mod tests;
mod trace;
mod wormhole;

use crate::context::Context;
use crate::errno;
use crate::message::Message;
use crate::state::{self, Refused};
use libc::{c_int, c_void};
use std::ptr::NonNull;

/// The context behind C's pointer.
///
/// # Safety
/// As the header says.
unsafe fn context(pointer: *mut c_void) -> Option<&'static Context> {
    // SAFETY: null, or from `rmr_init`, and contexts are never freed.
    unsafe { pointer.cast::<Context>().as_ref() }
}

/// The message behind C's pointer.
///
/// # Safety
/// As the header says; the result is the only reference to it.
unsafe fn message<'a>(pointer: *mut Message) -> Option<&'a mut Message> {
    // SAFETY: as the caller says.
    unsafe { pointer.as_mut() }
}

/// Notes in the message and in `errno` why it was not taken.
fn refuse(message: &mut Message, refused: Refused) {
    message.state = refused.state;
    message.tp_state = refused.errno;
    errno::set(refused.errno);
}

/// An argument cannot be used; the message, if there is one, says so and goes back.
///
/// # Safety
/// `pointer` is a message as the header says.
unsafe fn bad_argument(pointer: *mut Message) -> *mut Message {
    errno::set(libc::EINVAL);
    // SAFETY: as the caller says.
    if let Some(message) = unsafe { message(pointer) } {
        refuse(message, Refused::new(state::BAD_ARGUMENT, libc::EINVAL));
    }
    pointer
}

/// A message as C has it.
fn to_c(message: Option<NonNull<Message>>) -> *mut Message {
    message.map_or(std::ptr::null_mut(), NonNull::as_ptr)
}

/// A length from C; negative ones are none.
fn length(value: c_int) -> usize {
    usize::try_from(value).unwrap_or(0)
}
