//! What comes in, frame by frame: all but header sections, which are next door.

use super::frame::{
    self, ACK, CONTINUATION, DATA, END_STREAM, GOAWAY, HEAD, HEADERS, Head, PING, PRIORITY,
    PUSH_PROMISE, RST_STREAM, SETTINGS, WINDOW_UPDATE, number,
};
use super::session::{PREFACE, Role, Session};
use super::settings::DEFAULT_WINDOW;
use super::{Error, ErrorCode, Event};
use std::time::Instant;

/// Events for which memory is kept between turns.
const KEEP_EVENTS: usize = 1024;
/// Memory for fields that is kept between turns, octets.
const KEEP_FIELDS: usize = 64 << 10;

/// What a frame counts as work, in octets of decoded fields.
const FRAME_WORK: usize = 256;

/// What a frame did to the connection: nothing, or its end.
pub(super) type Taken = Result<(), ErrorCode>;

/// How far receiving is.
#[derive(Debug)]
pub(super) struct Reading {
    /// The client's preface has come; true for a client, whose peer sends none.
    greeted: bool,
    /// Octets that follow of a frame whose kind is unknown.
    skip: usize,
    /// Octets that are missing of the frame at which receiving stopped.
    pub(super) missing: usize,
    /// What receiving has done so far, as [`Limits::turn_work`](super::Limits::turn_work) counts.
    pub(super) work: usize,
    /// Receiving stopped because enough was done.
    pub(super) has_more: bool,
}

impl Reading {
    pub(super) fn new(role: Role) -> Self {
        Self {
            greeted: role == Role::Client,
            skip: 0,
            missing: 0,
            work: 0,
            has_more: false,
        }
    }

    fn begin_turn(&mut self) {
        self.missing = 0;
        self.has_more = false;
        self.work = 0;
    }
}

impl Session {
    /// Takes octets that came, up to a frame that is not whole or until
    /// [`Limits::turn_work`](super::Limits::turn_work) is done; says how many. The others are given again,
    /// with those behind them: soon when there is [more](Self::has_more), else when more have come. A
    /// section's fields may be two hundred times as long as its block: what counts is what they are
    /// decoded. Events are then waiting in [`next_event`](Self::next_event); those of
    /// earlier octets must have been taken.
    ///
    /// # Errors
    /// When it is no HTTP/2 that came and the connection can only be closed. What is a connection
    /// error in HTTP/2's sense is none here: the session queues GOAWAY and ignores the rest, see
    /// [`terminated`](Self::terminated).
    pub fn receive(&mut self, now: Instant, octets: &[u8]) -> Result<usize, Error> {
        if self.events.is_empty() {
            self.events.shrink_to(KEEP_EVENTS);
            self.sections.fields.clear();
            self.sections.fields.shrink_to(KEEP_FIELDS);
        }
        self.reading.begin_turn();
        let mut at = 0;
        if !self.reading.greeted {
            let begins = octets.len().min(PREFACE.len());
            // RFC 9113, 3.4: the preface. GOAWAY is not owed to a peer that speaks something else.
            if octets[..begins] != PREFACE[..begins] {
                return Err(Error::NotHttp2);
            }
            if begins < PREFACE.len() {
                return Ok(0);
            }
            self.reading.greeted = true;
            at = PREFACE.len();
        }
        while self.closing.terminated.is_none() {
            if self.reading.skip > 0 {
                let skipped = self.reading.skip.min(octets.len() - at);
                self.reading.skip -= skipped;
                at += skipped;
            }
            let Some((head, rest)) = octets[at..].split_first_chunk::<HEAD>() else {
                return Ok(at);
            };
            if self.reading.work > self.limits.turn_work {
                self.reading.has_more = true;
                return Ok(at);
            }
            self.reading.work += FRAME_WORK;
            let head = Head::read(*head);
            let taken = if let Err(code) = self.admit(head) {
                Err(code)
            } else if head.kind > CONTINUATION {
                // What this side does not know it ignores (RFC 9113, 4.1).
                self.reading.skip = head.length;
                at += HEAD;
                continue;
            } else if let Some(payload) = rest.get(..head.length) {
                at += HEAD;
                self.frame(now, head, payload, at)
            } else {
                self.reading.missing = head.length - rest.len();
                return Ok(at);
            };
            if let Err(code) = taken {
                self.terminate(code);
                break;
            }
            at += head.length;
        }
        Ok(octets.len())
    }

    /// Whether a frame may come, as far as its head tells.
    fn admit(&self, head: Head) -> Taken {
        // RFC 9113, 3.4: SETTINGS come first.
        if !self.settings.heard && (head.kind != SETTINGS || head.has(ACK)) {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        // RFC 9113, 4.3 and 6.10: nothing comes between the pieces of a header block, nor does what this
        // side does not know (5.5).
        if self.sections.block.goes_on() && !self.sections.block.is_followed_by(head) {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        let fits = match head.kind {
            // RFC 9113, 6.3, an error of the stream there; 5.4.1 allows to make it the connection's.
            PRIORITY => head.length == 5,
            // 6.4 and 6.9.
            RST_STREAM | WINDOW_UPDATE => head.length == 4,
            // 6.7.
            PING => head.length == 8,
            // 6.8 and 4.2: two numbers, and whatever the peer adds.
            GOAWAY => head.length >= 8,
            // 6.5: whole entries, and none in an acknowledgement.
            SETTINGS => head.length.is_multiple_of(6) && (head.length == 0 || !head.has(ACK)),
            _ => true,
        };
        // RFC 9113, 4.2.
        if !fits || head.length > self.limits.max_frame as usize {
            return Err(ErrorCode::FRAME_SIZE_ERROR);
        }
        let of_connection = match head.kind {
            // RFC 9113, 6.5, 6.7 and 6.8.
            SETTINGS | PING | GOAWAY => true,
            // 6.9: either.
            WINDOW_UPDATE => head.stream == 0,
            // 5.1: of what is unknown no stream is wrong.
            kind if kind > CONTINUATION => head.stream == 0,
            // A client must not push (8.4), and a server was told not to (6.6).
            PUSH_PROMISE => return Err(ErrorCode::PROTOCOL_ERROR),
            // 6.1 to 6.4 and 6.10.
            _ => false,
        };
        if of_connection == (head.stream == 0) {
            Ok(())
        } else {
            Err(ErrorCode::PROTOCOL_ERROR)
        }
    }

    /// Takes a frame; `place` is where its payload stands in what was received.
    #[inline]
    fn frame(&mut self, now: Instant, head: Head, payload: &[u8], place: usize) -> Taken {
        match head.kind {
            DATA => self.data(now, head, payload, place),
            HEADERS => self.headers(now, head, payload),
            CONTINUATION => self.continuation(now, head, payload),
            WINDOW_UPDATE => self.window_update(now, head.stream, payload),
            RST_STREAM => self.rst_stream(now, head.stream, payload),
            SETTINGS => self.settings(head, payload),
            PING => self.pinged(head, payload),
            GOAWAY => self.goaway(payload),
            // Checked, and otherwise ignored (RFC 9113, 5.3.2 and 6.3). A stream cannot depend on
            // itself (RFC 7540, 5.3.1).
            _ if first_number(payload) == head.stream => Err(ErrorCode::PROTOCOL_ERROR),
            _ => Ok(()),
        }
    }

    fn data(&mut self, now: Instant, head: Head, payload: &[u8], place: usize) -> Taken {
        // All of it counts, padding too (RFC 9113, 6.1), and whatever becomes of it (6.9).
        self.window.take(head.length)?;
        // RFC 9113, 6.1.
        let Some((octets, padding)) = frame::without_padding(head, payload) else {
            return Err(ErrorCode::PROTOCOL_ERROR);
        };
        let Some(stream) = self.streams.find(head.stream) else {
            self.of_no_stream(head)?;
            // It was on its way when this side ended the stream, and is not read. It counts for the
            // connection all the same (RFC 9113, 5.1 and 6.9).
            self.consume_connection(head.length);
            return Ok(());
        };
        let ends = head.has(END_STREAM);
        // RFC 9113, 5.1: idle.
        if self.is_unsent(head.stream) {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        let known = self.streams.at(stream);
        // RFC 9113, 5.1: half-closed (remote). 5.4.1 allows to end the connection for it.
        if known.received_all {
            return Err(ErrorCode::STREAM_CLOSED);
        }
        // RFC 9113, 6.9.1.
        if let Err(code) = known.window.take(head.length) {
            self.consume_connection(head.length);
            return self.stream_error(now, head.stream, code);
        }
        // RFC 9113, 8.1 and 8.1.1: malformed.
        if known.body.data(octets.len()).is_err() {
            self.consume_connection(head.length);
            return self.stream_error(now, head.stream, ErrorCode::PROTOCOL_ERROR);
        }
        if !octets.is_empty() {
            let start = place + usize::from(padding > 0);
            self.events.push_back(Event::Data {
                stream: head.stream,
                octets: start..start + octets.len(),
            });
        } else if !ends {
            // RFC 9113, 10.5: an empty frame that ends nothing is work for nothing.
            self.rates.glitches.count(now)?;
        }
        if padding > 0 {
            self.consume_connection(padding);
            self.consume_stream(head.stream, padding);
        }
        if ends {
            return self.ends(now, stream);
        }
        Ok(())
    }

    /// The peer's side of a stream ends.
    pub(super) fn ends(&mut self, now: Instant, place: usize) -> Taken {
        let stream = self.streams.at(place);
        let number = stream.number;
        if self.role == Role::Server {
            self.ended.end(number);
        }
        // RFC 9113, 8.1.1: shorter than was said.
        if stream.body.end().is_err() {
            return self.stream_error(now, number, ErrorCode::PROTOCOL_ERROR);
        }
        stream.received_all = true;
        let is_closed = stream.sending == super::stream::Sending::Done;
        self.events.push_back(Event::End { stream: number });
        if is_closed {
            self.close(place, ErrorCode::NO_ERROR);
        }
        Ok(())
    }

    /// What a frame means on a stream that is not open: nothing, when this side ended the stream; else
    /// it is the peer's fault.
    pub(super) fn of_no_stream(&self, head: Head) -> Taken {
        let stream = head.stream;
        let is_known = match self.role {
            Role::Client => stream % 2 == 1 && stream < self.requests.next_stream,
            Role::Server => {
                stream % 2 == 1 && stream <= self.ended.last() && !self.ended.was_left_out(stream)
            }
        };
        // RFC 9113, 5.1: idle; 5.1.1: a number that the peer left out or may not use.
        if !is_known {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        // RFC 9113, 5.1: closed. WINDOW_UPDATE and RST_STREAM may still come.
        let needs_open = matches!(head.kind, DATA | HEADERS);
        if self.role == Role::Server && needs_open && self.ended.has_ended(stream) {
            return Err(ErrorCode::STREAM_CLOSED);
        }
        Ok(())
    }

    /// The peer has broken the rules of one stream, which ends (RFC 9113, 5.4.2). A peer that often does is
    /// up to no good (10.5).
    pub(super) fn stream_error(&mut self, now: Instant, stream: u32, code: ErrorCode) -> Taken {
        self.withdraw(stream);
        self.control.reset(stream, code);
        if let Some(place) = self.streams.find(stream) {
            self.close(place, code);
        }
        self.rates.glitches.count(now)?;
        self.check_flood()
    }

    fn check_flood(&self) -> Taken {
        if self.is_flooded() {
            Err(ErrorCode::ENHANCE_YOUR_CALM)
        } else {
            Ok(())
        }
    }

    fn rst_stream(&mut self, now: Instant, stream: u32, payload: &[u8]) -> Taken {
        let place = self.streams.find(stream);
        match place {
            // RFC 9113, 6.4: idle.
            Some(_) if self.is_unsent(stream) => return Err(ErrorCode::PROTOCOL_ERROR),
            Some(_) => {}
            None => self.of_no_stream(Self::of(RST_STREAM, stream))?,
        }
        if let Some(place) = place {
            self.withdraw(stream);
            self.close(place, code(payload));
        }
        if self.role == Role::Server {
            self.ended.end(stream);
            // RFC 9113, 10.5: requests that are given up at once cost more here than there.
            self.rates.resets.count(now)?;
        }
        Ok(())
    }

    fn settings(&mut self, head: Head, payload: &[u8]) -> Taken {
        if head.has(ACK) {
            // RFC 9113, 6.5.3: this side sends SETTINGS once; a second acknowledgement is of nothing.
            if std::mem::replace(&mut self.settings.acknowledged, true) {
                return Err(ErrorCode::PROTOCOL_ERROR);
            }
            // RFC 9113, 6.9.2: until now the peer might send as much as without them.
            let less = DEFAULT_WINDOW.saturating_sub(self.limits.stream_window);
            for stream in self.streams.iter_mut() {
                stream.window.shrink(less);
            }
            return Ok(());
        }
        // What was made by the old rules is sent before they are given up.
        self.commit_ready();
        let before = self.settings.peer;
        if !std::mem::replace(&mut self.settings.heard, true) {
            // Without a word of it there is no limit (RFC 9113, 6.5.2).
            self.settings.peer.max_streams = u32::MAX;
        }
        self.settings
            .peer
            .read(payload, self.role, self.limits.max_settings)?;
        // RFC 9113, 4.3.1: from the acknowledgement on.
        if self.settings.peer.table_size != before.table_size {
            self.encoder
                .set_max_table_size(self.settings.peer.table_size);
        }
        if self.settings.peer.window != before.window {
            self.windows_changed(i64::from(self.settings.peer.window) - i64::from(before.window))?;
        }
        // RFC 9113, 6.5.3: acknowledged once all is applied.
        self.control.settings_taken();
        self.tell_credit();
        self.check_flood()
    }

    /// RFC 9113, 6.9.2: windows of streams that are open change by as much, and may fall below 0.
    fn windows_changed(&mut self, by: i64) -> Taken {
        for place in 0..self.streams.places() {
            let stream = self.streams.at(place);
            if stream.number != 0 {
                stream.credit.change(by)?;
                self.credit_changed(place);
            }
        }
        Ok(())
    }

    /// RFC 9113, 6.7: what is no answer is answered, with the same octets.
    fn pinged(&mut self, head: Head, payload: &[u8]) -> Taken {
        if head.has(ACK) {
            self.events.push_back(Event::Pong);
            return Ok(());
        }
        if let Some(payload) = payload.first_chunk() {
            self.control.pong(*payload);
        }
        self.check_flood()
    }

    fn goaway(&mut self, payload: &[u8]) -> Taken {
        let last = first_number(payload);
        let code = code(&payload[4..]);
        if self.role == Role::Client {
            // RFC 9113, 6.8: the number may not grow.
            if self
                .closing
                .heard_goodbye
                .is_some_and(|before| last > before)
            {
                return Err(ErrorCode::PROTOCOL_ERROR);
            }
            self.events.push_back(Event::GoAway {
                last_stream: last,
                code,
            });
            // RFC 9113, 6.8: what the peer has not processed may be tried again elsewhere.
            let sent = self.requests.last_written;
            let mut refused: Vec<_> = self
                .streams
                .iter_mut()
                .map(|stream| stream.number)
                .filter(|number| *number > last || *number > sent)
                .collect();
            refused.sort_unstable();
            for number in refused {
                if let Some(place) = self.streams.find(number) {
                    self.withdraw(number);
                    self.close(place, ErrorCode::REFUSED_STREAM);
                }
            }
        } else {
            // What number a client names says nothing: this side opens no streams. grpc-go names its
            // own last one.
            self.events.push_back(Event::GoAway {
                last_stream: last,
                code,
            });
        }
        self.closing.heard_goodbye = Some(last);
        Ok(())
    }

    fn window_update(&mut self, now: Instant, stream: u32, payload: &[u8]) -> Taken {
        let more = first_number(payload);
        if stream == 0 {
            // RFC 9113, 6.9: nothing is no increment.
            if more == 0 {
                return Err(ErrorCode::PROTOCOL_ERROR);
            }
            // RFC 9113, 6.9.1.
            self.credit.change(i64::from(more))?;
            self.tell_credit();
            return Ok(());
        }
        let Some(place) = self.streams.find(stream) else {
            return self.of_no_stream(Self::of(WINDOW_UPDATE, stream));
        };
        // RFC 9113, 5.1: idle.
        if self.is_unsent(stream) {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        // RFC 9113, 6.9 and 6.9.1: errors of the stream here.
        if more == 0 {
            return self.stream_error(now, stream, ErrorCode::PROTOCOL_ERROR);
        }
        let known = self.streams.at(place);
        if let Err(code) = known.credit.change(i64::from(more)) {
            return self.stream_error(now, stream, code);
        }
        self.credit_changed(place);
        self.tell_credit();
        Ok(())
    }

    /// Told once is enough.
    fn tell_credit(&mut self) {
        if self.events.back() != Some(&Event::Credit) {
            self.events.push_back(Event::Credit);
        }
    }

    /// The head of a frame of which only these two matter.
    const fn of(kind: u8, stream: u32) -> Head {
        Head {
            length: 0,
            kind,
            flags: 0,
            stream,
        }
    }
}

/// The number that a payload begins with. Lengths were checked by the frame's head.
fn first_number(payload: &[u8]) -> u32 {
    payload.first_chunk().map_or(0, |octets| number(*octets))
}

fn code(payload: &[u8]) -> ErrorCode {
    ErrorCode(
        payload
            .first_chunk()
            .map_or(0, |octets| u32::from_be_bytes(*octets)),
    )
}
