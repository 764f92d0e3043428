//! From octets to messages.

use std::fmt;

use bytes::Bytes;

use super::reader::{FIXED32, Reader, VARINT, Value};
use crate::{AmfPointer, AmfSetId, Guami, Guti, Plmn, PlmnError, Tmsi};

/// `guti.v1.AllocateRequest`: asks for a GUTI.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "as closed as its .proto")]
pub struct AllocateRequest {
    /// Comes back in the response.
    pub payload: Bytes,
}

impl AllocateRequest {
    /// Decodes a message. The payload is a slice of it, not a copy.
    ///
    /// # Errors
    /// The octets are no such message; answer the sender with an invalid-argument status.
    pub fn decode(message: &Bytes) -> Result<Self, DecodeError> {
        let payload = allocate_request_payload(message)?;
        Ok(Self {
            payload: message.slice_ref(payload),
        })
    }
}

/// `guti.v1.AllocateResponse`: a GUTI, and the payload of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "as closed as its .proto")]
pub struct AllocateResponse {
    /// Allocated until it is deallocated.
    pub guti: Guti,
    /// What the request brought.
    pub payload: Bytes,
}

impl AllocateResponse {
    /// Decodes a message. The payload is a slice of it, not a copy.
    ///
    /// # Errors
    /// The octets are no such message, or there is no GUTI in it.
    pub fn decode(message: &Bytes) -> Result<Self, DecodeError> {
        let (guti, payload) = allocate_response_parts(message)?;
        Ok(Self {
            guti,
            payload: message.slice_ref(payload),
        })
    }
}

/// `guti.v1.DeallocateRequest`: gives a GUTI back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "as closed as its .proto")]
pub struct DeallocateRequest {
    /// The GUTI that is needed no more.
    pub guti: Guti,
}

impl DeallocateRequest {
    /// Decodes a message.
    ///
    /// # Errors
    /// The octets are no such message, or there is no GUTI in it.
    pub fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(message);
        let mut guti = None;
        while let Some((number, value)) = reader.field()? {
            if number == 1 {
                merge_guti(&mut guti, &value, &reader)?;
            }
        }
        Ok(Self {
            guti: finish_guti(guti, &reader)?,
        })
    }
}

/// `guti.v1.DeallocateResponse`: the GUTI was given back. Has no fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "as closed as its .proto")]
pub struct DeallocateResponse;

impl DeallocateResponse {
    /// Decodes a message.
    ///
    /// # Errors
    /// The octets are no protobuf message at all.
    pub fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(message);
        while reader.field()?.is_some() {}
        Ok(Self)
    }
}

/// The payload of an `AllocateRequest`, where it stands.
pub(crate) fn allocate_request_payload(message: &[u8]) -> Result<&[u8], DecodeError> {
    let mut reader = Reader::new(message);
    // Inside of the message even when empty, for `slice_ref` and for C.
    let mut payload = &message[..0];
    while let Some((number, value)) = reader.field()? {
        if number == 1 {
            payload = bytes(&value, Field::Payload, &reader)?;
        }
    }
    Ok(payload)
}

/// GUTI and payload of an `AllocateResponse`, the payload where it stands.
pub(crate) fn allocate_response_parts(message: &[u8]) -> Result<(Guti, &[u8]), DecodeError> {
    let mut reader = Reader::new(message);
    let mut payload = &message[..0];
    let mut guti = None;
    while let Some((number, value)) = reader.field()? {
        match number {
            1 => merge_guti(&mut guti, &value, &reader)?,
            2 => payload = bytes(&value, Field::Payload, &reader)?,
            _ => {}
        }
    }
    Ok((finish_guti(guti, &reader)?, payload))
}

/// The fields of `guti.v1.Guti` as they come, not judged yet. No `Debug`: it would show the TMSI.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GutiNumbers {
    pub(crate) mcc: u32,
    pub(crate) mnc: u32,
    pub(crate) mnc_digits: u32,
    pub(crate) amf_region: u32,
    pub(crate) amf_set: u32,
    pub(crate) amf_pointer: u32,
    pub(crate) tmsi: u32,
}

impl GutiNumbers {
    /// The GUTI of the numbers, or the first field that is out of its range.
    pub(crate) fn guti(self) -> Result<Guti, Field> {
        fn narrow<T: TryFrom<u32>>(value: u32, field: Field) -> Result<T, Field> {
            T::try_from(value).map_err(|_| field)
        }
        let plmn = Plmn::new(
            narrow(self.mcc, Field::Mcc)?,
            narrow(self.mnc, Field::Mnc)?,
            narrow(self.mnc_digits, Field::MncDigits)?,
        )
        .map_err(|error| match error {
            PlmnError::Mcc | PlmnError::Digit => Field::Mcc,
            PlmnError::Mnc => Field::Mnc,
            PlmnError::MncDigits => Field::MncDigits,
        })?;
        let region: u8 = narrow(self.amf_region, Field::AmfRegion)?;
        let set = AmfSetId::try_from(narrow::<u16>(self.amf_set, Field::AmfSet)?)
            .map_err(|_| Field::AmfSet)?;
        let pointer = AmfPointer::try_from(narrow::<u8>(self.amf_pointer, Field::AmfPointer)?)
            .map_err(|_| Field::AmfPointer)?;
        let tmsi = Tmsi::try_from(self.tmsi).map_err(|_| Field::Tmsi)?;
        Ok(Guti::new(
            Guami::new(plmn, region.into(), set, pointer),
            tmsi,
        ))
    }

    /// Reads fields as they are nearly always written, with their own wire types and in as few octets
    /// as they need; gives what comes from the first other one on.
    fn merge_plain<'a>(&mut self, mut octets: &'a [u8]) -> &'a [u8] {
        loop {
            let (tag, value, rest) = match octets {
                [tag, value, rest @ ..] if tag & 7 == VARINT && *value < 0x80 => {
                    (*tag, u32::from(*value), rest)
                }
                [tag, low, high, rest @ ..] if tag & 7 == VARINT && *high < 0x80 => {
                    let value = u32::from(low & 0x7f) | u32::from(*high) << 7;
                    (*tag, value, rest)
                }
                [tag, a, b, c, d, rest @ ..] if *tag == 7 << 3 | FIXED32 => {
                    self.tmsi = u32::from_le_bytes([*a, *b, *c, *d]);
                    octets = rest;
                    continue;
                }
                _ => return octets,
            };
            match tag >> 3 {
                1 => self.mcc = value,
                2 => self.mnc = value,
                3 => self.mnc_digits = value,
                4 => self.amf_region = value,
                5 => self.amf_set = value,
                6 => self.amf_pointer = value,
                _ => return octets,
            }
            octets = rest;
        }
    }

    /// Reads the fields of one `Guti` message; what it does not hold stays as it was.
    fn merge(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        while let Some((number, value)) = reader.field().map_err(|e| e.within(Field::Guti))? {
            let (slot, field) = match number {
                1 => (&mut self.mcc, Field::Mcc),
                2 => (&mut self.mnc, Field::Mnc),
                3 => (&mut self.mnc_digits, Field::MncDigits),
                4 => (&mut self.amf_region, Field::AmfRegion),
                5 => (&mut self.amf_set, Field::AmfSet),
                6 => (&mut self.amf_pointer, Field::AmfPointer),
                7 => (&mut self.tmsi, Field::Tmsi),
                _ => continue,
            };
            *slot = match (value, field) {
                (Value::Fixed32(value), Field::Tmsi) => value,
                // A uint32 is the low half of what was sent, says protobuf.
                (Value::Varint(value), field) if field != Field::Tmsi => value as u32,
                _ => return Err(wrong_type(field, reader)),
            };
        }
        Ok(())
    }
}

impl From<&Guti> for GutiNumbers {
    fn from(guti: &Guti) -> Self {
        let guami = guti.guami();
        Self {
            mcc: guami.plmn().mcc().into(),
            mnc: guami.plmn().mnc().into(),
            mnc_digits: guami.plmn().mnc_digits().into(),
            amf_region: guami.region().value().into(),
            amf_set: guami.set().value().into(),
            amf_pointer: guami.pointer().value().into(),
            tmsi: guti.tmsi().value(),
        }
    }
}

/// A message field that comes twice is one message in two parts (protobuf's merge rule).
fn merge_guti(
    guti: &mut Option<GutiNumbers>,
    value: &Value<'_>,
    reader: &Reader<'_>,
) -> Result<(), DecodeError> {
    let octets = bytes(value, Field::Guti, reader)?;
    let guti = guti.get_or_insert_default();
    let rest = guti.merge_plain(octets);
    if rest.is_empty() {
        return Ok(());
    }
    let start = reader.offset() - rest.len();
    guti.merge(&mut Reader::at(rest, start))
}

/// Judges the numbers, at the end of the message.
fn finish_guti(guti: Option<GutiNumbers>, reader: &Reader<'_>) -> Result<Guti, DecodeError> {
    let error = |kind, field| DecodeError::new(kind, reader.offset(), field);
    guti.ok_or_else(|| error(DecodeErrorKind::Missing, Field::Guti))?
        .guti()
        .map_err(|field| error(DecodeErrorKind::OutOfRange, field))
}

fn bytes<'a>(
    value: &Value<'a>,
    field: Field,
    reader: &Reader<'_>,
) -> Result<&'a [u8], DecodeError> {
    match value {
        Value::Bytes(octets) => Ok(octets),
        _ => Err(wrong_type(field, reader)),
    }
}

const fn wrong_type(field: Field, reader: &Reader<'_>) -> DecodeError {
    DecodeError::new(DecodeErrorKind::WireType, reader.offset(), field)
}

/// Why octets are no message of the GUTI service: what, where and in which field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeError {
    kind: DecodeErrorKind,
    offset: usize,
    field: Field,
}

impl DecodeError {
    pub(super) const fn new(kind: DecodeErrorKind, offset: usize, field: Field) -> Self {
        Self {
            kind,
            offset,
            field,
        }
    }

    const fn within(self, field: Field) -> Self {
        Self { field, ..self }
    }

    /// What is wrong.
    #[must_use]
    pub const fn kind(&self) -> DecodeErrorKind {
        self.kind
    }

    /// The octet of the message where it showed. For a value out of range or missing, the end of
    /// the message: until there it could have been set.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// The field, as far as it was known.
    #[must_use]
    pub const fn field(&self) -> Field {
        self.field
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} in field `{}` at octet {}",
            self.kind, self.field, self.offset
        )
    }
}

impl std::error::Error for DecodeError {}

/// What can be wrong with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "protobuf's wire format is finished"
)]
pub enum DecodeErrorKind {
    /// The message, or the message around the field, ends too early.
    Truncated,
    /// A variable-length number of more than 64 bits.
    Varint,
    /// A field number of zero or of more than 29 bits.
    FieldNumber,
    /// A wire type that does not exist, or is not the one of the field.
    WireType,
    /// The end of a group that is not the innermost open one.
    EndGroup,
    /// More than a hundred groups in each other.
    GroupDepth,
    /// The field must be there.
    Missing,
    /// The value is none that the field can have.
    OutOfRange,
}

impl fmt::Display for DecodeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "truncated value",
            Self::Varint => "number of more than 64 bits",
            Self::FieldNumber => "impossible field number",
            Self::WireType => "wrong wire type",
            Self::EndGroup => "end of a group that was not open",
            Self::GroupDepth => "groups nested too deep",
            Self::Missing => "missing value",
            Self::OutOfRange => "value out of range",
        })
    }
}

/// The fields of the service's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    /// The message itself, or a field that is not known here.
    Message,
    /// `payload` of request or response.
    Payload,
    /// `guti` of a request or response.
    Guti,
    /// `guti.mcc`
    Mcc,
    /// `guti.mnc`
    Mnc,
    /// `guti.mnc_digits`
    MncDigits,
    /// `guti.amf_region`
    AmfRegion,
    /// `guti.amf_set`
    AmfSet,
    /// `guti.amf_pointer`
    AmfPointer,
    /// `guti.tmsi`
    Tmsi,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Message => "(message)",
            Self::Payload => "payload",
            Self::Guti => "guti",
            Self::Mcc => "guti.mcc",
            Self::Mnc => "guti.mnc",
            Self::MncDigits => "guti.mnc_digits",
            Self::AmfRegion => "guti.amf_region",
            Self::AmfSet => "guti.amf_set",
            Self::AmfPointer => "guti.amf_pointer",
            Self::Tmsi => "guti.tmsi",
        })
    }
}
