//! What comes by a connection, taken apart: SI95, as every RMR program speaks it, or the native
//! protocol.

use crate::carrier::native::incoming::NativeReceiver;
use crate::carrier::native::received;
use crate::message::Message;
use bytes::BytesMut;
use corewire_rmr::LossKind;
use corewire_sys::Socket;
use corewire_wire::native::MAGIC;
use corewire_wire::rmr::record::Record;
use corewire_wire::rmr::si95::{Decoder, Next, Refusal, TRANSPORT_OCTETS};
use corewire_wire::rmr::{Header, HeaderFault, flags};
use std::{fmt, io};

/// A message that came.
pub(crate) struct Arrival<'a> {
    /// The message.
    pub(crate) message: Incoming<'a>,
    /// The number of its connection.
    pub(crate) number: i32,
    /// When it was read; 0 if that is not asked for.
    pub(crate) stamp: u64,
}

impl<'a> Arrival<'a> {
    /// One that NNG brought: over which connection, it does not say.
    pub(crate) fn of_nng(message: Incoming<'a>) -> Self {
        Self {
            message,
            number: -1,
            stamp: 0,
        }
    }
}

/// A message in the octets of its connection.
pub(crate) enum Incoming<'a> {
    /// Of an SI95 frame.
    Si95(Header<'a>),
    /// Of a record.
    Native(Record<'a>),
}

impl<'a> Incoming<'a> {
    /// A message as NNG carries it.
    pub(crate) fn of_nng(octets: &'a [u8]) -> Result<Self, HeaderFault> {
        Header::parse(octets).map(Self::Si95)
    }

    /// The caller that waits for it; `None` for everything but replies to calls.
    pub(crate) fn reply_to(&self) -> Option<u8> {
        match self {
            Self::Si95(header) if header.flags() & flags::CALL != 0 => None,
            Self::Si95(header) => Some(header.call_id()).filter(|call_id| *call_id != 0),
            Self::Native(record) => received::reply_to(record),
        }
    }

    /// Its transaction.
    pub(crate) fn xaction(&self) -> &[u8; 32] {
        match self {
            Self::Si95(header) => header.xaction(),
            Self::Native(record) => record.xaction,
        }
    }

    /// Octets that it takes in a message's buffer.
    pub(crate) fn room(&self) -> usize {
        match self {
            Self::Si95(header) => TRANSPORT_OCTETS + header.layout().total(),
            Self::Native(record) => received::room(record),
        }
    }

    /// Copies it into a message; `false` when there is no memory.
    pub(crate) fn fill(&self, message: &mut Message, standard: usize) -> bool {
        match self {
            Self::Si95(header) => message.take_in(header, standard),
            Self::Native(record) => received::fill(record, message, standard),
        }
    }
}

/// Octets that tell which protocol it is; either begins with more.
const TELLING: usize = 8;

/// How a connection's octets are taken apart. Its first ones tell: one port takes both.
pub(crate) enum Framing {
    /// Too few have come to tell.
    Unknown { most_octets: usize },
    /// SI95.
    Si95(Decoder),
    /// Corewire's own protocol.
    Native(Box<NativeReceiver>),
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
        refused: Option<Refusal>,
    },
    /// The beginning of something that takes so many octets.
    Need(usize),
    /// Nothing that follows can be understood.
    Lost(Box<dyn fmt::Display>),
}

impl Framing {
    /// Of a connection that has just been made.
    pub(crate) fn new(most_octets: usize) -> Self {
        Self::Unknown { most_octets }
    }

    /// Whether it is Corewire's own protocol.
    pub(crate) fn is_native(&self) -> bool {
        matches!(self, Self::Native(_))
    }

    /// Octets that a protocol keeps by itself of what is there in part, or was announced.
    pub(crate) fn held(&self) -> usize {
        match self {
            Self::Native(native) => native.held(),
            Self::Unknown { .. } | Self::Si95(_) => 0,
        }
    }

    /// Octets were read; those that a protocol keeps by itself are taken out of the buffer.
    ///
    /// # Errors
    /// The connection is of no use any more.
    pub(crate) fn take_in(&mut self, octets: &mut BytesMut, socket: &Socket) -> io::Result<()> {
        if let Self::Unknown { most_octets } = *self
            && let Some((first, second)) =
                octets.first_chunk::<TELLING>().map(|all| all.split_at(4))
        {
            // As a length, these four octets are 22 million: a SI95 message as long as that would
            // have its length a second time behind it, where the native HELLO has its own.
            *self = if first == MAGIC && second != reversed(MAGIC) {
                Self::Native(Box::new(NativeReceiver::new(most_octets)))
            } else {
                Self::Si95(Decoder::new(most_octets))
            };
        }
        match self {
            Self::Native(native) => native.take_in(octets, socket),
            Self::Unknown { .. } | Self::Si95(_) => Ok(()),
        }
    }

    /// Looks at what comes next, at the beginning of `octets` or kept here.
    pub(crate) fn step<'a>(&'a mut self, octets: &'a [u8]) -> Step<'a> {
        match self {
            Self::Unknown { .. } => Step::Need(TELLING),
            Self::Si95(decoder) => Self::step_si95(decoder, octets),
            Self::Native(native) => Self::step_native(native, octets.len()),
        }
    }

    fn step_si95<'a>(decoder: &mut Decoder, octets: &'a [u8]) -> Step<'a> {
        match decoder.next(octets) {
            Ok(Next::Message {
                consumed, header, ..
            }) => Step::Message {
                consumed,
                message: Incoming::Si95(header),
            },
            Ok(Next::Refused { consumed, refusal }) => Step::Skipped {
                consumed,
                refused: Some(refusal),
            },
            Ok(Next::Skipped { consumed }) => Step::Skipped {
                consumed,
                refused: None,
            },
            Ok(Next::Need { octets }) => Step::Need(octets),
            Err(fault) => Step::Lost(Box::new(fault)),
        }
    }

    fn step_native(native: &mut NativeReceiver, kept: usize) -> Step<'_> {
        let wants = native.wants();
        match native.next() {
            Ok(Some((record, end))) => Step::Message {
                consumed: end,
                message: Incoming::Native(record),
            },
            Err(fault) => Step::Lost(Box::new(fault)),
            Ok(None) => Step::Need(kept + wants),
        }
    }

    /// What the last step gave is dealt with; `at` is where the buffer's next octets are.
    pub(crate) fn advance(&mut self, consumed: usize, at: &mut usize) {
        match self {
            Self::Native(native) => native.advance(consumed),
            Self::Unknown { .. } | Self::Si95(_) => *at += consumed,
        }
    }
}

/// How a refusal is counted.
pub(crate) fn kind_of(refusal: &Refusal) -> LossKind {
    match refusal {
        Refusal::TooLong { .. } => LossKind::TooLong,
        _ => LossKind::Malformed,
    }
}

fn reversed(mut octets: [u8; 4]) -> [u8; 4] {
    octets.reverse();
    octets
}
