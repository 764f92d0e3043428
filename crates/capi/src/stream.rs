//! Streams as their caller holds them: blocking, one thread at a time.

use crate::body::{array, contiguous, corewire_slice, gather};
use crate::boundary::{borrow, boundary, may_block, put, reporting, require};
use crate::channel::corewire_channel;
use crate::error::{Fault, corewire_code, corewire_error};
use crate::headers::{corewire_headers, lend};
use crate::operation::corewire_operation;
use crate::options::{corewire_call_options, request};
use bytes::Bytes;
use corewire_message::blocking::{CallStream, Caller};
use corewire_message::{Body, Code};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// An open call of many messages a side. Any thread may use it, one at a time: a function that is
/// called while another is in progress returns COREWIRE_FAILED_PRECONDITION.
pub struct corewire_stream(Mutex<State>);

struct State {
    /// `None` once it was given up.
    stream: Option<CallStream>,
    /// The message last received, which C borrows.
    message: Bytes,
}

impl corewire_stream {
    fn enter(&self) -> Result<MutexGuard<'_, State>, Fault> {
        match self.0.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(corewire_error::precondition(
                "another thread is using this stream",
            )),
        }
    }
}

impl State {
    fn open(&mut self) -> Result<&mut CallStream, Fault> {
        self.stream.as_mut().ok_or_else(corewire_error::over)
    }
}

/// Opens a stream. The body is its first message, unless it is empty; the timeout bounds how long
/// the stream may live. *stream is owned by the caller, who gives it to corewire_stream_free. Any
/// thread, but not from a callback.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_stream_open(
    channel: *const corewire_channel,
    operation: *const corewire_operation,
    body: *const corewire_slice,
    body_count: usize,
    options: *const corewire_call_options,
    stream: *mut *mut corewire_stream,
    error: *mut *mut corewire_error,
) -> corewire_code {
    let run = || {
        require!(stream);
        let (channel, operation) = (borrow!(channel), borrow!(operation));
        may_block()?;
        // SAFETY: readable slices and settings, says the header.
        let request = unsafe { request(operation, body, body_count, options) }?;
        let opened = channel.0.open(request)?;
        let state = State {
            stream: Some(opened),
            message: Bytes::new(),
        };
        let opened = Box::new(corewire_stream(Mutex::new(state)));
        // SAFETY: not null, and writable, says the header.
        unsafe { put(stream, Box::into_raw(opened)) };
        Ok(())
    };
    // SAFETY: null or writable, says the header.
    unsafe { reporting(error, run) }
}

/// Sends a message, the slices of `body` in their order; waits while the service has no room for
/// it. One that lies within the message last received is shared with it, not copied.
/// COREWIRE_CANCELLED: the call has ended; receiving tells how. One thread at a time, not from a
/// callback.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_stream_send(
    stream: *const corewire_stream,
    body: *const corewire_slice,
    body_count: usize,
    error: *mut *mut corewire_error,
) -> corewire_code {
    let run = || {
        let mut state = borrow!(stream).enter()?;
        may_block()?;
        // SAFETY: an array of readable slices, says the header.
        let message: Body =
            unsafe { gather(array(body, body_count, "body")?, Some(&state.message)) }?;
        state.open()?.send(message)?;
        Ok(())
    };
    // SAFETY: null or writable, says the header.
    unsafe { reporting(error, run) }
}

/// Receives the next message; waits for it. *message is borrowed from the stream until the next
/// receive. When the service has ended the call well, the code is COREWIRE_OK and message->data is
/// NULL; it never is for a message, not even for an empty one. When the call failed, the code is
/// how. One thread at a time, not from a callback.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_stream_receive(
    stream: *const corewire_stream,
    message: *mut corewire_slice,
    error: *mut *mut corewire_error,
) -> corewire_code {
    let run = || {
        require!(message);
        // SAFETY: not null, and writable, says the header.
        unsafe { put(message, corewire_slice::EMPTY) };
        let mut state = borrow!(stream).enter()?;
        may_block()?;
        state.message = Bytes::new();
        if let Some(received) = state.open()?.receive()? {
            state.message = contiguous(received).into_bytes();
            // SAFETY: not null, and writable, says the header.
            unsafe { put(message, corewire_slice::of(&state.message)) };
        }
        Ok(())
    };
    // SAFETY: null or writable, says the header.
    unsafe { reporting(error, run) }
}

/// Ends the caller's side: no more messages follow. Receiving goes on. One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_stream_finish(
    stream: *const corewire_stream,
    error: *mut *mut corewire_error,
) -> corewire_code {
    let run = || {
        may_block()?;
        borrow!(stream).enter()?.open()?.finish()?;
        Ok(())
    };
    // SAFETY: null or writable, says the header.
    unsafe { reporting(error, run) }
}

/// Gives the call up; the service is told `code`, a corewire_code. The stream is still to be freed.
/// One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_stream_cancel(
    stream: *const corewire_stream,
    code: u32,
    error: *mut *mut corewire_error,
) -> corewire_code {
    let run = || {
        let mut state = borrow!(stream).enter()?;
        if let Some(stream) = state.stream.take() {
            stream.cancel(Code::from_number(code));
        }
        Ok(())
    };
    // SAFETY: null or writable, says the header.
    unsafe { reporting(error, run) }
}

/// The headers that came after the last message; none before. Borrowed from the stream until the
/// next function that is called with it. NULL when the stream is given up or in use. One thread at
/// a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_stream_trailers(
    stream: *const corewire_stream,
) -> *const corewire_headers {
    boundary(std::ptr::null(), || {
        // SAFETY: null, or not yet freed, says the header.
        let Some(Ok(state)) = (unsafe { stream.as_ref() }).map(corewire_stream::enter) else {
            return std::ptr::null();
        };
        state
            .stream
            .as_ref()
            .map_or(std::ptr::null(), |stream| lend(stream.trailers()))
    })
}

/// Frees a stream, which no thread may use any more; gives the call up unless it has ended. NULL
/// is allowed. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_stream_free(stream: *mut corewire_stream) {
    boundary((), || {
        if !stream.is_null() {
            // SAFETY: it came from `Box::into_raw`, and the header makes its owner free it once.
            drop(unsafe { Box::from_raw(stream) });
        }
    });
}
