//! Digests by which fields are found.

const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A few multiplications: this is done for every field that is not found at once.
pub(super) const fn digest(octets: &[u8]) -> u32 {
    let mut sum = octets.len() as u64;
    let mut rest = octets;
    while let Some((eight, behind)) = rest.split_first_chunk::<8>() {
        sum = mix(sum, u64::from_le_bytes(*eight));
        rest = behind;
    }
    let mut last = 0;
    if let Some((four, behind)) = rest.split_first_chunk::<4>() {
        last = u32::from_le_bytes(*four) as u64;
        rest = behind;
    }
    while let Some((octet, behind)) = rest.split_first() {
        last = last << 8 | *octet as u64;
        rest = behind;
    }
    (mix(sum, last) >> 32) as u32
}

/// The digest of a field from those of its name and value.
pub(super) const fn join(name: u32, value: u32) -> u32 {
    (mix(name as u64, value as u64) >> 32) as u32
}

const fn mix(sum: u64, more: u64) -> u64 {
    (sum.rotate_left(23) ^ more).wrapping_mul(SPREAD)
}

#[cfg(test)]
mod tests {
    use super::*;

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
