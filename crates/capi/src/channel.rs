//! The blocking face: the calling thread drives the connection itself.

use crate::body::corewire_slice;
use crate::boundary::{borrow, boundary, may_block, put, reporting, require, text};
use crate::error::{Fault, corewire_code, corewire_error};
use crate::operation::corewire_operation;
use crate::options::{client_options, corewire_call_options, corewire_channel_options, request};
use crate::response::corewire_response;
use corewire_message::blocking::Caller;
use corewire_message::{CallError, Event, Response};
use corewire_transport::{Endpoint, blocking};
use std::ffi::c_char;

/// A connection to one service, for threads that wait. Any number of threads may use it at once:
/// they share the connection. When the connection is lost, the next call makes it anew.
pub struct corewire_channel(pub(crate) blocking::Client);

/// Connects to a service; waits until it has.
///
/// `endpoint`: "native://HOST:PORT", "grpc://HOST:PORT" or "rest://HOST:PORT", or with a Unix
/// socket "native+unix:PATH" and so on, or "shm://HOST:PORT" for the service of this host at that
/// port by shared memory, ended by NUL. `options` may be NULL. *channel is owned by the caller, who
/// gives it to corewire_channel_free. Any thread, but not from a callback.
///
/// COREWIRE_INVALID_ARGUMENT: no such endpoint, or a TLS file that cannot be used (the message names
/// it). COREWIRE_UNAVAILABLE: not reached, or refused by TLS; the message has the reason.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_channel_connect(
    endpoint: *const c_char,
    options: *const corewire_channel_options,
    channel: *mut *mut corewire_channel,
    error: *mut *mut corewire_error,
) -> corewire_code {
    let body = || {
        require!(channel);
        may_block()?;
        // SAFETY: null or ended by NUL, says the header.
        let endpoint: Endpoint = unsafe { text(endpoint, "endpoint") }?.parse()?;
        // SAFETY: null or filled by the init function, says the header.
        let options = unsafe { client_options(options) }?;
        let client = blocking::Client::connect(endpoint, options)?;
        // SAFETY: not null, and writable, says the header.
        unsafe { put(channel, Box::into_raw(Box::new(corewire_channel(client)))) };
        Ok(())
    };
    // SAFETY: null or writable, says the header.
    unsafe { reporting(error, body) }
}

/// Frees a channel, which no thread may use any more; its streams live on and are freed on their
/// own. NULL is allowed. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_channel_free(channel: *mut corewire_channel) {
    boundary((), || {
        if !channel.is_null() {
            // SAFETY: it came from `Box::into_raw`, and the header makes its owner free it once.
            drop(unsafe { Box::from_raw(channel) });
        }
    });
}

/// Calls an operation and waits for its end.
///
/// The body is the `body_count` slices of `body` in their order; they are read before this returns
/// and not kept. `options` may be NULL.
///
/// Returns how the call ended. If an answer came, well or with a failure, *response holds it and
/// *error is NULL; the code returned is the answer's. If none came, *response is NULL and *error
/// says why, and whether the call may have been executed. `response` and `error` may be NULL; what
/// they receive is owned by the caller. Any thread, but not from a callback.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_call(
    channel: *const corewire_channel,
    operation: *const corewire_operation,
    body: *const corewire_slice,
    body_count: usize,
    options: *const corewire_call_options,
    response: *mut *mut corewire_response,
    error: *mut *mut corewire_error,
) -> corewire_code {
    let mut code = corewire_code::COREWIRE_OK;
    // SAFETY: null or writable, says the header.
    unsafe { put(response, std::ptr::null_mut()) };
    let run = || {
        let (channel, operation) = (borrow!(channel), borrow!(operation));
        may_block()?;
        // SAFETY: readable slices and settings, says the header.
        let request = unsafe { request(operation, body, body_count, options) }?;
        let answer = answer(channel.0.call(request))?;
        code = answer.status.code().into();
        if !response.is_null() {
            // SAFETY: not null, and writable, says the header.
            unsafe { put(response, corewire_response::give(answer)) };
        }
        Ok(())
    };
    // SAFETY: null or writable, says the header.
    match unsafe { reporting(error, run) } {
        corewire_code::COREWIRE_OK => code,
        fault => fault,
    }
}

/// The answer to a call, good or bad; a fault when there was none.
pub(crate) fn answer(result: Result<Response, CallError>) -> Result<Response, Fault> {
    Ok(result.or_else(CallError::into_response)?)
}

/// Sends an event, which nobody answers; returns when it is written to the connection. It is
/// delivered at most once. Body and options as for corewire_call. Any thread, but not from a
/// callback.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_send_event(
    channel: *const corewire_channel,
    operation: *const corewire_operation,
    body: *const corewire_slice,
    body_count: usize,
    options: *const corewire_call_options,
    error: *mut *mut corewire_error,
) -> corewire_code {
    let run = || {
        let (channel, operation) = (borrow!(channel), borrow!(operation));
        may_block()?;
        // SAFETY: readable slices and settings, says the header.
        let request = unsafe { request(operation, body, body_count, options) }?;
        let mut event = Event::new(request.operation, request.body);
        event.headers = request.headers;
        event.priority = request.priority;
        channel.0.send(event)?;
        Ok(())
    };
    // SAFETY: null or writable, says the header.
    unsafe { reporting(error, run) }
}
