//! The bytes of a log, and what they mean. Pure functions: no file, no clock.
//!
//! A log is a header and records, one for each change, oldest first. Numbers are little endian, checks are
//! SipHash 1-3 under the key of the file's header.
//!
//! ```text
//! header: 64 bytes, the same 32 twice, so that one of them may rot
//!      0   8  "CWSTORE2"
//!      8  16  key, drawn for this file: what is in a value cannot be taken for a record
//!     24   8  check of the 24 before, under a key of zeros
//!
//! record: a head of 56 bytes, the name, the value, a newline
//!      0   4  marker c5 52 65 5c
//!      4   2  bytes of the name: 1 to 1024
//!      6   2  0: a value, 1: a removal
//!      8   4  bytes of the value: at most 16 MiB
//!     12   4  0
//!     16   8  number of the record in this file, from 1
//!     24   8  fingerprint of the name: SipHash 1-3
//!     32   8  fingerprint of the name in the record before; 0 in the first
//!     40   8  check of name and value
//!     48   8  check of the 48 before
//! ```
//!
//! Behind the last record there may be zeros: the file is made longer ahead of its records. A record ends
//! with a newline, so that none of its bytes is taken for those.
//!
//! A head that is right says where its record ends, so a rotten value costs one record. Behind a rotten
//! head the next marker with a right head goes on. The fingerprint in the next record then says whose
//! change was lost, so that an older value is not taken for the last one.

use siphasher::sip::SipHasher13;
use std::hash::Hasher as _;

/// The longest name, bytes.
pub const MAX_NAME: usize = 1024;
/// The longest value, bytes.
pub const MAX_VALUE: usize = 16 << 20;
/// Bytes of a log's header.
pub(crate) const HEADER: usize = 64;
/// Bytes of a record's head.
pub(crate) const HEAD: usize = 56;

const MAGIC: [u8; 8] = *b"CWSTORE2";
const MARKER: [u8; 4] = [0xc5, b'R', b'e', 0x5c];
/// The last byte of a record.
const LAST: u8 = b'\n';
const VALUE: u16 = 0;
const REMOVAL: u16 = 1;

/// The key of a log's checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(pub(crate) [u8; 16]);

impl Key {
    fn hash(self, one: &[u8], two: &[u8]) -> u64 {
        let mut hasher = SipHasher13::new_with_key(&self.0);
        hasher.write(one);
        hasher.write(two);
        hasher.finish()
    }

    /// What stands for a name in the record behind it.
    pub(crate) fn fingerprint(self, name: &[u8]) -> u64 {
        // Zero stands for none.
        self.hash(name, b"name").max(1)
    }

    /// The header of a log with this key.
    pub(crate) fn header(self) -> [u8; HEADER] {
        let mut half = [0; HEADER / 2];
        half[..8].copy_from_slice(&MAGIC);
        half[8..24].copy_from_slice(&self.0);
        let check = header_check(&half[..24]);
        half[24..].copy_from_slice(&check.to_le_bytes());
        let mut header = [0; HEADER];
        header[..HEADER / 2].copy_from_slice(&half);
        header[HEADER / 2..].copy_from_slice(&half);
        header
    }

    /// The key in a header, and whether both halves of it are right; `None` when neither is.
    pub(crate) fn of_header(header: &[u8]) -> Option<(Self, bool)> {
        let half = |at: usize| {
            let half = header.get(at..at + HEADER / 2)?;
            let is_right = half[..8] == MAGIC && u64_at(half, 24) == header_check(&half[..24]);
            let key = half[8..24].try_into().ok()?;
            is_right.then_some(Self(key))
        };
        match (half(0), half(HEADER / 2)) {
            (Some(one), Some(two)) if one == two => Some((one, true)),
            // Both right and different: spliced from two logs. The first has to do.
            (Some(one), _) => Some((one, false)),
            (None, Some(two)) => Some((two, false)),
            (None, None) => None,
        }
    }
}

fn header_check(bytes: &[u8]) -> u64 {
    Key([0; 16]).hash(bytes, b"header")
}

/// Puts records behind each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Encoder {
    pub(crate) key: Key,
    /// Number of the last record.
    pub(crate) number: u64,
    /// Fingerprint of its name.
    pub(crate) previous: u64,
}

impl Encoder {
    /// For a log without records.
    pub(crate) const fn new(key: Key) -> Self {
        Self {
            key,
            number: 0,
            previous: 0,
        }
    }

    /// Appends a record; `None` as a value removes the name.
    pub(crate) fn push(&mut self, into: &mut Vec<u8>, name: &[u8], value: Option<&[u8]>) {
        let fingerprint = self.key.fingerprint(name);
        let octets = value.unwrap_or_default();
        let mut head = [0; HEAD];
        head[..4].copy_from_slice(&MARKER);
        // Both were checked against MAX_NAME and MAX_VALUE.
        head[4..6].copy_from_slice(&(name.len() as u16).to_le_bytes());
        let kind = if value.is_some() { VALUE } else { REMOVAL };
        head[6..8].copy_from_slice(&kind.to_le_bytes());
        head[8..12].copy_from_slice(&(octets.len() as u32).to_le_bytes());
        head[16..24].copy_from_slice(&(self.number + 1).to_le_bytes());
        head[24..32].copy_from_slice(&fingerprint.to_le_bytes());
        head[32..40].copy_from_slice(&self.previous.to_le_bytes());
        head[40..48].copy_from_slice(&self.key.hash(name, octets).to_le_bytes());
        let check = self.key.hash(&head[..48], b"head");
        head[48..].copy_from_slice(&check.to_le_bytes());
        into.reserve(HEAD + name.len() + octets.len() + 1);
        into.extend_from_slice(&head);
        into.extend_from_slice(name);
        into.extend_from_slice(octets);
        into.push(LAST);
        self.number += 1;
        self.previous = fingerprint;
    }
}

/// What stands at a place of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    /// So many bytes from this place on are needed to tell.
    More(usize),
    /// A record.
    Record {
        name: &'a [u8],
        value: Option<&'a [u8]>,
        link: Link,
        length: usize,
    },
    /// A record whose head is right and whose name or value is not.
    Rotten { link: Link, length: usize },
    /// No record begins here; so many bytes behind one may.
    Rubbish { length: usize },
    /// The beginning of a record, and the end of the log.
    Torn,
    /// The end of the log.
    End,
}

/// How a record hangs in its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) number: u64,
    pub(crate) fingerprint: u64,
    pub(crate) previous: u64,
}

struct Head {
    name: usize,
    value: usize,
    is_removal: bool,
    link: Link,
    check: u64,
}

/// Reads what stands at the beginning of `bytes`. `at_end`: nothing comes behind them.
pub(crate) fn step(key: Key, bytes: &[u8], at_end: bool) -> Step<'_> {
    if bytes.is_empty() && at_end {
        return Step::End;
    }
    if bytes.len() < HEAD {
        if !at_end {
            return Step::More(HEAD);
        }
        return if is_beginning(bytes) {
            Step::Torn
        } else {
            Step::Rubbish {
                length: bytes.len(),
            }
        };
    }
    let Some(head) = read_head(key, bytes) else {
        return rubbish(key, bytes, at_end);
    };
    let length = HEAD + head.name + head.value + 1;
    let link = head.link;
    let Some(both) = bytes.get(HEAD..length) else {
        if !at_end {
            return Step::More(length);
        }
        // Bytes may be missing in the middle of it, and others follow.
        return match next_head(key, bytes, HEAD) {
            Some(length) => Step::Rotten { link, length },
            None => Step::Torn,
        };
    };
    let (name, value) = both[..both.len() - 1].split_at(head.name);
    let is_ended = both.last() == Some(&LAST);
    if !is_ended || key.hash(name, value) != head.check || key.fingerprint(name) != link.fingerprint
    {
        if bytes.len() < length + HEAD && !at_end {
            return Step::More(length + HEAD);
        }
        let next = next_head(key, bytes, HEAD).unwrap_or(length);
        return Step::Rotten {
            link,
            length: next.min(length),
        };
    }
    Step::Record {
        name,
        value: (!head.is_removal).then_some(value),
        link,
        length,
    }
}

/// A record was begun here and the rest is missing: a part of a head, or blocks that were never written.
fn is_beginning(bytes: &[u8]) -> bool {
    let marker = bytes.len().min(MARKER.len());
    bytes[..marker] == MARKER[..marker] || bytes.iter().all(|byte| *byte == 0)
}

fn read_head(key: Key, bytes: &[u8]) -> Option<Head> {
    let head = bytes.get(..HEAD)?;
    if head[..4] != MARKER || key.hash(&head[..48], b"head") != u64_at(head, 48) {
        return None;
    }
    let kind = u16::from_le_bytes([head[6], head[7]]);
    let found = Head {
        name: usize::from(u16::from_le_bytes([head[4], head[5]])),
        value: u32::from_le_bytes([head[8], head[9], head[10], head[11]]) as usize,
        is_removal: kind == REMOVAL,
        link: Link {
            number: u64_at(head, 16),
            fingerprint: u64_at(head, 24),
            previous: u64_at(head, 32),
        },
        check: u64_at(head, 40),
    };
    let fits = (1..=MAX_NAME).contains(&found.name)
        && found.value <= if found.is_removal { 0 } else { MAX_VALUE }
        && kind <= REMOVAL;
    fits.then_some(found)
}

/// How far it is to the next head that is right.
fn rubbish(key: Key, bytes: &[u8], at_end: bool) -> Step<'static> {
    match next_head(key, bytes, 1) {
        Some(length) => Step::Rubbish { length },
        None if at_end && bytes.iter().all(|byte| *byte == 0) => Step::Torn,
        None if at_end => Step::Rubbish {
            length: bytes.len(),
        },
        // A head may begin in the last of them.
        None => Step::Rubbish {
            length: bytes.len() - (HEAD - 1),
        },
    }
}

/// Where the next head that is right begins, from this place on.
fn next_head(key: Key, bytes: &[u8], from: usize) -> Option<usize> {
    memchr::memmem::find_iter(&bytes[from..], &MARKER)
        .map(|found| found + from)
        .find(|found| read_head(key, &bytes[*found..]).is_some())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: Key = Key([7; 16]);

    fn log(records: &[(&[u8], Option<&[u8]>)]) -> Vec<u8> {
        let mut encoder = Encoder::new(KEY);
        let mut bytes = Vec::new();
        for (name, value) in records {
            encoder.push(&mut bytes, name, *value);
        }
        bytes
    }

    #[test]
    fn reads_back_values_empty_values_and_removals() {
        let records: [(&[u8], Option<&[u8]>); 3] =
            [(b"a", Some(b"1")), (b"bb", Some(b"")), (b"a", None)];
        let bytes = log(&records);
        let (mut rest, mut previous) = (&bytes[..], 0);
        for (number, (name, value)) in (1..).zip(records) {
            let Step::Record {
                name: found,
                value: held,
                link,
                length,
            } = step(KEY, rest, true)
            else {
                panic!("no record: {:?}", step(KEY, rest, true));
            };
            assert_eq!((found, held, link.number), (name, value, number));
            assert_eq!(link.previous, previous);
            previous = link.fingerprint;
            rest = &rest[length..];
        }
        assert_eq!(step(KEY, rest, true), Step::End);
    }

    #[test]
    fn rubbish_at_the_end_is_no_record_that_was_begun() {
        let whole = log(&[(b"name", Some(b"value"))]);
        for begun in [&whole[..3], &whole[..HEAD - 1], &[0; 20]] {
            assert_eq!(step(KEY, begun, true), Step::Torn, "{begun:?}");
        }
        for other in [&b"x"[..], b"rubbish", &[0, 0, 1]] {
            let length = other.len();
            assert_eq!(step(KEY, other, true), Step::Rubbish { length });
        }
    }

    #[test]
    fn says_how_many_bytes_it_needs() {
        let bytes = log(&[(b"name", Some(b"value"))]);
        assert_eq!(step(KEY, &bytes[..10], false), Step::More(HEAD));
        assert_eq!(step(KEY, &bytes[..HEAD], false), Step::More(bytes.len()));
    }

    #[test]
    fn every_beginning_of_a_record_at_the_end_is_torn() {
        let bytes = log(&[(b"name", Some(b"value"))]);
        for cut in 1..bytes.len() {
            assert_eq!(step(KEY, &bytes[..cut], true), Step::Torn, "cut at {cut}");
        }
        assert_eq!(step(KEY, &[0; 200], true), Step::Torn, "never written");
    }

    #[test]
    fn of_rubbish_all_is_left_behind_but_what_may_be_the_beginning_of_a_head() {
        for more in 0..3 {
            let bytes = vec![b'x'; HEAD + more];
            let length = more + 1;
            assert_eq!(step(KEY, &bytes, false), Step::Rubbish { length });
            let length = bytes.len();
            assert_eq!(step(KEY, &bytes, true), Step::Rubbish { length });
        }
    }

    #[test]
    fn a_head_that_is_right_and_says_what_cannot_be_is_none() {
        let with = |at: usize, octets: &[u8]| {
            let mut bytes = log(&[(b"one", Some(b"1"))]);
            bytes[at..at + octets.len()].copy_from_slice(octets);
            let check = KEY.hash(&bytes[..48], b"head").to_le_bytes();
            bytes[48..HEAD].copy_from_slice(&check);
            read_head(KEY, &bytes).is_some()
        };
        let name = |length: usize| with(4, &(length as u16).to_le_bytes());
        assert!(!name(0) && name(1) && name(MAX_NAME) && !name(MAX_NAME + 1));
        let value = |length: usize| with(8, &(length as u32).to_le_bytes());
        assert!(value(0) && value(16 << 20) && !value((16 << 20) + 1));
        let kind = |kind: u16, length: u32| {
            with(
                6,
                &[&kind.to_le_bytes()[..], &length.to_le_bytes()].concat(),
            )
        };
        assert!(kind(VALUE, 1) && kind(REMOVAL, 0));
        assert!(!kind(REMOVAL, 1) && !kind(2, 0) && !kind(2, 1));
    }

    #[test]
    fn a_rotten_record_is_told_as_soon_as_a_head_behind_it_could_be_seen() {
        let mut bytes = log(&[(b"one", Some(b"1")), (b"two", Some(b"a longer value"))]);
        let end = log(&[(b"one", Some(b"1"))]).len();
        bytes[HEAD] ^= 1;
        for given in end..=bytes.len() {
            match step(KEY, &bytes[..given], false) {
                Step::More(needed) => assert!(given < end + HEAD && needed == end + HEAD),
                Step::Rotten { length, .. } => assert!(given >= end + HEAD && length == end),
                other => panic!("{given}: {other:?}"),
            }
        }
    }

    #[test]
    fn finds_the_record_behind_rubbish_and_not_one_inside_of_a_value() {
        let other = Encoder::new(Key([8; 16]));
        let mut forged = Vec::new();
        { other }.push(&mut forged, b"forged", Some(b"x"));
        let bytes = log(&[(b"one", Some(&forged)), (b"two", Some(b"2"))]);
        let mut spoilt = bytes.clone();
        spoilt[5] ^= 1;
        let Step::Rubbish { length } = step(KEY, &spoilt, true) else {
            panic!("{:?}", step(KEY, &spoilt, true));
        };
        let next = step(KEY, &spoilt[length..], true);
        assert!(
            matches!(next, Step::Record { name: b"two", .. }),
            "{next:?}"
        );
    }

    #[test]
    fn one_half_of_the_header_may_rot() {
        let header = KEY.header();
        assert_eq!(Key::of_header(&header), Some((KEY, true)));
        for place in 0..HEADER {
            for bit in 0..8 {
                let mut spoilt = header;
                spoilt[place] ^= 1 << bit;
                assert_eq!(Key::of_header(&spoilt), Some((KEY, false)), "byte {place}");
            }
        }
        // Two halves that are right and not the same are of two logs.
        let other = Key([8; 16]).header();
        let spliced = [&header[..HEADER / 2], &other[HEADER / 2..]].concat();
        assert_eq!(Key::of_header(&spliced), Some((KEY, false)));
        assert_eq!(Key::of_header(&[0; HEADER]), None);
        assert_eq!(Key::of_header(&header[..20]), None);
    }

    proptest! {
        #[test]
        fn goes_on_or_ends_whatever_the_bytes(
            bytes in proptest::collection::vec(any::<u8>(), 0..300), at_end: bool,
        ) {
            match step(KEY, &bytes, at_end) {
                Step::More(needed) => prop_assert!(!at_end && needed > bytes.len()),
                Step::Record { length, .. } | Step::Rotten { length, .. } | Step::Rubbish { length } => {
                    prop_assert!(length > 0 && length <= bytes.len());
                }
                Step::Torn | Step::End => prop_assert!(at_end),
            }
        }
    }
}
