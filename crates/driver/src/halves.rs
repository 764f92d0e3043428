//! When half of many calls is written ahead of the rest.

/// So many calls must be in progress on a connection for half of them to be written by themselves: with
/// fewer, a write costs more than it gains.
const WRITTEN_IN_HALVES: usize = 16;

/// Whether calls that are not written are half of all that are in progress, or about to be. Written then,
/// the service works on them while the others are made, and on those while the answers of the first are
/// read: with all of them in one batch the two ends take turns and each idles for half of the time. From
/// then on each half follows the other by itself.
#[inline]
#[must_use]
pub const fn is_half(unwritten: usize, all: usize) -> bool {
    all >= WRITTEN_IN_HALVES && unwritten >= all.div_ceil(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_calls_are_not_halved() {
        assert!(!is_half(15, 15));
        assert!(is_half(8, 16) && !is_half(7, 16));
        assert!(is_half(9, 17) && !is_half(8, 17));
    }
}
