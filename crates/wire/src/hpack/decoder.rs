//! Header blocks on their way in.

use super::dynamic_table::{DynamicTable, Found, OVERHEAD};
use super::flat::{self, SLACK};
use super::runs::Runs;
use super::{DecodeError, huffman, integer, static_table};

/// Reads the header blocks of one direction of a connection, in the order in which they came.
#[derive(Debug)]
pub struct Decoder {
    table: DynamicTable<()>,
    /// The largest table that the peer may use.
    allowed: usize,
    /// What indices that blocks began with came to.
    runs: Runs,
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
            runs: Runs::new(),
            required: None,
        }
    }

    /// The peer has acknowledged another `SETTINGS_HEADER_TABLE_SIZE`. When that is less than it used, its
    /// next block says so (RFC 7541, 4.2).
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
        let read = self.read(block, limit, out);
        if read.is_err() {
            out.truncate(start);
        }
        read
    }

    #[inline(always)]
    fn read(
        &mut self,
        block: &[u8],
        limit: usize,
        out: &mut Vec<u8>,
    ) -> Result<Decoded, DecodeError> {
        let mut rest = block;
        if self.required.is_some() || block.first().is_some_and(|first| first & 0xe0 == 0x20) {
            rest = self.read_sizes(block)?;
        }
        let mut left = limit;
        let (place, version) = (first_sight(rest), self.table.version());
        let run = self.runs.find(place, rest, version);
        let is_known = match run {
            Some((fields, length, cost)) if cost <= left => {
                out.extend_from_slice(fields);
                left -= cost;
                rest = &rest[length..];
                true
            }
            _ => false,
        };
        if rest.is_empty() {
            return Ok(Decoded::default());
        }
        let start = out.len();
        let mut section = Section {
            out,
            end: start,
            left,
            oversized: false,
        };
        // Once: what comes of a block of indices, or most of it.
        section.grow((rest.len() * 32).min(1024));
        if !is_known {
            let run = rest;
            rest = self.read_indexed(rest, &mut section);
            let length = run.len() - rest.len();
            let fields = &section.out[start..section.end];
            let cost = left - section.left;
            let write = |from: &mut Vec<u8>| from.extend_from_slice(&run[..length]);
            self.runs.remember(place, write, fields, cost, version);
        }
        while !rest.is_empty() {
            rest = self.read_field(rest, &mut section)?;
            if rest.first().is_some_and(|first| first & 0x80 != 0) {
                rest = self.read_indexed(rest, &mut section);
            }
        }
        let Section { end, oversized, .. } = section;
        out.truncate(end);
        Ok(Decoded { oversized })
    }

    /// Reads fields that are in the tables (RFC 7541, 6.1) as long as nothing about them is unusual. Most
    /// blocks are nothing else.
    #[inline(never)]
    fn read_indexed<'b>(&self, block: &'b [u8], section: &mut Section<'_>) -> &'b [u8] {
        let mut rest = block;
        let mut end = section.end;
        let mut left = section.left;
        let out = section.out.as_mut_slice();
        while let Some((&first, behind)) = rest.split_first()
            && first > 0x80
            && first < 0xff
        {
            let number = usize::from(first & 0x7f);
            let (octets, length) = if let Some(entry) = static_table::entry(number) {
                entry
            } else if let Ok(found) = self.find(number)
                && found.length <= SLACK
                && let Some(octets) = found.octets.first_chunk()
            {
                (octets, found.length)
            } else {
                break;
            };
            let room = out.get_mut(end..);
            let Some(room) = room.and_then(|room| room.first_chunk_mut::<SLACK>()) else {
                break;
            };
            let Some(less) = left.checked_sub(length + (OVERHEAD - flat::PREFIX)) else {
                break;
            };
            *room = *octets;
            end += length;
            left = less;
            rest = behind;
        }
        section.end = end;
        section.left = left;
        rest
    }

    /// Reads any field; gives what stands behind it.
    #[inline(never)]
    fn read_field<'b>(
        &mut self,
        block: &'b [u8],
        section: &mut Section<'_>,
    ) -> Result<&'b [u8], DecodeError> {
        let (&first, mut rest) = block.split_first().ok_or(DecodeError::Truncated)?;
        // RFC 7541, 6.1. Number 0 is in no table: an error.
        if first & 0x80 != 0 {
            let number = integer::read(first, 0x7f, &mut rest)? as usize;
            if let Some((octets, length)) = static_table::entry(number) {
                section.add(&octets[..length], 0);
            } else {
                let found = self.find(number)?;
                section.add(&found.octets[..found.length], found.name);
            }
            return Ok(rest);
        }
        let (enters, mask) = match first {
            // A literal that enters the table (RFC 7541, 6.2.1).
            0x40.. => (true, 0x3f),
            // RFC 7541, 4.2: the table's size changes in front of all fields.
            0x20.. => return Err(DecodeError::LateTableSize),
            // One that does not, or may not on the way either (RFC 7541, 6.2.2 and 6.2.3).
            _ => (false, 0x0f),
        };
        let number = integer::read(first, mask, &mut rest)? as usize;
        let literal = self.read_literal(number, &mut rest, section)?;
        if enters {
            let octets = &section.out[literal.start..section.end];
            let (prefix, field) = octets.split_at(flat::PREFIX);
            let (name, value) = field.split_at(literal.name);
            self.table.insert([prefix, name, value], ());
        }
        section.settle(&literal);
        Ok(rest)
    }

    /// The entry of the dynamic table that has this number in a block: behind the static ones, the newest
    /// first (RFC 7541, 2.3.3).
    #[inline(always)]
    fn find(&self, number: usize) -> Result<Found<'_, ()>, DecodeError> {
        // Numbers come from 32 bits. None (0) is as far back as can be.
        let back = (number as u32).wrapping_sub(static_table::LENGTH as u32);
        let found = self.table.get(self.table.next().wrapping_sub(back));
        found.ok_or(DecodeError::Index)
    }

    /// Changes of the table's size stand in front of all fields (RFC 7541, 4.2); gives what stands behind
    /// them.
    #[cold]
    fn read_sizes<'b>(&mut self, block: &'b [u8]) -> Result<&'b [u8], DecodeError> {
        let mut rest = block;
        while let Some((&first, mut behind)) = rest.split_first()
            && first & 0xe0 == 0x20
        {
            let size = integer::read(first, 0x1f, &mut behind)? as usize;
            // RFC 7541, 6.3; and 4.2: the first is no larger than the smallest that was told.
            if size > self.required.take().unwrap_or(self.allowed) {
                return Err(DecodeError::TableSize);
            }
            self.table.set_max_size(size);
            rest = behind;
        }
        // RFC 7541, 4.2; RFC 9113, 4.3.1.
        if self.required.is_some() {
            return Err(DecodeError::NoTableSize);
        }
        Ok(rest)
    }

    /// Writes a field whose name has this number, or stands here too, behind the others.
    #[inline(always)]
    fn read_literal(
        &self,
        number: usize,
        rest: &mut &[u8],
        section: &mut Section<'_>,
    ) -> Result<Literal, DecodeError> {
        let start = section.end;
        section.put(&[0; flat::PREFIX]);
        match number {
            // RFC 7541, 6.2: the name stands here.
            0 => read_string(rest, section)?,
            1..=static_table::LENGTH => {
                let (octets, _) = static_table::entry(number).ok_or(DecodeError::Index)?;
                section.put(&octets[flat::PREFIX..][..usize::from(octets[0])]);
            }
            _ => {
                let found = self.find(number)?;
                section.put(&found.octets[flat::PREFIX..][..found.name]);
            }
        }
        let name = section.end - start - flat::PREFIX;
        read_string(rest, section)?;
        let value = section.end - start - flat::PREFIX - name;
        if let Some(prefix) = section.out[start..].first_chunk_mut() {
            *prefix = flat::prefix(name, value);
        }
        Ok(Literal { start, name, value })
    }
}

/// A number that blocks share which begin alike.
#[inline]
fn first_sight(block: &[u8]) -> usize {
    match block.first_chunk::<4>() {
        Some(four) => (u32::from_le_bytes(*four).wrapping_mul(0x9e37_79b1) >> 24) as usize,
        None => block.len() + usize::from(block.first().copied().unwrap_or_default()),
    }
}

/// Appends a string (RFC 7541, 5.2).
#[inline(always)]
fn read_string(rest: &mut &[u8], section: &mut Section<'_>) -> Result<(), DecodeError> {
    let (&first, behind) = rest.split_first().ok_or(DecodeError::Truncated)?;
    *rest = behind;
    let length = integer::read(first, 0x7f, rest)? as usize;
    let (string, behind) = rest
        .split_at_checked(length)
        .ok_or(DecodeError::Truncated)?;
    *rest = behind;
    if first & 0x80 == 0 {
        section.put(string);
        return Ok(());
    }
    let room = section.room(huffman::decoded_length(length));
    section.end += huffman::decode(string, room)?;
    Ok(())
}

/// A field that stands behind the others and is not yet one of them.
struct Literal {
    start: usize,
    name: usize,
    value: usize,
}

/// The fields of a block.
struct Section<'o> {
    /// Those up to `end`, and room for more.
    out: &'o mut Vec<u8>,
    end: usize,
    /// How much more is handed on.
    left: usize,
    oversized: bool,
}

impl Section<'_> {
    /// Adds a field of a table.
    fn add(&mut self, octets: &[u8], name: usize) {
        if self.admit(name, octets.len() - flat::PREFIX - name) {
            self.put(octets);
        }
    }

    #[inline]
    fn put(&mut self, octets: &[u8]) {
        flat::copy(self.room(octets.len()), octets);
        self.end += octets.len();
    }

    /// Room for so many octets behind what stands there.
    #[inline]
    fn room(&mut self, octets: usize) -> &mut [u8] {
        if self.out.len() - self.end < octets {
            self.grow(octets);
        }
        &mut self.out[self.end..]
    }

    #[inline(never)]
    fn grow(&mut self, octets: usize) {
        self.out.resize(self.end + octets + 2 * SLACK, 0);
    }

    /// Keeps a literal or takes it away again.
    fn settle(&mut self, literal: &Literal) {
        if !self.admit(literal.name, literal.value) {
            self.end = literal.start;
        }
    }

    /// Whether a field is handed on. When one is not, none behind it is.
    #[inline]
    fn admit(&mut self, name: usize, value: usize) -> bool {
        match self.left.checked_sub(name + value + OVERHEAD) {
            Some(left) if flat::fits(name, value) => {
                self.left = left;
                true
            }
            _ => {
                self.left = 0;
                self.oversized = true;
                false
            }
        }
    }
}
