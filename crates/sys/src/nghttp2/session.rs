//! The session: octets and commands in, events and octets out.

use super::callbacks;
use super::cell::Cell;
use super::open::open;
use super::outgoing::{Sink, Trailers, append_flat};
use super::watch::{NO_STREAM, Verdict, Watch};
use super::{Error, ErrorCode, Event, Field, Fields, Limits};
use bytes::Bytes;
use libnghttp2_sys as ffi;
use std::fmt;
use std::ops::Range;
use std::ptr::{self, NonNull};

/// Which end of the connection a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a connection has two ends")]
pub enum Role {
    /// It opens streams.
    Client,
    /// It answers them.
    Server,
}

/// One end of one HTTP/2 connection.
///
/// After a fatal [`Error`] only dropping it makes sense; everything else returns errors.
pub struct Session {
    raw: NonNull<ffi::nghttp2_session>,
    /// From `Box::into_raw`; callbacks use the same pointer. No reference to it is held across a
    /// call into the library.
    cell: NonNull<Cell>,
    role: Role,
    /// Server: what the client may not send and the library does not mind.
    watch: Option<Box<Watch>>,
}

/// The largest window (RFC 9113, 6.9.1).
const MAX_WINDOW: u32 = i32::MAX as u32;

// SAFETY: a session and its cell are reached only through this value; the library keeps no state
// of threads.
unsafe impl Send for Session {}

impl Session {
    /// A session that has its SETTINGS (and, as a client, the preface) to send.
    ///
    /// # Errors
    /// When memory is out or a limit is outside what HTTP/2 allows.
    pub fn new(role: Role, limits: &Limits) -> Result<Self, Error> {
        let cell = Box::into_raw(Box::new(Cell::new(limits.max_header_list)));
        // SAFETY: from `Box::into_raw`, so not null.
        let cell = unsafe { NonNull::new_unchecked(cell) };
        // SAFETY: the cell stays where it is until `Drop`, after the session is deleted.
        let raw = match unsafe { open(role, limits, cell) } {
            Ok(raw) => raw,
            Err(error) => {
                // SAFETY: no session has the pointer: the box is ours again.
                drop(unsafe { Box::from_raw(cell.as_ptr()) });
                return Err(error);
            }
        };
        let watch = (role == Role::Server).then(|| Box::new(Watch::new()));
        let session = Self {
            raw,
            cell,
            role,
            watch,
        };
        session.submit_settings(limits)?;
        Ok(session)
    }

    /// Which end it is.
    #[must_use]
    pub const fn role(&self) -> Role {
        self.role
    }

    /// Takes octets that came; all of them. Events are then waiting in
    /// [`next_event`](Self::next_event); those of earlier octets must have been taken.
    ///
    /// # Errors
    /// When the connection can only be closed. What is a connection error in HTTP/2's sense is
    /// none here: the session queues GOAWAY and ignores the rest, see
    /// [`terminated`](Self::terminated).
    pub fn receive(&mut self, octets: &[u8]) -> Result<(), Error> {
        self.with_cell(|cell| {
            cell.forget_fields();
            cell.input = (octets.as_ptr() as usize, octets.len());
        });
        let received = match self.watch.take() {
            None => self.give(octets),
            Some(mut watch) => {
                let received = self.receive_watched(&mut watch, octets);
                self.watch = Some(watch);
                received
            }
        };
        if received.is_err_and(Error::is_excess) {
            self.terminate(ErrorCode::ENHANCE_YOUR_CALM)?;
        }
        received
    }

    /// Gives the library what it may have of these octets, in as few pieces as possible.
    fn receive_watched(&mut self, watch: &mut Watch, octets: &[u8]) -> Result<(), Error> {
        // What lies between the two was looked at and has not been given.
        let (mut given, mut at) = (0, 0);
        if watch.keeps() {
            let (taken, whole) = watch.complete(octets);
            if !whole {
                return Ok(());
            }
            (given, at) = (taken, taken);
            let (kept, length) = watch.take_kept();
            let kept = &kept[..length];
            match watch.judge(kept) {
                Some((Verdict::Refuse(code), _)) => return self.terminate(code),
                Some((Verdict::GoAway, seen)) => {
                    self.give(&kept[..seen - NO_STREAM.len()])?;
                    self.give(&NO_STREAM)?;
                }
                Some((Verdict::Credit { stream, octets }, _))
                    if self.is_too_much(stream, octets) =>
                {
                    self.reset(stream, ErrorCode::FLOW_CONTROL_ERROR);
                }
                _ => self.give(kept)?,
            }
        }
        loop {
            at += watch.pass(octets.len() - at);
            let rest = &octets[at..];
            match watch.judge(rest) {
                None => {
                    self.give(&octets[given..at])?;
                    watch.complete(rest);
                    return Ok(());
                }
                Some((Verdict::Pass, seen)) => at += seen,
                Some((Verdict::GoAway, seen)) => {
                    at += seen;
                    self.give(&octets[given..at - NO_STREAM.len()])?;
                    self.give(&NO_STREAM)?;
                    given = at;
                }
                Some((Verdict::Refuse(code), _)) => {
                    self.give(&octets[given..at])?;
                    return self.terminate(code);
                }
                Some((
                    Verdict::Credit {
                        stream,
                        octets: more,
                    },
                    seen,
                )) => {
                    // Frames before it may have changed the window.
                    self.give(&octets[given..at])?;
                    given = at;
                    at += seen;
                    if self.is_too_much(stream, more) {
                        self.reset(stream, ErrorCode::FLOW_CONTROL_ERROR);
                        given = at;
                    }
                }
            }
        }
    }

    /// Whether a stream's window cannot grow by so much.
    fn is_too_much(&self, stream: u32, octets: u32) -> bool {
        // SAFETY: the session is live; this only reads. It gives -1 for a stream it does not know,
        // which cannot be reset.
        let window = unsafe {
            let raw = self.raw.as_ptr();
            ffi::nghttp2_session_get_stream_remote_window_size(raw, stream.cast_signed())
        };
        u32::try_from(window).is_ok_and(|window| window > MAX_WINDOW - octets.min(MAX_WINDOW))
    }

    /// Ends the connection: GOAWAY follows, and nothing more is taken.
    fn terminate(&mut self, code: ErrorCode) -> Result<(), Error> {
        // SAFETY: the session is live; this only queues a frame.
        Error::check(unsafe { ffi::nghttp2_session_terminate_session(self.raw.as_ptr(), code.0) })
            .map(drop)
    }

    fn give(&mut self, octets: &[u8]) -> Result<(), Error> {
        let mut rest = octets;
        while !rest.is_empty() {
            // SAFETY: the session is live, `rest` valid for its length, and no reference to the
            // cell lives.
            let taken = Error::check_length(unsafe {
                ffi::nghttp2_session_mem_recv2(self.raw.as_ptr(), rest.as_ptr(), rest.len())
            })?;
            if taken == 0 {
                return Err(Error::INTERNAL);
            }
            rest = rest.get(taken..).unwrap_or_default();
        }
        Ok(())
    }

    /// The next event.
    pub fn next_event(&mut self) -> Option<Event> {
        self.with_cell(|cell| cell.events.pop_front())
    }

    /// Whether the next event is the end of the peer's side of this stream.
    #[must_use]
    pub fn ends_next(&self, stream: u32) -> bool {
        let next = self.cell().events.front();
        matches!(next, Some(Event::End { stream: ended }) if *ended == stream)
    }

    /// The fields of a header section; valid until octets are received again.
    #[must_use]
    pub fn fields(&self, section: Range<usize>) -> Fields<'_> {
        Fields(self.cell().fields.get(section).unwrap_or_default())
    }

    /// Writes what is to be sent, until nothing is left or the sink's budget is used up; says
    /// whether it wrote anything.
    ///
    /// # Errors
    /// When the connection can only be closed.
    pub fn send(&mut self, sink: &mut dyn Sink) -> Result<bool, Error> {
        // SAFETY: only the lifetime is forgotten. `Registered` clears the pointer before this
        // function, and with it the borrow, ends.
        let sink: NonNull<dyn Sink> =
            unsafe { std::mem::transmute::<NonNull<dyn Sink + '_>, _>(NonNull::from(sink)) };
        self.with_cell(|cell| {
            cell.sink = Some(sink);
            cell.wrote = false;
        });
        let registered = Registered(self);
        loop {
            // SAFETY: the reference ends with the statement; the library is not in it.
            if unsafe { sink.as_ref() }.budget() == 0 {
                break;
            }
            let mut start = ptr::null();
            // SAFETY: the session is live and no reference to the cell or the sink lives.
            let length = Error::check_length(unsafe {
                ffi::nghttp2_session_mem_send2(registered.0.raw.as_ptr(), &raw mut start)
            })?;
            if length == 0 {
                break;
            }
            // SAFETY: the library's buffer is valid until it is called again; the sink, borrowed
            // for this statement, cannot call it.
            unsafe { (*sink.as_ptr()).put(std::slice::from_raw_parts(start, length)) };
            registered.0.with_cell(|cell| cell.wrote = true);
        }
        Ok(registered.0.cell().wrote)
    }

    /// Opens a stream; gives its number. With `has_body` a body follows by
    /// [`push`](Self::push) and [`finish`](Self::finish).
    ///
    /// # Errors
    /// When stream numbers are used up (nothing is sent then) or the session is broken.
    pub fn request(&mut self, fields: &[Field<'_>], has_body: bool) -> Result<u32, Error> {
        let provider = body_provider();
        // SAFETY: the session is live; the library copies fields that are not static and the
        // provider; it does not call back here.
        let stream = Error::check(unsafe {
            ffi::nghttp2_submit_request2(
                self.raw.as_ptr(),
                ptr::null(),
                Field::as_raw(fields),
                fields.len(),
                if has_body {
                    &raw const provider
                } else {
                    ptr::null()
                },
                ptr::null_mut(),
            )
        })?;
        let stream = stream.cast_unsigned();
        if has_body {
            self.expect_body(stream);
        }
        Ok(stream)
    }

    /// Answers a stream, once. `has_body` as for [`request`](Self::request).
    ///
    /// # Errors
    /// When the stream cannot be answered or the session is broken.
    pub fn answer(
        &mut self,
        stream: u32,
        fields: &[Field<'_>],
        has_body: bool,
    ) -> Result<(), Error> {
        let provider = body_provider();
        // SAFETY: as in `request`.
        Error::check(unsafe {
            ffi::nghttp2_submit_response2(
                self.raw.as_ptr(),
                stream.cast_signed(),
                Field::as_raw(fields),
                fields.len(),
                if has_body {
                    &raw const provider
                } else {
                    ptr::null()
                },
            )
        })?;
        if has_body {
            self.expect_body(stream);
        }
        Ok(())
    }

    /// Adds to a stream's body: `inline` (see [`super::INLINE_PIECE`]), then `shared`. Nothing
    /// happens when the stream is gone or its body finished.
    pub fn push(&mut self, stream: u32, inline: &[u8], shared: Bytes) {
        let deferred = self.with_cell(|cell| {
            let Some(outgoing) = cell.outgoing.get_mut(&stream) else {
                return false;
            };
            if outgoing.finished {
                return false;
            }
            cell.queued += inline.len() + shared.len();
            outgoing.push(inline, shared);
            std::mem::take(&mut outgoing.deferred)
        });
        if deferred {
            self.resume(stream);
        }
    }

    /// Ends a stream's body.
    pub fn finish(&mut self, stream: u32) {
        self.finish_with(stream, Trailers::None);
    }

    /// Ends a stream's body; these fields follow.
    pub fn finish_with_fixed_trailers(&mut self, stream: u32, fields: &'static [Field<'static>]) {
        self.finish_with(stream, Trailers::Fixed(fields));
    }

    /// Ends a stream's body; these fields follow.
    ///
    /// # Errors
    /// When a name is longer than 255 octets or a value than 2^24 - 1; nothing is done then.
    pub fn finish_with_trailers<'f>(
        &mut self,
        stream: u32,
        fields: impl IntoIterator<Item = (&'f [u8], &'f [u8])>,
    ) -> Result<(), Error> {
        let mut block = Vec::new();
        for (name, value) in fields {
            if !append_flat(&mut block, name, value) {
                return Err(Error::INVALID);
            }
        }
        self.finish_with(stream, Trailers::Block(block));
        Ok(())
    }

    fn finish_with(&mut self, stream: u32, trailers: Trailers) {
        let deferred = self.with_cell(|cell| {
            let Some(outgoing) = cell.outgoing.get_mut(&stream) else {
                return false;
            };
            if outgoing.finished {
                return false;
            }
            outgoing.finished = true;
            outgoing.trailers = trailers;
            std::mem::take(&mut outgoing.deferred)
        });
        if deferred {
            self.resume(stream);
        }
    }

    /// Ends a stream at once, both ways. [`Event::Closed`] follows when that is sent.
    pub fn reset(&mut self, stream: u32, code: ErrorCode) {
        // SAFETY: the session is live; submitting does not call back. It fails only when memory is
        // out, which the next `send` reports.
        unsafe {
            ffi::nghttp2_submit_rst_stream(
                self.raw.as_ptr(),
                ffi::NGHTTP2_FLAG_NONE as u8,
                stream.cast_signed(),
                code.0,
            );
        }
    }

    /// The stream's octets are used: its peer may send as many more on it.
    pub fn consume_stream(&mut self, stream: u32, octets: usize) {
        // SAFETY: as in `reset`; an unknown stream is ignored.
        unsafe {
            ffi::nghttp2_session_consume_stream(self.raw.as_ptr(), stream.cast_signed(), octets);
        }
    }

    /// The connection's octets are used: the peer may send as many more on any stream.
    pub fn consume_connection(&mut self, octets: usize) {
        // SAFETY: as in `reset`.
        unsafe {
            ffi::nghttp2_session_consume_connection(self.raw.as_ptr(), octets);
        }
    }

    /// Asks for a [`Event::Pong`].
    pub fn ping(&mut self) {
        // SAFETY: as in `reset`; a null payload is sent as zeros.
        unsafe {
            ffi::nghttp2_submit_ping(self.raw.as_ptr(), ffi::NGHTTP2_FLAG_NONE as u8, ptr::null());
        }
    }

    /// Server: tells that no more streams will be taken soon; those on the way still are.
    pub fn shutdown_notice(&mut self) {
        // SAFETY: as in `reset`.
        unsafe {
            ffi::nghttp2_submit_shutdown_notice(self.raw.as_ptr());
        }
    }

    /// Tells that no more streams are taken; those that came go on.
    pub fn go_away(&mut self, code: ErrorCode) {
        // SAFETY: as in `reset`.
        unsafe {
            let last = ffi::nghttp2_session_get_last_proc_stream_id(self.raw.as_ptr());
            ffi::nghttp2_submit_goaway(
                self.raw.as_ptr(),
                ffi::NGHTTP2_FLAG_NONE as u8,
                last,
                code.0,
                ptr::null(),
                0,
            );
        }
    }

    /// Octets the peer lets this side send on the stream now; those queued are not subtracted.
    /// A stream that is not open yet has what a new one would.
    #[must_use]
    pub fn credit(&self, stream: u32) -> usize {
        // SAFETY: the session is live; these only read.
        let (connection, stream) = unsafe {
            let raw = self.raw.as_ptr();
            let window =
                ffi::nghttp2_session_get_stream_remote_window_size(raw, stream.cast_signed());
            let stream = if window < 0 {
                ffi::nghttp2_session_get_remote_settings(
                    raw,
                    ffi::NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
                )
                .cast_signed()
            } else {
                window
            };
            (ffi::nghttp2_session_get_remote_window_size(raw), stream)
        };
        usize::try_from(connection.min(stream)).unwrap_or(0)
    }

    /// Octets of this stream's body that wait to be sent.
    #[must_use]
    pub fn queued(&self, stream: u32) -> usize {
        self.cell()
            .outgoing
            .get(&stream)
            .map_or(0, |body| body.queued)
    }

    /// Octets of all bodies that wait to be sent.
    #[must_use]
    pub fn queued_total(&self) -> usize {
        self.cell().queued
    }

    /// Frames without bodies that wait to be sent.
    #[must_use]
    pub fn queued_frames(&self) -> usize {
        // SAFETY: the session is live; this only reads.
        unsafe { ffi::nghttp2_session_get_outbound_queue_size(self.raw.as_ptr()) }
    }

    /// Whether octets are still wanted from the peer.
    #[must_use]
    pub fn wants_read(&self) -> bool {
        // SAFETY: the session is live; this only reads.
        unsafe { ffi::nghttp2_session_want_read(self.raw.as_ptr()) != 0 }
    }

    /// Whether something waits to be sent (and may be: credit is given).
    #[must_use]
    pub fn wants_write(&self) -> bool {
        // SAFETY: the session is live; this only reads.
        unsafe { ffi::nghttp2_session_want_write(self.raw.as_ptr()) != 0 }
    }

    /// The error that this side's GOAWAY named, once it was written to a sink: the connection is
    /// to be closed when the sink is empty. Graceful GOAWAYs do not count.
    #[must_use]
    pub fn terminated(&self) -> Option<ErrorCode> {
        self.cell()
            .sent_goaway
            .filter(|code| *code != ErrorCode::NO_ERROR)
    }

    /// The last stream whose request was written to a sink; 0 before the first.
    #[must_use]
    pub fn last_request_sent(&self) -> u32 {
        self.cell().last_request
    }

    /// Whether this side's part of the stream is fully written to a sink.
    #[must_use]
    pub fn is_finished(&self, stream: u32) -> bool {
        // SAFETY: the session is live; this only reads.
        unsafe {
            ffi::nghttp2_session_get_stream_local_close(self.raw.as_ptr(), stream.cast_signed())
                != 0
        }
    }

    fn resume(&mut self, stream: u32) {
        // SAFETY: as in `reset`; a stream without a deferred body is ignored.
        unsafe {
            ffi::nghttp2_session_resume_data(self.raw.as_ptr(), stream.cast_signed());
        }
    }

    fn expect_body(&mut self, stream: u32) {
        self.with_cell(|cell| {
            let outgoing = cell.spare.pop().unwrap_or_default();
            cell.outgoing.insert(stream, outgoing);
        });
    }

    fn submit_settings(&self, limits: &Limits) -> Result<(), Error> {
        let entry = |id: ffi::nghttp2_settings_id, value| ffi::nghttp2_settings_entry {
            settings_id: id as i32,
            value,
        };
        let mut entries = vec![
            entry(
                ffi::NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
                limits.stream_window,
            ),
            entry(
                ffi::NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
                limits.max_streams,
            ),
            entry(ffi::NGHTTP2_SETTINGS_MAX_FRAME_SIZE, limits.max_frame),
            entry(
                ffi::NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
                limits.max_header_list,
            ),
        ];
        if self.role == Role::Client {
            entries.push(entry(ffi::NGHTTP2_SETTINGS_ENABLE_PUSH, 0));
        }
        let window = i32::try_from(limits.connection_window).map_err(|_| Error::INVALID)?;
        // SAFETY: the session is live; the library copies the entries and does not call back.
        unsafe {
            let raw = self.raw.as_ptr();
            Error::check(ffi::nghttp2_submit_settings(
                raw,
                ffi::NGHTTP2_FLAG_NONE as u8,
                entries.as_ptr(),
                entries.len(),
            ))?;
            Error::check(ffi::nghttp2_session_set_local_window_size(
                raw,
                ffi::NGHTTP2_FLAG_NONE as u8,
                0,
                window,
            ))?;
        }
        Ok(())
    }

    /// Borrows the cell for a few lines that cannot call the library.
    fn with_cell<R>(&mut self, body: impl FnOnce(&mut Cell) -> R) -> R {
        // SAFETY: the cell lives as long as `self`, which is borrowed alone; the closures of this
        // module do not call the library, so no second reference exists.
        body(unsafe { &mut *self.cell.as_ptr() })
    }

    fn cell(&self) -> &Cell {
        // SAFETY: the cell lives as long as `self`, and only methods that borrow `self` alone
        // change it or call what changes it.
        unsafe { self.cell.as_ref() }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: both were made by `new` and are used by nobody else; the session, which holds
        // the cell's pointer, goes first.
        unsafe {
            ffi::nghttp2_session_del(self.raw.as_ptr());
            drop(Box::from_raw(self.cell.as_ptr()));
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

/// Takes the sink's pointer out of the cell however `send` ends.
struct Registered<'a>(&'a mut Session);

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.0.with_cell(|cell| cell.sink = None);
    }
}

fn body_provider() -> ffi::nghttp2_data_provider2 {
    ffi::nghttp2_data_provider2 {
        source: ffi::nghttp2_data_source {
            ptr: ptr::null_mut(),
        },
        read_callback: Some(callbacks::read_data),
    }
}
