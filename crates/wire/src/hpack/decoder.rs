//! Header blocks on their way in.

use super::dynamic_table::{DynamicTable, OVERHEAD};
use super::{DecodeError, flat, huffman, integer, static_table};

/// Reads the header blocks of one direction of a connection, in the order in which they came.
#[derive(Debug)]
pub struct Decoder {
    table: DynamicTable<()>,
    /// The largest table that the peer may use.
    allowed: usize,
    /// The smallest that it was told since its last block, when that is smaller than what it used.
    required: Option<usize>,
}

/// What became of a header block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decoded {
    /// The fields were more than the limit, or a name longer than 255 octets: from that field on they
    /// are missing.
    pub oversized: bool,
}

impl Decoder {
    /// A decoder whose peer may use a table of this size (`SETTINGS_HEADER_TABLE_SIZE`; 4096 where a
    /// connection's SETTINGS do not say).
    #[must_use]
    pub const fn new(max_table_size: u32) -> Self {
        Self {
            table: DynamicTable::new(max_table_size as usize),
            allowed: max_table_size as usize,
            required: None,
        }
    }

    /// The peer has acknowledged another `SETTINGS_HEADER_TABLE_SIZE`.
    pub fn set_max_table_size(&mut self, size: u32) {
        self.allowed = size as usize;
        if self.allowed < self.table.max_size() {
            let required = self
                .required
                .map_or(self.allowed, |least| least.min(self.allowed));
            self.required = Some(required);
        }
    }

    /// Reads a whole header block, CONTINUATION frames joined, and appends its fields to `out`: for each
    /// the length of its name in an octet, that of its value in three, little-endian; name; value.
    ///
    /// `limit` is what [`Decoded::oversized`] measures: octets of names and values and 32 for each
    /// field (`SETTINGS_MAX_HEADER_LIST_SIZE`).
    ///
    /// # Errors
    /// When it is no header block. The connection is to be ended with COMPRESSION_ERROR: this decoder
    /// cannot read what follows. `out` is as before.
    pub fn decode(
        &mut self,
        block: &[u8],
        limit: usize,
        out: &mut Vec<u8>,
    ) -> Result<Decoded, DecodeError> {
        let start = out.len();
        let mut section = Section {
            out,
            left: limit,
            oversized: false,
        };
        let decoded = self.read(block, &mut section);
        let oversized = section.oversized;
        if decoded.is_err() {
            out.truncate(start);
        }
        decoded.map(|()| Decoded { oversized })
    }

    fn read(&mut self, block: &[u8], section: &mut Section<'_>) -> Result<(), DecodeError> {
        let mut rest = self.read_sizes(block)?;
        while let Some((&first, behind)) = rest.split_first() {
            rest = behind;
            if first & 0x80 != 0 {
                // Indexed (6.1).
                let number = integer::read(first, 0x7f, &mut rest)?;
                let field = find(&self.table, number)?;
                section.add(&field);
            } else if first & 0x40 != 0 {
                // A literal that enters the table (6.2.1).
                let number = integer::read(first, 0x3f, &mut rest)?;
                let literal = self.read_literal(number, &mut rest, section)?;
                let octets = &section.out[literal.start..];
                let (prefix, field) = octets.split_at(flat::PREFIX);
                let (name, value) = field.split_at(literal.name);
                self.table.insert([prefix, name, value], ());
                section.settle(&literal);
            } else if first & 0x20 != 0 {
                return Err(DecodeError::LateTableSize);
            } else {
                // A literal that does not, or may not on the way either (6.2.2, 6.2.3).
                let number = integer::read(first, 0x0f, &mut rest)?;
                let literal = self.read_literal(number, &mut rest, section)?;
                section.settle(&literal);
            }
        }
        Ok(())
    }

    /// Changes of the table's size stand in front of all fields (4.2); gives what stands behind them.
    fn read_sizes<'b>(&mut self, block: &'b [u8]) -> Result<&'b [u8], DecodeError> {
        let mut rest = block;
        while let Some((&first, mut behind)) = rest.split_first()
            && first & 0xe0 == 0x20
        {
            let size = integer::read(first, 0x1f, &mut behind)? as usize;
            if size > self.required.take().unwrap_or(self.allowed) {
                return Err(DecodeError::TableSize);
            }
            self.table.set_max_size(size);
            rest = behind;
        }
        if self.required.is_some() && !rest.is_empty() {
            return Err(DecodeError::NoTableSize);
        }
        Ok(rest)
    }

    /// Writes a field whose name has this number, or stands here too, behind the others.
    fn read_literal(
        &self,
        number: u32,
        rest: &mut &[u8],
        section: &mut Section<'_>,
    ) -> Result<Literal, DecodeError> {
        let out = &mut *section.out;
        let start = out.len();
        out.extend_from_slice(&[0; flat::PREFIX]);
        let name = if number == 0 {
            read_string(rest, out)?
        } else {
            let field = find(&self.table, number)?;
            out.extend_from_slice(&field.octets[flat::PREFIX..][..field.name]);
            field.name
        };
        let value = read_string(rest, out)?;
        out[start..][..flat::PREFIX].copy_from_slice(&flat::prefix(name, value));
        Ok(Literal { start, name, value })
    }
}

/// A field of one of the tables.
struct Field<'t> {
    octets: &'t [u8],
    name: usize,
    value: usize,
}

fn find(table: &DynamicTable<()>, number: u32) -> Result<Field<'_>, DecodeError> {
    let number = number as usize;
    if number <= static_table::LENGTH {
        let octets = static_table::entry(number).ok_or(DecodeError::Index)?;
        let name = flat::name(octets).len();
        let value = octets.len() - flat::PREFIX - name;
        return Ok(Field {
            octets,
            name,
            value,
        });
    }
    let back = (number - static_table::LENGTH) as u64;
    let number = table.inserted().wrapping_sub(back);
    let (octets, ()) = table.get(number).ok_or(DecodeError::Index)?;
    let (name, value) = table.lengths(number);
    Ok(Field {
        octets,
        name,
        value,
    })
}

/// Appends a string (5.2); says how long it is.
fn read_string(rest: &mut &[u8], out: &mut Vec<u8>) -> Result<usize, DecodeError> {
    let (&first, behind) = rest.split_first().ok_or(DecodeError::Truncated)?;
    *rest = behind;
    let length = integer::read(first, 0x7f, rest)? as usize;
    let (string, behind) = rest
        .split_at_checked(length)
        .ok_or(DecodeError::Truncated)?;
    *rest = behind;
    if first & 0x80 == 0 {
        out.extend_from_slice(string);
        return Ok(length);
    }
    let start = out.len();
    huffman::decode(string, out)?;
    Ok(out.len() - start)
}

/// A field that stands behind the others and is not yet one of them.
struct Literal {
    start: usize,
    name: usize,
    value: usize,
}

/// The fields of a block.
struct Section<'o> {
    out: &'o mut Vec<u8>,
    left: usize,
    oversized: bool,
}

impl Section<'_> {
    fn add(&mut self, field: &Field<'_>) {
        if self.admit(field.name, field.value) {
            self.out.extend_from_slice(field.octets);
        }
    }

    /// Keeps a literal or takes it away again.
    fn settle(&mut self, literal: &Literal) {
        if !self.admit(literal.name, literal.value) {
            self.out.truncate(literal.start);
        }
    }

    fn admit(&mut self, name: usize, value: usize) -> bool {
        match self.left.checked_sub(name + value + OVERHEAD) {
            Some(left) if !self.oversized && flat::fits(name, value) => {
                self.left = left;
                true
            }
            _ => {
                self.oversized = true;
                false
            }
        }
    }
}
