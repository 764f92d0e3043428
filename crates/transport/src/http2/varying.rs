//! Which of our header fields never come twice.
//!
//! A correlation number or a time stamp in HPACK's dynamic table is of no use: it pushes out what would
//! come again, and both ends keep, search and free an entry for it with every message. Such fields are
//! sent as literals that refer to the table by their name alone. A field counts as varying when its
//! value was another than before twice in a row, on this connection and in this direction.

use corewire_wire::http2::Field;

/// Names that are remembered; a power of two. One that falls on the place of another takes it.
const PLACES: usize = 32;
/// Changes in a row from which a field is not indexed.
const ENOUGH: u8 = 2;

/// What was sent last under some names.
#[derive(Debug, Default)]
pub(super) struct Varying([Place; PLACES]);

/// Digests in place of the octets: when two of them are equal by chance, a field is indexed that need
/// not be, or the other way round.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    name: u32,
    value: u32,
    changes: u8,
}

impl Varying {
    /// The field as it is to be sent.
    pub(super) fn mark<'f>(&mut self, field: Field<'f>) -> Field<'f> {
        let (name, value) = field.parts();
        let (name, value) = (digest(name), digest(value));
        let place = &mut self.0[name as usize % PLACES];
        if place.name != name {
            let changes = 0;
            *place = Place {
                name,
                value,
                changes,
            };
        } else if place.value == value {
            place.changes = 0;
        } else {
            place.value = value;
            place.changes = place.changes.saturating_add(1);
        }
        if place.changes < ENOUGH {
            field
        } else {
            field.unindexed()
        }
    }
}

/// A few multiplications: this is done for every field of every message.
fn digest(octets: &[u8]) -> u32 {
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |sum: u64, more: u64| (sum.rotate_left(23) ^ more).wrapping_mul(SPREAD);
    let (eights, rest) = octets.as_chunks::<8>();
    let sum = eights.iter().fold(octets.len() as u64, |sum, eight| {
        mix(sum, u64::from_le_bytes(*eight))
    });
    let last = rest
        .iter()
        .fold(0, |last, octet| last << 8 | u64::from(*octet));
    (mix(sum, last) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_unindexed(varying: &mut Varying, name: &str, value: &str) -> bool {
        let field = Field::new(name.as_bytes(), value.as_bytes());
        varying.mark(field).is_unindexed()
    }

    #[test]
    fn what_changes_each_time_is_not_indexed_until_it_stays() {
        let mut varying = Varying::default();
        let mut ask = |value: &str| is_unindexed(&mut varying, "x-sent-ns", value);
        assert_eq!(
            ["1", "2", "3", "4", "4", "4", "5"].map(&mut ask),
            [false, false, true, true, false, false, false]
        );
    }

    #[test]
    fn names_do_not_mix() {
        let mut varying = Varying::default();
        for number in 0..100 {
            let sent = is_unindexed(&mut varying, "x-sent-ns", &number.to_string());
            assert_eq!(sent, number >= 2, "{number}");
            assert!(!is_unindexed(
                &mut varying,
                "content-type",
                "application/json"
            ));
        }
    }

    #[test]
    fn every_octet_counts() {
        let octets = [7; 40];
        for length in 0..octets.len() {
            assert_ne!(digest(&octets[..length]), digest(&octets[..=length]));
            let mut other = octets;
            other[length] ^= 1;
            assert_ne!(digest(&octets), digest(&other), "{length}");
        }
    }
}
