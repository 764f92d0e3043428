//! Sequence numbers, one counter a subscriber (TS 33.102, C.1.1.1 and C.2.1): none is used twice, and
//! nobody waits for the disk.
//!
//! A subscriber's record says up to which number blocks were reserved; numbers are lived off in memory,
//! and the next block is asked for with the first number of it. A block is written behind the answer,
//! so a crash may lose the last one: who reads the log begins a block later, and who is not in the log
//! begins a block later with each start. So a crash skips numbers and repeats none.

use corewire_core5g_aka::Sqn;
use serde::{Deserialize, Serialize};

/// Numbers of a block. A USIM takes jumps of 2^28 (TS 33.102, C.2.1): millions of restarts between two
/// authentications of a UE.
pub(super) const BLOCK: u64 = 32;
/// How far ahead of the USIM's a number may be (TS 33.102, C.2.1, delta).
const DELTA: u64 = 1 << 28;
/// SEQ has 43 bits.
const MAX_SEQ: u64 = (1 << 43) - 1;
/// Where the number of starts is in the log.
pub(super) const STARTS: &str = "sequence-mark";

/// The counter of a subscriber.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Sequence {
    /// The end of the last block that was reserved; zero: none.
    reserved: u64,
    /// The next number, once one was given since the start.
    #[serde(skip)]
    next: Option<u64>,
    /// The change of the log that writes the last block.
    #[serde(skip)]
    change: u64,
}

/// A number, and whether a block was reserved for it: then the record is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) sqn: Sqn,
    pub(super) reserves: bool,
}

impl Sequence {
    /// The next number; the first is beyond `floor`. `starts` is how often the store was opened, `committed` the
    /// last change that is on the disk. `None` when the disk has not taken a block for so long that
    /// the next is used up.
    pub(super) fn next(&mut self, starts: u64, floor: Sqn, committed: u64) -> Option<Given> {
        let seq = self.upcoming(starts, floor);
        let reserves = seq > self.reserved;
        if reserves {
            if committed < self.change {
                return None;
            }
            self.reserved = seq + BLOCK - 1;
        }
        self.next = Some(seq + 1);
        let sqn = sqn_of(seq)?;
        Some(Given { sqn, reserves })
    }

    /// The block is written with this change of the log.
    pub(super) const fn written_by(&mut self, change: u64) {
        self.change = change;
    }

    /// The USIM says where it is (TS 33.102, 6.3.5, step 3): numbers go on from there when it would not
    /// take the next, whether it is ahead or too far behind. Says whether the record is to be written.
    pub(super) fn resynchronise(&mut self, starts: u64, floor: Sqn, at: Sqn) -> bool {
        let (next, at) = (self.upcoming(starts, floor), seq_of(at));
        let takes_it = next
            .checked_sub(at)
            .is_some_and(|ahead| (1..=DELTA).contains(&ahead));
        if takes_it {
            return false;
        }
        self.next = Some(at + 1);
        self.reserved = at + BLOCK;
        true
    }

    fn upcoming(&self, starts: u64, floor: Sqn) -> u64 {
        let after_start = match self.reserved {
            0 => seq_of(floor) + starts.saturating_mul(BLOCK) + 1,
            reserved => reserved + BLOCK + 1,
        };
        self.next.unwrap_or(after_start)
    }
}

/// SEQ is what stands before the five bits of IND.
const fn seq_of(sqn: Sqn) -> u64 {
    sqn.value() >> 5
}

/// SEQ with an index that goes round (TS 33.102, C.1.1.1).
fn sqn_of(seq: u64) -> Option<Sqn> {
    Sqn::new(((seq & MAX_SEQ) << 5) | (seq % 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sqn(seq: u64) -> Sqn {
        Sqn::new(seq << 5).unwrap()
    }

    /// The next number, as a store without a log gives it.
    fn next(sequence: &mut Sequence) -> u64 {
        seq_of(sequence.next(0, Sqn::default(), u64::MAX).unwrap().sqn)
    }

    #[test]
    fn no_number_is_used_twice_not_even_after_a_crash_that_loses_the_last_block() {
        let mut written = Sequence::default();
        let mut highest = 0;
        for starts in 0..100 {
            // As it was read from the log.
            let mut sequence = Sequence {
                reserved: written.reserved,
                ..Sequence::default()
            };
            for number in 0..starts {
                let given = sequence.next(starts, Sqn::default(), u64::MAX).unwrap();
                assert!(seq_of(given.sqn) > highest, "start {starts}");
                highest = seq_of(given.sqn);
                // The crash: of this start, only the blocks before the last one are in the log.
                if given.reserves && number > 0 {
                    written.reserved = sequence.reserved - BLOCK;
                }
            }
        }
    }

    #[test]
    fn a_block_waits_for_the_one_before_it_to_be_on_the_disk() {
        let mut sequence = Sequence::default();
        assert!(sequence.next(0, Sqn::default(), 0).unwrap().reserves);
        sequence.written_by(7);
        for _ in 1..BLOCK {
            assert!(!sequence.next(0, Sqn::default(), 6).unwrap().reserves);
        }
        assert_eq!(sequence.next(0, Sqn::default(), 6), None);
        assert!(sequence.next(0, Sqn::default(), 7).unwrap().reserves);
    }

    #[test]
    fn a_usim_that_is_ahead_or_too_far_behind_is_followed() {
        let mut sequence = Sequence::default();
        assert!(sequence.resynchronise(0, Sqn::default(), sqn(1_000_000)));
        assert_eq!(next(&mut sequence), 1_000_001);
        // A little behind: what comes next is taken.
        assert!(!sequence.resynchronise(0, Sqn::default(), sqn(5)));
        assert_eq!(next(&mut sequence), 1_000_002);
        let mut far = Sequence::default();
        assert!(far.resynchronise(0, Sqn::default(), sqn(DELTA * 3)));
        assert_eq!(next(&mut far), DELTA * 3 + 1);
        assert!(
            far.resynchronise(0, Sqn::default(), sqn(7)),
            "more than 2^28 behind"
        );
        assert_eq!(next(&mut far), 8);
    }
}
