//! The form in which header sections are handed on, and in which the tables keep their entries: for
//! each field the length of its name in an octet, that of its value in three, little-endian; name; value.
//! An entry that is referred to is copied as it stands.

/// Octets in front of a name.
pub(super) const PREFIX: usize = 4;
/// The longest name that can be handed on.
pub(super) const MAX_NAME: usize = 0xff;
/// The longest value that can be handed on.
pub(super) const MAX_VALUE: usize = 0xff_ffff;

/// Entries up to this length are copied as if they had it: a few moves, and no call that looks how many
/// octets there are. Most entries are shorter.
pub(super) const SLACK: usize = 64;

/// What stands in front of a field; lengths beyond the largest are cut.
pub(super) const fn prefix(name: usize, value: usize) -> [u8; PREFIX] {
    let [low, middle, high, ..] = value.to_le_bytes();
    [name as u8, low, middle, high]
}

/// Whether a field can be handed on.
pub(super) const fn fits(name: usize, value: usize) -> bool {
    name <= MAX_NAME && value <= MAX_VALUE
}

/// Whether an entry, with anything behind it, is this field, which fits.
#[inline(always)]
pub(super) fn is(entry: &[u8], name: &[u8], value: &[u8]) -> bool {
    let Some((found, rest)) = entry.split_first_chunk() else {
        return false;
    };
    if u32::from_le_bytes(*found) != name.len() as u32 | (value.len() as u32) << 8 {
        return false;
    }
    let Some((found, rest)) = rest.split_at_checked(name.len()) else {
        return false;
    };
    let Some(value_found) = rest.get(..value.len()) else {
        return false;
    };
    same(found, name) && same(value_found, value)
}

/// Whether an entry, with anything behind it, has this name.
#[inline]
pub(super) fn has_name(entry: &[u8], name: &[u8]) -> bool {
    entry.first().map(|length| usize::from(*length)) == Some(name.len())
        && entry
            .get(PREFIX..PREFIX + name.len())
            .is_some_and(|found| same(found, name))
}

/// Whether two slices are the same. Short ones, which are the rule, are compared in a few steps; `==` calls
/// a function that has to find out that they are short.
#[inline(always)]
pub(super) fn same(one: &[u8], other: &[u8]) -> bool {
    let length = one.len();
    if length != other.len() {
        return false;
    }
    match length {
        17.. => {
            // The last sixteen, then all others by as many.
            let end = length - 16;
            let mut at = 0;
            let mut differ = sixteen(one, end) ^ sixteen(other, end);
            while at < end {
                differ |= sixteen(one, at) ^ sixteen(other, at);
                at += 16;
            }
            differ == 0
        }
        8.. => {
            let end = length - 8;
            let last = eight(one, end) ^ eight(other, end);
            eight(one, 0) ^ eight(other, 0) | last == 0
        }
        4.. => {
            let end = length - 4;
            let last = four(one, end) ^ four(other, end);
            four(one, 0) ^ four(other, 0) | last == 0
        }
        1.. => {
            let (middle, end) = (length / 2, length - 1);
            one[0] == other[0] && one[middle] == other[middle] && one[end] == other[end]
        }
        0 => true,
    }
}

#[inline(always)]
fn sixteen(octets: &[u8], at: usize) -> u128 {
    let octets = octets.get(at..at + 16).and_then(<[u8]>::first_chunk);
    u128::from_ne_bytes(octets.copied().unwrap_or_default())
}

#[inline(always)]
fn eight(octets: &[u8], at: usize) -> u64 {
    let octets = octets.get(at..at + 8).and_then(<[u8]>::first_chunk);
    u64::from_ne_bytes(octets.copied().unwrap_or_default())
}

#[inline(always)]
fn four(octets: &[u8], at: usize) -> u32 {
    let octets = octets.get(at..at + 4).and_then(<[u8]>::first_chunk);
    u32::from_ne_bytes(octets.copied().unwrap_or_default())
}

/// Copies a slice to the beginning of a longer one; says whether it was longer. Short ones are copied in
/// place, as they are compared.
#[inline]
pub(super) fn copy(to: &mut [u8], from: &[u8]) -> bool {
    let Some(to) = to.get_mut(..from.len()) else {
        return false;
    };
    if from.len() > 32 {
        to.copy_from_slice(from);
    } else if !copy_ends::<16>(to, from) && !copy_ends::<8>(to, from) && !copy_ends::<4>(to, from) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = *from;
        }
    }
    true
}

/// Copies the first and the last `N` octets, which are all of no more than twice as many.
#[inline]
fn copy_ends<const N: usize>(to: &mut [u8], from: &[u8]) -> bool {
    let (Some(first), Some(last)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) else {
        return false;
    };
    if let Some(to) = to.first_chunk_mut() {
        *to = *first;
    }
    if let Some(to) = to.last_chunk_mut() {
        *to = *last;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_octet_that_differs_is_seen() {
        let octets: Vec<u8> = (0..60).collect();
        for length in 0..octets.len() {
            let one = &octets[..length];
            assert!(same(one, one));
            assert!(!same(one, &octets[..=length]));
            for place in 0..length {
                let mut other = one.to_vec();
                other[place] ^= 0x40;
                assert!(!same(one, &other), "{place} of {length}");
            }
        }
    }

    #[test]
    fn any_length_is_copied() {
        let octets: Vec<u8> = (1..=60).collect();
        for length in 0..octets.len() {
            let mut to = [0; 60];
            assert!(copy(&mut to, &octets[..length]));
            assert_eq!(to[..length], octets[..length]);
            assert!(to[length..].iter().all(|octet| *octet == 0));
            assert!(!copy(&mut to[..length], &octets[..=length]));
        }
    }

    #[test]
    fn an_entry_is_its_field_and_no_other() {
        let entry = b"\x04\x05\0\0namevaluebehind";
        assert!(is(entry, b"name", b"value") && has_name(entry, b"name"));
        for (name, value) in [
            ("name", "valuf"),
            ("namf", "value"),
            ("name", "valueb"),
            ("name", "valu"),
            ("namev", "alue"),
            ("", ""),
        ] {
            assert!(!is(entry, name.as_bytes(), value.as_bytes()));
        }
        assert!(!has_name(entry, b"nam") && !has_name(entry, b"namev"));
        assert!(!is(&entry[..10], b"name", b"value") && !is(b"", b"", b""));
    }
}
