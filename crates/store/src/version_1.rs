//! The log of earlier versions, `CWJOURN1`: read once, and written anew in today's form.
//!
//! A record is `name length (4) | value length + 1, or 0 for none (4) | check (8) | name | value`. It has no
//! marker, so nothing behind a record that is not right can be read.

use crate::record::{MAX_NAME, MAX_VALUE};
use siphasher::sip::SipHasher13;
use std::hash::Hasher as _;

pub(crate) const MAGIC: &[u8; 8] = b"CWJOURN1";
const HEAD: usize = 16;

/// What stands at a place of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    More(usize),
    Record {
        name: &'a [u8],
        value: Option<&'a [u8]>,
        length: usize,
    },
    /// Not right, and not the last.
    Rotten,
    Torn,
    End,
}

/// Reads what stands at the beginning of `bytes`. `at_end`: nothing comes behind them.
pub(crate) fn step(bytes: &[u8], at_end: bool) -> Step<'_> {
    let missing = |needed: usize| {
        if !at_end {
            Step::More(needed)
        } else if bytes.is_empty() {
            Step::End
        } else {
            Step::Torn
        }
    };
    let Some((head, rest)) = bytes.split_at_checked(HEAD) else {
        return missing(HEAD);
    };
    let number =
        |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (name_length, value_length) = (number(0) as usize, number(4) as usize);
    if name_length > MAX_NAME || value_length > MAX_VALUE + 1 {
        return Step::Rotten;
    }
    let length = name_length + value_length.saturating_sub(1);
    let Some(both) = rest.get(..length) else {
        return missing(HEAD + length);
    };
    let (name, value) = both.split_at(name_length);
    let mut hasher = SipHasher13::new();
    hasher.write(&head[..8]);
    hasher.write(name);
    hasher.write(value);
    if hasher.finish().to_le_bytes() != head[8..] {
        return Step::Rotten;
    }
    Step::Record {
        name,
        value: (value_length > 0).then_some(value),
        length: HEAD + length,
    }
}

/// A log as the earlier version wrote it.
#[cfg(test)]
pub(crate) fn encode(records: &[(&[u8], Option<&[u8]>)]) -> Vec<u8> {
    let mut log = MAGIC.to_vec();
    for (name, value) in records {
        let mut head = (name.len() as u32).to_le_bytes().to_vec();
        head.extend(
            value
                .map_or(0, |value| value.len() as u32 + 1)
                .to_le_bytes(),
        );
        let mut hasher = SipHasher13::new();
        hasher.write(&head);
        hasher.write(name);
        hasher.write(value.unwrap_or_default());
        log.extend(&head);
        log.extend(hasher.finish().to_le_bytes());
        log.extend_from_slice(name);
        log.extend_from_slice(value.unwrap_or_default());
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_as_long_as_they_may_be_and_no_longer() {
        let of = |name: usize, value: usize| {
            let lengths = [
                (name as u32).to_le_bytes(),
                (value as u32 + 1).to_le_bytes(),
            ];
            let head = [&lengths.concat()[..], &[0; 8]].concat();
            match step(&head, false) {
                Step::More(needed) => Some(needed),
                _ => None,
            }
        };
        assert_eq!(of(MAX_NAME, MAX_VALUE), Some(HEAD + MAX_NAME + MAX_VALUE));
        assert_eq!(of(MAX_NAME + 1, 0), None);
        assert_eq!(of(1, MAX_VALUE + 1), None);
    }
}
