//! Things kept for each call of a connection, found by the call's number.

use corewire_wire::CallId;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Things kept for each call. Numbers are handed out by the peer, but never more at a time than
/// the protocol's limit on calls in flight: that bounds what chosen numbers can cost.
pub(crate) type CallMap<T> = HashMap<CallId, T, BuildHasherDefault<CallHasher>>;

/// Folds the product with an odd constant: one multiplication for a number that is small and
/// mostly consecutive.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallHasher(u64);

impl Hasher for CallHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, octets: &[u8]) {
        for octet in octets {
            self.write_u32(u32::from(*octet));
        }
    }

    fn write_u32(&mut self, number: u32) {
        let product = u128::from(self.0 ^ u64::from(number)) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product ^ (product >> 64)) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::BuildHasher;

    #[test]
    fn numbers_far_apart_spread_over_few_buckets() {
        let hasher = BuildHasherDefault::<CallHasher>::default();
        for stride in [1, 2, 256, 65_536, 1 << 20] {
            let mut buckets = [0; 64];
            for number in 0..1024u32 {
                let id = CallId::new(number.wrapping_mul(stride));
                buckets[(hasher.hash_one(id) & 63) as usize] += 1;
            }
            let fullest = buckets.iter().max().unwrap();
            assert!(
                *fullest < 200,
                "stride {stride}: {fullest} of 1024 in one bucket of 64"
            );
        }
    }
}
