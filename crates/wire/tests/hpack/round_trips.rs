//! What is encoded is decoded, whatever the fields, their indexing and the table's size.

use super::{NO_LIMIT, decode, fields, pairs};
use corewire_wire::hpack::{Decoder, Encoder, Indexing};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

type Octets = Vec<u8>;

#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Fields, each with how it is to be remembered.
    Block(Vec<(Octets, Octets, Indexing)>),
    /// The decoder's end allows another table.
    Allow(u32),
}

/// Of the static table and of gRPC, names and values alike.
const KNOWN: &[&[u8]] = &[
    b":method",
    b"GET",
    b":path",
    b"/",
    b":status",
    b"200",
    b"content-type",
    b"application/grpc",
    b"",
];

/// Few names and values come again and again, others once.
fn octets(longest: usize) -> impl Strategy<Value = Octets> {
    prop_oneof![
        4 => (0..12_u8).prop_map(|which| format!("x-field-{which}").into_bytes()),
        2 => select(KNOWN).prop_map(<[u8]>::to_vec),
        1 => vec(any::<u8>(), 0..longest),
        1 => vec(b'a'..=b'z', 0..longest),
    ]
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let indexing = prop_oneof![
        6 => Just(Indexing::Yes),
        1 => Just(Indexing::No),
        1 => Just(Indexing::Never),
    ];
    let field = (octets(256), octets(1200), indexing);
    prop_oneof![
        8 => vec(field, 0..12).prop_map(Step::Block),
        1 => prop_oneof![0..200_u32, 0..5000_u32].prop_map(Step::Allow),
    ]
}

/// Without how they are to be remembered.
pub(super) fn fields_of(sent: Vec<(Octets, Octets, Indexing)>) -> Vec<(Octets, Octets)> {
    let fields = sent.into_iter();
    fields.map(|(name, value, _)| (name, value)).collect()
}

/// RFC 7541, 2.3.3 and 5.1: an index up to 126 takes an octet, a larger one more.
#[test]
fn in_a_large_table_each_index_is_the_entry_that_it_says() {
    let mut decoder = Decoder::new(1 << 20);
    for number in 0..400_u32 {
        let value = number.to_string();
        let mut block = b"\x40\x01x".to_vec();
        block.push(value.len() as u8);
        block.extend(value.as_bytes());
        decode(&mut decoder, &block).unwrap();
    }
    for (back, value) in (0..400_u32).rev().enumerate() {
        let block = match 62 + back {
            index @ ..127 => vec![0x80 | index as u8],
            index @ ..255 => vec![0xff, (index - 127) as u8],
            index => vec![
                0xff,
                0x80 | ((index - 127) & 0x7f) as u8,
                ((index - 127) >> 7) as u8,
            ],
        };
        let value = value.to_string();
        assert_eq!(decode(&mut decoder, &block), Ok(pairs(&[("x", &value)])));
    }
    assert_eq!(
        decode(&mut decoder, &[0x82]),
        Ok(pairs(&[(":method", "GET")]))
    );
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(steps in vec(step(), 1..40)) {
        let mut encoder = Encoder::new();
        let mut decoder = Decoder::new(4096);
        for step in steps {
            match step {
                Step::Allow(size) => {
                    encoder.set_max_table_size(size);
                    decoder.set_max_table_size(size);
                }
                Step::Block(sent) => {
                    let (mut block, mut out) = (Vec::new(), Vec::new());
                    encoder.begin(&mut block);
                    for (name, value, indexing) in &sent {
                        encoder.field(name, value, *indexing, &mut block);
                    }
                    let decoded = decoder.decode(&block, NO_LIMIT, &mut out).unwrap();
                    prop_assert!(!decoded.oversized);
                    prop_assert_eq!(fields(&out), fields_of(sent));
                }
            }
        }
    }

    /// Whatever is left out is decoded all the same: the next block is read rightly.
    #[test]
    fn a_limit_does_not_spoil_the_table(
        sent in vec((octets(400), octets(1200)), 1..12),
        limit in 0..2000_usize,
    ) {
        let mut encoder = Encoder::new();
        let mut decoder = Decoder::new(4096);
        // The limit comes after the same block was read, and perhaps remembered, without one.
        for round in 0..4 {
            let (mut block, mut out) = (Vec::new(), Vec::new());
            for (name, value) in &sent {
                encoder.field(name, value, Indexing::Yes, &mut block);
            }
            let limit = if round == 2 { limit } else { NO_LIMIT };
            let decoded = decoder.decode(&block, limit, &mut out).unwrap();
            let mut size = 0;
            let fit = sent.iter().take_while(|(name, value)| {
                size += name.len() + value.len() + 32;
                size <= limit && name.len() <= 255
            });
            let fit: Vec<_> = fit.cloned().collect();
            prop_assert_eq!(decoded.oversized, fit.len() < sent.len());
            prop_assert_eq!(fields(&out), fit);
        }
    }

    /// Nothing of the block's other forms makes the decoder panic, and what is refused leaves no trace.
    #[test]
    fn anything_is_read_or_refused(blocks in vec(vec(any::<u8>(), 0..60), 1..10)) {
        let mut decoder = Decoder::new(300);
        let mut out = b"before".to_vec();
        for block in blocks {
            if decoder.decode(&block, 1000, &mut out).is_err() {
                prop_assert_eq!(&out, b"before");
            }
            prop_assert!(out.starts_with(b"before") && out.len() <= 1006);
            out.truncate(6);
        }
    }
}

#[test]
fn what_comes_again_is_an_octet_and_what_does_not_is_not_remembered() {
    let mut encoder = Encoder::new();
    let mut encode = |value: &str, indexing| {
        let mut block = Vec::new();
        encoder.begin(&mut block);
        encoder.field(b"x-name", value.as_bytes(), indexing, &mut block);
        block
    };
    for _ in 0..2 {
        for (indexing, first) in [(Indexing::No, 0), (Indexing::Never, 0x10)] {
            assert_eq!(encode("once", indexing)[0], first);
        }
    }
    assert_eq!(encode("often", Indexing::Yes)[0], 0x40);
    assert_eq!(encode("often", Indexing::Yes), [0x80 | 62]);
    // The name is known now, and a secret does not become an octet.
    assert_eq!(encode("once", Indexing::No)[..2], [0x0f, 62 - 15]);
    assert_eq!(encode("often", Indexing::Never)[..2], [0x1f, 62 - 15]);
}

#[test]
fn a_table_that_shrank_and_grew_again_is_told_both() {
    let mut encoder = Encoder::new();
    let mut begin = |sizes: &[u32]| {
        let mut block = Vec::new();
        for size in sizes {
            encoder.set_max_table_size(*size);
        }
        encoder.begin(&mut block);
        block
    };
    assert_eq!(begin(&[4096, 10_000]), b"");
    assert_eq!(begin(&[0]), [0x20]);
    assert_eq!(begin(&[]), b"");
    assert_eq!(begin(&[20, 10, 30]), [0x20 | 10, 0x20 | 30]);
    assert_eq!(begin(&[30, 4096]), [0x3f, 0xe1, 0x1f]);
    // Larger than is wanted: what is in use stays.
    assert_eq!(begin(&[8192]), b"");
    assert_eq!(begin(&[0, 8192]), [0x20, 0x3f, 0xe1, 0x1f]);
}
