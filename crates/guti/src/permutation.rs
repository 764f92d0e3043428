//! A keyed permutation of the 32-bit numbers, and the key it is made of.
//!
//! The allocator counts; what it hands out must not look like counting. TS 33.501 clause 6.12.3 asks
//! for 5G-TMSIs that cannot be predicted: who can guess the next one, or tell two of one UE's apart
//! from those of others, can follow a subscriber. A permutation under a secret key gives both at
//! once: distinct numbers stay distinct, so uniqueness needs no table of values, and without the
//! key the outputs are as good as drawn at random without replacement.
//!
//! ```text
//! left (16) | right (16)
//!      |         |
//!     xor <--- PRF(key, round, right)      ten rounds, the halves trade places after each
//! ```
//!
//! Why this and not something else:
//! - *Drawing at random and looking up*: 32 bits a value to remember instead of one, and slower the
//!   fuller it is.
//! - *A block cipher*: none of the usual ones has 32-bit blocks. The way out that NIST took for
//!   small blocks (SP 800-38G, FF1) is this one: a Feistel network of ten rounds around a strong
//!   pseudo-random function. With ten rounds the known attacks on small domains need more than the
//!   whole code book, even from someone who sees every TMSI handed out.
//! - *A linear congruential or multiplicative hash*: a handful of outputs give the key away.
//!
//! The round function is SipHash-2-4: a keyed pseudo-random function made for short inputs, and our
//! four octets (round, half) are a single block of it. FF1 has AES there; SipHash costs about the
//! same, has no tables, and needs no particular processor.

use std::fmt;

use siphasher::sip::SipHasher24;
use zeroize::Zeroizing;

const ROUNDS: u32 = 10;

/// The secret that an allocator's TMSIs depend on. Overwritten when dropped, hidden from `Debug`.
#[derive(Clone)]
pub struct TmsiKey(Zeroizing<[u8; Self::LEN]>);

impl TmsiKey {
    /// Octets of a key: one SipHash key for the permutation, one for the order of reuse.
    pub const LEN: usize = 32;

    /// A fresh key from the operating system.
    ///
    /// # Errors
    /// The system has no randomness to give; nothing else can take its place, so give up.
    pub fn random() -> Result<Self, NoEntropy> {
        let mut key = Self::from_bytes([0; Self::LEN]);
        getrandom::fill(&mut *key.0).map_err(|cause| NoEntropy {
            os_error: cause.raw_os_error(),
        })?;
        Ok(key)
    }

    /// A given key: for tests that must repeat. A key that anyone knows makes TMSIs that anyone can
    /// compute.
    #[must_use]
    pub fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The key's two halves, for two independent functions.
    pub(crate) fn split(&self) -> (PrfKey, PrfKey) {
        let (a, b) = self.0.split_at(Self::LEN / 2);
        (PrfKey::new(a), PrfKey::new(b))
    }
}

impl fmt::Debug for TmsiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TmsiKey(<redacted>)")
    }
}

/// The operating system gave no randomness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoEntropy {
    os_error: Option<i32>,
}

impl fmt::Display for NoEntropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the operating system gave no randomness for the TMSI key")?;
        match self.os_error {
            Some(code) => write!(f, " (error {code})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for NoEntropy {}

/// A keyed pseudo-random function: SipHash-2-4. Its key is overwritten when dropped.
pub(crate) struct PrfKey(Zeroizing<[u64; 2]>);

impl PrfKey {
    fn new(bytes: &[u8]) -> Self {
        let half = |range: std::ops::Range<usize>| {
            bytes[range]
                .iter()
                .rev()
                .fold(0, |word, &byte| word << 8 | u64::from(byte))
        };
        Self(Zeroizing::new([half(0..8), half(8..16)]))
    }

    /// 64 bits that look random to whom the key is unknown.
    pub(crate) fn hash(&self, input: &[u8]) -> u64 {
        let [k0, k1] = *self.0;
        SipHasher24::new_with_keys(k0, k1).hash(input)
    }
}

/// A permutation of the 32-bit numbers under a key.
pub(crate) struct Permutation {
    key: PrfKey,
}

impl Permutation {
    pub(crate) const fn new(key: PrfKey) -> Self {
        Self { key }
    }

    /// The image of `index`: distinct for distinct indices.
    pub(crate) fn forward(&self, index: u32) -> u32 {
        let (mut left, mut right) = halves(index);
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ self.round(round, right));
        }
        whole(left, right)
    }

    /// The index whose image `value` is.
    pub(crate) fn backward(&self, value: u32) -> u32 {
        let (mut left, mut right) = halves(value);
        for round in (0..ROUNDS).rev() {
            (left, right) = (right ^ self.round(round, left), left);
        }
        whole(left, right)
    }

    /// Sixteen pseudo-random bits; the round number keeps the rounds' functions apart.
    fn round(&self, round: u32, half: u16) -> u16 {
        let input = (round << 16 | u32::from(half)).to_le_bytes();
        self.key.hash(&input) as u16
    }
}

const fn halves(word: u32) -> (u16, u16) {
    ((word >> 16) as u16, word as u16)
}

const fn whole(left: u16, right: u16) -> u32 {
    (left as u32) << 16 | right as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permutation(seed: u8) -> Permutation {
        Permutation::new(TmsiKey::from_bytes([seed; TmsiKey::LEN]).split().0)
    }

    #[test]
    fn backward_undoes_forward() {
        let permutation = permutation(1);
        let sample = (0..=u32::MAX).step_by(65_521).chain([u32::MAX]);
        for index in sample {
            assert_eq!(permutation.backward(permutation.forward(index)), index);
        }
    }

    /// Neighbours must not look like neighbours: over many pairs each output bit differs in about
    /// half of them. A bit stuck to the input, or a missing round, is far outside the bound.
    #[test]
    fn each_input_bit_moves_each_output_bit_half_of_the_time() {
        const PAIRS: u32 = 2_000;
        let permutation = permutation(2);
        for input_bit in 0..32 {
            let mut moved = [0u32; 32];
            for index in 0..PAIRS {
                let index = index.wrapping_mul(0x9e37_79b9);
                let difference =
                    permutation.forward(index) ^ permutation.forward(index ^ 1 << input_bit);
                for (bit, count) in moved.iter_mut().enumerate() {
                    *count += difference >> bit & 1;
                }
            }
            // Six standard deviations of a fair coin: 6 * sqrt(2000) / 2 = 134.
            for (bit, count) in moved.iter().enumerate() {
                assert!(
                    count.abs_diff(PAIRS / 2) < 134,
                    "input bit {input_bit} moved output bit {bit} {count} times of {PAIRS}"
                );
            }
        }
    }

    #[test]
    fn another_key_is_another_permutation() {
        let (a, b) = (permutation(3), permutation(4));
        let same = (0..1_000).filter(|&i| a.forward(i) == b.forward(i)).count();
        assert_eq!(same, 0);
    }

    /// The round function is the published SipHash-2-4: key 00..0f, input 00..0e (the paper's example).
    #[test]
    fn the_round_function_is_siphash_2_4() {
        let mut bytes = [0; TmsiKey::LEN];
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = (i % 16) as u8;
        }
        let (first, second) = TmsiKey::from_bytes(bytes).split();
        let input: Vec<u8> = (0..15).collect();
        assert_eq!(first.hash(&input), 0xa129_ca61_49be_45e5);
        assert_eq!(second.hash(&input), 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn debug_hides_the_key() {
        assert_eq!(
            format!("{:?}", TmsiKey::from_bytes([42; 32])),
            "TmsiKey(<redacted>)"
        );
    }
}
