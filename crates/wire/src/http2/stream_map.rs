//! A map by stream number.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by stream number, with a hash as cheap as stream numbers allow.
pub type StreamMap<V> = HashMap<u32, V, BuildHasherDefault<StreamHasher>>;

/// Spreads stream numbers. They are small and grow; the peer chooses them, but each only once and
/// no more at a time than [`super::Limits::max_streams`].
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamHasher(u64);

impl Hasher for StreamHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, octets: &[u8]) {
        for octet in octets {
            self.0 = (self.0 << 8) | u64::from(*octet);
        }
        self.0 = self.0.wrapping_mul(SPREAD);
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = u64::from(number).wrapping_mul(SPREAD);
    }
}

/// 2^64 divided by the golden ratio: neighbours end far apart.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
