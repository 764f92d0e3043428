//! What gRPC puts on HTTP/2 (`grpc/doc/PROTOCOL-HTTP2.md`): message framing, timeouts, messages
//! for people, binary header values. Pure functions and one small state machine.

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use bytes::{Buf, Bytes, BytesMut};
use std::fmt;
use std::time::Duration;

/// Octets in front of each message: a flag and a length.
pub const PREFIX_OCTETS: usize = 5;

/// The prefix of an uncompressed message of this length; `None` when gRPC cannot carry it.
#[must_use]
pub fn prefix(length: usize) -> Option<[u8; PREFIX_OCTETS]> {
    let [a, b, c, d] = u32::try_from(length).ok()?.to_be_bytes();
    Some([0, a, b, c, d])
}

/// The length that a prefix announces.
///
/// # Errors
/// When the message is compressed (no compression was offered), its flag is unknown, or it is
/// longer than `max_message` octets.
pub fn message_length(
    prefix: [u8; PREFIX_OCTETS],
    max_message: usize,
) -> Result<usize, FramingFault> {
    let [flag, length @ ..] = prefix;
    match flag {
        0 => {}
        1 => return Err(FramingFault::Compressed),
        _ => return Err(FramingFault::UnknownFlag),
    }
    match usize::try_from(u32::from_be_bytes(length)) {
        Ok(length) if length <= max_message => Ok(length),
        _ => Err(FramingFault::TooLong),
    }
}

/// Why a body is not a sequence of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FramingFault {
    /// A message is compressed; no compression was agreed on.
    Compressed,
    /// A message's flag is neither 0 nor 1.
    UnknownFlag,
    /// A message is longer than is taken here.
    TooLong,
    /// The body ends inside a message.
    Truncated,
}

impl fmt::Display for FramingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Compressed => "a message is compressed, and no compression was agreed on",
            Self::UnknownFlag => "a message's compression flag is neither 0 nor 1",
            Self::TooLong => "a message is longer than is taken here",
            Self::Truncated => "the body ends inside a message",
        })
    }
}

impl std::error::Error for FramingFault {}

/// Cuts a body that comes in pieces into messages.
///
/// Holds no more than one incomplete message, of at most the length it was made with, beside
/// octets that were put and not taken yet.
#[derive(Debug)]
pub struct Deframer {
    gathered: BytesMut,
    /// The length of the message whose prefix was taken.
    expected: Option<usize>,
    max_message: usize,
}

impl Deframer {
    /// A deframer that takes messages of up to `max_message` octets.
    #[must_use]
    pub fn new(max_message: usize) -> Self {
        Self {
            gathered: BytesMut::new(),
            expected: None,
            max_message,
        }
    }

    /// Adds the next octets of the body.
    pub fn put(&mut self, octets: &[u8]) {
        self.gathered.extend_from_slice(octets);
    }

    /// The next whole message, if it is there. Its octets are shared with no other message's
    /// future ones: it may be kept.
    ///
    /// # Errors
    /// When the octets are no message; the deframer is of no more use then.
    pub fn next_message(&mut self) -> Result<Option<Bytes>, FramingFault> {
        let length = match self.expected {
            Some(length) => length,
            None => {
                let Some(prefix) = self.gathered.first_chunk::<PREFIX_OCTETS>() else {
                    return Ok(None);
                };
                let length = message_length(*prefix, self.max_message)?;
                self.gathered.advance(PREFIX_OCTETS);
                self.expected = Some(length);
                length
            }
        };
        if self.gathered.len() < length {
            return Ok(None);
        }
        self.expected = None;
        Ok(Some(self.gathered.split_to(length).freeze()))
    }

    /// Octets still missing of a message whose prefix has come; 0 between messages.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.expected
            .map_or(0, |length| length.saturating_sub(self.gathered.len()))
    }

    /// Octets held of a message that is not whole.
    #[must_use]
    pub fn held(&self) -> usize {
        self.gathered.len()
    }

    /// Says that the body has ended.
    ///
    /// # Errors
    /// When it ended inside a message.
    pub fn finish(&self) -> Result<(), FramingFault> {
        if self.expected.is_some() || !self.gathered.is_empty() {
            Err(FramingFault::Truncated)
        } else {
            Ok(())
        }
    }
}

/// The longest `grpc-timeout` value: eight digits and a unit.
pub const TIMEOUT_OCTETS: usize = 9;

/// Writes a `grpc-timeout` value, rounded up to what eight digits can say; gives its length.
///
/// Up to 99 seconds it is exact to the microsecond.
#[must_use]
pub fn write_timeout(timeout: Duration, out: &mut [u8; TIMEOUT_OCTETS]) -> usize {
    const MOST: u128 = 99_999_999;
    let nanos = timeout.as_nanos();
    let units = [
        (1_000, b'u'),
        (1_000_000, b'm'),
        (1_000_000_000, b'S'),
        (60 * 1_000_000_000, b'M'),
    ];
    let (value, unit) = units
        .into_iter()
        .map(|(size, unit)| (nanos.div_ceil(size), unit))
        .find(|(value, _)| *value <= MOST)
        .unwrap_or_else(|| (nanos.div_ceil(3600 * 1_000_000_000).min(MOST), b'H'));
    let digits = super::mapping::decimal::write(u64::try_from(value).unwrap_or(u64::MAX));
    let digits = digits.as_bytes();
    let length = digits.len();
    out[..length].copy_from_slice(digits);
    out[length] = unit;
    length + 1
}

/// Reads a `grpc-timeout` value; `None` when it is not one.
#[must_use]
pub fn read_timeout(value: &[u8]) -> Option<Duration> {
    let (unit, digits) = value.split_last()?;
    if digits.is_empty() || digits.len() > TIMEOUT_OCTETS - 1 {
        return None;
    }
    let count = super::mapping::decimal::read(digits)?;
    Some(match unit {
        b'n' => Duration::from_nanos(count),
        b'u' => Duration::from_micros(count),
        b'm' => Duration::from_millis(count),
        b'S' => Duration::from_secs(count),
        b'M' => Duration::from_secs(count * 60),
        b'H' => Duration::from_secs(count * 3600),
        _ => return None,
    })
}

/// Appends a `grpc-message` value: UTF-8 with `%` and what is not visible ASCII or a space
/// percent-encoded.
pub fn write_message(message: &str, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for octet in message.bytes() {
        match octet {
            b'%' | 0..b' ' | 0x7f.. => {
                out.extend([
                    b'%',
                    HEX[usize::from(octet >> 4)],
                    HEX[usize::from(octet & 15)],
                ]);
            }
            _ => out.push(octet),
        }
    }
}

/// Reads a `grpc-message` value. What is wrongly encoded is kept as it stands, as gRPC asks: a
/// message for people is never lost for its spelling.
#[must_use]
pub fn read_message(value: &[u8]) -> String {
    let hex = |octet: u8| (octet as char).to_digit(16);
    let mut octets = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((&octet, after)) = rest.split_first() {
        rest = after;
        if octet == b'%'
            && let [high, low, after @ ..] = rest
            && let (Some(high), Some(low)) = (hex(*high), hex(*low))
        {
            // Two hexadecimal digits are below 256.
            octets.push((high * 16 + low) as u8);
            rest = after;
        } else {
            octets.push(octet);
        }
    }
    String::from_utf8(octets)
        .unwrap_or_else(|broken| String::from_utf8_lossy(broken.as_bytes()).into_owned())
}

/// Base64 as gRPC has it: written without padding, read with or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Whether values of this header name are binary and stand in base64.
#[must_use]
pub fn is_binary(name: &[u8]) -> bool {
    name.ends_with(b"-bin")
}

/// Appends the base64 of a binary header value.
pub fn write_binary(value: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    let most = base64::encoded_len(value.len(), false).unwrap_or(0);
    out.resize(start + most, 0);
    let written = BASE64.encode_slice(value, &mut out[start..]).unwrap_or(0);
    out.truncate(start + written);
}

/// Appends the octets of a base64 header value; `false`, with nothing appended, when it is none.
#[must_use]
pub fn read_binary(value: &[u8], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let ok = BASE64.decode_vec(value, out).is_ok();
    if !ok {
        out.truncate(start);
    }
    ok
}

#[cfg(test)]
#[path = "grpc/tests.rs"]
mod tests;
