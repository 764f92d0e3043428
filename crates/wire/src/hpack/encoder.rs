//! Header blocks on their way out.

use super::digest::{digest, join};
use super::dynamic_table::{DynamicTable, OVERHEAD};
use super::{flat, huffman, integer, static_table};

/// The largest table that is used, whatever the peer allows.
const MAX_TABLE_SIZE: usize = 4096;

/// Places of the tables by which entries are found; a power of two.
const PLACES: usize = 128;

/// Whether a field is to be remembered by both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "closed by RFC 7541, 6.2")]
pub enum Indexing {
    /// It will come again: it enters the table.
    Yes,
    /// It will not come again, and would only push others out.
    No,
    /// It is secret: nobody on the way may put it into a table either (7.1.3).
    Never,
}

/// Writes the header blocks of one direction of a connection, in the order in which they are sent.
#[derive(Debug)]
pub struct Encoder {
    table: DynamicTable<Link>,
    /// The number of the newest entry of each digest of name and value, plus one.
    fields: Box<[u64; PLACES]>,
    /// The same by the digest of the name alone.
    names: Box<[u64; PLACES]>,
    /// What the next block must say of the table's size: the least since the last block, and the last.
    sizes: Option<(usize, usize)>,
}

/// How entries of one place are found: from the newest to those before it.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    field: u32,
    name: u32,
    /// The number of the one before it in its place, plus one; old ones are gone.
    before_field: u64,
    before_name: u64,
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Encoder {
    /// An encoder for a peer that allows a table of 4096 octets, as every peer does at first.
    #[must_use]
    pub fn new() -> Self {
        Self {
            table: DynamicTable::new(MAX_TABLE_SIZE),
            fields: Box::new([0; PLACES]),
            names: Box::new([0; PLACES]),
            sizes: None,
        }
    }

    /// The peer allows a table of this size (`SETTINGS_HEADER_TABLE_SIZE`). Of a large one a part is
    /// used.
    pub fn set_max_table_size(&mut self, size: u32) {
        let size = (size as usize).min(MAX_TABLE_SIZE);
        if self.sizes.is_some() || size != self.table.max_size() {
            let least = self.sizes.map_or(size, |(least, _)| least.min(size));
            self.sizes = Some((least, size));
            self.table.set_max_size(size);
        }
    }

    /// Begins a block; its fields follow.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if let Some((least, last)) = self.sizes.take() {
            for size in [least, last] {
                // Both fit: they are at most `MAX_TABLE_SIZE`.
                integer::write(0x20, 0x1f, size as u32, out);
                if least == last {
                    break;
                }
            }
        }
    }

    /// Appends one field. Names must be in lower case.
    pub fn field(&mut self, name: &[u8], value: &[u8], indexing: Indexing, out: &mut Vec<u8>) {
        let name_digest = digest(name);
        let known = static_table::find_name(name, name_digest);
        match indexing {
            Indexing::Yes => {}
            Indexing::No => return self.literal(0, 0x0f, name, name_digest, known, value, out),
            Indexing::Never => {
                return self.literal(0x10, 0x0f, name, name_digest, known, value, out);
            }
        }
        if let Some(number) = known.and_then(|first| static_table::find_value(first, value)) {
            return integer::write(0x80, 0x7f, number as u32, out);
        }
        let field_digest = join(name_digest, digest(value));
        if let Some(number) = self.find_field(field_digest, name, value) {
            return integer::write(0x80, 0x7f, self.index(number), out);
        }
        let size = name.len() + value.len() + OVERHEAD;
        if size > self.table.max_size() * 3 / 4 || !flat::fits(name.len(), value.len()) {
            return self.literal(0, 0x0f, name, name_digest, known, value, out);
        }
        self.literal(0x40, 0x3f, name, name_digest, known, value, out);
        self.remember(name, value, field_digest, name_digest);
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one field")]
    fn literal(
        &self,
        flags: u8,
        mask: u8,
        name: &[u8],
        name_digest: u32,
        known: Option<usize>,
        value: &[u8],
        out: &mut Vec<u8>,
    ) {
        let number = match known {
            Some(number) => number as u32,
            None => self
                .find_name(name_digest, name)
                .map_or(0, |number| self.index(number)),
        };
        integer::write(flags, mask, number, out);
        if number == 0 {
            write_string(name, out);
        }
        write_string(value, out);
    }

    fn find_field(&self, digest: u32, name: &[u8], value: &[u8]) -> Option<u64> {
        let mut next = self.fields[digest as usize % PLACES];
        loop {
            let number = next.wrapping_sub(1);
            let (entry, link) = self.table.get(number)?;
            if link.field == digest && flat::name(entry) == name && flat::value(entry) == value {
                return Some(number);
            }
            next = link.before_field;
        }
    }

    fn find_name(&self, digest: u32, name: &[u8]) -> Option<u64> {
        let mut next = self.names[digest as usize % PLACES];
        loop {
            let number = next.wrapping_sub(1);
            let (entry, link) = self.table.get(number)?;
            if link.name == digest && flat::name(entry) == name {
                return Some(number);
            }
            next = link.before_name;
        }
    }

    fn remember(&mut self, name: &[u8], value: &[u8], field_digest: u32, name_digest: u32) {
        let fields = &mut self.fields[field_digest as usize % PLACES];
        let names = &mut self.names[name_digest as usize % PLACES];
        let link = Link {
            field: field_digest,
            name: name_digest,
            before_field: *fields,
            before_name: *names,
        };
        (*fields, *names) = (self.table.inserted() + 1, self.table.inserted() + 1);
        let prefix = flat::prefix(name.len(), value.len());
        self.table.insert([&prefix, name, value], link);
    }

    /// What the peer knows an entry by.
    const fn index(&self, number: u64) -> u32 {
        // Never more than the entries of both tables.
        (self.table.inserted() - number) as u32 + static_table::LENGTH as u32
    }
}

fn write_string(string: &[u8], out: &mut Vec<u8>) {
    let length = huffman::encoded_length(string);
    if length < string.len() {
        integer::write(0x80, 0x7f, length as u32, out);
        huffman::encode(string, out);
    } else {
        integer::write(0, 0x7f, string.len() as u32, out);
        out.extend_from_slice(string);
    }
}
