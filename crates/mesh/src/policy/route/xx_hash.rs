//! XXH64 (`xxHash/doc/xxhash_spec.md`): the hash that xDS names for affinity, so that a sidecar and
//! this library send the same key to the same endpoint.

const P1: u64 = 0x9e37_79b1_85eb_ca87;
const P2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const P3: u64 = 0x1656_67b1_9e37_79f9;
const P4: u64 = 0x85eb_ca77_c2b2_ae63;
const P5: u64 = 0x27d4_eb2f_1656_67c5;

const fn round(lane: u64, input: u64) -> u64 {
    lane.wrapping_add(input.wrapping_mul(P2))
        .rotate_left(31)
        .wrapping_mul(P1)
}

const fn merge(hash: u64, lane: u64) -> u64 {
    (hash ^ round(0, lane)).wrapping_mul(P1).wrapping_add(P4)
}

fn word(octets: &[u8]) -> u64 {
    octets
        .iter()
        .rev()
        .fold(0, |word, octet| word << 8 | u64::from(*octet))
}

/// The hash of `octets` with this seed.
#[must_use]
pub fn hash(octets: &[u8], seed: u64) -> u64 {
    let length = octets.len() as u64;
    let stripes = octets.chunks_exact(32);
    let mut rest = stripes.remainder();
    let mut hash = if octets.len() >= 32 {
        let mut lanes = [
            seed.wrapping_add(P1).wrapping_add(P2),
            seed.wrapping_add(P2),
            seed,
            seed.wrapping_sub(P1),
        ];
        for stripe in stripes {
            for (lane, octets) in lanes.iter_mut().zip(stripe.chunks_exact(8)) {
                *lane = round(*lane, word(octets));
            }
        }
        let [a, b, c, d] = lanes;
        let sum = a
            .rotate_left(1)
            .wrapping_add(b.rotate_left(7))
            .wrapping_add(c.rotate_left(12))
            .wrapping_add(d.rotate_left(18));
        lanes.into_iter().fold(sum, merge)
    } else {
        seed.wrapping_add(P5)
    };
    hash = hash.wrapping_add(length);
    while let Some((eight, after)) = rest.split_at_checked(8) {
        hash = (hash ^ round(0, word(eight)))
            .rotate_left(27)
            .wrapping_mul(P1)
            .wrapping_add(P4);
        rest = after;
    }
    if let Some((four, after)) = rest.split_at_checked(4) {
        hash = (hash ^ word(four).wrapping_mul(P1))
            .rotate_left(23)
            .wrapping_mul(P2)
            .wrapping_add(P3);
        rest = after;
    }
    for octet in rest {
        hash = (hash ^ u64::from(*octet).wrapping_mul(P5))
            .rotate_left(11)
            .wrapping_mul(P1);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(P2);
    hash = (hash ^ (hash >> 29)).wrapping_mul(P3);
    hash ^ (hash >> 32)
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
