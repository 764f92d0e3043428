//! HPACK: the specification's examples, what comes back when anything is sent, and what strangers may
//! not do.

mod differential;
mod hostile;
#[path = "../../../../fuzz/src/hpack_blocks.rs"]
mod hpack_blocks;
mod round_trips;
mod specification;

use corewire_wire::hpack::{DecodeError, Decoder};

/// A field as a pair of texts.
type Pair = (String, String);

const NO_LIMIT: usize = usize::MAX;

fn pairs(fields: &[(&str, &str)]) -> Vec<Pair> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    fields.iter().map(owned).collect()
}

/// Takes the flat form apart.
fn fields(mut flat: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut fields = Vec::new();
    while let [name, v0, v1, v2, rest @ ..] = flat {
        let (name, rest) = rest.split_at(usize::from(*name));
        let value = u32::from_le_bytes([*v0, *v1, *v2, 0]) as usize;
        let (value, rest) = rest.split_at(value);
        fields.push((name.to_vec(), value.to_vec()));
        flat = rest;
    }
    assert_eq!(flat, b"");
    fields
}

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<Pair>, DecodeError> {
    let mut out = Vec::new();
    let decoded = decoder.decode(block, NO_LIMIT, &mut out)?;
    assert!(!decoded.oversized);
    let text = |octets| String::from_utf8(octets).expect("a text");
    let fields = fields(&out).into_iter();
    Ok(fields
        .map(|(name, value)| (text(name), text(value)))
        .collect())
}

/// What the dynamic table holds, newest first: it is asked for entry by entry.
fn table(decoder: &mut Decoder) -> Vec<Pair> {
    let mut entries = Vec::new();
    for number in 62.. {
        let block = match number {
            ..127 => vec![0x80 | number],
            _ => vec![0xff, number - 127],
        };
        match decode(decoder, &block) {
            Ok(entry) => entries.extend(entry),
            Err(error) => {
                assert_eq!(error, DecodeError::Index);
                break;
            }
        }
    }
    entries
}
