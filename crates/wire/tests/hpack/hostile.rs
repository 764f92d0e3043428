//! What the specification forbids, and what would cost much.

use super::{NO_LIMIT, decode, pairs, table};
use corewire_wire::hpack::{DecodeError, Decoder};

fn refused(block: &[u8]) -> DecodeError {
    let mut decoder = Decoder::new(4096);
    decode(&mut decoder, block).expect_err("no header block")
}

#[test]
fn no_such_entry() {
    for block in [
        &[0x80][..],
        &[0x80 | 62],
        &[0xff, 0],
        &[0xff, 0xff, 0xff, 0xff, 0x0f],
        &[0xff, 0x80, 0xff, 0xff, 0xff, 0x0f],
        &[0x40 | 62, 0],
        &[0x0f, 62 - 15, 0],
        &[0x1f, 62 - 15, 0],
    ] {
        assert_eq!(refused(block), DecodeError::Index, "{block:?}");
    }
}

#[test]
fn numbers_without_end() {
    for first in [0xff, 0x7f, 0x3f, 0x1f, 0x0f] {
        let mut block = vec![first];
        block.extend([0xff; 20]);
        assert_eq!(refused(&block), DecodeError::Number);
    }
    // The length of a name and of a value.
    assert_eq!(
        refused(&[0, 0x7f, 0x80, 0x80, 0x80, 0x80, 0x80]),
        DecodeError::Number
    );
    assert_eq!(
        refused(&[4, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
        DecodeError::Number
    );
}

#[test]
fn every_beginning_of_a_block_is_too_short_or_a_block() {
    // A field with a name of its own, one by Huffman, a secret one, then one of the table.
    let block = [
        &b"\x40\x02ab\x03cde"[..],
        &[
            0x41, 0x8c, 0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff,
        ],
        b"\x1f\x2f\x01x",
        &[0x80 | 62],
    ]
    .concat();
    let ends = [0, 8, 22, 26, 27];
    for length in 0..=block.len() {
        let read = decode(&mut Decoder::new(4096), &block[..length]);
        match ends.iter().position(|end| *end == length) {
            Some(count) => assert_eq!(read.map(|fields| fields.len()), Ok(count)),
            None => assert_eq!(read, Err(DecodeError::Truncated), "{length}"),
        }
    }
}

#[test]
fn strings_that_are_not_filled_up_rightly() {
    // A value of "0" with seven, six and no bits of its padding wrong, or an octet of it too many.
    assert_eq!(refused(&[4, 0x81, 0b0000_0000]), DecodeError::Padding);
    assert_eq!(refused(&[4, 0x81, 0b0000_0110]), DecodeError::Padding);
    assert_eq!(refused(&[4, 0x82, 0b0000_0111, 0xff]), DecodeError::Padding);
    assert_eq!(
        refused(&[4, 0x84, 0xff, 0xff, 0xff, 0xff]),
        DecodeError::EndOfString
    );
    let zero = decode(&mut Decoder::new(4096), &[4, 0x81, 0b0000_0111]);
    assert_eq!(zero, Ok(pairs(&[(":path", "0")])));
}

#[test]
fn sizes_of_the_table() {
    // At the beginning any number of them, none above what is allowed.
    let read = |block: &[u8]| decode(&mut Decoder::new(100), block);
    assert_eq!(
        read(&[0x20, 0x3f, 69, 0x82]),
        Ok(pairs(&[(":method", "GET")]))
    );
    assert_eq!(read(&[0x3f, 70]), Err(DecodeError::TableSize));
    assert_eq!(
        read(&[0x3f, 0xff, 0xff, 0xff, 0xff, 0x0f]),
        Err(DecodeError::Number)
    );
    assert_eq!(read(&[0x82, 0x20]), Err(DecodeError::LateTableSize));
}

#[test]
fn a_smaller_table_is_to_be_used_when_that_was_said() {
    let mut decoder = Decoder::new(4096);
    let a = b"\x40\x01a\x01b";
    assert_eq!(decode(&mut decoder, a), Ok(pairs(&[("a", "b")])));
    decoder.set_max_table_size(0);
    decoder.set_max_table_size(50);
    assert_eq!(decode(&mut decoder, &[0x82]), Err(DecodeError::NoTableSize));
    assert_eq!(decode(&mut decoder, &[0x21]), Err(DecodeError::TableSize));

    let mut decoder = Decoder::new(4096);
    assert_eq!(decode(&mut decoder, a), Ok(pairs(&[("a", "b")])));
    decoder.set_max_table_size(0);
    decoder.set_max_table_size(50);
    assert_eq!(
        decode(&mut decoder, &[0x20, 0x3f, 19, 0x82]),
        Ok(pairs(&[(":method", "GET")]))
    );
    assert_eq!(table(&mut decoder), []);
    // Once is enough, and a larger one need not be used.
    decoder.set_max_table_size(4096);
    assert_eq!(decode(&mut decoder, a), Ok(pairs(&[("a", "b")])));
    assert_eq!(table(&mut decoder), pairs(&[("a", "b")]));
}

#[test]
fn an_entry_may_push_out_the_one_whose_name_it_has() {
    let mut decoder = Decoder::new(40);
    assert_eq!(
        decode(&mut decoder, b"\x40\x04name\x01a"),
        Ok(pairs(&[("name", "a")]))
    );
    assert_eq!(
        decode(&mut decoder, b"\x7e\x02bc"),
        Ok(pairs(&[("name", "bc")]))
    );
    assert_eq!(table(&mut decoder), pairs(&[("name", "bc")]));
    // One that is larger than the table empties it.
    assert_eq!(
        decode(&mut decoder, b"\x7e\x05large"),
        Ok(pairs(&[("name", "large")]))
    );
    assert_eq!(table(&mut decoder), []);
}

#[test]
fn entries_that_are_referred_to_often_cost_no_memory() {
    let mut decoder = Decoder::new(4096);
    let mut block = b"\x40\x01a\x7f\xa1\x1e".to_vec();
    block.extend([b'v'; 4000]);
    block.extend([0x80 | 62; 100_000]);
    let mut out = Vec::new();
    let decoded = decoder.decode(&block, 10_000, &mut out).unwrap();
    assert!(decoded.oversized);
    assert_eq!(out.len(), 2 * 4005);
    assert!(out.capacity() < 20_000);
}

#[test]
fn a_name_that_is_too_long_to_hand_on_is_a_name_to_the_table() {
    let mut decoder = Decoder::new(4096);
    let mut block = b"\x40\x7f\xad\x01".to_vec();
    block.extend([b'n'; 300]);
    block.extend(b"\x01v");
    for block in [&block[..], &[0x80 | 62], b"\x7e\x01w", b"\x0f\x2f\x01w"] {
        let mut out = Vec::new();
        let decoded = decoder.decode(block, NO_LIMIT, &mut out).unwrap();
        assert!(decoded.oversized && out.is_empty(), "{block:?}");
    }
    // What comes in the next block is read by the table as it must be.
    assert_eq!(
        decode(&mut decoder, b"\x40\x01a\x01b\xbe"),
        Ok(pairs(&[("a", "b"), ("a", "b")]))
    );
}
