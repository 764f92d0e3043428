//! Sequence numbers: none is used twice, and nobody waits for the disk (TS 33.102, C.1.1.3 and C.1.2,
//! which leave their generation to the home network: one counter for all, and a difference for each
//! subscriber who is elsewhere).
//!
//! SEQ = counter + difference. The counter only goes up; the log holds a mark that it has not
//! reached. When half of the way to the mark is gone the next mark is written, and only marks that
//! are on the disk are lived off, so that a crash skips numbers and repeats none. A resynchronisation
//! gives its subscriber a difference, which is kept.

use crate::aka::Sqn;
use crate::journal::Journal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Numbers between marks. A USIM takes jumps of 2^28 (TS 33.102, C.2.1): a thousand restarts between
/// two authentications of one UE are far below.
const BLOCK: u64 = 1 << 14;
/// SEQ has 43 bits.
const MAX_SEQ: u64 = (1 << 43) - 1;
/// Where the mark is in the log.
pub(super) const MARK: &str = "sequence-mark";

/// The counter.
#[derive(Debug)]
pub(super) struct Sequence {
    state: Mutex<State>,
    /// The highest mark that was asked for: a log that is written anew begins with it.
    asked: Arc<AtomicU64>,
}

#[derive(Debug)]
struct State {
    next: u64,
    /// Not to be reached: a restart begins here.
    mark: u64,
    /// A further mark, and the change of the log that writes it.
    coming: Option<(u64, u64)>,
}

impl Sequence {
    /// Begins at the mark of the log, and writes the next; waits until it is there.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn begin(
        mark: u64,
        asked: Arc<AtomicU64>,
        journal: Option<&Journal>,
    ) -> std::io::Result<Self> {
        let next = mark.max(1);
        let state = State {
            next,
            mark: next + BLOCK,
            coming: None,
        };
        let sequence = Self {
            state: Mutex::new(state),
            asked,
        };
        if let Some(journal) = journal {
            journal.wait(sequence.write(journal, next + BLOCK))?;
        }
        Ok(sequence)
    }

    fn write(&self, journal: &Journal, mark: u64) -> u64 {
        self.asked.store(mark, Ordering::SeqCst);
        journal.put(MARK, mark.to_le_bytes().to_vec())
    }

    /// The next sequence number for a subscriber with this difference; `None` when the disk has not
    /// taken a mark for so long that the numbers are used up.
    pub(super) fn next(&self, difference: u64, journal: Option<&Journal>) -> Option<Sqn> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some((mark, change)), Some(journal)) = (state.coming, journal)
            && journal.committed() >= change
        {
            state.mark = mark;
            state.coming = None;
        }
        if state.coming.is_none() && state.next + BLOCK / 2 >= state.mark {
            let mark = state.mark + BLOCK;
            match journal {
                Some(journal) => state.coming = Some((mark, self.write(journal, mark))),
                None => state.mark = mark,
            }
        }
        if state.next >= state.mark {
            return None;
        }
        let number = state.next;
        state.next += 1;
        sqn_of(number + difference)
    }

    /// The difference that puts a subscriber beyond the number its USIM is at.
    pub(super) fn difference_beyond(&self, sqn: Sqn) -> u64 {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        seq_of(sqn).saturating_add(1).saturating_sub(state.next)
    }
}

/// SEQ is what stands before the five bits of IND.
pub(super) const fn seq_of(sqn: Sqn) -> u64 {
    sqn.value() >> 5
}

/// SEQ with an index that goes round (TS 33.102, C.1.1.1).
fn sqn_of(seq: u64) -> Option<Sqn> {
    Sqn::new(((seq & MAX_SEQ) << 5) | (seq % 32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_number_is_used_twice_not_even_after_a_crash() {
        let folder = tempfile::tempdir().unwrap();
        let mut used = HashSet::new();
        let mut highest = 0;
        for round in 0..3 {
            let mut mark = 0;
            let apply = |name: &[u8], value: Option<&[u8]>| {
                if name == MARK.as_bytes() {
                    mark = u64::from_le_bytes(value.unwrap().try_into().unwrap());
                }
            };
            let opened = Journal::open(folder.path(), "test", apply, Box::new(|_| {}));
            let (journal, _) = opened.unwrap();
            let sequence = Sequence::begin(mark, Arc::default(), Some(&journal)).unwrap();
            for _ in 0..2 * BLOCK {
                let sqn = loop {
                    if let Some(sqn) = sequence.next(0, Some(&journal)) {
                        break sqn;
                    }
                    std::thread::yield_now();
                };
                assert!(used.insert(sqn), "round {round}");
                assert!(seq_of(sqn) > highest, "always higher");
                highest = seq_of(sqn);
            }
        }
    }

    #[test]
    fn a_subscriber_who_is_ahead_is_overtaken() {
        let sequence = Sequence::begin(0, Arc::default(), None).unwrap();
        let ahead = Sqn::new((1_000_000 << 5) | 3).unwrap();
        let difference = sequence.difference_beyond(ahead);
        assert!(seq_of(sequence.next(difference, None).unwrap()) > seq_of(ahead));
        assert_eq!(sequence.difference_beyond(Sqn::default()), 0);
        let used_up = Sequence::begin(0, Arc::default(), None).unwrap();
        for _ in 0..3 * BLOCK {
            assert!(used_up.next(0, None).is_some());
        }
    }
}
