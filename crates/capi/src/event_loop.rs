//! The asynchronous face: calls whose end is told by a callback, on a loop that the program drives.

use crate::body::corewire_slice;
use crate::boundary::{borrow, boundary, callback, in_callback, put, reporting, require, text};
use crate::channel::answer;
use crate::error::{Fault, corewire_code, corewire_error};
use crate::operation::corewire_operation;
use crate::options::{
    client_options, corewire_call_options, corewire_channel_options, duration, request,
};
use crate::response::corewire_response;
use corewire_message::{CallError, Response};
use corewire_transport::{Client, Endpoint, EventLoop, LoopHandle};
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// An event loop: drives the connections of asynchronous channels on the thread that runs it. One
/// thread runs it at a time; which one may change between runs.
pub struct corewire_loop {
    /// Touched only by who has set `busy`.
    event_loop: UnsafeCell<EventLoop>,
    busy: AtomicBool,
    handle: LoopHandle,
}

impl corewire_loop {
    /// Runs `work` with the loop, unless it is run already.
    fn drive<T>(
        &self,
        work: impl FnOnce(&mut EventLoop) -> std::io::Result<T>,
    ) -> Result<T, Fault> {
        struct Leave<'a>(&'a AtomicBool);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                self.0.store(false, Ordering::Release);
            }
        }
        if self.busy.swap(true, Ordering::Acquire) {
            return Err(corewire_error::precondition(
                "this event loop is being run already",
            ));
        }
        let _leave = Leave(&self.busy);
        // SAFETY: `busy` was not set, so nobody else has a reference. The loop may move between
        // threads: what could not are tasks of services, and a loop of this face serves none.
        let event_loop = unsafe { &mut *self.event_loop.get() };
        Ok(work(event_loop)?)
    }
}

/// An asynchronous connection to one service, driven by an event loop. Any number of threads may
/// use it at once. Connects at its first call, and anew at the next after it was lost.
pub struct corewire_async_channel {
    client: Client,
}

/// Told how an asynchronous call ended, exactly once: either `response` or `error` is not NULL, as
/// for corewire_call, and is owned by the callback. Runs on the thread that runs the loop, inside
/// that; must not block, must not unwind (throw), and may make further calls.
pub type corewire_call_callback = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        response: *mut corewire_response,
        error: *mut corewire_error,
    ),
>;

/// A new event loop. *loop_ is owned by the caller, who gives it to corewire_loop_free. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_loop_new(
    loop_: *mut *mut corewire_loop,
    error: *mut *mut corewire_error,
) -> corewire_code {
    let run = || {
        require!(loop_);
        let event_loop = EventLoop::new()?;
        let handle = event_loop.handle();
        let made = corewire_loop {
            event_loop: UnsafeCell::new(event_loop),
            busy: AtomicBool::new(false),
            handle,
        };
        // SAFETY: not null, and writable, says the header.
        unsafe { put(loop_, Box::into_raw(Box::new(made))) };
        Ok(())
    };
    // SAFETY: null or writable, says the header.
    unsafe { reporting(error, run) }
}

/// Lets the loop ask again and again for so long after something happened before it sleeps,
/// microseconds. Burns the CPU meanwhile. Default 0: off. While nobody runs the loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_loop_set_busy_poll(
    loop_: *mut corewire_loop,
    busy_poll_us: u64,
    error: *mut *mut corewire_error,
) -> corewire_code {
    let run = || {
        borrow!(loop_).drive(|event_loop| {
            event_loop.set_busy_poll(duration(busy_poll_us));
            Ok(())
        })
    };
    // SAFETY: null or writable, says the header.
    unsafe { reporting(error, run) }
}

/// Runs the loop on this thread until corewire_loop_stop. COREWIRE_FAILED_PRECONDITION: another
/// thread runs it, or this is one of its callbacks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_loop_run(
    loop_: *mut corewire_loop,
    error: *mut *mut corewire_error,
) -> corewire_code {
    let run = || borrow!(loop_).drive(EventLoop::run);
    // SAFETY: null or writable, says the header.
    unsafe { reporting(error, run) }
}

/// Runs one turn of the loop on this thread; waits for something to do, at most `timeout_us`
/// microseconds (COREWIRE_NO_TIMEOUT: for ever; 0: not at all). COREWIRE_CANCELLED: the loop was
/// stopped. COREWIRE_FAILED_PRECONDITION as for corewire_loop_run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_loop_run_once(
    loop_: *mut corewire_loop,
    timeout_us: u64,
    error: *mut *mut corewire_error,
) -> corewire_code {
    let run = || {
        let timeout =
            (timeout_us != crate::options::COREWIRE_NO_TIMEOUT).then(|| duration(timeout_us));
        if borrow!(loop_).drive(|event_loop| event_loop.run_once(timeout))? {
            Ok(())
        } else {
            Err(corewire_error::stopped())
        }
    };
    // SAFETY: null or writable, says the header.
    unsafe { reporting(error, run) }
}

/// Ends the loop after its current turn, for good; the callbacks of calls in flight are told
/// errors. Any thread, also from a callback. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_loop_stop(loop_: *const corewire_loop) {
    boundary((), || {
        // SAFETY: null, or not yet freed, says the header.
        if let Some(referent) = unsafe { loop_.as_ref() } {
            referent.handle.stop();
        }
    });
}

/// Frees a loop that nobody runs; the callbacks of calls in flight are told errors on this thread,
/// inside this function. Its channels are freed on their own; their calls fail from now on. NULL is
/// allowed. Any thread; while the loop is being run, also by the thread itself in a callback, it
/// is stopped and leaked instead.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_loop_free(loop_: *mut corewire_loop) {
    boundary((), || {
        // SAFETY: null, or not yet freed, says the header.
        let Some(referent) = (unsafe { loop_.as_ref() }) else {
            return;
        };
        // Stays busy while it is freed: the callbacks that are told errors then cannot run it.
        if referent.busy.swap(true, Ordering::Acquire) {
            referent.handle.stop();
            return;
        }
        // SAFETY: it came from `Box::into_raw`, nobody runs it, and the header makes its owner free
        // it once.
        drop(unsafe { Box::from_raw(loop_) });
    });
}

/// A channel to a service, driven by this loop; endpoint and options as for
/// corewire_channel_connect. Does not wait: the connection is made at the first call, and a service
/// that is not reached fails that. *channel is owned by the caller, who gives it to
/// corewire_async_channel_free. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_loop_connect(
    loop_: *const corewire_loop,
    endpoint: *const c_char,
    options: *const corewire_channel_options,
    channel: *mut *mut corewire_async_channel,
    error: *mut *mut corewire_error,
) -> corewire_code {
    let run = || {
        require!(channel);
        let referent = borrow!(loop_);
        // SAFETY: null or ended by NUL, says the header.
        let endpoint: Endpoint = unsafe { text(endpoint, "endpoint") }?.parse()?;
        // SAFETY: null or filled by the init function, says the header.
        let options = unsafe { client_options(options) }?;
        let client = referent.handle.connect(endpoint, options);
        let made = corewire_async_channel { client };
        // SAFETY: not null, and writable, says the header.
        unsafe { put(channel, Box::into_raw(Box::new(made))) };
        Ok(())
    };
    // SAFETY: null or writable, says the header.
    unsafe { reporting(error, run) }
}

/// Frees an asynchronous channel, which no thread may use any more; calls in flight end. NULL is
/// allowed. Any thread, also from a callback.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_async_channel_free(channel: *mut corewire_async_channel) {
    boundary((), || {
        if !channel.is_null() {
            // SAFETY: it came from `Box::into_raw`, and the header makes its owner free it once.
            drop(unsafe { Box::from_raw(channel) });
        }
    });
}

/// What a callback is called with; the program may make its calls from any thread.
struct CallbackOf {
    function: unsafe extern "C" fn(*mut c_void, *mut corewire_response, *mut corewire_error),
    user: *mut c_void,
}

// SAFETY: the header says that callbacks run on the thread of the loop, whichever called; what
// `user` points to is the program's to share.
unsafe impl Send for CallbackOf {}

impl CallbackOf {
    fn complete(self, result: Result<Response, CallError>) {
        let (response, error) = match answer(result) {
            Ok(answer) => (corewire_response::give(answer), ptr::null_mut()),
            Err(fault) => (ptr::null_mut(), Box::into_raw(fault)),
        };
        // SAFETY: the program's function, which keeps the header's contract for callbacks.
        callback(|| unsafe { (self.function)(self.user, response, error) });
    }
}

/// Calls an operation; `on_end` is told how it ended, with `user` as it is. Body and options as
/// for corewire_call; both are read before this returns. Calls of one thread leave in order. Any
/// thread, also from a callback.
///
/// When the code is not COREWIRE_OK, an argument is wrong and `on_end` will not be called. It is
/// called inside this function only when the loop has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_call_async(
    channel: *const corewire_async_channel,
    operation: *const corewire_operation,
    body: *const corewire_slice,
    body_count: usize,
    options: *const corewire_call_options,
    on_end: corewire_call_callback,
    user: *mut c_void,
    error: *mut *mut corewire_error,
) -> corewire_code {
    let run = || {
        let (channel, operation) = (borrow!(channel), borrow!(operation));
        let function = on_end.ok_or_else(|| corewire_error::null("on_end"))?;
        // SAFETY: readable slices and settings, says the header.
        let request = unsafe { request(operation, body, body_count, options) }?;
        let on_end = CallbackOf { function, user };
        channel
            .client
            .call_then(request, move |result| on_end.complete(result));
        Ok(())
    };
    // SAFETY: null or writable, says the header.
    unsafe { reporting(error, run) }
}

/// Whether this thread is inside a callback of an event loop, where nothing may block.
#[unsafe(no_mangle)]
pub extern "C" fn corewire_in_callback() -> bool {
    boundary(false, in_callback)
}
