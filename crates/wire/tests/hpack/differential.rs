//! Our coding against nghttp2's: what either writes the other reads.

use super::fields;
use super::hpack_blocks::tables::{Deflater, Inflater};
use super::round_trips::{Step, step};
use super::{NO_LIMIT, hpack_blocks, round_trips};
use corewire_wire::hpack::{Decoder, Encoder};
use proptest::collection::vec;
use proptest::prelude::*;

/// Octets as header blocks have them, more often than chance would: short lengths, indices, beginnings of
/// literals, letters.
fn octet() -> impl Strategy<Value = u8> {
    prop_oneof![
        0..8_u8,
        0x20..0x24_u8,
        0x3c..0x42_u8,
        0x80..0x88_u8,
        0xba..0xc4_u8,
        b'a'..=b'z',
        any::<u8>(),
    ]
}

proptest! {
    #[test]
    fn either_reads_anything_as_the_other_does(data in vec(octet(), 0..200)) {
        hpack_blocks::run(&data);
    }

    #[test]
    fn nghttp2_reads_what_we_write_and_we_read_what_it_writes(steps in vec(step(), 1..40)) {
        converse(steps)?;
    }

    /// What comes again is read and written as a whole, unless the table has changed meanwhile.
    #[test]
    fn so_they_do_what_comes_again(
        few in vec(step(), 1..5),
        order in vec(0..5_usize, 1..60),
    ) {
        converse(order.iter().map(|at| few[at % few.len()].clone()).collect())?;
    }
}

fn converse(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let (mut encoder, mut inflater) = (Encoder::new(), Inflater::new());
    let (mut deflater, mut decoder) = (Deflater::new(), Decoder::new(4096));
    let mut too = Decoder::new(4096);
    for step in steps {
        match step {
            Step::Allow(size) => {
                encoder.set_max_table_size(size);
                inflater.allow(size);
                too.set_max_table_size(size);
                deflater.allow(size);
                decoder.set_max_table_size(size);
            }
            Step::Block(sent) => {
                let mut block = Vec::new();
                let parts = sent
                    .iter()
                    .map(|(name, value, indexing)| (&name[..], &value[..], *indexing));
                encoder.block(parts, &mut block);
                let sent = round_trips::fields_of(sent);
                let read = inflater.inflate(&block);
                prop_assert_eq!(read.as_ref(), Some(&sent));
                let mut out = Vec::new();
                too.decode(&block, NO_LIMIT, &mut out).unwrap();
                prop_assert_eq!(&fields(&out), &sent);

                let (block, mut out) = (deflater.deflate(&sent), Vec::new());
                let decoded = decoder.decode(&block, NO_LIMIT, &mut out).unwrap();
                prop_assert!(!decoded.oversized);
                prop_assert_eq!(&fields(&out), &sent);
            }
        }
    }
    Ok(())
}
