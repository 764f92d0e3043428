//! Streams at their service: messages by callback, answers from any thread.
//!
//! ```text
//!  inbound ──▶ on_message ──▶ corewire_server_stream_send ──▶ queue ──▶ outbound
//!          (not while the queue waits for room)        (bounded)
//! ```
//!
//! A message is taken from the connection only when the queue is empty, so that a service that
//! answers each message holds back a caller who does not read, without any code of its own.

use crate::body::{array, contiguous, corewire_slice, gather};
use crate::boundary::{borrow, boundary, callback, reporting};
use crate::error::{Fault, corewire_code, corewire_error};
use crate::headers::corewire_header;
use crate::incoming::{corewire_incoming, no_answer, response};
use crate::server::corewire_handler;
use bytes::Bytes;
use corewire_message::{Body, Inbound, Outbound, Response};
use std::collections::VecDeque;
use std::ffi::{c_char, c_void};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Octets that may wait in a stream's queue before messages are refused.
const MOST_QUEUED: usize = 1024 * 1024;
/// What a queued message counts for beside its octets.
const MESSAGE_COST: usize = 64;

/// A stream at its service. Owned by the handler from its first callback on, who gives it to
/// corewire_server_stream_finish or corewire_server_stream_free once.
pub struct corewire_server_stream {
    request: corewire_incoming,
    user: AtomicPtr<c_void>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Body>,
    /// What the queue costs; see [`MOST_QUEUED`].
    queued: usize,
    /// The message that `on_message` looks at.
    current: Bytes,
    /// The service's end.
    end: Option<Response>,
    waker: Option<Waker>,
    /// A message was refused: tell when there is room.
    refused: bool,
    /// The call is over: nobody reads.
    gone: bool,
    /// The handler has let it go: it is told nothing more.
    released: bool,
}

impl corewire_server_stream {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, message: impl FnOnce(&Bytes) -> Result<Body, Fault>) -> Result<(), Fault> {
        let mut state = self.lock();
        if state.gone {
            return Err(corewire_error::over());
        }
        if state.queued >= MOST_QUEUED {
            state.refused = true;
            return Err(corewire_error::full(
                "the caller does not keep up with this stream",
            ));
        }
        let message = message(&state.current)?;
        state.queued += message.len() + MESSAGE_COST;
        state.queue.push_back(message);
        wake(state);
        Ok(())
    }

    /// The handler lets go of it, with this end.
    fn end(&self, response: Response) -> Result<(), Fault> {
        let mut state = self.lock();
        state.released = true;
        if state.gone {
            return Err(corewire_error::over());
        }
        state.end = Some(response);
        wake(state);
        Ok(())
    }
}

fn wake(mut state: MutexGuard<'_, State>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// The loop's side of a stream.
struct Serving<'a> {
    handler: &'a corewire_handler,
    stream: Arc<corewire_server_stream>,
    inbound: Inbound,
    outbound: Outbound,
    /// The handler owns a count of the stream.
    shown: bool,
    /// No more messages come in.
    ended: bool,
}

/// Serves a stream until the service ends it.
pub(crate) async fn serve(
    handler: &corewire_handler,
    request: corewire_incoming,
    inbound: Inbound,
    outbound: Outbound,
) -> Response {
    let stream = Arc::new(corewire_server_stream {
        request,
        user: AtomicPtr::new(ptr::null_mut()),
        state: Mutex::default(),
    });
    let mut serving = Serving {
        handler,
        stream,
        inbound,
        outbound,
        shown: false,
        ended: false,
    };
    poll_fn(|cx| serving.poll(cx)).await
}

impl Serving<'_> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Response> {
        loop {
            // First, so that what other threads do from now on is not missed.
            self.stream.lock().waker = Some(cx.waker().clone());
            let flushed = self.flush(cx);
            if flushed && let Some(end) = self.take_end() {
                return Poll::Ready(end);
            }
            if !flushed || self.ended {
                return Poll::Pending;
            }
            let Poll::Ready(message) = pin!(self.inbound.message()).poll(cx) else {
                return Poll::Pending;
            };
            match message {
                Ok(Some(message)) => self.on_message(message),
                Ok(None) => self.on_end(corewire_code::COREWIRE_OK),
                Err(error) => self.on_end(error.code().into()),
            }
        }
    }

    /// The service's end, after which nothing is sent any more.
    fn take_end(&self) -> Option<Response> {
        let mut state = self.stream.lock();
        if !state.queue.is_empty() {
            // Another thread was quick: its messages go first.
            return None;
        }
        let end = state.end.take();
        state.gone |= end.is_some();
        end
    }

    /// Sends what is queued as far as there is room; whether all of it went.
    fn flush(&mut self, cx: &mut Context<'_>) -> bool {
        loop {
            let Some(message) = self.stream.lock().queue.front().cloned() else {
                if self.tell_room() {
                    // The handler may have sent more.
                    continue;
                }
                return true;
            };
            let cost = message.len() + MESSAGE_COST;
            // Dropped while it waits, it has not sent the message (see its cancel safety).
            let Poll::Ready(sent) = pin!(self.outbound.send(message)).poll(cx) else {
                return false;
            };
            let mut state = self.stream.lock();
            match sent {
                Ok(()) => {
                    state.queue.pop_front();
                    state.queued -= cost;
                }
                // How the call ended is told by `inbound`.
                Err(_) => {
                    state.queue.clear();
                    state.queued = 0;
                }
            }
        }
    }

    /// Tells a handler whose message was refused that there is room; whether there was one to tell.
    fn tell_room(&mut self) -> bool {
        let refused = {
            let mut state = self.stream.lock();
            std::mem::take(&mut state.refused) && !state.released
        };
        if refused && let Some(on_room) = self.handler.on_room {
            let stream = self.show();
            // SAFETY: the program's function, which keeps the header's contract for handlers.
            callback(|| unsafe { on_room(self.handler.user, stream) });
        }
        refused
    }

    fn on_message(&mut self, message: Body) {
        let message = contiguous(message).into_bytes();
        self.stream.lock().current = message.clone();
        let stream = self.show();
        if let Some(on_message) = self.handler.on_message {
            let message = corewire_slice::of(&message);
            // SAFETY: the program's function, which keeps the header's contract for handlers.
            callback(|| unsafe { on_message(self.handler.user, stream, message) });
        }
        self.stream.lock().current = Bytes::new();
    }

    fn on_end(&mut self, code: corewire_code) {
        self.ended = true;
        let stream = self.show();
        if let Some(on_end) = self.handler.on_end {
            // SAFETY: the program's function, which keeps the header's contract for handlers.
            callback(|| unsafe { on_end(self.handler.user, stream, code) });
        }
    }

    /// The stream as the handler holds it, which owns a count of it from the first time on.
    fn show(&mut self) -> *mut corewire_server_stream {
        if !self.shown {
            self.shown = true;
            // Given back by finish or free.
            return Arc::into_raw(Arc::clone(&self.stream)).cast_mut();
        }
        Arc::as_ptr(&self.stream).cast_mut()
    }
}

impl Drop for Serving<'_> {
    /// The call was given up before the service ended it.
    fn drop(&mut self) {
        let released = {
            let mut state = self.stream.lock();
            state.queue.clear();
            state.gone = true;
            state.released
        };
        if !released && !self.ended && self.shown {
            self.on_end(corewire_code::COREWIRE_CANCELLED);
        }
    }
}

/// Sends a message to the caller: the slices of `body` in their order. One that lies within the
/// message that `on_message` is looking at is shared with it, not copied. Never waits. Any thread.
///
/// COREWIRE_RESOURCE_EXHAUSTED: the caller does not keep up, and a MiB of messages waits; this one
/// was not taken. Send it again when `on_room` was called. COREWIRE_CANCELLED: the call is over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_server_stream_send(
    stream: *mut corewire_server_stream,
    body: *const corewire_slice,
    body_count: usize,
    error: *mut *mut corewire_error,
) -> corewire_code {
    let run = || {
        let stream = borrow!(stream);
        // SAFETY: an array of readable slices, says the header.
        stream.send(|current| unsafe { gather(array(body, body_count, "body")?, Some(current)) })
    };
    // SAFETY: null or writable, says the header.
    unsafe { reporting(error, run) }
}

/// Ends a stream, after the messages sent before, and frees it, whatever is returned. `code` is a
/// corewire_code; `message` and `headers` may be NULL. Any thread. COREWIRE_CANCELLED: the call was
/// over already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_server_stream_finish(
    stream: *mut corewire_server_stream,
    code: u32,
    message: *const c_char,
    headers: *const corewire_header,
    header_count: usize,
    error: *mut *mut corewire_error,
) -> corewire_code {
    let run = || {
        if stream.is_null() {
            return Err(corewire_error::null("stream"));
        }
        // SAFETY: it came from `Arc::into_raw`, and the header makes its owner end it once.
        let stream = unsafe { Arc::from_raw(stream.cast_const()) };
        // SAFETY: null or readable, says the header.
        match unsafe { response(code, message, Body::new(), headers, header_count) } {
            Ok(response) => stream.end(response),
            Err(fault) => {
                // The fault goes to the service; that the caller may have gone matters less.
                let _gone = stream.end(no_answer("the service ended the stream wrongly"));
                Err(fault)
            }
        }
    };
    // SAFETY: null or writable, says the header.
    unsafe { reporting(error, run) }
}

/// Frees a stream without a proper end: unless the call is over, its caller is told
/// COREWIRE_INTERNAL. NULL is allowed. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_server_stream_free(stream: *mut corewire_server_stream) {
    boundary((), || {
        if !stream.is_null() {
            // SAFETY: it came from `Arc::into_raw`, and the header makes its owner end it once.
            let stream = unsafe { Arc::from_raw(stream.cast_const()) };
            // When the call is over there is nobody to tell.
            let _gone = stream.end(no_answer("the service let the stream go without an end"));
        }
    });
}

/// The request that opened the stream: its operation, headers, deadline, sender. Borrowed from the
/// stream. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_server_stream_request(
    stream: *const corewire_server_stream,
) -> *const corewire_incoming {
    boundary(ptr::null(), || {
        // SAFETY: null, or not yet freed, says the header.
        unsafe { stream.as_ref() }.map_or(ptr::null(), |stream| &raw const stream.request)
    })
}

/// Keeps a pointer of the program with the stream; NULL before. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_server_stream_set_user(
    stream: *mut corewire_server_stream,
    user: *mut c_void,
) {
    boundary((), || {
        // SAFETY: null, or not yet freed, says the header.
        if let Some(stream) = unsafe { stream.as_ref() } {
            stream.user.store(user, Ordering::Release);
        }
    });
}

/// The pointer kept with corewire_server_stream_set_user. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_server_stream_user(
    stream: *const corewire_server_stream,
) -> *mut c_void {
    boundary(ptr::null_mut(), || {
        // SAFETY: null, or not yet freed, says the header.
        unsafe { stream.as_ref() }.map_or(ptr::null_mut(), |stream| {
            stream.user.load(Ordering::Acquire)
        })
    })
}
