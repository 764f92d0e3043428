//! What comes by a connection, taken apart: SI95 as every RMR program speaks it.

use crate::message::Message;
use corewire_wire::rmr::si95::{Decoder, Next};
use corewire_wire::rmr::{Header, flags};
use std::fmt;

/// A message that came.
pub(crate) struct Arrival<'a> {
    /// The message.
    pub(crate) message: Incoming<'a>,
    /// The number of its connection.
    pub(crate) number: i32,
    /// When it was read; 0 if that is not asked for.
    pub(crate) stamp: u64,
}

/// A message in the octets of its connection.
pub(crate) struct Incoming<'a>(Header<'a>);

impl Incoming<'_> {
    /// The caller that waits for it; `None` for everything but replies to calls.
    pub(crate) fn reply_to(&self) -> Option<u8> {
        if self.0.flags() & flags::CALL != 0 {
            return None;
        }
        match self.0.call_id() {
            0 => None,
            call_id => Some(call_id),
        }
    }

    /// Its transaction.
    pub(crate) fn xaction(&self) -> &[u8; 32] {
        self.0.xaction()
    }

    /// Octets that it takes in a message's buffer.
    pub(crate) fn room(&self) -> usize {
        corewire_wire::rmr::si95::TRANSPORT_OCTETS + self.0.layout().total()
    }

    /// Copies it into a message; `false` when there is no memory.
    pub(crate) fn fill(&self, message: &mut Message, standard: usize) -> bool {
        message.take_in(&self.0, standard)
    }
}

/// How a connection's octets are taken apart.
pub(crate) struct Framing {
    decoder: Decoder,
}

/// What stands at the beginning of some octets.
pub(crate) enum Step<'a> {
    /// A message.
    Message {
        consumed: usize,
        message: Incoming<'a>,
    },
    /// Something that is no message; if it was meant to be one, why it is refused.
    Skipped {
        consumed: usize,
        refused: Option<Box<dyn fmt::Display>>,
    },
    /// The beginning of something that takes so many octets.
    Need(usize),
    /// Nothing that follows can be understood.
    Lost(Box<dyn fmt::Display>),
}

impl Framing {
    /// Of a connection that has just been made.
    pub(crate) fn new(most_octets: usize) -> Self {
        Self {
            decoder: Decoder::new(most_octets),
        }
    }

    /// Looks at what stands at the beginning of `octets`.
    pub(crate) fn step<'a>(&mut self, octets: &'a [u8]) -> Step<'a> {
        match self.decoder.next(octets) {
            Ok(Next::Message {
                consumed, header, ..
            }) => Step::Message {
                consumed,
                message: Incoming(header),
            },
            Ok(Next::Refused { consumed, refusal }) => Step::Skipped {
                consumed,
                refused: Some(Box::new(refusal)),
            },
            Ok(Next::Skipped { consumed }) => Step::Skipped {
                consumed,
                refused: None,
            },
            Ok(Next::Need { octets }) => Step::Need(octets),
            Err(fault) => Step::Lost(Box::new(fault)),
        }
    }
}

/// The length of the SI95 frame that begins here, one of ours.
pub(crate) fn si95_frame_length(octets: &[u8]) -> usize {
    let length = octets.first_chunk::<4>();
    length.map_or(octets.len(), |length| u32::from_le_bytes(*length) as usize)
}
