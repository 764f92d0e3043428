//! What nghttp2 calls while it is being called.
//!
//! Every function here gets the pointer to the session's [`Cell`] and borrows the cell for its own
//! length only; [`Session`](super::Session) holds no reference to it while it calls the library,
//! and no function here calls a library function that calls back.

use super::cell::Cell;
use super::outgoing::Trailers;
use super::{ErrorCode, Event, Field, Fields, HeadersKind};
use libnghttp2_sys as ffi;
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The longest DATA payload this side sends at once, to a peer that takes it: what a driver writes at
/// once, so that another stream's octets wait no longer for it. A body that fits into one frame need
/// not be put together again by who receives it.
const LONGEST_DATA: usize = 256 << 10;

/// Runs a callback's body on the cell; a panic becomes the library's error, not a crossing of C
/// frames.
///
/// # Safety
/// `user` is the pointer that [`Session`](super::Session) registered, and no reference to its cell
/// lives.
unsafe fn with_cell<R>(user: *mut c_void, failure: R, body: impl FnOnce(&mut Cell) -> R) -> R {
    // SAFETY: by this function's contract the pointer is to a live cell that nothing else borrows.
    let cell = unsafe { &mut *user.cast::<Cell>() };
    catch_unwind(AssertUnwindSafe(|| body(cell))).unwrap_or(failure)
}

/// A slice from C's pair; the pointer may be null when the length is 0.
///
/// # Safety
/// Otherwise it is valid for that length and as long as `'a`.
unsafe fn slice<'a>(start: *const u8, length: usize) -> &'a [u8] {
    if length == 0 {
        &[]
    } else {
        // SAFETY: by this function's contract.
        unsafe { std::slice::from_raw_parts(start, length) }
    }
}

/// Stream numbers are 31 bits (RFC 9113, 4.1); nghttp2 never gives a negative one.
const fn stream_number(number: i32) -> u32 {
    number.cast_unsigned()
}

pub(super) unsafe extern "C" fn on_begin_headers(
    _: *mut ffi::nghttp2_session,
    _: *const ffi::nghttp2_frame,
    user: *mut c_void,
) -> c_int {
    // SAFETY: `user` is what the session registered; see the module's note on borrows.
    unsafe {
        with_cell(user, ffi::NGHTTP2_ERR_CALLBACK_FAILURE, |cell| {
            cell.begin_section();
            0
        })
    }
}

pub(super) unsafe extern "C" fn on_header(
    _: *mut ffi::nghttp2_session,
    _: *const ffi::nghttp2_frame,
    name: *const u8,
    name_len: usize,
    value: *const u8,
    value_len: usize,
    _flags: u8,
    user: *mut c_void,
) -> c_int {
    // SAFETY: name and value are valid for this call; `user` as above.
    unsafe {
        let (name, value) = (slice(name, name_len), slice(value, value_len));
        with_cell(user, ffi::NGHTTP2_ERR_CALLBACK_FAILURE, |cell| {
            cell.add_field(name, value);
            0
        })
    }
}

/// A field that RFC 9113, 8.2.1 does not allow: by default the library skips it, but the RFC wants
/// the whole message treated as malformed.
pub(super) unsafe extern "C" fn on_invalid_header(
    _: *mut ffi::nghttp2_session,
    _: *const ffi::nghttp2_frame,
    _name: *const u8,
    _name_len: usize,
    _value: *const u8,
    _value_len: usize,
    _flags: u8,
    _user: *mut c_void,
) -> c_int {
    ffi::NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE
}

pub(super) unsafe extern "C" fn on_frame_recv(
    _: *mut ffi::nghttp2_session,
    frame: *const ffi::nghttp2_frame,
    user: *mut c_void,
) -> c_int {
    // SAFETY: the library gives a valid frame; every frame starts with its header.
    let frame = unsafe { &*frame };
    // SAFETY: as above: `hd` is common to all.
    let header = unsafe { frame.hd };
    let stream = stream_number(header.stream_id);
    let ends = u32::from(header.flags) & ffi::NGHTTP2_FLAG_END_STREAM != 0;
    let is_ack = u32::from(header.flags) & ffi::NGHTTP2_FLAG_ACK != 0;
    // SAFETY: `user` as above; each union field is read only for its own frame type.
    unsafe {
        with_cell(user, ffi::NGHTTP2_ERR_CALLBACK_FAILURE, |cell| {
            match u32::from(header.type_) as ffi::nghttp2_frame_type {
                ffi::NGHTTP2_HEADERS => {
                    let kind = if frame.headers.cat == ffi::NGHTTP2_HCAT_HEADERS {
                        HeadersKind::Later
                    } else {
                        HeadersKind::Leading
                    };
                    cell.end_section(stream, kind);
                    if ends {
                        cell.events.push_back(Event::End { stream });
                    }
                }
                ffi::NGHTTP2_DATA if ends => cell.events.push_back(Event::End { stream }),
                ffi::NGHTTP2_WINDOW_UPDATE => cell.events.push_back(Event::Credit),
                ffi::NGHTTP2_SETTINGS if !is_ack => cell.events.push_back(Event::Credit),
                ffi::NGHTTP2_PING if is_ack => cell.events.push_back(Event::Pong),
                ffi::NGHTTP2_GOAWAY => cell.events.push_back(Event::GoAway {
                    last_stream: stream_number(frame.goaway.last_stream_id),
                    code: ErrorCode(frame.goaway.error_code),
                }),
                _ => {}
            }
            0
        })
    }
}

pub(super) unsafe extern "C" fn on_data_chunk(
    _: *mut ffi::nghttp2_session,
    _flags: u8,
    stream: i32,
    data: *const u8,
    length: usize,
    user: *mut c_void,
) -> c_int {
    // SAFETY: `user` as above.
    unsafe {
        with_cell(user, ffi::NGHTTP2_ERR_CALLBACK_FAILURE, |cell| {
            // The library hands body octets on from where they were received; by their place
            // there the event can name them without a copy.
            let (start, received) = cell.input;
            let Some(offset) = (data as usize).checked_sub(start) else {
                return ffi::NGHTTP2_ERR_CALLBACK_FAILURE;
            };
            if offset.saturating_add(length) > received {
                return ffi::NGHTTP2_ERR_CALLBACK_FAILURE;
            }
            cell.events.push_back(Event::Data {
                stream: stream_number(stream),
                octets: offset..offset + length,
            });
            0
        })
    }
}

pub(super) unsafe extern "C" fn on_stream_close(
    _: *mut ffi::nghttp2_session,
    stream: i32,
    code: u32,
    user: *mut c_void,
) -> c_int {
    // SAFETY: `user` as above.
    unsafe {
        with_cell(user, ffi::NGHTTP2_ERR_CALLBACK_FAILURE, |cell| {
            cell.close(stream_number(stream), ErrorCode(code));
            0
        })
    }
}

pub(super) unsafe extern "C" fn on_frame_send(
    _: *mut ffi::nghttp2_session,
    frame: *const ffi::nghttp2_frame,
    user: *mut c_void,
) -> c_int {
    // SAFETY: the library gives a valid frame; every frame starts with its header.
    let frame = unsafe { &*frame };
    // SAFETY: `user` as above; each union field is read only for its own frame type.
    unsafe {
        match u32::from(frame.hd.type_) as ffi::nghttp2_frame_type {
            ffi::NGHTTP2_HEADERS if frame.headers.cat == ffi::NGHTTP2_HCAT_REQUEST => {
                with_cell(user, ffi::NGHTTP2_ERR_CALLBACK_FAILURE, |cell| {
                    cell.last_request = stream_number(frame.hd.stream_id);
                    0
                })
            }
            ffi::NGHTTP2_GOAWAY => with_cell(user, ffi::NGHTTP2_ERR_CALLBACK_FAILURE, |cell| {
                cell.sent_goaway = Some(ErrorCode(frame.goaway.error_code));
                0
            }),
            _ => 0,
        }
    }
}

pub(super) unsafe extern "C" fn on_frame_not_send(
    _: *mut ffi::nghttp2_session,
    frame: *const ffi::nghttp2_frame,
    error: c_int,
    user: *mut c_void,
) -> c_int {
    // SAFETY: the library gives a valid frame; `headers` is read only when it is one.
    let (stream, is_request) = unsafe {
        let frame = &*frame;
        let is_headers =
            u32::from(frame.hd.type_) as ffi::nghttp2_frame_type == ffi::NGHTTP2_HEADERS;
        (
            stream_number(frame.hd.stream_id),
            is_headers && frame.headers.cat == ffi::NGHTTP2_HCAT_REQUEST,
        )
    };
    if !is_request {
        return 0;
    }
    // A request that never left: its stream may not exist yet, so that no close is reported.
    let code = if error == ffi::NGHTTP2_ERR_HEADER_COMP {
        ErrorCode::INTERNAL_ERROR
    } else {
        ErrorCode::REFUSED_STREAM
    };
    // SAFETY: `user` as above.
    unsafe {
        with_cell(user, ffi::NGHTTP2_ERR_CALLBACK_FAILURE, |cell| {
            cell.close(stream, code);
            0
        })
    }
}

/// Says how many octets of a body may go into the next DATA frame.
pub(super) unsafe extern "C" fn read_length(
    _: *mut ffi::nghttp2_session,
    _frame_type: u8,
    _stream: i32,
    connection_window: i32,
    stream_window: i32,
    max_frame: u32,
    _user: *mut c_void,
) -> ffi::nghttp2_ssize {
    let window = connection_window.min(stream_window).max(1);
    (window as usize)
        .min(max_frame as usize)
        .min(LONGEST_DATA)
        .cast_signed()
}

/// Says how many octets the next DATA frame holds; they are moved by [`send_data`].
pub(super) unsafe extern "C" fn read_data(
    session: *mut ffi::nghttp2_session,
    stream: i32,
    _buffer: *mut u8,
    length: usize,
    data_flags: *mut u32,
    _source: *mut ffi::nghttp2_data_source,
    user: *mut c_void,
) -> ffi::nghttp2_ssize {
    let temporal = ffi::NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE as ffi::nghttp2_ssize;
    // SAFETY: `user` as above; `data_flags` is valid for this call.
    unsafe {
        with_cell(user, temporal, |cell| {
            let Some(outgoing) = cell.outgoing.get_mut(&stream_number(stream)) else {
                return temporal;
            };
            let count = outgoing.queued.min(length);
            if count == 0 && !outgoing.finished {
                outgoing.deferred = true;
                return ffi::NGHTTP2_ERR_DEFERRED as ffi::nghttp2_ssize;
            }
            let mut flags = ffi::NGHTTP2_DATA_FLAG_NO_COPY;
            if outgoing.finished && count == outgoing.queued {
                flags |= ffi::NGHTTP2_DATA_FLAG_EOF;
                let trailers = std::mem::take(&mut outgoing.trailers);
                if !matches!(trailers, Trailers::None) {
                    flags |= ffi::NGHTTP2_DATA_FLAG_NO_END_STREAM;
                    if submit_trailers(session, stream, &trailers) < 0 {
                        return temporal;
                    }
                }
            }
            *data_flags |= flags;
            count.cast_signed()
        })
    }
}

/// # Safety
/// `session` is the live session whose callback runs. Submitting only queues a frame: it does not
/// call back.
unsafe fn submit_trailers(
    session: *mut ffi::nghttp2_session,
    stream: i32,
    trailers: &Trailers,
) -> c_int {
    let submit = |fields: &[Field<'_>]| {
        // SAFETY: by this function's contract; the library copies what is not static.
        unsafe { ffi::nghttp2_submit_trailer(session, stream, Field::as_raw(fields), fields.len()) }
    };
    match trailers {
        Trailers::None => 0,
        Trailers::Fixed(fields) => submit(fields),
        Trailers::Block(block) => {
            let fields: Vec<_> = Fields(block)
                .map(|(name, value)| Field::new(name, value))
                .collect();
            submit(&fields)
        }
    }
}

/// Moves one DATA frame to the sink.
pub(super) unsafe extern "C" fn send_data(
    _: *mut ffi::nghttp2_session,
    frame: *mut ffi::nghttp2_frame,
    frame_header: *const u8,
    length: usize,
    _source: *mut ffi::nghttp2_data_source,
    user: *mut c_void,
) -> c_int {
    // SAFETY: the library gives a valid DATA frame and the nine octets of its header.
    let (stream, header) =
        unsafe { (stream_number((*frame).hd.stream_id), slice(frame_header, 9)) };
    // SAFETY: `user` as above.
    unsafe {
        with_cell(user, ffi::NGHTTP2_ERR_CALLBACK_FAILURE, |cell| {
            let Some(mut sink) = cell.sink else {
                return ffi::NGHTTP2_ERR_CALLBACK_FAILURE;
            };
            // SAFETY: `Session::send` set it from a reference that it does not use meanwhile, and
            // clears it before that reference ends.
            let sink = sink.as_mut();
            if sink.budget() == 0 {
                return ffi::NGHTTP2_ERR_WOULDBLOCK;
            }
            let Some(outgoing) = cell.outgoing.get_mut(&stream) else {
                return ffi::NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
            };
            sink.put(header);
            cell.wrote = true;
            cell.queued -= length;
            if outgoing.take(length, sink) {
                0
            } else {
                ffi::NGHTTP2_ERR_CALLBACK_FAILURE
            }
        })
    }
}
