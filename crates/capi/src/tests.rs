//! What is made, lent and freed, in the order in which a C program does it. Miri runs these; what
//! needs a connection is in `tests/c`, which the sanitizers run.

use crate::body::corewire_slice;
use crate::error::{
    corewire_code, corewire_error, corewire_error_code, corewire_error_free, corewire_error_message,
};
use crate::headers::{
    corewire_header, corewire_headers_at, corewire_headers_count, corewire_headers_find,
};
use crate::incoming::{
    Awaited, corewire_incoming, corewire_incoming_body, corewire_incoming_free,
    corewire_incoming_headers, corewire_incoming_is_cancelled, corewire_incoming_method,
    corewire_incoming_peer, corewire_reply,
};
use crate::operation::{corewire_operation, corewire_operation_free, corewire_operation_new};
use crate::options::{
    corewire_call_options, corewire_call_options_init, corewire_channel_options,
    corewire_channel_options_init, request,
};
use crate::response::{
    corewire_response, corewire_response_body, corewire_response_code, corewire_response_free,
    corewire_response_headers, corewire_response_message,
};
use corewire_message::{Body, CallContext, Operation, Peer, Request, Response};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

const OK: corewire_code = corewire_code::COREWIRE_OK;

/// The octets of a slice.
///
/// # Safety
/// What it borrows from is alive.
unsafe fn octets<'a>(slice: corewire_slice) -> &'a [u8] {
    // SAFETY: as the caller says.
    unsafe { slice.octets() }.unwrap()
}

fn operation(name: &CStr) -> *mut corewire_operation {
    let mut made = null_mut();
    // SAFETY: a text, a place, and nowhere for an error.
    let code = unsafe { corewire_operation_new(name.as_ptr(), &raw mut made, null_mut()) };
    assert_eq!(code, OK);
    made
}

/// A call in the hands of its handler, and the loop's side of it.
fn called(body: &'static [u8]) -> (*mut corewire_incoming, Awaited) {
    let peer = Peer::new("127.0.0.1:40112", "native");
    let request = Request::new(Operation::from_static("a.B/C"))
        .with_body(Body::from(bytes::Bytes::from_static(body)));
    let call = Arc::new(corewire_incoming::new(
        &CallContext::new(peer.into()),
        request,
    ));
    let awaited = Awaited::new(&call);
    (Arc::into_raw(call).cast_mut(), awaited)
}

fn answered(awaited: &Awaited) -> Option<Response> {
    match awaited.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(response) => Some(response),
        Poll::Pending => None,
    }
}

#[test]
fn a_wrong_name_is_an_error_that_is_read_and_freed() {
    for name in [c"no slash".as_ptr(), c"".as_ptr(), null()] {
        let (mut made, mut error): (*mut corewire_operation, *mut corewire_error) =
            (null_mut(), null_mut());
        // SAFETY: null or a text, two places; the error is freed once.
        unsafe {
            let code = corewire_operation_new(name, &raw mut made, &raw mut error);
            assert_eq!(code, corewire_code::COREWIRE_INVALID_ARGUMENT);
            assert!(made.is_null());
            assert_eq!(corewire_error_code(error), code);
            assert!(!CStr::from_ptr(corewire_error_message(error)).is_empty());
            corewire_error_free(error);
        }
    }
    // SAFETY: null is allowed everywhere.
    unsafe {
        assert_eq!(corewire_error_code(null()), OK);
        assert_eq!(CStr::from_ptr(corewire_error_message(null())), c"");
        corewire_error_free(null_mut());
        corewire_operation_free(null_mut());
    }
}

#[test]
fn a_call_takes_what_it_is_lent_and_keeps_nothing_of_it() {
    let operation = operation(c"a.B/C");
    let made = {
        let value = b"v".repeat(100);
        let headers = ["x-first", "x-second"].map(|name| corewire_header {
            name: corewire_slice::of(name.as_bytes()),
            value: corewire_slice::of(&value),
        });
        let body = [b"head".to_vec(), b"t".repeat(1000)];
        let pieces: Vec<_> = body.iter().map(|piece| corewire_slice::of(piece)).collect();
        let mut options = MaybeUninit::<corewire_call_options>::uninit();
        // SAFETY: the structure is as large as is said; what it and the slices point to lives on.
        unsafe {
            let size = size_of::<corewire_call_options>();
            corewire_call_options_init(options.as_mut_ptr(), size);
            let mut options = options.assume_init();
            options.headers = headers.as_ptr();
            options.header_count = headers.len();
            options.priority = 3;
            request(
                &*operation,
                pieces.as_ptr(),
                pieces.len(),
                &raw const options,
            )
        }
    };
    let made = made.ok().unwrap();
    // SAFETY: made above, and freed once.
    unsafe { corewire_operation_free(operation) };
    assert_eq!(made.operation.as_str(), "a.B/C");
    assert_eq!(made.headers.get("x-second"), Some(&[b'v'; 100][..]));
    assert_eq!(made.priority.value(), 3);
    assert_eq!(
        made.body.into_bytes()[..],
        [b"head", &[b't'; 1000][..]].concat()
    );
}

#[test]
fn options_are_begun_in_memory_of_the_program() {
    let mut options = MaybeUninit::<corewire_channel_options>::uninit();
    // SAFETY: the structure is as large as is said.
    let options = unsafe {
        let size = size_of::<corewire_channel_options>();
        corewire_channel_options_init(options.as_mut_ptr(), size);
        corewire_channel_options_init(null_mut(), size);
        options.assume_init()
    };
    assert_eq!(options.size, size_of::<corewire_channel_options>());
    assert!(options.tls_authorities.is_null());
}

#[test]
fn a_call_that_comes_in_is_read_and_answered_with_its_own_payload() {
    let (call, awaited) = called(&[7; 1000]);
    // SAFETY: the call is alive until it is answered, once; slices and headers live on.
    unsafe {
        assert_eq!(octets(corewire_incoming_method(call)), b"C");
        assert_eq!(octets(corewire_incoming_peer(call)), b"127.0.0.1:40112");
        assert_eq!(corewire_headers_count(corewire_incoming_headers(call)), 0);
        assert!(!corewire_incoming_is_cancelled(call));
        assert!(answered(&awaited).is_none());
        let whole = octets(corewire_incoming_body(call));
        let body = [
            corewire_slice::of(b"head"),
            corewire_slice::of(&whole[10..]),
        ];
        let header = corewire_header {
            name: corewire_slice::of(b"x-name"),
            value: corewire_slice::of(b"value"),
        };
        let text = c"a sentence".as_ptr();
        let code = corewire_reply(
            call,
            5,
            text,
            body.as_ptr(),
            2,
            &raw const header,
            1,
            null_mut(),
        );
        assert_eq!(code, OK);
    }
    reads(answered(&awaited).unwrap());
}

/// As its caller reads that answer.
fn reads(answer: Response) {
    let response: *mut corewire_response = corewire_response::give(answer);
    // SAFETY: the response is alive until it is freed, once; the places are writable.
    unsafe {
        assert_eq!(
            corewire_response_code(response),
            corewire_code::COREWIRE_NOT_FOUND
        );
        assert_eq!(octets(corewire_response_message(response)), b"a sentence");
        let body = octets(corewire_response_body(response));
        assert_eq!((&body[..4], body.len()), (&b"head"[..], 994));
        let headers = corewire_response_headers(response);
        assert_eq!(corewire_headers_count(headers), 1);
        let mut header = corewire_header {
            name: corewire_slice::EMPTY,
            value: corewire_slice::EMPTY,
        };
        assert!(corewire_headers_at(headers, 0, &raw mut header));
        assert!(!corewire_headers_at(headers, 1, &raw mut header));
        assert_eq!(
            (octets(header.name), octets(header.value)),
            (&b"x-name"[..], &b"value"[..])
        );
        let mut value = corewire_slice::EMPTY;
        assert!(corewire_headers_find(
            headers,
            c"x-name".as_ptr(),
            &raw mut value
        ));
        assert!(!corewire_headers_find(
            headers,
            c"x-other".as_ptr(),
            &raw mut value
        ));
        assert!(!corewire_headers_find(headers, null(), &raw mut value));
        assert_eq!(octets(value), b"value");
        corewire_response_free(response);
        corewire_response_free(null_mut());
    }
}

#[test]
fn a_call_is_answered_by_another_thread_or_let_go() {
    let (call, awaited) = called(b"");
    let address = call as usize;
    let there = std::thread::spawn(move || {
        let call = std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: the call is this thread's, and freed once.
        unsafe { corewire_incoming_free(call) };
    });
    there.join().unwrap();
    let answer = answered(&awaited).unwrap();
    assert_eq!(answer.status.code(), corewire_message::Code::Internal);
}

#[test]
fn who_answers_too_late_or_wrongly_is_told() {
    let (call, awaited) = called(b"");
    drop(awaited);
    let mut error = null_mut();
    // SAFETY: the calls are answered once, the errors freed once.
    unsafe {
        assert!(corewire_incoming_is_cancelled(call));
        let code = corewire_reply(call, 0, null(), null(), 0, null(), 0, &raw mut error);
        assert_eq!(code, corewire_code::COREWIRE_CANCELLED);
        corewire_error_free(error);
        let (call, awaited) = called(b"");
        let code = corewire_reply(call, 0, null(), null(), 2, null(), 0, &raw mut error);
        assert_eq!(code, corewire_code::COREWIRE_INVALID_ARGUMENT);
        corewire_error_free(error);
        assert!(!answered(&awaited).unwrap().status.is_ok());
    }
}
