//! The session: its state, its commands and what can be asked of it.

use super::closing::Closing;
use super::ended::Ended;
use super::flow::{ReceiveWindow, SendWindow};
use super::limits::Rates;
use super::messaging::Asked;
use super::outgoing::Trailers;
use super::queues::{Queue, Queues};
use super::ready::Ready;
use super::receive::Reading;
use super::requests::{MAX_STREAM, Requests};
use super::sections::Sections;
use super::settings::{self, DEFAULT_WINDOW, SettingsExchange};
use super::stream::{Sending, Streams};
use super::transmit::Control;
use super::{Error, ErrorCode, Event, Field, Fields, HeaderPrefix, Limits};
use crate::hpack;
use bytes::Bytes;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

/// Which end of the connection a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a connection has two ends")]
pub enum Role {
    /// It opens streams.
    Client,
    /// It answers them.
    Server,
}

/// What a client says first (RFC 9113, 3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// One end of one HTTP/2 connection.
pub struct Session {
    pub(super) role: Role,
    pub(super) limits: Limits,
    pub(super) streams: Streams,
    pub(super) events: VecDeque<Event>,

    /// How far receiving is.
    pub(super) reading: Reading,
    pub(super) settings: SettingsExchange,
    pub(super) sections: Sections,
    /// Server: which of the client's streams are gone, and how.
    pub(super) ended: Ended,
    pub(super) rates: Rates,
    /// What the peer may send on all streams.
    pub(super) window: ReceiveWindow,

    pub(super) encoder: hpack::Encoder,
    pub(super) control: Control,
    pub(super) ready: Ready,
    /// Frames being put together.
    pub(super) out: Vec<u8>,
    pub(super) queues: Queues,
    /// What may be sent on all streams.
    pub(super) credit: SendWindow,
    pub(super) requests: Requests,
    pub(super) closing: Closing,
}

impl Session {
    /// A session that has its SETTINGS (and, as a client, the preface) to send.
    ///
    /// # Errors
    /// When a limit is outside what HTTP/2 allows.
    pub fn new(role: Role, limits: &Limits) -> Result<Self, Error> {
        limits.check()?;
        let mut session = Self {
            role,
            streams: Streams::default(),
            events: VecDeque::new(),
            reading: Reading::new(role),
            settings: SettingsExchange::new(),
            sections: Sections::new(),
            ended: Ended::new(),
            rates: Rates::new(limits),
            window: ReceiveWindow::new(limits.connection_window.max(DEFAULT_WINDOW)),
            encoder: hpack::Encoder::new(),
            control: Control::default(),
            ready: Ready::default(),
            out: Vec::new(),
            queues: Queues::default(),
            credit: SendWindow::new(DEFAULT_WINDOW),
            requests: Requests::new(),
            closing: Closing::default(),
            limits: limits.clone(),
        };
        if role == Role::Client {
            session.control.octets.extend_from_slice(PREFACE);
        }
        settings::write(role, limits, &mut session.control.octets);
        let more = limits.connection_window.saturating_sub(DEFAULT_WINDOW);
        if more > 0 {
            session.control.window_update(0, more);
        }
        Ok(session)
    }

    /// Which end it is.
    #[must_use]
    pub const fn role(&self) -> Role {
        self.role
    }

    /// The next event.
    #[inline]
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether the next event is the end of the peer's side of this stream.
    #[must_use]
    pub fn ends_next(&self, stream: u32) -> bool {
        matches!(self.events.front(), Some(Event::End { stream: ended }) if *ended == stream)
    }

    /// The fields of a header section; valid until octets are received again.
    #[must_use]
    pub fn fields(&self, section: Range<usize>) -> Fields<'_> {
        Fields(self.sections.fields.get(section).unwrap_or_default())
    }

    /// Opens a stream; gives its number. The header section is `lead`, which may be kept for the next
    /// that begins alike, and `fields`; `:method` stands first. With `has_body` a body follows by [`push`](Self::push) and
    /// [`finish`](Self::finish). It is sent when its turn comes: the peer may take only so many at once.
    ///
    /// # Errors
    /// When no stream can be opened.
    pub fn request(
        &mut self,
        mut lead: Option<&mut HeaderPrefix>,
        fields: &[Field<'_>],
        has_body: bool,
    ) -> Result<u32, Error> {
        if self.role == Role::Server || !self.closing.takes_requests() {
            return Err(Error::GoingAway);
        }
        let number = self.requests.number()?;
        let window = self.first_window();
        let credit = SendWindow::new(self.settings.peer.window);
        let is_now = self.queues.starts.is_empty()
            && self.may_start()
            && self.section_now(number, lead.as_deref_mut(), fields, !has_body);
        let place = self.streams.insert(number, credit, window);
        let stream = self.streams.at(place);
        stream.has_body = has_body;
        let first = match &lead {
            Some(lead) => lead.first(),
            None => fields.first().map(Field::parts),
        };
        if let Some((b":method", method)) = first {
            stream.body.asked = Asked::of(method);
        }
        if is_now {
            stream.sending = if has_body {
                Sending::Body
            } else {
                Sending::Done
            };
            self.requests.started += 1;
        } else {
            stream.outgoing.is_used = true;
            if !stream.outgoing.head.put_all(lead, fields) {
                self.streams.remove(place);
                return Err(Error::FieldTooLong);
            }
            stream.sending = Sending::Head;
            stream.queue = Queue::Starts;
            self.queues.starts.push_back(place as u32);
        }
        self.requests.next_stream = number + 2;
        Ok(number)
    }

    /// Answers a stream, once. `lead`, `fields` and `has_body` as for [`request`](Self::request).
    ///
    /// # Errors
    /// When the stream cannot be answered.
    pub fn answer(
        &mut self,
        stream: u32,
        mut lead: Option<&mut HeaderPrefix>,
        fields: &[Field<'_>],
        has_body: bool,
    ) -> Result<(), Error> {
        let place = self.streams.find(stream).ok_or(Error::NoSuchStream)?;
        if self.role == Role::Client || self.streams.at(place).sending != Sending::Nothing {
            return Err(Error::NoSuchStream);
        }
        if self.section_now(stream, lead.as_deref_mut(), fields, !has_body) {
            let stream = self.streams.at(place);
            stream.has_body = has_body;
            stream.sending = Sending::Body;
            if !has_body {
                self.sent_all(place);
            }
            return Ok(());
        }
        let stream = self.streams.at(place);
        stream.outgoing.is_used = true;
        if !stream.outgoing.head.put_all(lead, fields) {
            return Err(Error::FieldTooLong);
        }
        stream.sending = Sending::Head;
        stream.has_body = has_body;
        stream.queue = Queue::Heads;
        self.queues.heads.push_back(place as u32);
        Ok(())
    }

    /// Adds to a stream's body: `inline` (see [`super::INLINE_PIECE`]), then `shared`. Nothing
    /// happens when the stream is gone or its body finished.
    pub fn push(&mut self, stream: u32, inline: &[u8], shared: Bytes) {
        let Some(place) = self.unfinished(stream) else {
            return;
        };
        let length = inline.len() + shared.len();
        if length == 0 || self.is_written(place) && self.data_now(place, inline, &shared) {
            return;
        }
        self.queues.octets += length;
        let outgoing = &mut self.streams.at(place).outgoing;
        outgoing.is_used = true;
        outgoing.push(inline, shared);
        self.schedule(place);
    }

    /// Whether all of a stream is written that there is so far.
    fn is_written(&mut self, place: usize) -> bool {
        let stream = self.streams.at(place);
        stream.sending == Sending::Body && stream.outgoing.queued == 0
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
    /// When a name is longer than 2^16 octets or a value than 2^32; nothing is done then.
    pub fn finish_with_trailers(&mut self, stream: u32, fields: &[Field<'_>]) -> Result<(), Error> {
        let Some(place) = self.unfinished(stream) else {
            return Ok(());
        };
        if self.is_written(place) && self.section_now(stream, None, fields, true) {
            self.sent_all(place);
            return Ok(());
        }
        let outgoing = &mut self.streams.at(place).outgoing;
        outgoing.is_used = true;
        if !outgoing.tail.put_all(None, fields) {
            return Err(Error::FieldTooLong);
        }
        self.finish_with(stream, Trailers::Own);
        Ok(())
    }

    fn finish_with(&mut self, stream: u32, trailers: Trailers) {
        let Some(place) = self.unfinished(stream) else {
            return;
        };
        if self.is_written(place) {
            let is_now = match trailers {
                Trailers::None => {
                    self.end_now(stream);
                    true
                }
                Trailers::Fixed(fields) => self.section_now(stream, None, fields, true),
                Trailers::Own => false,
            };
            if is_now {
                return self.sent_all(place);
            }
        }
        let outgoing = &mut self.streams.at(place).outgoing;
        outgoing.is_used = true;
        outgoing.finished = true;
        outgoing.trailers = trailers;
        self.schedule(place);
    }

    /// The place of a stream whose body is not finished.
    fn unfinished(&mut self, stream: u32) -> Option<usize> {
        let place = self.streams.find(stream)?;
        let stream = self.streams.at(place);
        let goes_on = stream.has_body
            && !stream.outgoing.finished
            && matches!(stream.sending, Sending::Head | Sending::Body);
        goes_on.then_some(place)
    }

    /// Ends a stream at once, both ways (RFC 9113, 6.4); [`Event::Closed`] follows. A request that was not
    /// written is gone as if it had never been: nothing is told of it here or to the peer.
    pub fn reset(&mut self, stream: u32, code: ErrorCode) {
        let Some(place) = self.streams.find(stream) else {
            return;
        };
        self.withdraw(stream);
        if self.is_unsent(stream) {
            self.forget(place);
        } else {
            self.control.reset(stream, code);
            self.close(place, code);
        }
    }

    /// The stream's octets are used: its peer may send as many more on it.
    pub fn consume_stream(&mut self, stream: u32, octets: usize) {
        let Some(place) = self.streams.find(stream) else {
            return;
        };
        let stream = self.streams.at(place);
        if stream.received_all {
            return;
        }
        let number = stream.number;
        if let Some(more) = stream.window.give_back(octets, self.limits.stream_window) {
            self.control.window_update(number, more);
        }
    }

    /// The connection's octets are used: the peer may send as many more on any stream.
    pub fn consume_connection(&mut self, octets: usize) {
        let whole = self.limits.connection_window;
        if let Some(more) = self.window.give_back(octets, whole) {
            self.control.window_update(0, more);
        }
    }

    /// Asks for a [`Event::Pong`].
    pub fn ping(&mut self) {
        self.control.ping();
    }

    /// Server: tells that no more streams will be taken soon; those on the way still are (RFC 9113, 6.8).
    pub fn shutdown_notice(&mut self) {
        self.control.go_away(MAX_STREAM, ErrorCode::NO_ERROR);
    }

    /// Tells that no more streams are taken; those that came go on (RFC 9113, 6.8).
    pub fn go_away(&mut self, code: ErrorCode) {
        if self.closing.terminated.is_none() {
            self.control.go_away(self.ended.last(), code);
            self.closing.said_goodbye = true;
        }
    }

    /// Ends the connection: GOAWAY is the last that is sent, and nothing more is taken (RFC 9113, 5.4.1).
    pub(super) fn terminate(&mut self, code: ErrorCode) {
        if self.closing.terminated.is_none() {
            self.control.go_away(self.ended.last(), code);
            self.closing.terminated = Some(code);
        }
    }

    /// Forgets a stream and tells its end.
    pub(super) fn close(&mut self, place: usize, code: ErrorCode) {
        let stream = self.streams.at(place).number;
        self.forget(place);
        self.events.push_back(Event::Closed { stream, code });
    }

    fn forget(&mut self, place: usize) {
        let stream = self.streams.at(place);
        self.queues.octets -= stream.outgoing.queued;
        let queue = stream.queue;
        if self.role == Role::Client && queue != Queue::Starts {
            self.requests.started -= 1;
        }
        self.queues.remove(queue, place);
        self.streams.remove(place);
    }

    /// The window of a stream that is new. Before the peer has taken this side's SETTINGS it may send
    /// as much as HTTP/2 allows without (RFC 9113, 6.9.2).
    pub(super) fn first_window(&self) -> ReceiveWindow {
        let window = self.limits.stream_window;
        ReceiveWindow::new(if self.settings.acknowledged {
            window
        } else {
            window.max(DEFAULT_WINDOW)
        })
    }

    /// Octets the peer lets this side send on the stream now; those queued are not subtracted.
    /// A stream that is not open has what a new one would.
    #[must_use]
    pub fn credit(&self, stream: u32) -> usize {
        let stream = match self.streams.get(stream) {
            Some(stream) => stream.credit,
            None => SendWindow::new(self.settings.peer.window),
        };
        stream.with(self.credit)
    }

    /// Octets of this stream's body that wait to be sent.
    #[must_use]
    pub fn queued(&self, stream: u32) -> usize {
        let stream = self.streams.get(stream);
        stream.map_or(0, |stream| stream.outgoing.queued)
    }

    /// Octets of all bodies that wait to be sent.
    #[must_use]
    pub const fn queued_total(&self) -> usize {
        self.queues.octets
    }

    /// How many octets are missing of the frame at which [`receive`](Self::receive) stopped, when
    /// that is known.
    #[must_use]
    pub const fn wants(&self) -> usize {
        self.reading.missing
    }

    /// Whether [`receive`](Self::receive) stopped because it had done as much as it does at a time: it is
    /// to be called again with what it left.
    #[must_use]
    pub const fn has_more(&self) -> bool {
        self.reading.has_more
    }

    /// Whether octets are still wanted from the peer.
    #[must_use]
    pub fn wants_read(&self) -> bool {
        self.closing.terminated.is_none() && (self.closing.is_open() || self.streams.len() > 0)
    }

    /// Whether something waits to be sent (and may be: credit is given).
    #[must_use]
    #[inline]
    pub fn wants_write(&self) -> bool {
        if !self.control.octets.is_empty() {
            return true;
        }
        self.closing.terminated.is_none()
            && (!self.ready.is_empty()
                || !self.queues.heads.is_empty()
                || !self.queues.bodies.is_empty() && self.credit.is_open()
                || !self.queues.starts.is_empty() && self.may_start())
    }

    /// Whether the peer takes one more request now (RFC 9113, 5.1.2).
    pub(super) const fn may_start(&self) -> bool {
        self.requests.started < self.settings.peer.max_streams as usize
    }

    /// Client: whether nothing of a request was written yet. For the peer its stream is idle (RFC 9113,
    /// 5.1).
    #[inline]
    pub(super) const fn is_unsent(&self, stream: u32) -> bool {
        matches!(self.role, Role::Client) && stream > self.requests.last_written
    }

    /// The error for which this side gives the connection up: it is to be closed when what this
    /// session has to send is sent. Graceful GOAWAYs do not count.
    #[must_use]
    pub const fn terminated(&self) -> Option<ErrorCode> {
        self.closing.terminated
    }

    /// The last stream whose request was written to a sink; 0 before the first.
    #[must_use]
    pub const fn last_request_sent(&self) -> u32 {
        self.requests.last_written
    }

    /// Whether this side's part of the stream is fully written to a sink, or the stream gone.
    #[must_use]
    pub fn is_finished(&self, stream: u32) -> bool {
        let stream = self.streams.get(stream);
        self.ready.is_empty() && stream.is_none_or(|stream| stream.sending == Sending::Done)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("role", &self.role)
            .field("streams", &self.streams.len())
            .field("terminated", &self.closing.terminated)
            .finish_non_exhaustive()
    }
}
