//! One message at its service: what it says, and its answer.

use crate::body::{array, contiguous, corewire_slice, gather};
use crate::boundary::{boundary, reporting};
use crate::error::{Fault, corewire_code, corewire_error};
use crate::headers::{collect, corewire_header, corewire_headers, lend};
use crate::options::micros;
use corewire_message::{Body, CallContext, Code, Headers, Request, Response, Status};
use std::ffi::{CStr, c_char};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// A message that came in. A call is owned by its handler, who answers it with corewire_reply or
/// gives it to corewire_incoming_free; an event and the request of a stream are only borrowed. What
/// the functions below return is borrowed from it.
pub struct corewire_incoming {
    request: Request,
    context: CallContext,
    answer: Mutex<Answer>,
}

#[derive(Default)]
struct Answer {
    response: Option<Response>,
    waker: Option<Waker>,
    /// Nobody waits for it any more.
    gone: bool,
}

impl corewire_incoming {
    pub(crate) fn new(context: &CallContext, mut request: Request) -> Self {
        request.body = contiguous(request.body);
        Self {
            request,
            context: context.clone(),
            answer: Mutex::default(),
        }
    }

    fn answer(&self) -> MutexGuard<'_, Answer> {
        // No code that can panic runs under this lock.
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reply(&self, response: Response) -> Result<(), Fault> {
        let mut answer = self.answer();
        if answer.gone {
            return Err(corewire_error::over());
        }
        answer.response = Some(response);
        let waker = answer.waker.take();
        drop(answer);
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }
}

/// The loop's side of a call whose answer is on its way.
pub(crate) struct Awaited(Arc<corewire_incoming>);

impl Awaited {
    pub(crate) fn new(call: &Arc<corewire_incoming>) -> Self {
        Self(Arc::clone(call))
    }

    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<Response> {
        let mut answer = self.0.answer();
        match answer.response.take() {
            Some(response) => Poll::Ready(response),
            None => {
                answer.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.0.answer().gone = true;
    }
}

/// The answer of a service that gave a wrong or no answer.
pub(crate) fn no_answer(why: &'static str) -> Response {
    Response::failed(Status::new(Code::Internal, why))
}

/// An answer from the arguments of a function.
///
/// # Safety
/// `message` is null or ended by NUL, the others are null or arrays whose slices are readable.
pub(crate) unsafe fn response(
    code: u32,
    message: *const c_char,
    body: Body,
    headers: *const corewire_header,
    header_count: usize,
) -> Result<Response, Fault> {
    let code = Code::from_number(code);
    let status = if message.is_null() {
        Status::of(code)
    } else {
        // SAFETY: the caller's contract.
        let message = unsafe { CStr::from_ptr(message) };
        Status::new(code, message.to_string_lossy().into_owned())
    };
    let headers = if header_count == 0 {
        Headers::new()
    } else {
        // SAFETY: the caller's contract.
        unsafe { collect(headers, header_count) }?
    };
    Ok(Response {
        status,
        headers,
        body,
    })
}

/// Answers a call and frees it, whatever is returned: exactly once for each.
///
/// `code` is a corewire_code; `message`, a sentence for people ended by NUL, may be NULL. The body
/// is the slices of `body` in their order: one at the end that lies within the request's own body
/// is shared with it and not copied, few octets in front of it cost nothing either. Inside the
/// handler the answer leaves without any hand-over; later, and from any other thread, it wakes the
/// call's event loop.
///
/// COREWIRE_CANCELLED: nobody waits for the answer any more. COREWIRE_INVALID_ARGUMENT: the answer
/// cannot be sent as it is; the caller was told COREWIRE_INTERNAL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_reply(
    call: *mut corewire_incoming,
    code: u32,
    message: *const c_char,
    body: *const corewire_slice,
    body_count: usize,
    headers: *const corewire_header,
    header_count: usize,
    error: *mut *mut corewire_error,
) -> corewire_code {
    let run = || {
        if call.is_null() {
            return Err(corewire_error::null("call"));
        }
        // SAFETY: it came from `Arc::into_raw`, and the header makes its owner answer it once.
        let call = unsafe { Arc::from_raw(call.cast_const()) };
        let answer = || {
            let shared = Some(call.request.body.tail());
            // SAFETY: an array of readable slices, says the header.
            let body = unsafe { gather(array(body, body_count, "body")?, shared) }?;
            // SAFETY: readable, says the header.
            unsafe { response(code, message, body, headers, header_count) }
        };
        match answer() {
            Ok(response) => call.reply(response),
            Err(fault) => {
                // The fault goes to the service; that the caller may have gone matters less.
                let _gone = call.reply(no_answer("the service gave a wrong answer"));
                Err(fault)
            }
        }
    };
    // SAFETY: null or writable, says the header.
    unsafe { reporting(error, run) }
}

/// Frees a call that will not be answered: its caller is told COREWIRE_INTERNAL. NULL is allowed.
/// Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_incoming_free(call: *mut corewire_incoming) {
    boundary((), || {
        if !call.is_null() {
            // SAFETY: it came from `Arc::into_raw`, and the header makes its owner free it once.
            let call = unsafe { Arc::from_raw(call.cast_const()) };
            // When the caller has gone there is nobody to tell.
            let _gone = call.reply(no_answer("the service let the call go without an answer"));
        }
    });
}

/// Runs `read` on a message; `none` for NULL.
///
/// # Safety
/// `message` is null or not yet freed.
unsafe fn of<T>(
    message: *const corewire_incoming,
    none: T,
    read: impl FnOnce(&corewire_incoming) -> T,
) -> T {
    // SAFETY: the caller's contract.
    match unsafe { message.as_ref() } {
        Some(message) => boundary(none, || read(message)),
        None => none,
    }
}

/// The operation's name, "service/method". Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_incoming_operation(
    message: *const corewire_incoming,
) -> corewire_slice {
    let read = |message: &corewire_incoming| {
        corewire_slice::of(message.request.operation.as_str().as_bytes())
    };
    // SAFETY: null, or not yet freed, says the header.
    unsafe { of(message, corewire_slice::EMPTY, read) }
}

/// The operation's service: what stands before the last slash. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_incoming_service(
    message: *const corewire_incoming,
) -> corewire_slice {
    let read = |message: &corewire_incoming| {
        corewire_slice::of(message.request.operation.service().as_bytes())
    };
    // SAFETY: null, or not yet freed, says the header.
    unsafe { of(message, corewire_slice::EMPTY, read) }
}

/// The operation's method: what stands after the last slash. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_incoming_method(
    message: *const corewire_incoming,
) -> corewire_slice {
    let read = |message: &corewire_incoming| {
        corewire_slice::of(message.request.operation.method().as_bytes())
    };
    // SAFETY: null, or not yet freed, says the header.
    unsafe { of(message, corewire_slice::EMPTY, read) }
}

/// The body, in one piece. Empty for a stream, whose messages come on their own. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_incoming_body(
    message: *const corewire_incoming,
) -> corewire_slice {
    let read = |message: &corewire_incoming| corewire_slice::of(message.request.body.tail());
    // SAFETY: null, or not yet freed, says the header.
    unsafe { of(message, corewire_slice::EMPTY, read) }
}

/// The headers; NULL only for NULL. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_incoming_headers(
    message: *const corewire_incoming,
) -> *const corewire_headers {
    let read = |message: &corewire_incoming| lend(&message.request.headers);
    // SAFETY: null, or not yet freed, says the header.
    unsafe { of(message, std::ptr::null(), read) }
}

/// How long its caller still waits, microseconds; 0 when that has passed, COREWIRE_NO_TIMEOUT when
/// there is no deadline. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_incoming_timeout_us(message: *const corewire_incoming) -> u64 {
    let read = |message: &corewire_incoming| {
        message
            .request
            .deadline
            .map_or(crate::options::COREWIRE_NO_TIMEOUT, |deadline| {
                micros(deadline.saturating_duration_since(Instant::now()))
            })
    };
    // SAFETY: null, or not yet freed, says the header.
    unsafe { of(message, 0, read) }
}

/// How urgent it is: 0 is the most urgent, 31 the least. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_incoming_priority(message: *const corewire_incoming) -> u32 {
    let read = |message: &corewire_incoming| u32::from(message.request.priority.value());
    // SAFETY: null, or not yet freed, says the header.
    unsafe { of(message, 31, read) }
}

/// The address of its sender, for example "127.0.0.1:40112". Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_incoming_peer(
    message: *const corewire_incoming,
) -> corewire_slice {
    let read =
        |message: &corewire_incoming| corewire_slice::of(message.context.peer().address.as_bytes());
    // SAFETY: null, or not yet freed, says the header.
    unsafe { of(message, corewire_slice::EMPTY, read) }
}

/// The certificate (DER) that its sender proved to have the key of, issued by an accepted authority:
/// mutual TLS. Empty when there was none. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_incoming_peer_certificate(
    message: *const corewire_incoming,
) -> corewire_slice {
    let read = |message: &corewire_incoming| {
        let certificate = message.context.peer().certificate.as_ref();
        certificate.map_or(corewire_slice::EMPTY, |octets| corewire_slice::of(octets))
    };
    // SAFETY: null, or not yet freed, says the header.
    unsafe { of(message, corewire_slice::EMPTY, read) }
}

/// The protocol it came by: "native", "grpc" or "rest". Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_incoming_protocol(
    message: *const corewire_incoming,
) -> corewire_slice {
    let read = |message: &corewire_incoming| {
        corewire_slice::of(message.context.peer().protocol.as_bytes())
    };
    // SAFETY: null, or not yet freed, says the header.
    unsafe { of(message, corewire_slice::EMPTY, read) }
}

/// Whether its caller has given the call up, or its deadline has passed: an answer would reach
/// nobody. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_incoming_is_cancelled(message: *const corewire_incoming) -> bool {
    // SAFETY: null, or not yet freed, says the header.
    unsafe { of(message, true, |message| message.answer().gone) }
}
