//! Which of our header fields never come twice.
//!
//! A correlation number or a time stamp in HPACK's dynamic table is of no use: it pushes out what would
//! come again, and both ends keep, search and free an entry for it with every message. Such fields are
//! sent as literals that refer to the table by their name alone. A field counts as varying when its
//! value was another than before twice in a row, on this connection and in this direction.

use corewire_wire::http2::Field;

/// Pairs of names that are remembered; a power of two. A third that falls on the places of two takes that of
/// the one that was asked for less lately.
const PAIRS: usize = 32;
/// Changes in a row from which a field is not indexed.
const ENOUGH: u8 = 2;

/// What was sent last under some names.
#[derive(Debug, Default)]
pub(super) struct Varying([[Place; 2]; PAIRS]);

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
        let pair = &mut self.0[name as usize % PAIRS];
        if pair[0].name != name {
            pair.swap(0, 1);
        }
        let place = &mut pair[0];
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
    fn names_that_fall_on_the_same_places_share_them() {
        let places = |name: &str| digest(name.as_bytes()) as usize % PAIRS;
        let first = places("x-0");
        let mut alike = (0..).map(|number| format!("x-{number}"));
        let names: Vec<_> = alike
            .by_ref()
            .filter(|name| places(name) == first)
            .take(2)
            .collect();
        let mut varying = Varying::default();
        for number in 0..100 {
            for name in &names {
                let sent = is_unindexed(&mut varying, name, &number.to_string());
                assert_eq!(sent, number >= 2, "{name}, {number}");
            }
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
