//! Headers: short named values that travel with a message.

use bytes::Bytes;
use std::fmt;

/// The longest header name, in octets.
pub const MAX_NAME_OCTETS: usize = 255;
/// The longest header value, in octets (2^24 - 1).
pub const MAX_VALUE_OCTETS: usize = 0xff_ffff;

/// Octets before each entry: one for the name's length, three for the value's.
const ENTRY_PREFIX: usize = 4;

/// Short named values that travel with a message, in order; names may repeat.
///
/// Names are lower case. They stand in one flat block (`name length: u8`, `value length: u24`
/// little endian, name, value, for each entry), so that receiving them is one shared slice and no
/// allocation, and building them is one buffer. An empty set allocates nothing.
#[derive(Clone, Default)]
pub struct Headers(Block);

#[derive(Clone)]
enum Block {
    Owned(Vec<u8>),
    Shared(Bytes),
}

impl Default for Block {
    fn default() -> Self {
        Self::Owned(Vec::new())
    }
}

impl Headers {
    /// No headers.
    #[must_use]
    pub const fn new() -> Self {
        Self(Block::Owned(Vec::new()))
    }

    /// Headers from a received block, checked once and then shared.
    ///
    /// # Errors
    /// When a length points past the block, a name is not one, or a value holds CR, LF or NUL: what
    /// [`append`](Self::append) refuses must not come in by another door. Only values of names that
    /// end with `-bin` may hold any octets here: gRPC carries those as base64, so none of them can
    /// end a header early.
    pub fn from_block(block: Bytes) -> Result<Self, HeaderFault> {
        let mut rest = &block[..];
        while !rest.is_empty() {
            let (name, value, after) = split_entry(rest).ok_or(HeaderFault::Truncated)?;
            check_name(name)?;
            check_value(name, value)?;
            rest = after;
        }
        Ok(Self(Block::Shared(block)))
    }

    /// The flat block, as it goes on the native wire.
    #[must_use]
    pub fn as_block(&self) -> &[u8] {
        match &self.0 {
            Block::Owned(octets) => octets,
            Block::Shared(octets) => octets,
        }
    }

    /// Copies them out of memory that they share with what was received with them. For headers that stay:
    /// a few octets would hold all of it.
    pub fn detach(&mut self) {
        if let Block::Shared(octets) = &self.0 {
            self.0 = Block::Owned(octets.to_vec());
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.as_block().is_empty()
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries().count()
    }

    /// Adds an entry at the end; keeps others of the same name.
    ///
    /// # Errors
    /// When `name` is not one or more lower-case token characters (RFC 9110, 5.6.2) of at most
    /// 255 octets, or `value` is too long or holds CR, LF or NUL, which only those of names that end in `-bin`
    /// may. Nothing is added then.
    pub fn append(&mut self, name: &str, value: impl AsRef<[u8]>) -> Result<(), HeaderFault> {
        let value = value.as_ref();
        check_name(name.as_bytes())?;
        if value.len() > MAX_VALUE_OCTETS {
            return Err(HeaderFault::ValueTooLong);
        }
        check_value(name.as_bytes(), value)?;
        let block = self.owned();
        block.reserve(ENTRY_PREFIX + name.len() + value.len());
        block.push(u8::try_from(name.len()).map_err(|_| HeaderFault::NameTooLong)?);
        let length = u32::try_from(value.len()).map_err(|_| HeaderFault::ValueTooLong)?;
        block.extend_from_slice(&length.to_le_bytes()[..3]);
        block.extend_from_slice(name.as_bytes());
        block.extend_from_slice(value);
        Ok(())
    }

    /// Removes every entry of this name; tells how many there were.
    pub fn remove(&mut self, name: &str) -> usize {
        let before = self.len();
        let mut kept = Vec::with_capacity(self.as_block().len());
        let mut rest = self.as_block();
        while let Some((found, _, after)) = split_entry(rest) {
            if found != name.as_bytes() {
                kept.extend_from_slice(&rest[..rest.len() - after.len()]);
            }
            rest = after;
        }
        self.0 = Block::Owned(kept);
        before - self.len()
    }

    /// The first value of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.entries()
            .find(|(found, _)| *found == name.as_bytes())
            .map(|(_, value)| value)
    }

    /// The first value of this name, if it is UTF-8.
    #[must_use]
    pub fn get_str(&self, name: &str) -> Option<&str> {
        self.get(name)
            .and_then(|value| std::str::from_utf8(value).ok())
    }

    /// All entries in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        // Names were checked to be ASCII when they came in.
        self.entries()
            .map(|(name, value)| (std::str::from_utf8(name).unwrap_or_default(), value))
    }

    /// All entries in order, names as octets: for transports, which read them for each message.
    pub fn entries(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut rest = self.as_block();
        std::iter::from_fn(move || {
            let (name, value, after) = split_entry(rest)?;
            rest = after;
            Some((name, value))
        })
    }

    fn owned(&mut self) -> &mut Vec<u8> {
        if let Block::Shared(shared) = &self.0 {
            self.0 = Block::Owned(shared.to_vec());
        }
        match &mut self.0 {
            Block::Owned(octets) => octets,
            Block::Shared(_) => unreachable!("made owned above"),
        }
    }
}

/// How names of values end that are any octets at all, as in gRPC: where a protocol writes text, they
/// are in base64.
const BINARY: &[u8] = b"-bin";

fn split_entry(block: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (&[name_len, v0, v1, v2], rest) = block.split_first_chunk::<ENTRY_PREFIX>()?;
    let (name, rest) = rest.split_at_checked(usize::from(name_len))?;
    let value_len = u32::from_le_bytes([v0, v1, v2, 0]);
    let (value, rest) = rest.split_at_checked(usize::try_from(value_len).ok()?)?;
    Some((name, value, rest))
}

fn check_name(name: &[u8]) -> Result<(), HeaderFault> {
    if name.is_empty() {
        return Err(HeaderFault::NameEmpty);
    }
    if name.len() > MAX_NAME_OCTETS {
        return Err(HeaderFault::NameTooLong);
    }
    // No early end: nearly all names pass.
    let all = |all, octet: &u8| all & IS_TOKEN[usize::from(*octet)];
    if name.iter().fold(true, all) {
        Ok(())
    } else {
        Err(HeaderFault::NameCharacter)
    }
}

/// Which octets a name may hold: RFC 9110, 5.6.2, without upper case.
const IS_TOKEN: [bool; 256] = {
    let mut is_token = [false; 256];
    let mut octet = 0;
    while octet < is_token.len() {
        is_token[octet] = matches!(octet as u8, b'a'..=b'z' | b'0'..=b'9' | b'!' | b'#' | b'$' | b'%'
            | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~');
        octet += 1;
    }
    is_token
};

fn check_value(name: &[u8], value: &[u8]) -> Result<(), HeaderFault> {
    // No early end: the compiler makes vector instructions of it, and nearly all values pass.
    let bad = |bad, octet: &u8| bad | matches!(octet, b'\r' | b'\n' | 0);
    if value.iter().fold(false, bad) && !name.ends_with(BINARY) {
        Err(HeaderFault::ValueCharacter)
    } else {
        Ok(())
    }
}

impl PartialEq for Headers {
    fn eq(&self, other: &Self) -> bool {
        self.as_block() == other.as_block()
    }
}

impl Eq for Headers {}

impl fmt::Debug for Headers {
    /// Prints names and lengths; values may be secret (tokens) or personal (SUPI).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.iter().map(|(name, value)| (name, value.len())))
            .finish()
    }
}

/// Why a header is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderFault {
    /// A length points past the end of the block.
    Truncated,
    /// The name has no octets.
    NameEmpty,
    /// The name is longer than [`MAX_NAME_OCTETS`].
    NameTooLong,
    /// The name holds something other than lower-case token characters.
    NameCharacter,
    /// The value is longer than [`MAX_VALUE_OCTETS`].
    ValueTooLong,
    /// The value holds CR, LF or NUL, and the name does not end in `-bin`.
    ValueCharacter,
}

impl fmt::Display for HeaderFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "a header's length points past the header block",
            Self::NameEmpty => "a header name is empty",
            Self::NameTooLong => "a header name is longer than 255 octets",
            Self::NameCharacter => "a header name holds more than lower-case token characters",
            Self::ValueTooLong => "a header value is longer than 16 MiB",
            Self::ValueCharacter => "a header value holds CR, LF or NUL",
        })
    }
}

impl std::error::Error for HeaderFault {}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Headers {
        let mut headers = Headers::new();
        headers
            .append("3gpp-sbi-correlation-info", "imsi-1")
            .unwrap();
        headers.append("x", [1u8, 255]).unwrap();
        headers
    }

    #[test]
    fn a_block_round_trips_and_is_shared() {
        let headers = two();
        let block = Bytes::copy_from_slice(headers.as_block());
        let received = Headers::from_block(block.clone()).unwrap();
        assert_eq!(received, headers);
        assert_eq!(received.as_block().as_ptr(), block.as_ptr());
        assert_eq!(received.get("x"), Some(&[1u8, 255][..]));
        assert_eq!(received.get_str("x"), None);
    }

    #[test]
    fn every_cut_of_a_block_is_refused_or_a_whole_prefix() {
        let block = Bytes::copy_from_slice(two().as_block());
        let whole = ENTRY_PREFIX + "3gpp-sbi-correlation-infoimsi-1".len();
        for cut in 1..block.len() {
            let result = Headers::from_block(block.slice(..cut));
            assert_eq!(result.is_ok(), cut == whole, "cut at {cut}");
        }
    }

    #[test]
    fn bad_names_and_values_are_refused() {
        let mut headers = Headers::new();
        assert_eq!(headers.append("", "v"), Err(HeaderFault::NameEmpty));
        assert_eq!(
            headers.append("Upper", "v"),
            Err(HeaderFault::NameCharacter)
        );
        assert_eq!(headers.append("a b", "v"), Err(HeaderFault::NameCharacter));
        assert_eq!(
            headers.append("a", "v\r\nx: y"),
            Err(HeaderFault::ValueCharacter)
        );
        assert_eq!(
            headers.append(&"n".repeat(256), "v"),
            Err(HeaderFault::NameTooLong)
        );
        assert!(headers.is_empty());
    }

    #[test]
    fn binary_values_are_any_octets() {
        let all: Vec<u8> = (0..=255).collect();
        let mut headers = Headers::new();
        headers.append("x-bin", &all).unwrap();
        assert_eq!(headers.get("x-bin"), Some(&all[..]));
        let received = Headers::from_block(headers.as_block().to_vec().into());
        assert_eq!(received, Ok(headers));
    }

    #[test]
    fn a_received_value_is_held_to_the_same_rules() {
        let mut headers = Headers::new();
        headers.append("a", "value").unwrap();
        for octet in 0..=255 {
            let mut block = headers.as_block().to_vec();
            let middle = block.len() - 3;
            block[middle] = octet;
            let refused = Headers::from_block(block.into()).err();
            let bad = matches!(octet, b'\r' | b'\n' | 0);
            assert_eq!(
                refused,
                bad.then_some(HeaderFault::ValueCharacter),
                "{octet}"
            );
        }
    }

    #[test]
    fn removing_takes_every_entry_of_the_name() {
        let mut headers = two();
        headers.append("x", "again").unwrap();
        assert_eq!(headers.remove("x"), 2);
        assert_eq!(headers.remove("x"), 0);
        assert_eq!(headers.len(), 1);
    }
}
