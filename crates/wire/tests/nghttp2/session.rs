//! nghttp2's session: the other opinion.

#![expect(unsafe_code, reason = "calls of a C library, and its calls back")]

use crate::told::{Field, Message, Told};
use libnghttp2_sys as ffi;
use std::collections::{HashMap, VecDeque};
use std::ffi::{c_int, c_void};
use std::ptr;

/// One end of a connection. Credit goes back as soon as octets come.
pub(crate) struct Session {
    raw: *mut ffi::nghttp2_session,
    /// From `Box::into_raw`, for the callbacks; no reference lives while the library is called.
    state: *mut State,
    /// What the library has given to send and the link has not taken.
    waiting: VecDeque<u8>,
}

#[derive(Default)]
struct State {
    told: Vec<Told>,
    section: Vec<Field>,
    bodies: HashMap<i32, Body>,
}

/// What a stream has still to send.
struct Body {
    octets: VecDeque<u8>,
    /// A DATA frame has no more octets than this.
    longest: usize,
    trailers: Vec<Field>,
}

/// What an end says of itself in its SETTINGS.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) window: u32,
    pub(crate) max_streams: u32,
    pub(crate) max_frame: u32,
    pub(crate) table: u32,
}

impl Session {
    pub(crate) fn new(is_client: bool, settings: &Settings) -> Self {
        let state = Box::into_raw(Box::new(State::default()));
        let (mut calls, mut raw) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: each object is made before it is used; the session copies the callbacks, which have the
        // types that the library declares. The state outlives the session.
        unsafe {
            assert_eq!(ffi::nghttp2_session_callbacks_new(&raw mut calls), 0);
            ffi::nghttp2_session_callbacks_set_on_begin_headers_callback(calls, Some(on_begin));
            ffi::nghttp2_session_callbacks_set_on_header_callback(calls, Some(on_header));
            ffi::nghttp2_session_callbacks_set_on_frame_recv_callback(calls, Some(on_frame));
            ffi::nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, Some(on_data));
            ffi::nghttp2_session_callbacks_set_on_stream_close_callback(calls, Some(on_close));
            ffi::nghttp2_session_callbacks_set_select_padding_callback2(calls, Some(on_padding));
            let made = if is_client {
                ffi::nghttp2_session_client_new(&raw mut raw, calls, state.cast())
            } else {
                ffi::nghttp2_session_server_new(&raw mut raw, calls, state.cast())
            };
            assert_eq!(made, 0);
            ffi::nghttp2_session_callbacks_del(calls);
        }
        let session = Self {
            raw,
            state,
            waiting: VecDeque::new(),
        };
        session.set(settings);
        session
    }

    /// Tells other SETTINGS.
    pub(crate) fn set(&self, settings: &Settings) {
        let entry = |id: u32, value| ffi::nghttp2_settings_entry {
            settings_id: id as i32,
            value,
        };
        let entries = [
            entry(ffi::NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings.window),
            entry(
                ffi::NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
                settings.max_streams,
            ),
            entry(ffi::NGHTTP2_SETTINGS_MAX_FRAME_SIZE, settings.max_frame),
            entry(ffi::NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, settings.table),
        ];
        // SAFETY: the session is live and copies the entries.
        let done =
            unsafe { ffi::nghttp2_submit_settings(self.raw, 0, entries.as_ptr(), entries.len()) };
        assert_eq!(done, 0);
    }

    /// Takes octets that came.
    ///
    /// An ACK of SETTINGS with a smaller window finds the library with a WINDOW_UPDATE that is not sent at
    /// times; it then gives up the connection for what was received before. So it is made to send before it
    /// takes a whole frame more: the shortest has nine octets.
    pub(crate) fn receive(&mut self, octets: &[u8]) {
        for octets in octets.chunks(9) {
            self.pull();
            // SAFETY: the session is live and the octets valid; no reference to the state lives.
            let taken =
                unsafe { ffi::nghttp2_session_mem_recv2(self.raw, octets.as_ptr(), octets.len()) };
            assert_eq!(taken, octets.len().cast_signed(), "nghttp2 gives up");
        }
    }

    /// What is to be sent, no more than so many octets.
    pub(crate) fn send(&mut self, most: usize) -> Vec<u8> {
        self.pull();
        let count = most.min(self.waiting.len());
        self.waiting.drain(..count).collect()
    }

    /// Takes from the library all that it has to send.
    fn pull(&mut self) {
        loop {
            let mut start = ptr::null();
            // SAFETY: the session is live; no reference to the state lives.
            let length = unsafe { ffi::nghttp2_session_mem_send2(self.raw, &raw mut start) };
            let length = usize::try_from(length).expect("nghttp2 goes on");
            if length == 0 {
                break;
            }
            // SAFETY: the library's octets are valid until it is called again.
            self.waiting
                .extend(unsafe { std::slice::from_raw_parts(start, length) });
        }
    }

    pub(crate) fn told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.state().told)
    }

    pub(crate) fn request(&mut self, message: &Message) -> u32 {
        let fields = raw(&message.fields);
        let provider = provider();
        // SAFETY: the session is live and copies fields and provider; no reference to the state lives.
        let stream = unsafe {
            ffi::nghttp2_submit_request2(
                self.raw,
                ptr::null(),
                fields.as_ptr(),
                fields.len(),
                &raw const provider,
                ptr::null_mut(),
            )
        };
        assert!(stream > 0, "a request is refused: {stream}");
        self.expect_body(stream, message);
        stream.cast_unsigned()
    }

    pub(crate) fn answer(&mut self, stream: u32, message: &Message) {
        let fields = raw(&message.fields);
        let provider = provider();
        // Before it is submitted: the stream may be gone, and then nothing reads it.
        self.expect_body(stream.cast_signed(), message);
        // SAFETY: as in `request`.
        unsafe {
            ffi::nghttp2_submit_response2(
                self.raw,
                stream.cast_signed(),
                fields.as_ptr(),
                fields.len(),
                &raw const provider,
            );
        }
    }

    pub(crate) fn reset(&mut self, stream: u32, code: u32) {
        // SAFETY: the session is live.
        unsafe { ffi::nghttp2_submit_rst_stream(self.raw, 0, stream.cast_signed(), code) };
    }

    pub(crate) fn ping(&mut self) {
        // SAFETY: the session is live; no payload is zeros.
        unsafe { ffi::nghttp2_submit_ping(self.raw, 0, ptr::null()) };
    }

    fn expect_body(&mut self, stream: i32, message: &Message) {
        let body = Body {
            octets: message.body.iter().copied().collect(),
            longest: message.piece,
            trailers: message.trailers.clone(),
        };
        self.state().bodies.insert(stream, body);
    }

    fn state(&mut self) -> &mut State {
        // SAFETY: the state lives as long as `self`, and the library is not being called.
        unsafe { &mut *self.state }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: made by `new`; the session, which has the state's pointer, goes first.
        unsafe {
            ffi::nghttp2_session_del(self.raw);
            drop(Box::from_raw(self.state));
        }
    }
}

/// The fields as the library wants them; they point into `fields`.
fn raw(fields: &[Field]) -> Vec<ffi::nghttp2_nv> {
    let raw = fields.iter().map(|(name, value)| ffi::nghttp2_nv {
        // Declared mutable, and not written to.
        name: name.as_ptr().cast_mut(),
        value: value.as_ptr().cast_mut(),
        namelen: name.len(),
        valuelen: value.len(),
        flags: 0,
    });
    raw.collect()
}

fn provider() -> ffi::nghttp2_data_provider2 {
    ffi::nghttp2_data_provider2 {
        source: ffi::nghttp2_data_source {
            ptr: ptr::null_mut(),
        },
        read_callback: Some(read_data),
    }
}

/// # Safety
/// `user` is the state of a session that is being called.
unsafe fn state<'a>(user: *mut c_void) -> &'a mut State {
    // SAFETY: by this function's contract; each callback borrows it for its own length.
    unsafe { &mut *user.cast::<State>() }
}

/// # Safety
/// The octets are valid, or none.
unsafe fn octets(start: *const u8, length: usize) -> Vec<u8> {
    if length == 0 {
        return Vec::new();
    }
    // SAFETY: by this function's contract.
    unsafe { std::slice::from_raw_parts(start, length) }.to_vec()
}

unsafe extern "C" fn on_begin(
    _: *mut ffi::nghttp2_session,
    _: *const ffi::nghttp2_frame,
    user: *mut c_void,
) -> c_int {
    // SAFETY: what `new` registered.
    unsafe { state(user) }.section.clear();
    0
}

unsafe extern "C" fn on_header(
    _: *mut ffi::nghttp2_session,
    _: *const ffi::nghttp2_frame,
    name: *const u8,
    name_length: usize,
    value: *const u8,
    value_length: usize,
    _flags: u8,
    user: *mut c_void,
) -> c_int {
    // SAFETY: what `new` registered; the octets are valid for this call.
    unsafe {
        let field = (octets(name, name_length), octets(value, value_length));
        state(user).section.push(field);
    }
    0
}

unsafe extern "C" fn on_frame(
    _: *mut ffi::nghttp2_session,
    frame: *const ffi::nghttp2_frame,
    user: *mut c_void,
) -> c_int {
    // SAFETY: what `new` registered; a valid frame, whose head is common to all kinds.
    let (state, head) = unsafe { (state(user), (*frame).hd) };
    let stream = head.stream_id.cast_unsigned();
    let kind = u32::from(head.type_);
    if kind == ffi::NGHTTP2_HEADERS {
        let fields = std::mem::take(&mut state.section);
        state.told.push(Told::Fields(stream, fields));
    }
    let has_end = kind == ffi::NGHTTP2_HEADERS || kind == ffi::NGHTTP2_DATA;
    if has_end && u32::from(head.flags) & ffi::NGHTTP2_FLAG_END_STREAM != 0 {
        state.told.push(Told::End(stream));
    }
    if kind == ffi::NGHTTP2_GOAWAY {
        // SAFETY: it is this kind of frame.
        let code = unsafe { (*frame).goaway.error_code };
        state.told.push(Told::GoAway(code));
    }
    if kind == ffi::NGHTTP2_PING && u32::from(head.flags) & ffi::NGHTTP2_FLAG_ACK != 0 {
        state.told.push(Told::Pong);
    }
    0
}

/// Every third frame or so is padded, by more or less.
unsafe extern "C" fn on_padding(
    _: *mut ffi::nghttp2_session,
    frame: *const ffi::nghttp2_frame,
    most: usize,
    _user: *mut c_void,
) -> ffi::nghttp2_ssize {
    // SAFETY: a valid frame, whose head is common to all kinds.
    let length = unsafe { (*frame).hd.length };
    let padded = if length % 3 == 0 {
        length + length / 3 % 256
    } else {
        length
    };
    padded.min(most).cast_signed()
}

unsafe extern "C" fn on_data(
    _: *mut ffi::nghttp2_session,
    _flags: u8,
    stream: i32,
    data: *const u8,
    length: usize,
    user: *mut c_void,
) -> c_int {
    // SAFETY: what `new` registered; the octets are valid for this call.
    unsafe {
        let told = Told::Data(stream.cast_unsigned(), octets(data, length));
        state(user).told.push(told);
    }
    0
}

unsafe extern "C" fn on_close(
    _: *mut ffi::nghttp2_session,
    stream: i32,
    code: u32,
    user: *mut c_void,
) -> c_int {
    // SAFETY: what `new` registered.
    let state = unsafe { state(user) };
    state.bodies.remove(&stream);
    state.told.push(Told::Closed(stream.cast_unsigned(), code));
    0
}

unsafe extern "C" fn read_data(
    session: *mut ffi::nghttp2_session,
    stream: i32,
    buffer: *mut u8,
    length: usize,
    flags: *mut u32,
    _source: *mut ffi::nghttp2_data_source,
    user: *mut c_void,
) -> ffi::nghttp2_ssize {
    // SAFETY: what `new` registered.
    let state = unsafe { state(user) };
    let Some(body) = state.bodies.get_mut(&stream) else {
        return ffi::NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE as ffi::nghttp2_ssize;
    };
    let count = length.min(body.longest).min(body.octets.len());
    let piece: Vec<u8> = body.octets.drain(..count).collect();
    // SAFETY: the buffer has room for `length` octets.
    unsafe { ptr::copy_nonoverlapping(piece.as_ptr(), buffer, count) };
    if body.octets.is_empty() {
        let mut more = ffi::NGHTTP2_DATA_FLAG_EOF;
        if !body.trailers.is_empty() {
            more |= ffi::NGHTTP2_DATA_FLAG_NO_END_STREAM;
            let fields = raw(&body.trailers);
            // SAFETY: the session, whose callback this is, queues a frame and copies the fields; it does
            // not call back.
            let done = unsafe {
                ffi::nghttp2_submit_trailer(session, stream, fields.as_ptr(), fields.len())
            };
            assert_eq!(done, 0);
        }
        // SAFETY: valid for this call.
        unsafe { *flags |= more };
    }
    count.cast_signed()
}
