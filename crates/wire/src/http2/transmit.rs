//! What goes out, and in which order: control frames; header sections; bodies in turns, a frame a
//! stream, as far as credit and the sink's budget go.

use super::frame::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEAD, HEADERS, Head, PING,
    RST_STREAM, SETTINGS, WINDOW_UPDATE,
};
use super::outgoing::{Trailers, Writer};
use super::queues::Queue;
use super::session::Session;
use super::stream::Sending;
use super::{ErrorCode, Field, Sink};

/// The longest DATA payload this side sends at once, to a peer that takes it: what a driver writes at
/// once, so that another stream's octets wait no longer for it. A body that fits into one frame need
/// not be put together again by who receives it.
const LONGEST_DATA: usize = 256 << 10;

/// A body up to here follows its header section at once; a longer one waits for its turn behind the
/// header sections of others.
const SHORT_BODY: usize = 16 << 10;

/// Octets of control frames that wait for a peer that does not read, at most.
const MOST_CONTROL: usize = 256 << 10;

/// Memory that is kept for frames between turns, octets.
const KEEP: usize = 64 << 10;

/// Frames that go before all others, ready to be sent.
#[derive(Debug, Default)]
pub(super) struct Control {
    pub(super) octets: Vec<u8>,
    /// How many of them answer the peer, who can make any number of them wait by not reading.
    pub(super) answers: usize,
}

impl Control {
    fn put<const N: usize>(&mut self, kind: u8, flags: u8, stream: u32, payload: [u8; N]) {
        let head = Head {
            length: N,
            kind,
            flags,
            stream,
        };
        self.octets.extend_from_slice(&head.write());
        self.octets.extend_from_slice(&payload);
    }

    /// RFC 9113, 6.5.3.
    pub(super) fn settings_taken(&mut self) {
        self.answers += 1;
        self.put(SETTINGS, ACK, 0, []);
    }

    /// RFC 9113, 6.7.
    pub(super) fn ping(&mut self) {
        self.put(PING, 0, 0, [0; 8]);
    }

    /// RFC 9113, 6.7: the answer holds what the question did.
    pub(super) fn pong(&mut self, payload: [u8; 8]) {
        self.answers += 1;
        self.put(PING, ACK, 0, payload);
    }

    /// RFC 9113, 6.4.
    pub(super) fn reset(&mut self, stream: u32, code: ErrorCode) {
        self.put(RST_STREAM, 0, stream, code.0.to_be_bytes());
    }

    /// RFC 9113, 6.9. `more` is not 0.
    pub(super) fn window_update(&mut self, stream: u32, more: u32) {
        self.put(WINDOW_UPDATE, 0, stream, more.to_be_bytes());
    }

    /// RFC 9113, 6.8.
    pub(super) fn go_away(&mut self, last: u32, code: ErrorCode) {
        let [l0, l1, l2, l3] = last.to_be_bytes();
        let [c0, c1, c2, c3] = code.0.to_be_bytes();
        self.put(GOAWAY, 0, 0, [l0, l1, l2, l3, c0, c1, c2, c3]);
    }
}

impl Session {
    /// Writes what is to be sent, until nothing is left or the sink's budget is used up; says
    /// whether it wrote anything.
    pub fn send(&mut self, sink: &mut dyn Sink) -> bool {
        if !self.wants_write() || sink.budget() == 0 {
            return false;
        }
        let mut wrote = false;
        if !self.control.octets.is_empty() {
            sink.put(&self.control.octets);
            self.control.octets.clear();
            self.control.octets.shrink_to(KEEP);
            self.control.answers = 0;
            wrote = true;
        }
        if self.closing.terminated.is_some() {
            return wrote;
        }
        if !self.ready.is_empty() {
            self.send_ready(sink);
            wrote = true;
        }
        if self.queues.is_empty() {
            return wrote;
        }
        let mut writer = Writer {
            sink,
            out: std::mem::take(&mut self.out),
            wrote,
        };
        self.write_streams(&mut writer);
        writer.flush();
        let Writer { mut out, wrote, .. } = writer;
        out.shrink_to(KEEP);
        self.out = out;
        wrote
    }

    fn write_streams(&mut self, writer: &mut Writer<'_>) {
        while writer.has_room()
            && self.may_start()
            && let Some(place) = self.queues.starts.pop_front()
        {
            self.requests.started += 1;
            let stream = self.streams.at(place as usize);
            self.requests.last_written = stream.number;
            self.write_head(place as usize, writer);
        }
        while writer.has_room()
            && let Some(place) = self.queues.heads.pop_front()
        {
            self.write_head(place as usize, writer);
        }
        while writer.has_room()
            && self.credit.is_open()
            && let Some(place) = self.queues.bodies.pop_front()
        {
            self.streams.at(place as usize).queue = Queue::None;
            self.write_body(place as usize, writer);
        }
    }

    /// Writes a stream's header section, if that is not done, and of its body what may follow at once.
    fn write_head(&mut self, place: usize, writer: &mut Writer<'_>) {
        let stream = self.streams.at(place);
        stream.queue = Queue::None;
        if stream.sending == Sending::Head {
            let ends = !stream.has_body;
            let (number, head) = (stream.number, &stream.outgoing.head);
            let longest = self.settings.peer.max_frame as usize;
            write_section(number, ends, longest, &mut writer.out, |out| {
                let fields = head.fields().map(|field| field.coded());
                self.encoder.block(fields, out);
            });
            stream.outgoing.head.clear();
            if ends {
                return self.sent_all(place);
            }
            stream.sending = Sending::Body;
        }
        let stream = self.streams.at(place);
        let queued = stream.outgoing.queued;
        let credit = stream.credit.with(self.credit);
        if queued <= SHORT_BODY && queued <= credit && (queued > 0 || stream.outgoing.finished) {
            self.write_body(place, writer);
        } else {
            self.schedule(place);
        }
    }

    /// Writes one DATA frame of a stream, and its trailers if that was the last. There is something to
    /// write, and credit for it.
    fn write_body(&mut self, place: usize, writer: &mut Writer<'_>) {
        let stream = self.streams.at(place);
        let credit = stream.credit.with(self.credit);
        let count = stream
            .outgoing
            .queued
            .min(credit)
            .min(self.settings.peer.max_frame as usize)
            .min(LONGEST_DATA);
        let is_last = stream.outgoing.finished && count == stream.outgoing.queued;
        let trailers = stream.outgoing.trailers;
        let ends = is_last && matches!(trailers, Trailers::None);
        if count > 0 || ends {
            let head = Head {
                length: count,
                kind: DATA,
                flags: if ends { END_STREAM } else { 0 },
                stream: stream.number,
            };
            writer.out.extend_from_slice(&head.write());
            stream.outgoing.take(count, writer);
            stream.credit.spend(count);
            self.credit.spend(count);
            self.queues.octets -= count;
        }
        if !is_last {
            return self.schedule(place);
        }
        let number = stream.number;
        let longest = self.settings.peer.max_frame as usize;
        let (encoder, tail) = (&mut self.encoder, &stream.outgoing.tail);
        if !ends {
            write_section(
                number,
                true,
                longest,
                &mut writer.out,
                |out| match trailers {
                    Trailers::Fixed(fields) => encoder.block(fields.iter().map(Field::coded), out),
                    Trailers::Own => encoder.block(tail.fields().map(|field| field.coded()), out),
                    Trailers::None => {}
                },
            );
        }
        self.sent_all(place);
    }

    pub(super) fn sent_all(&mut self, place: usize) {
        let stream = self.streams.at(place);
        stream.sending = Sending::Done;
        if stream.received_all {
            self.close(place, ErrorCode::NO_ERROR);
        }
    }

    /// Puts a stream into the queue that it belongs to, unless it stands in one already.
    pub(super) fn schedule(&mut self, place: usize) {
        let stream = self.streams.at(place);
        if stream.sending != Sending::Body || stream.queue == Queue::Heads {
            return;
        }
        let outgoing = &stream.outgoing;
        if outgoing.queued > 0 {
            if stream.queue == Queue::None && stream.credit.is_open() {
                stream.queue = Queue::Bodies;
                self.queues.bodies.push_back(place as u32);
            }
        } else if outgoing.finished {
            stream.queue = Queue::Heads;
            self.queues.heads.push_back(place as u32);
        }
    }

    /// The peer has changed how much may be sent on a stream.
    pub(super) fn credit_changed(&mut self, place: usize) {
        let stream = self.streams.at(place);
        if stream.credit.is_open() {
            self.schedule(place);
        } else if stream.queue == Queue::Bodies {
            stream.queue = Queue::None;
            self.queues.remove(Queue::Bodies, place);
        }
    }

    /// Whether more answers to the peer wait than are held for it.
    pub(super) const fn is_flooded(&self) -> bool {
        self.control.answers > self.limits.max_outbound_acks
            || self.control.octets.len() > MOST_CONTROL
    }
}

/// Writes a header section: HEADERS and, when it is longer than a frame, CONTINUATION (RFC 9113, 4.3 and
/// 6.10: with nothing between).
fn write_section(
    stream: u32,
    ends: bool,
    longest: usize,
    out: &mut Vec<u8>,
    encode: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    out.extend_from_slice(&[0; HEAD]);
    encode(out);
    let length = out.len() - start - HEAD;
    let mut head = Head {
        length,
        kind: HEADERS,
        flags: END_HEADERS | if ends { END_STREAM } else { 0 },
        stream,
    };
    if length <= longest {
        out[start..start + HEAD].copy_from_slice(&head.write());
        return;
    }
    let block = out.split_off(start + HEAD);
    out.truncate(start);
    let mut pieces = block.chunks(longest).peekable();
    head.flags &= !END_HEADERS;
    while let Some(piece) = pieces.next() {
        head.length = piece.len();
        if pieces.peek().is_none() {
            head.flags |= END_HEADERS;
        }
        out.extend_from_slice(&head.write());
        out.extend_from_slice(piece);
        head.kind = CONTINUATION;
        head.flags = 0;
    }
}
