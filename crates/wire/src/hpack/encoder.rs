//! Header blocks on their way out.

use super::digest::{digest, join};
use super::dynamic_table::{DynamicTable, OVERHEAD};
use super::flat::{self, is};
use super::runs::Runs;
use super::{huffman, integer, static_table};

/// The largest table that is used, whatever the peer allows.
const MAX_TABLE_SIZE: usize = 4096;

/// Places of the tables by which entries are found; a power of two.
const PLACES: usize = 128;

/// Sets of the memory of what was found last; a power of two.
const SETS: usize = 64;

/// Whether a field is to be remembered by both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "closed by RFC 7541, 6.2")]
pub enum Indexing {
    /// It will come again: it enters the table.
    Yes,
    /// It will not come again, and would only push others out.
    No,
    /// It is secret: nobody on the way may put it into a table either (RFC 7541, 6.2.3 and 7.1.3).
    Never,
}

/// Writes the header blocks of one direction of a connection, in the order in which they are sent.
#[derive(Debug)]
pub struct Encoder {
    table: DynamicTable<Before>,
    /// The numbers of the entries that were found last, two for the fields that look alike at first
    /// sight: most fields of most blocks. They are compared with what is there now.
    recent: Box<[[u32; 2]; SETS]>,
    /// The same for names alone.
    recent_names: Box<[[u32; 2]; SETS]>,
    /// The number of the newest entry of each digest of name and value.
    fields: Box<[u32; PLACES]>,
    /// The same by the digest of the name alone.
    names: Box<[u32; PLACES]>,
    /// What sections began with and came to.
    runs: Runs,
    /// What the next block must say of the table's size: the least since the last block, and the last
    /// (RFC 7541, 4.2).
    sizes: Option<(usize, usize)>,
    /// Nothing may enter the tables now; and something should have.
    is_frozen: bool,
    was_refused: bool,
}

/// The numbers of the entries that came before one at its places: chains from the newest to those that
/// are no more.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    field: u32,
    name: u32,
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
            recent: Box::new([[0; 2]; SETS]),
            recent_names: Box::new([[0; 2]; SETS]),
            fields: Box::new([0; PLACES]),
            names: Box::new([0; PLACES]),
            runs: Runs::new(),
            sizes: None,
            is_frozen: false,
            was_refused: false,
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

    /// Begins a block; its fields follow. Changes of the table's size come first (RFC 7541, 4.2 and 6.3).
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

    /// Appends a whole block. Names must be in lower case.
    ///
    /// The fields in front that are to be remembered are most often those of a block before, and then
    /// taken as a whole: fields that vary or are secret are best put behind them.
    pub fn block<'f>(
        &mut self,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8], Indexing)> + Clone,
        out: &mut Vec<u8>,
    ) {
        self.begin(out);
        let (place, version) = (block_at_first_sight(fields.clone()), self.table.version());
        let run = self.runs.get(place, version);
        let mut rest = fields.clone();
        if let Some((lead, indices)) = run
            && begins_with(&mut rest, lead)
        {
            out.extend_from_slice(indices);
        } else {
            let start = out.len();
            rest = fields.clone();
            let lead = fields.take_while(|field| field.2 == Indexing::Yes);
            for (name, value, indexing) in lead.clone() {
                self.field(name, value, indexing, out);
                rest.next();
            }
            // Else something was new, and will be an index the next time.
            if self.table.version() == version && !self.was_refused {
                let write = |from: &mut Vec<u8>| write_flat(lead, from);
                self.runs.remember(place, write, &out[start..], 0, version);
            }
        }
        for (name, value, indexing) in rest {
            self.field(name, value, indexing, out);
        }
    }

    /// Runs `write`, which appends a block's fields, without changing the tables: `false` when a field
    /// would have had to enter one, or the block must say something else first. What was appended is then
    /// worth nothing, and it is as if it had not been tried. A block that came out may be sent or not.
    pub fn without_change(&mut self, write: impl FnOnce(&mut Self)) -> bool {
        if self.sizes.is_some() {
            return false;
        }
        self.is_frozen = true;
        write(self);
        self.is_frozen = false;
        !std::mem::take(&mut self.was_refused)
    }

    /// Whether a field was not written, since [`without_change`](Self::without_change) began.
    #[must_use]
    pub const fn was_refused(&self) -> bool {
        self.was_refused
    }

    /// Another number when fields may come to something else than they did.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.table.version()
    }

    /// Appends one field. Names must be in lower case.
    #[inline(never)]
    pub fn field(&mut self, name: &[u8], value: &[u8], indexing: Indexing, out: &mut Vec<u8>) {
        let flags = match indexing {
            Indexing::Yes if name.len() | value.len() >> 16 <= 0xff => {
                let set = first_sight(name, value);
                let index = self.index_if(self.recent[set][0], |entry| is(entry, name, value));
                // Larger ones take more than an octet.
                if index != 0 && index < 0x7f && out.len() < out.capacity() {
                    out.push(0x80 | index as u8);
                    return;
                }
                return self.find_or_insert(set, name, value, out);
            }
            Indexing::Yes | Indexing::No => 0,
            Indexing::Never => 0x10,
        };
        self.literal(flags, name, value, out);
    }

    /// A field that is not where it is looked for first.
    #[inline(never)]
    fn find_or_insert(&mut self, set: usize, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
        for number in self.recent[set] {
            let index = self.index_if(number, |entry| is(entry, name, value));
            if index != 0 {
                return integer::write(0x80, 0x7f, index, out);
            }
        }
        let name_digest = digest(name);
        let known = static_table::find_name(name, name_digest);
        if let Some(number) = known.and_then(|first| static_table::find(first, name, value)) {
            remind(&mut self.recent[set], number as u32);
            return integer::write(0x80, 0x7f, number as u32, out);
        }
        let field_digest = join(name_digest, digest(value));
        let newest = self.fields[field_digest as usize % PLACES];
        let found = self.find(
            newest,
            |before| before.field,
            |entry| is(entry, name, value),
        );
        if let Some(number) = found {
            remind(&mut self.recent[set], number);
            return integer::write(0x80, 0x7f, self.index(number), out);
        }
        let size = name.len() + value.len() + OVERHEAD;
        if size > self.table.max_size() * 3 / 4 {
            return self.literal(0, name, value, out);
        }
        if self.is_frozen {
            self.was_refused = true;
            return;
        }
        let index = match known {
            Some(number) => number as u32,
            None => self
                .find_name(name, name_digest)
                .map_or(0, |number| self.index(number)),
        };
        // RFC 7541, 6.2.1.
        integer::write(0x40, 0x3f, index, out);
        if index == 0 {
            write_shortest(name, out);
        }
        write_shortest(value, out);
        remind(&mut self.recent[set], self.table.next());
        self.insert(name, value, field_digest, name_digest);
    }

    fn insert(&mut self, name: &[u8], value: &[u8], field_digest: u32, name_digest: u32) {
        let number = self.table.next();
        let fields = &mut self.fields[field_digest as usize % PLACES];
        let names = &mut self.names[name_digest as usize % PLACES];
        // An entry that is gone is not gone on looking for: its number may come again one day.
        let table = &self.table;
        let none = number.wrapping_sub(1 << 31);
        let before = |place: &mut u32| {
            let newest = std::mem::replace(place, number);
            table.get(newest).map_or(none, |_| newest)
        };
        let before = Before {
            field: before(fields),
            name: before(names),
        };
        let prefix = flat::prefix(name.len(), value.len());
        self.table.insert([&prefix, name, value], before);
    }

    /// A field that is not remembered (RFC 7541, 6.2.2 and 6.2.3). Its strings stand as they are: what the
    /// code saves, a quarter of their octets, costs several instructions an octet at either end, each time.
    #[inline(never)]
    fn literal(&mut self, flags: u8, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
        let set = first_sight(name, b"");
        let mut index = self.index_if(self.recent_names[set][0], |entry| {
            flat::has_name(entry, name)
        });
        if index == 0 {
            index = self.index_of_name(set, name);
        }
        integer::write(flags, 0x0f, index, out);
        if index == 0 {
            write_plain(name, out);
        }
        write_plain(value, out);
    }

    /// What the peer knows a name by that is not where it is looked for first; 0 when it does not.
    #[inline(never)]
    fn index_of_name(&mut self, set: usize, name: &[u8]) -> u32 {
        let second = self.recent_names[set][1];
        let index = self.index_if(second, |entry| flat::has_name(entry, name));
        if index != 0 {
            return index;
        }
        let digest = digest(name);
        let (number, index) = match static_table::find_name(name, digest) {
            Some(number) => (number as u32, number as u32),
            None => match self.find_name(name, digest) {
                Some(number) => (number, self.index(number)),
                None => return 0,
            },
        };
        remind(&mut self.recent_names[set], number);
        index
    }

    /// What the peer knows the entry of this number by, when it is the right one; 0 when not.
    #[inline(always)]
    fn index_if(&self, number: u32, is: impl Fn(&[u8]) -> bool) -> u32 {
        let (octets, index) = if let Some((octets, _)) = static_table::entry(number as usize) {
            (&octets[..], number)
        } else if let Some(found) = self.table.get(number) {
            (found.octets, self.index(number))
        } else {
            return 0;
        };
        if is(octets) { index } else { 0 }
    }

    fn find_name(&self, name: &[u8], digest: u32) -> Option<u32> {
        let newest = self.names[digest as usize % PLACES];
        let is = |entry: &[u8]| flat::has_name(entry, name);
        self.find(newest, |before| before.name, is)
    }

    /// Follows a chain. It ends: what comes before an entry is older, or was gone when the entry came.
    fn find(
        &self,
        newest: u32,
        before: impl Fn(Before) -> u32,
        is: impl Fn(&[u8]) -> bool,
    ) -> Option<u32> {
        let mut number = newest;
        loop {
            let entry = self.table.get(number)?;
            if is(entry.octets) {
                return Some(number);
            }
            number = before(entry.link);
        }
    }

    /// What the peer knows an entry by (RFC 7541, 2.3.3).
    const fn index(&self, number: u32) -> u32 {
        self.table.age(number) + 1 + static_table::LENGTH as u32
    }
}

/// Puts a number in front; the one that was used last stays behind it.
const fn remind(recent: &mut [u32; 2], number: u32) {
    *recent = [number, recent[0]];
}

/// A number for a field that most others of a connection do not share, from next to nothing.
#[inline]
fn first_sight(name: &[u8], value: &[u8]) -> usize {
    let last = |octets: &[u8]| {
        let octet = octets.get(octets.len().wrapping_sub(1));
        u32::from(octet.copied().unwrap_or_default())
    };
    let lengths = (name.len() as u32) << 24 ^ (value.len() as u32) << 16;
    let sum = (lengths ^ last(name) << 8 ^ last(value)).wrapping_mul(0x9e37_79b1);
    (sum >> 16) as usize % SETS
}

/// The same for a block: its path is among the first fields.
#[inline]
fn block_at_first_sight<'f>(fields: impl Iterator<Item = (&'f [u8], &'f [u8], Indexing)>) -> usize {
    let sights = fields.take(4).map(|(_, value, _)| {
        let last = value.get(value.len().wrapping_sub(1));
        value.len() + usize::from(last.copied().unwrap_or_default())
    });
    sights.sum()
}

/// Whether the fields begin with these, flat, which are then taken of them.
#[inline]
fn begins_with<'f>(
    fields: &mut impl Iterator<Item = (&'f [u8], &'f [u8], Indexing)>,
    flat: &[u8],
) -> bool {
    let mut rest = flat;
    while !rest.is_empty() {
        let Some((name, value, Indexing::Yes)) = fields.next() else {
            return false;
        };
        let length = flat::PREFIX + name.len() + value.len();
        if length > rest.len() || !flat::fits(name.len(), value.len()) || !is(rest, name, value) {
            return false;
        }
        rest = &rest[length..];
    }
    true
}

/// Writes the fields, flat; nothing when one of them does not fit.
fn write_flat<'f>(
    fields: impl Iterator<Item = (&'f [u8], &'f [u8], Indexing)>,
    flat: &mut Vec<u8>,
) {
    for (name, value, _) in fields {
        if !flat::fits(name.len(), value.len()) {
            return flat.clear();
        }
        flat.extend_from_slice(&flat::prefix(name.len(), value.len()));
        flat.extend_from_slice(name);
        flat.extend_from_slice(value);
    }
}

/// Appends a string in whichever form is shorter (RFC 7541, 5.2).
fn write_shortest(string: &[u8], out: &mut Vec<u8>) {
    let length = huffman::encoded_length(string);
    if length < string.len() {
        integer::write(0x80, 0x7f, length as u32, out);
        huffman::encode(string, out);
    } else {
        write_plain(string, out);
    }
}

fn write_plain(string: &[u8], out: &mut Vec<u8>) {
    integer::write(0, 0x7f, string.len() as u32, out);
    out.extend_from_slice(string);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpack::Decoder;

    type Sent<'a> = (&'a [u8], &'a [u8], Indexing);

    fn read(decoder: &mut Decoder, block: &[u8]) -> Vec<u8> {
        let mut fields = Vec::new();
        decoder.decode(block, 1 << 20, &mut fields).unwrap();
        fields
    }

    /// Three quarters of the table, so that one field does not push all others out.
    #[test]
    fn a_field_enters_the_table_unless_it_would_nearly_fill_it() {
        for (size, enters) in [(3072, true), (3073, false)] {
            let mut encoder = Encoder::new();
            let value = vec![b'v'; size - OVERHEAD - 1];
            let before = encoder.version();
            encoder.field(b"n", &value, Indexing::Yes, &mut Vec::new());
            assert_eq!(encoder.version() != before, enters, "{size}");
        }
    }

    #[test]
    fn a_name_that_the_flat_form_cannot_hold_enters_no_table() {
        for (length, enters) in [(255, true), (256, false)] {
            let mut encoder = Encoder::new();
            let before = encoder.version();
            let name = vec![b'n'; length];
            encoder.field(&name, b"v", Indexing::Yes, &mut Vec::new());
            assert_eq!(encoder.version() != before, enters, "{length}");
        }
    }

    #[test]
    fn of_two_forms_that_are_equally_long_a_string_stands_as_it_is() {
        for (string, written) in [
            (&b"0"[..], &[1, b'0'][..]),
            (b"!", &[1, b'!']),
            (b"00000", &[0x84, 0, 0, 0, 0x7f]),
        ] {
            let mut out = Vec::new();
            write_shortest(string, &mut out);
            assert_eq!(out, written);
        }
    }

    #[test]
    fn entries_far_back_are_said_by_indices_of_more_than_an_octet() {
        let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new(4096));
        let values: Vec<_> = (0..100_u8).map(|number| [b'v', number]).collect();
        for _ in 0..3 {
            for value in &values {
                let mut block = Vec::with_capacity(100);
                encoder.field(b"n", value, Indexing::Yes, &mut block);
                assert_eq!(read(&mut decoder, &block)[4..], [&b"n"[..], value].concat());
            }
        }
    }

    #[test]
    fn what_was_not_to_be_remembered_enters_the_table_when_it_is() {
        let mut encoder = Encoder::new();
        for (indexing, enters) in [
            (Indexing::No, false),
            (Indexing::Never, false),
            (Indexing::Yes, true),
            (Indexing::Yes, false),
        ] {
            let before = encoder.version();
            let field: Sent<'_> = (b"x", b"1", indexing);
            encoder.block([field].into_iter(), &mut Vec::new());
            assert_eq!(encoder.version() != before, enters);
        }
    }

    #[test]
    fn what_a_block_that_was_refused_came_to_is_not_remembered() {
        let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new(4096));
        let fields: [Sent<'_>; 2] = [
            (b":method", b"GET", Indexing::Yes),
            (b"x-new", b"1", Indexing::Yes),
        ];
        let is_known = encoder.without_change(|encoder| {
            assert!(!encoder.was_refused());
            encoder.block(fields.into_iter(), &mut Vec::new());
            assert!(encoder.was_refused());
        });
        assert!(!is_known && !encoder.was_refused());
        for _ in 0..3 {
            let mut block = Vec::new();
            encoder.block(fields.into_iter(), &mut block);
            let expected = b"\x07\x03\0\0:methodGET\x05\x01\0\0x-new1";
            assert_eq!(read(&mut decoder, &block), expected);
        }
    }
}
