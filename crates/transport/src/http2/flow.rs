//! Credit: what the peer may send, and what may be sent to it.
//!
//! HTTP/2 counts credit for each stream and for the whole connection. Octets of a unary body are
//! given back as they are gathered, within [`Config::max_connection_memory`](super::Config::max_connection_memory),
//! or no two long bodies could share a connection's window; octets of messages are given back when
//! the application has consumed them. A message longer than half a window is gathered like a unary
//! body, or it could never arrive.

use super::body::Gathered;
use super::call::{Call, Receiving};
use super::config::Flavour;
use super::connection::{Connection, End};
use super::received::Received;
use corewire_message::{Body, Code, Status};
use corewire_wire::grpc::{self, FramingFault, PREFIX_OCTETS};
use corewire_wire::http2::Session;
use corewire_wire::{CallId, Output};
use std::ops::Range;

/// The shortest frame whose payload is worth sharing: below, copying costs less than holding on to the
/// memory it was received in.
const LONG: usize = 4 << 10;

/// Octets behind an answer that are dropped before the peer is asked to stop.
const DROP_AT_MOST: usize = 64 << 10;

impl Connection {
    /// Octets of a body came; with them it `ends`, or it is not known.
    pub(super) fn body_octets(
        &mut self,
        stream: u32,
        received: &mut Received<'_>,
        place: Range<usize>,
        ends: bool,
    ) {
        let octets = received.get(place.clone());
        let Some(call) = self.calls.get_mut(stream) else {
            self.session.consume_connection(octets.len());
            return;
        };
        call.unreturned += octets.len();
        match &mut call.receiving {
            Receiving::Nothing => {
                give_back(&mut self.session, call, stream, octets.len());
                let before = call.dropped;
                call.dropped = before.saturating_add(octets.len());
                if call.answered && before <= DROP_AT_MOST && call.dropped > DROP_AT_MOST {
                    self.half_open.push(stream);
                }
            }
            Receiving::Whole(gathered) => {
                let framing = match call.flavour {
                    Flavour::Grpc => PREFIX_OCTETS,
                    Flavour::Rest => 0,
                };
                let is_first = gathered.len() == 0;
                if is_first && call.flavour == Flavour::Grpc {
                    call.content_length = announced(octets, self.config.max_message);
                }
                // An answer that is all there is followed by trailers at most. A caller could leave many
                // requests without an end, to hold the memory that they were received in.
                let is_client = matches!(self.end, End::Client { .. });
                let is_all = ends || is_client && call.content_length == Some(octets.len());
                if !self.memory.hold(0, octets.len()) {
                    self.give_up_receiving(stream, TOO_MUCH);
                    return;
                }
                call.held_body += octets.len();
                if is_first && is_all && octets.len() >= LONG {
                    *gathered = Gathered::One(received.share(place));
                } else {
                    gathered.put(octets, call.content_length, &mut self.arena);
                }
                if gathered.len() > self.config.max_message.saturating_add(framing) {
                    self.give_up_receiving(stream, TOO_LONG);
                } else {
                    self.touched.push(stream);
                }
            }
            Receiving::Messages(deframer) => {
                deframer.put(octets);
                self.take_messages(stream);
            }
        }
    }

    fn take_messages(&mut self, stream: u32) {
        loop {
            let Some(call) = self.calls.get_mut(stream) else {
                return;
            };
            let Receiving::Messages(deframer) = &mut call.receiving else {
                return;
            };
            match deframer.next_message() {
                Ok(Some(message)) => {
                    // It stays held until the application has consumed it: no credit bounds it.
                    call.early += std::mem::take(&mut call.early_partial);
                    call.outstanding += message.len();
                    give_back(&mut self.session, call, stream, PREFIX_OCTETS);
                    self.tell(Output::Message {
                        call: CallId::new(stream),
                        message: Body::from(message),
                    });
                }
                Ok(None) => break,
                Err(fault) => {
                    self.give_up_receiving(stream, refusal(fault));
                    return;
                }
            }
        }
        self.gather_long_message(stream);
    }

    /// Gives credit back for a message that is too long for the window, as it arrives.
    fn gather_long_message(&mut self, stream: u32) {
        let Some(call) = self.calls.get_mut(stream) else {
            return;
        };
        let Receiving::Messages(deframer) = &call.receiving else {
            return;
        };
        let (held, missing) = (deframer.held(), deframer.missing());
        if missing == 0 || held + missing <= self.config.stream_window as usize / 2 {
            return;
        }
        let more = held - call.early_partial;
        if !self.memory.hold(0, more) {
            self.give_up_receiving(stream, TOO_MUCH);
            return;
        }
        call.held_body += more;
        call.early_partial += more;
        give_back(&mut self.session, call, stream, more);
    }

    /// Gives the credit of unary bodies back that did not end in this turn.
    pub(super) fn settle_touched(&mut self) {
        let mut touched = std::mem::take(&mut self.touched);
        for stream in touched.drain(..) {
            if let Some(call) = self.calls.get_mut(stream)
                && let Receiving::Whole(_) = call.receiving
            {
                let all = call.unreturned;
                give_back(&mut self.session, call, stream, all);
            }
        }
        self.touched = touched;
    }

    /// The application took octets of messages.
    pub(super) fn message_octets_consumed(&mut self, stream: u32, octets: usize) {
        let Some(call) = self.calls.get_mut(stream) else {
            return;
        };
        let octets = octets.min(call.outstanding);
        call.outstanding -= octets;
        // Credit of a message that was too long for the window has gone back already.
        let early = octets.min(call.early);
        call.early -= early;
        call.held_body -= early;
        self.memory.release(0, early);
        give_back(&mut self.session, call, stream, octets - early);
    }

    /// The peer sends what is not taken: the call fails, the rest of the body is dropped.
    fn give_up_receiving(&mut self, stream: u32, (code, what): (Code, &'static str)) {
        self.stop_receiving(stream);
        match self.end {
            End::Client { .. } => self.answer_unreadable(stream, code, what),
            End::Server { .. } if what == TOO_MUCH.1 => {
                self.request_refused(stream, Status::new(code, what), OVERLOADED);
            }
            End::Server { .. } => self.request_unreadable(stream, Status::new(code, what)),
        }
    }

    /// Drops what a call has gathered and what may still come.
    pub(super) fn stop_receiving(&mut self, stream: u32) {
        let Some(call) = self.calls.get_mut(stream) else {
            return;
        };
        let held = std::mem::take(&mut call.held_body);
        self.memory.release(0, held);
        call.receiving = Receiving::Nothing;
        (call.early_partial, call.early, call.outstanding) = (0, 0, 0);
        let all = call.unreturned;
        give_back(&mut self.session, call, stream, all);
    }

    /// Octets a call may send now.
    pub(super) fn room_of(&self, stream: u32, call: &Call) -> usize {
        if call.sent_all || call.answered {
            return 0;
        }
        let queued = self.session.queued(stream);
        self.session
            .credit(stream)
            .min(self.config.max_stream_backlog)
            .saturating_sub(queued)
    }
}

/// Gives credit back, on the stream and on the connection; no more than the call holds.
fn give_back(session: &mut Session, call: &mut Call, stream: u32, octets: usize) {
    let octets = octets.min(call.unreturned);
    if octets > 0 {
        call.unreturned -= octets;
        session.consume_connection(octets);
        if !call.received_all {
            session.consume_stream(stream, octets);
        }
    }
}

pub(super) const TOO_LONG: (Code, &str) = (
    Code::ResourceExhausted,
    "the message is longer than is taken here",
);
/// The HTTP status of a request that this end has no room for.
pub(super) const OVERLOADED: u16 = 503;
pub(super) const TOO_MUCH: (Code, &str) = (
    Code::ResourceExhausted,
    "the calls in progress hold as much memory as they may",
);

/// How a call is answered whose body is no sequence of messages.
pub(super) const fn refusal(fault: FramingFault) -> (Code, &'static str) {
    match fault {
        FramingFault::Compressed => (
            Code::Unimplemented,
            "the message is compressed, and no compression was agreed on",
        ),
        FramingFault::TooLong => TOO_LONG,
        FramingFault::Truncated => (Code::Internal, "the body ends inside a message"),
        _ => (Code::Internal, "the body is no sequence of messages"),
    }
}

/// The length of a body that begins with these octets, as the prefix of its one message has it.
fn announced(octets: &[u8], max_message: usize) -> Option<usize> {
    let prefix = octets.first_chunk::<PREFIX_OCTETS>()?;
    let length = grpc::message_length(*prefix, max_message).ok()?;
    Some(PREFIX_OCTETS + length)
}

/// The one message of a unary body.
pub(super) fn only_message(
    mut octets: bytes::Bytes,
    max_message: usize,
) -> Result<bytes::Bytes, (Code, &'static str)> {
    if octets.is_empty() {
        return Err((Code::Internal, "a unary call has no message"));
    }
    let Some(prefix) = octets.first_chunk::<PREFIX_OCTETS>() else {
        return Err(refusal(FramingFault::Truncated));
    };
    let length = grpc::message_length(*prefix, max_message).map_err(refusal)?;
    let message = octets.split_off(PREFIX_OCTETS);
    match message.len() {
        have if have < length => Err(refusal(FramingFault::Truncated)),
        have if have > length => Err((Code::Internal, "a unary call has more than one message")),
        _ => Ok(message),
    }
}
