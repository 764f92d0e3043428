//! Versions: hashes of what is versioned.

use siphasher::sip128::{Hasher128, SipHasher13};
use std::fmt;
use std::hash::Hasher;

/// A hash of content; the sum of several stands for the set of them, in any order.
///
/// It guards against accidents, not against an adversary: whoever makes the content is us, and a
/// client that names a version that is not its own fools itself only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Digest(u128);

impl Digest {
    /// The hash of these parts; where one ends counts.
    pub(crate) fn of(parts: &[&[u8]]) -> Self {
        // A fixed key: another process, and another version of this one, must find the same.
        let mut hasher = SipHasher13::new_with_keys(0x636f_7265_7769_7265, 0x7864_7376_6572_7331);
        for part in parts {
            hasher.write_u64(part.len() as u64);
            hasher.write(part);
        }
        Self(hasher.finish128().as_u128())
    }

    /// The hash of a set without this member that it had, and with that one.
    pub(crate) const fn add(self, member: Self) -> Self {
        Self(self.0.wrapping_add(member.0))
    }

    pub(crate) const fn subtract(self, member: Self) -> Self {
        Self(self.0.wrapping_sub(member.0))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 64 bits tell apart what one control plane ever serves.
        #[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
        let half = (self.0 ^ (self.0 >> 64)) as u64;
        write!(f, "{half:016x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written down: it must be the same in every version that is compatible.
    #[test]
    fn it_is_the_same_everywhere() {
        assert_eq!(Digest::of(&[b"smf", b"octets"]).to_string(), WRITTEN);
        assert_ne!(Digest::of(&[b"smfo", b"ctets"]).to_string(), WRITTEN);
    }

    const WRITTEN: &str = "073cc41178741b79";

    #[test]
    fn the_order_of_a_set_does_not_count() {
        let [a, b, c] = [b"a", b"b", b"c"].map(|part| Digest::of(&[part]));
        assert_eq!(a.add(b).add(c), c.add(a).add(b));
        assert_eq!(a.add(b).subtract(a), b);
        assert_ne!(a.add(a), Digest::default());
    }
}
