//! Header fields on their way out.

use crate::hpack::{Encoder, Indexing};
use std::fmt;

/// One header field to be sent.
#[derive(Clone, Copy)]
pub struct Field<'a> {
    name: &'a [u8],
    value: &'a [u8],
    indexing: Indexing,
}

impl<'a> Field<'a> {
    /// A field whose name and value are known when the program is written.
    #[must_use]
    pub const fn fixed(name: &'static str, value: &'static str) -> Field<'static> {
        Field::new(name.as_bytes(), value.as_bytes())
    }

    /// A field whose name is known when the program is written.
    #[must_use]
    pub const fn named(name: &'static str, value: &'a [u8]) -> Self {
        Self::new(name.as_bytes(), value)
    }

    /// Any field. The name is in lower case, or its receiver calls the message malformed.
    #[must_use]
    pub const fn new(name: &'a [u8], value: &'a [u8]) -> Self {
        Self {
            name,
            value,
            indexing: Indexing::Yes,
        }
    }

    /// The same, kept out of compression tables: for a value that does not come again, which would
    /// only push others out.
    #[must_use]
    pub const fn unindexed(mut self) -> Self {
        self.indexing = Indexing::No;
        self
    }

    /// The same, kept out of compression tables here and on the way (RFC 7541, 7.1.3).
    #[must_use]
    pub const fn secret(mut self) -> Self {
        self.indexing = Indexing::Never;
        self
    }

    /// Whether it is kept out of compression tables.
    #[must_use]
    pub const fn is_unindexed(&self) -> bool {
        !matches!(self.indexing, Indexing::Yes)
    }

    /// Its name and value.
    #[must_use]
    pub const fn parts(&self) -> (&'a [u8], &'a [u8]) {
        (self.name, self.value)
    }

    /// As header compression wants it.
    #[inline]
    pub(super) const fn coded(&self) -> (&'a [u8], &'a [u8], Indexing) {
        (self.name, self.value, self.indexing)
    }
}

impl fmt::Debug for Field<'_> {
    /// Prints lengths only: values may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, value) = (self.name.len(), self.value.len());
        write!(f, "Field({name} octets: {value} octets)")
    }
}

/// A header section that waits until it is its turn to be compressed: what it becomes depends on those
/// that are sent before it.
#[derive(Debug, Default)]
pub(super) struct Section(Vec<u8>);

/// Octets in front of each field: lengths and how it is indexed.
const PREFIX: usize = 8;
/// Memory that an emptied section keeps, octets.
const KEEP: usize = 1024;

impl Section {
    const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds these fields; `false` when one is longer than a section holds. It is empty then.
    #[must_use]
    pub(super) fn put_all(
        &mut self,
        lead: Option<&mut HeaderPrefix>,
        fields: &[Field<'_>],
    ) -> bool {
        if let Some(lead) = lead {
            self.append(&lead.section);
        }
        let fit = fields.iter().all(|field| self.put(field));
        if !fit {
            self.clear();
        }
        fit
    }

    /// Adds a field; `false` when it is longer than a section holds.
    #[must_use]
    fn put(&mut self, field: &Field<'_>) -> bool {
        let (Ok(name_len), Ok(value_len)) = (
            u16::try_from(field.name.len()),
            u32::try_from(field.value.len()),
        ) else {
            return false;
        };
        let indexing = match field.indexing {
            Indexing::Yes => 0,
            Indexing::No => 1,
            Indexing::Never => 2,
        };
        let prefix = u64::from(value_len) | u64::from(name_len) << 32 | indexing << 48;
        self.0
            .reserve(PREFIX + field.name.len() + field.value.len());
        self.0.extend_from_slice(&prefix.to_le_bytes());
        self.0.extend_from_slice(field.name);
        self.0.extend_from_slice(field.value);
        true
    }

    /// Its fields, in order.
    pub(super) fn fields(&self) -> impl Iterator<Item = Field<'_>> + Clone {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let (prefix, after) = rest.split_first_chunk::<PREFIX>()?;
            let prefix = u64::from_le_bytes(*prefix);
            let (name, after) = after.split_at_checked((prefix >> 32 & 0xffff) as usize)?;
            let (value, after) = after.split_at_checked((prefix & 0xffff_ffff) as usize)?;
            rest = after;
            let indexing = match prefix >> 48 {
                0 => Indexing::Yes,
                1 => Indexing::No,
                _ => Indexing::Never,
            };
            Some(Field {
                name,
                value,
                indexing,
            })
        })
    }

    /// Adds all fields of another.
    fn append(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
        if self.0.capacity() > KEEP {
            self.0.shrink_to(KEEP);
        }
    }
}

/// What many header sections begin with: put together once, and compressed again only when what is
/// remembered of fields has changed.
///
/// It belongs to one session, whatever that knows of fields.
#[derive(Debug)]
pub struct HeaderPrefix {
    section: Section,
    block: Vec<u8>,
    /// The encoder's version by which `block` was made.
    version: Option<u64>,
}

impl Default for HeaderPrefix {
    fn default() -> Self {
        Self::new()
    }
}

impl HeaderPrefix {
    /// One without fields.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            section: Section::new(),
            block: Vec::new(),
            version: None,
        }
    }

    /// Adds a field that comes again; `false` when it is longer than a section holds.
    #[must_use]
    pub fn put(&mut self, field: &Field<'_>) -> bool {
        self.version = None;
        self.section.put(field)
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        self.section.clear();
        self.block.clear();
        self.version = None;
    }

    /// The first field's name and value.
    pub(super) fn first(&self) -> Option<(&[u8], &[u8])> {
        self.section.fields().next().map(|field| field.parts())
    }

    /// The fields.
    pub fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        self.section.fields()
    }

    /// Compresses it, while nothing may enter the encoder's tables.
    #[inline]
    pub(super) fn encode(&mut self, encoder: &mut Encoder, out: &mut Vec<u8>) {
        let version = Some(encoder.version());
        if self.version == version {
            out.extend_from_slice(&self.block);
            return;
        }
        let start = out.len();
        for field in self.section.fields() {
            let (name, value, indexing) = field.coded();
            encoder.field(name, value, indexing, out);
        }
        if !encoder.was_refused() {
            self.block.clear();
            self.block.extend_from_slice(&out[start..]);
            self.version = version;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpack::Decoder;

    #[test]
    fn fields_come_out_as_they_went_in() {
        let long = vec![b'v'; 70_000];
        let name = [b'n'; 300];
        let fields = [
            Field::fixed(":status", "200"),
            Field::new(&name, &long).unindexed(),
            Field::named("authorization", b"x").secret(),
            Field::fixed("x-empty", ""),
        ];
        let mut section = Section::default();
        assert!(fields.iter().all(|field| section.put(field)));
        let came: Vec<_> = section.fields().collect();
        assert_eq!(came.len(), fields.len());
        for (came, field) in came.iter().zip(&fields) {
            assert_eq!(came.parts(), field.parts());
            assert_eq!(came.coded().2, field.coded().2);
        }
        section.clear();
        assert!(section.0.is_empty() && section.0.capacity() <= KEEP);
        let long = vec![b'n'; 70_000];
        assert!(!section.put(&Field::new(&long, b"")));
    }

    #[test]
    fn what_does_not_come_again_and_what_is_secret_is_kept_out_of_tables() {
        let field = Field::fixed("x", "y");
        assert!(!field.is_unindexed());
        assert!(field.unindexed().is_unindexed() && field.secret().is_unindexed());
    }

    /// What is compressed at once must change no table: a lead that would is not remembered either.
    #[test]
    fn a_lead_that_is_in_no_table_is_refused_each_time() {
        let mut lead = HeaderPrefix::new();
        assert!(lead.put(&Field::fixed("x-lead", "1")));
        let mut encoder = Encoder::new();
        for _ in 0..3 {
            let mut block = Vec::new();
            assert!(!encoder.without_change(|encoder| lead.encode(encoder, &mut block)));
        }
    }

    #[test]
    fn what_was_compressed_before_is_compressed_again_when_indices_have_changed() {
        let field = |name, value| Field::named(name, value);
        let mut lead = HeaderPrefix::new();
        assert_eq!(lead.first(), None);
        assert!(lead.put(&field("x-lead", b"1")));
        assert_eq!(lead.first(), Some((&b"x-lead"[..], &b"1"[..])));
        let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new(4096));
        let mut read = |block: &[u8]| {
            let mut fields = Vec::new();
            decoder.decode(block, 1000, &mut fields).unwrap();
            fields
        };
        let mut enter = |encoder: &mut Encoder, field: Field<'_>| {
            let mut block = Vec::new();
            let (name, value, indexing) = field.coded();
            encoder.field(name, value, indexing, &mut block);
            read(&block)
        };
        let lead_alone = enter(&mut encoder, field("x-lead", b"1"));
        let mut blocks = Vec::new();
        for other in ["x-one", "x-two"] {
            for _ in 0..2 {
                let mut block = Vec::new();
                assert!(encoder.without_change(|encoder| lead.encode(encoder, &mut block)));
                blocks.push(block);
            }
            enter(&mut encoder, field(other, b"2"));
        }
        // Twice the same index, then the one behind it.
        assert_eq!(blocks, [[0xbe], [0xbe], [0xbf], [0xbf]]);
        assert_eq!(lead_alone[4..], *b"x-lead1");
        // A lead that grew is another.
        let mut block = Vec::new();
        assert!(lead.put(&field("x-two", b"2")));
        assert_eq!(lead.fields().count(), 2);
        assert!(encoder.without_change(|encoder| lead.encode(encoder, &mut block)));
        assert_eq!(read(&block)[4..], *b"x-lead1\x05\x01\0\0x-two2");
        lead.clear();
        let mut block = Vec::new();
        assert!(encoder.without_change(|encoder| lead.encode(encoder, &mut block)));
        assert_eq!(block, b"");
    }
}
