//! Header blocks, one after another, are read as nghttp2 reads them or refused as it refuses them; what was
//! read is written by either for the other.

#[path = "../../crates/wire/tests/nghttp2/tables.rs"]
pub(crate) mod tables;

use corewire_wire::hpack::{Decoder, Encoder, Indexing};
use tables::{Deflater, Field, Inflater};

/// One input: blocks, each behind an octet that says how long it is. In place of a block of no octets one
/// octet says the table's size that is allowed from there on, in units of 32.
pub(crate) fn run(data: &[u8]) {
    let mut read = Pair::new();
    let mut ours_out = (Encoder::new(), Inflater::new());
    let mut theirs_out = (Deflater::new(), Decoder::new(4096));
    let mut rest = data;
    while let Some((&length, behind)) = rest.split_first() {
        if length == 0 {
            let Some((&units, behind)) = behind.split_first() else {
                return;
            };
            rest = behind;
            let size = u32::from(units) * 32;
            read.allow(size);
            ours_out.0.set_max_table_size(size);
            ours_out.1.allow(size);
            theirs_out.0.allow(size);
            theirs_out.1.set_max_table_size(size);
            continue;
        }
        let (block, behind) = behind.split_at(usize::from(length).min(behind.len()));
        rest = behind;
        let Some(fields) = read.read(block) else {
            return;
        };

        let mut block = Vec::new();
        ours_out.0.begin(&mut block);
        for (at, (name, value)) in fields.iter().enumerate() {
            let indexing = match at % 4 {
                0 => Indexing::Never,
                1 => Indexing::No,
                _ => Indexing::Yes,
            };
            ours_out.0.field(name, value, indexing, &mut block);
        }
        assert_eq!(ours_out.1.inflate(&block).as_ref(), Some(&fields));
        let block = theirs_out.0.deflate(&fields);
        assert_eq!(decode(&mut theirs_out.1, &block), Some(fields));
    }
}

/// Our decoder and theirs.
struct Pair {
    ours: Decoder,
    theirs: Inflater,
}

impl Pair {
    fn new() -> Self {
        Self {
            ours: Decoder::new(4096),
            theirs: Inflater::new(),
        }
    }

    fn allow(&mut self, size: u32) {
        self.ours.set_max_table_size(size);
        self.theirs.allow(size);
    }

    /// What both read; `None` when both refuse.
    fn read(&mut self, block: &[u8]) -> Option<Vec<Field>> {
        let theirs = self.theirs.inflate(block);
        let ours = decode(&mut self.ours, block);
        assert_eq!(ours, theirs);
        ours
    }
}

/// The fields of a block; `None` when it is none. Blocks are too short for names that are too long.
fn decode(decoder: &mut Decoder, block: &[u8]) -> Option<Vec<Field>> {
    let mut out = Vec::new();
    let decoded = decoder.decode(block, usize::MAX, &mut out).ok()?;
    let mut fields = Vec::new();
    let mut rest = &out[..];
    while let [name, v0, v1, v2, behind @ ..] = rest {
        let (name, behind) = behind.split_at(usize::from(*name));
        let value = u32::from_le_bytes([*v0, *v1, *v2, 0]) as usize;
        let (value, behind) = behind.split_at(value);
        fields.push((name.to_vec(), value.to_vec()));
        rest = behind;
    }
    assert!(rest.is_empty());
    assert!(!decoded.oversized);
    Some(fields)
}
