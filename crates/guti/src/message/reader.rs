//! Protobuf at the level of tags and values: where every octet of a message is judged.

use super::decode::{DecodeError, DecodeErrorKind, Field};

/// How deep groups may nest in fields that we skip; what protobuf's own decoders allow.
const MAX_GROUP_DEPTH: usize = 100;

/// The value of a field, by wire type.
pub(super) enum Value<'a> {
    Varint(u64),
    Fixed64,
    Bytes(&'a [u8]),
    /// A group (deprecated since proto2), skipped to its end.
    Group,
    Fixed32(u32),
}

/// Goes through a message field by field. Never reads beyond it, never allocates.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    /// Where `rest` begins in the outermost message: for errors.
    offset: usize,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(message: &'a [u8]) -> Self {
        Self::at(message, 0)
    }

    pub(super) const fn at(message: &'a [u8], offset: usize) -> Self {
        Self {
            rest: message,
            offset,
        }
    }

    pub(super) const fn offset(&self) -> usize {
        self.offset
    }

    /// The next field's number and value; `None` at the end of the message.
    #[inline]
    pub(super) fn field(&mut self) -> Result<Option<(u32, Value<'a>)>, DecodeError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let at = self.offset;
        let (number, wire_type) = self.tag()?;
        let value = match wire_type {
            START_GROUP => {
                self.skip_group(number)?;
                Value::Group
            }
            END_GROUP => return Err(error(DecodeErrorKind::EndGroup, at)),
            other => self.value(other, at)?,
        };
        Ok(Some((number, value)))
    }

    fn tag(&mut self) -> Result<(u32, u8), DecodeError> {
        let at = self.offset;
        let tag = u32::try_from(self.varint()?)
            .ok()
            .filter(|tag| tag >> 3 != 0)
            .ok_or_else(|| error(DecodeErrorKind::FieldNumber, at))?;
        Ok((tag >> 3, (tag & 7) as u8))
    }

    /// A value of any wire type that is no group.
    fn value(&mut self, wire_type: u8, tag_at: usize) -> Result<Value<'a>, DecodeError> {
        match wire_type {
            VARINT => self.varint().map(Value::Varint),
            FIXED64 => self.take(8).map(|_| Value::Fixed64),
            BYTES => {
                let at = self.offset;
                let len = usize::try_from(self.varint()?)
                    .map_err(|_| error(DecodeErrorKind::Truncated, at))?;
                self.take(len).map(Value::Bytes)
            }
            FIXED32 => match self.rest.split_first_chunk() {
                Some((&octets, rest)) => {
                    self.rest = rest;
                    self.offset += octets.len();
                    Ok(Value::Fixed32(u32::from_le_bytes(octets)))
                }
                None => Err(error(DecodeErrorKind::Truncated, self.offset)),
            },
            _ => Err(error(DecodeErrorKind::WireType, tag_at)),
        }
    }

    /// Skips to the end of group `number`, with all that is in it. A loop with a stack of its own
    /// and not recursion: the depth is the sender's choice.
    #[cold]
    #[inline(never)]
    fn skip_group(&mut self, number: u32) -> Result<(), DecodeError> {
        let mut open = [0; MAX_GROUP_DEPTH];
        open[0] = number;
        let mut depth = 1;
        while depth > 0 {
            let at = self.offset;
            if self.rest.is_empty() {
                return Err(error(DecodeErrorKind::Truncated, at));
            }
            match self.tag()? {
                (number, START_GROUP) => {
                    *open
                        .get_mut(depth)
                        .ok_or_else(|| error(DecodeErrorKind::GroupDepth, at))? = number;
                    depth += 1;
                }
                (number, END_GROUP) if number == open[depth - 1] => depth -= 1,
                (_, END_GROUP) => return Err(error(DecodeErrorKind::EndGroup, at)),
                (_, other) => {
                    self.value(other, at)?;
                }
            }
        }
        Ok(())
    }

    /// At most ten octets of seven bits each, least significant first; mostly one.
    #[inline]
    fn varint(&mut self) -> Result<u64, DecodeError> {
        if let Some((&octet, rest)) = self.rest.split_first()
            && octet < 0x80
        {
            self.rest = rest;
            self.offset += 1;
            return Ok(u64::from(octet));
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Result<u64, DecodeError> {
        let at = self.offset;
        let mut value = 0;
        for (i, &octet) in self.rest.iter().take(10).enumerate() {
            // The tenth octet has room for the 64th bit only.
            if i == 9 && octet > 1 {
                return Err(error(DecodeErrorKind::Varint, at));
            }
            value |= u64::from(octet & 0x7f) << (7 * i);
            if octet & 0x80 == 0 {
                self.take(i + 1)?;
                return Ok(value);
            }
        }
        // Ten octets always end above: what ends here is the message.
        Err(error(DecodeErrorKind::Truncated, at))
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self
            .rest
            .split_at_checked(len)
            .ok_or_else(|| error(DecodeErrorKind::Truncated, self.offset))?;
        self.rest = rest;
        self.offset += len;
        Ok(taken)
    }
}

const fn error(kind: DecodeErrorKind, offset: usize) -> DecodeError {
    DecodeError::new(kind, offset, Field::Message)
}

pub(super) const VARINT: u8 = 0;
const FIXED64: u8 = 1;
const BYTES: u8 = 2;
const START_GROUP: u8 = 3;
const END_GROUP: u8 = 4;
pub(super) const FIXED32: u8 = 5;
