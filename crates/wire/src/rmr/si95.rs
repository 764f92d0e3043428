//! SI95: how messages follow each other in a TCP stream. 50 octets in front of each, of which nine
//! mean something: the message's length twice and a mark.
//!
//! There is no checksum, no magic and no way to find the next message after a length that is wrong,
//! so the rule is: where the next message begins is believed as long as it can be, and a message
//! that is malformed within its bounds costs only itself.

use super::{Header, HeaderFault};
use std::fmt;

/// Octets in front of the RMR header.
pub const TRANSPORT_OCTETS: usize = 50;

/// The longest message that is taken where nothing else is said. The C library takes what it is
/// told to, up to 2 GiB.
pub const DEFAULT_MAX_MESSAGE: usize = 64 << 20;

/// Follows the two lengths when the second of them is there.
const MARK: u8 = b'$';

/// Lengths and mark.
const LENGTH_OCTETS: usize = 9;

/// Writes what goes in front of a message of `total` octets, these 50 included. All that means
/// nothing is zero; the C library sends there what was on its heap.
pub fn write_transport(out: &mut [u8; TRANSPORT_OCTETS], total: u32) {
    out.fill(0);
    out[..4].copy_from_slice(&total.to_ne_bytes());
    out[4..8].copy_from_slice(&total.to_be_bytes());
    out[8] = MARK;
}

/// The length that a message claims.
///
/// The first length is in its sender's order of octets and decides, as in the C library: one of
/// before the mark writes it alone, and updates it alone when it returns a message. Only when the
/// second is the same number turned around has the sender the other order; the C library cannot
/// read such a message at all.
fn claimed(first: [u8; LENGTH_OCTETS]) -> u32 {
    let [a, b, c, d, e, f, g, h, mark] = first;
    let native = u32::from_ne_bytes([a, b, c, d]);
    let network = u32::from_be_bytes([e, f, g, h]);
    if mark == MARK && native.swap_bytes() == network {
        network
    } else {
        native
    }
}

/// Cuts what comes from a connection into messages, where it lies: the caller owns the buffer and
/// drops what is consumed.
///
/// One for each connection. Holds no octets.
#[derive(Clone, Debug)]
pub struct Decoder {
    max_message: usize,
    /// Octets still to come of a message that was refused for its length.
    skipping: usize,
}

impl Decoder {
    /// A decoder that takes messages of up to `max_message` octets, all headers included.
    #[must_use]
    pub fn new(max_message: usize) -> Self {
        Self {
            // What does not fit into a positive `int` is no length to any RMR.
            max_message: max_message.min(i32::MAX as usize),
            skipping: 0,
        }
    }

    /// Looks at octets that have come and not been consumed yet.
    ///
    /// # Errors
    /// When there is no telling where the next message begins: close the connection.
    pub fn next<'a>(&mut self, octets: &'a [u8]) -> Result<Next<'a>, StreamFault> {
        if self.skipping > 0 {
            let consumed = self.skipping.min(octets.len());
            if consumed == 0 {
                return Ok(Next::Need { octets: 1 });
            }
            self.skipping -= consumed;
            return Ok(Next::Skipped { consumed });
        }
        let Some(first) = octets.first_chunk::<LENGTH_OCTETS>() else {
            return Ok(Next::Need {
                octets: LENGTH_OCTETS,
            });
        };
        let length = claimed(*first);
        // CVE-2023-40998: a negative length parks the C library's connection for ever.
        if length > i32::MAX as u32 {
            return Err(StreamFault::Negative { length });
        }
        let total = length as usize;
        if total < TRANSPORT_OCTETS {
            return Err(StreamFault::TooShort { length });
        }
        if total > self.max_message {
            let consumed = total.min(octets.len());
            self.skipping = total - consumed;
            let refusal = Refusal::TooLong {
                length,
                max: self.max_message,
            };
            return Ok(Next::Refused { consumed, refusal });
        }
        let Some(frame) = octets.get(..total) else {
            return Ok(Next::Need { octets: total });
        };
        Ok(match Header::parse(&frame[TRANSPORT_OCTETS..]) {
            Ok(header) => Next::Message {
                consumed: total,
                frame,
                header,
            },
            Err(fault) => Next::Refused {
                consumed: total,
                refusal: Refusal::Malformed(fault),
            },
        })
    }

    /// Whether the connection may end here: no refused message is still under way. Whether octets
    /// are left over is the caller's to see.
    #[must_use]
    pub fn is_between_messages(&self) -> bool {
        self.skipping == 0
    }
}

/// What stands at the beginning of the octets.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a driver must handle each")]
pub enum Next<'a> {
    /// A message.
    Message {
        /// Octets to drop once it was dealt with.
        consumed: usize,
        /// All of it, from the transport's octets on.
        frame: &'a [u8],
        /// The RMR message in it.
        header: Header<'a>,
    },
    /// A message that is not taken. Count one; the stream goes on.
    Refused {
        /// Octets to drop.
        consumed: usize,
        /// Why.
        refusal: Refusal,
    },
    /// More of a message that was refused before. Counted already.
    Skipped {
        /// Octets to drop.
        consumed: usize,
    },
    /// Come back when there are more.
    Need {
        /// How many there must be, from where these begin, before looking again is of use; at most
        /// the longest message, so a long one may be read right into a buffer for it.
        octets: usize,
    },
}

/// Why one message is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// It is longer than is taken here.
    TooLong {
        /// What it claims.
        length: u32,
        /// What is taken.
        max: usize,
    },
    /// What it holds is no RMR message.
    Malformed(HeaderFault),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { length, max } => write!(
                f,
                "a message of {length} octets; up to {max} are taken here"
            ),
            Self::Malformed(_) => f.write_str("a malformed message"),
        }
    }
}

impl std::error::Error for Refusal {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::TooLong { .. } => None,
            Self::Malformed(fault) => Some(fault),
        }
    }
}

/// Why a connection is of no more use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamFault {
    /// A message claims a length that is negative to every RMR.
    Negative {
        /// What it claims, unsigned.
        length: u32,
    },
    /// A message claims to end before its RMR header begins.
    TooShort {
        /// What it claims.
        length: u32,
    },
}

impl fmt::Display for StreamFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Negative { length } => {
                write!(f, "a message claims a length of {}", *length as i32)
            }
            Self::TooShort { length } => write!(
                f,
                "a message claims {length} octets, fewer than the transport's own \
                 {TRANSPORT_OCTETS}"
            ),
        }
    }
}

impl std::error::Error for StreamFault {}

#[cfg(test)]
mod tests;
