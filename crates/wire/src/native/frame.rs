//! The frame header: twelve octets in front of everything.

/// Octets of a frame header.
pub(super) const HEADER: usize = 12;

/// A frame of unknown type with this bit is skipped; without it, it is a fault.
pub(super) const IGNORABLE: u8 = 0x80;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Hello,
    Request,
    Event,
    Message,
    Response,
    Fragment,
    Finish,
    Credit,
    Cancel,
    Ping,
    Pong,
    Drain,
    Close,
}

impl Kind {
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Hello => 1,
            Self::Request => 2,
            Self::Event => 3,
            Self::Message => 4,
            Self::Response => 5,
            Self::Fragment => 6,
            Self::Finish => 7,
            Self::Credit => 8,
            Self::Cancel => 9,
            Self::Ping => 10,
            Self::Pong => 11,
            Self::Drain => 12,
            Self::Close => 13,
        }
    }

    pub(super) const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Hello,
            2 => Self::Request,
            3 => Self::Event,
            4 => Self::Message,
            5 => Self::Response,
            6 => Self::Fragment,
            7 => Self::Finish,
            8 => Self::Credit,
            9 => Self::Cancel,
            10 => Self::Ping,
            11 => Self::Pong,
            12 => Self::Drain,
            13 => Self::Close,
            _ => return None,
        })
    }

    /// The flags that may be set on it.
    pub(super) const fn flags(self) -> u8 {
        use flag::{DEFINE, HEADERS, MORE, NOT_EXECUTED, PRIORITY, SETTLED, STREAM, TEXT, TIMEOUT};
        match self {
            Self::Hello => SETTLED,
            Self::Request => MORE | STREAM | HEADERS | TIMEOUT | DEFINE | PRIORITY,
            Self::Event => MORE | HEADERS | DEFINE | PRIORITY,
            Self::Message | Self::Fragment => MORE,
            Self::Response => MORE | HEADERS | TEXT | NOT_EXECUTED,
            Self::Finish
            | Self::Credit
            | Self::Cancel
            | Self::Ping
            | Self::Pong
            | Self::Drain
            | Self::Close => 0,
        }
    }
}

/// Flags; what each means hangs on the frame's kind.
pub(super) mod flag {
    /// HELLO: holds nothing but says that the peer's HELLO is obeyed from here on.
    pub(crate) const SETTLED: u8 = 0x01;
    /// A body goes on in FRAGMENT frames.
    pub(crate) const MORE: u8 = 0x01;
    /// REQUEST: opens a stream.
    pub(crate) const STREAM: u8 = 0x02;
    /// A header block stands before the body.
    pub(crate) const HEADERS: u8 = 0x04;
    /// REQUEST: the time left stands in front.
    pub(crate) const TIMEOUT: u8 = 0x08;
    /// REQUEST, EVENT: the operation's name stands in front and its number is new.
    pub(crate) const DEFINE: u8 = 0x10;
    /// REQUEST, EVENT: a priority other than normal stands in front.
    pub(crate) const PRIORITY: u8 = 0x20;
    /// RESPONSE: a sentence for people stands in front.
    pub(crate) const TEXT: u8 = 0x40;
    /// RESPONSE: the call was not and will not be executed.
    pub(crate) const NOT_EXECUTED: u8 = 0x80;
}

/// The twelve octets in front of every frame, little endian:
/// `length: u32, kind: u8, flags: u8, aux: u16, call: u32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Octets that follow the header.
    pub(super) length: u32,
    /// Raw, because it may be unknown.
    pub(super) kind: u8,
    pub(super) flags: u8,
    /// What it means hangs on the kind.
    pub(super) aux: u16,
    /// 0 where the frame belongs to no call.
    pub(super) call: u32,
}

impl Header {
    pub(super) const fn new(kind: Kind) -> Self {
        Self {
            length: 0,
            kind: kind.number(),
            flags: 0,
            aux: 0,
            call: 0,
        }
    }

    pub(super) const fn with_call(mut self, call: u32) -> Self {
        self.call = call;
        self
    }

    pub(super) const fn with_aux(mut self, aux: u16) -> Self {
        self.aux = aux;
        self
    }

    pub(super) const fn with_flags(mut self, flags: u8) -> Self {
        self.flags = flags;
        self
    }

    pub(super) const fn with_length(mut self, length: u32) -> Self {
        self.length = length;
        self
    }

    pub(super) fn encode(self) -> [u8; HEADER] {
        let [l0, l1, l2, l3] = self.length.to_le_bytes();
        let [a0, a1] = self.aux.to_le_bytes();
        let [c0, c1, c2, c3] = self.call.to_le_bytes();
        [
            l0, l1, l2, l3, self.kind, self.flags, a0, a1, c0, c1, c2, c3,
        ]
    }

    /// The header at the front of `octets`; `None` when they are too few.
    pub(super) fn decode(octets: &[u8]) -> Option<Self> {
        let &[l0, l1, l2, l3, kind, flags, a0, a1, c0, c1, c2, c3] =
            octets.first_chunk::<HEADER>()?;
        Some(Self {
            length: u32::from_le_bytes([l0, l1, l2, l3]),
            kind,
            flags,
            aux: u16::from_le_bytes([a0, a1]),
            call: u32::from_le_bytes([c0, c1, c2, c3]),
        })
    }

    pub(super) const fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn headers_round_trip(length: u32, kind: u8, flags: u8, aux: u16, call: u32) {
            let header = Header { length, kind, flags, aux, call };
            prop_assert_eq!(Header::decode(&header.encode()), Some(header));
            prop_assert_eq!(Header::decode(&header.encode()[..HEADER - 1]), None);
        }
    }

    #[test]
    fn kinds_and_numbers_go_both_ways() {
        for number in 0..=255 {
            if let Some(kind) = Kind::from_number(number) {
                assert_eq!(kind.number(), number);
                assert_eq!(number & IGNORABLE, 0);
            }
        }
    }
}
