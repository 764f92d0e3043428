//! XXH64 (`xxHash/doc/xxhash_spec.md`): the hash that xDS names for affinity, so that a sidecar and
//! this library send the same key to the same endpoint.

/// The hash of `octets` with this seed.
#[must_use]
pub fn hash(octets: &[u8], seed: u64) -> u64 {
    xxhash_rust::xxh64::xxh64(octets, seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sanity buffer of xxHash's own tests.
    fn sanity(length: usize) -> Vec<u8> {
        let mut generator = 2_654_435_761_u64;
        let mut octets = Vec::new();
        for _ in 0..length {
            octets.push((generator >> 56) as u8);
            generator = generator.wrapping_mul(11_400_714_785_074_694_797);
        }
        octets
    }

    #[test]
    fn the_vectors_of_the_reference_hold() {
        const PRIME: u64 = 2_654_435_761;
        for (length, seed, expected) in [
            (0, 0, 0xef46_db37_51d8_e999),
            (0, PRIME, 0xac75_fda2_929b_17ef),
            (1, 0, 0xe934_a84a_db05_2768),
            (1, PRIME, 0x5014_6076_43a9_b4c3),
            (4, 0, 0x9136_a0dc_a574_57ee),
            (14, 0, 0x8282_dcc4_994e_35c8),
            (14, PRIME, 0xc3bd_6bf6_3deb_6df0),
            (222, 0, 0xb641_ae8c_b691_c174),
            (222, PRIME, 0x20cb_8ab7_ae10_c14a),
        ] {
            assert_eq!(
                hash(&sanity(length), seed),
                expected,
                "{length} octets, seed {seed}"
            );
        }
        assert_eq!(hash(b"abc", 0), 0x44bc_2cf5_ad77_0999);
    }
}
