//! An array that only grows, read without a lock.

use std::fmt;
use std::sync::OnceLock;

/// Values by a dense index. A value is put into its slot once and stays where it is, so that who
/// reads needs no lock and may keep what he has found.
///
/// The slots stand in chunks, each twice as long as the one before; a chunk is made when its first
/// slot is filled. That takes no more than three times the memory of what is in it.
pub struct Slots<T> {
    chunks: [OnceLock<Box<[OnceLock<T>]>>; CHUNKS],
}

/// Slots of the first chunk.
const FIRST: usize = 16;

/// Enough for [`Slots::MAX`].
const CHUNKS: usize = 24;

impl<T> Slots<T> {
    /// How many slots there can be.
    pub const MAX: usize = FIRST * ((1 << CHUNKS) - 1);

    /// No slot is filled.
    #[must_use]
    pub fn new() -> Self {
        Self {
            chunks: [const { OnceLock::new() }; CHUNKS],
        }
    }

    /// What is in the slot.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&T> {
        let (chunk, at) = place(index)?;
        self.chunks[chunk].get()?.get(at)?.get()
    }

    /// What is in the slot, which `make` fills when it is empty. Of several threads that come at
    /// once one makes the value and the others wait for it.
    ///
    /// # Panics
    /// When the index is [`Slots::MAX`] or beyond: what is counted here ends long before.
    pub fn get_or_init(&self, index: usize, make: impl FnOnce() -> T) -> &T {
        let (chunk, at) = place(index).expect("an index within Slots::MAX");
        let chunk = self.chunks[chunk]
            .get_or_init(|| (0..FIRST << chunk).map(|_| OnceLock::new()).collect());
        chunk[at].get_or_init(make)
    }

    /// The filled slots with their indexes, in order.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.chunks
            .iter()
            .enumerate()
            .filter_map(|(chunk, slots)| {
                slots.get().map(|slots| (FIRST * ((1 << chunk) - 1), slots))
            })
            .flat_map(|(first, slots)| {
                slots
                    .iter()
                    .enumerate()
                    .filter_map(move |(at, slot)| slot.get().map(|value| (first + at, value)))
            })
    }
}

/// The chunk of a slot and its place there.
fn place(index: usize) -> Option<(usize, usize)> {
    // Chunk n begins at FIRST * (2^n - 1).
    let shifted = index.checked_add(FIRST)?;
    let chunk = (shifted / FIRST).ilog2() as usize;
    (chunk < CHUNKS).then(|| (chunk, shifted - (FIRST << chunk)))
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for Slots<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_has_a_place_of_its_own() {
        let mut next = (0, 0);
        for index in 0..5000 {
            assert_eq!(place(index), Some(next));
            next.1 += 1;
            if next.1 == FIRST << next.0 {
                next = (next.0 + 1, 0);
            }
        }
        assert_eq!(place(Slots::<()>::MAX), None);
        assert!(place(Slots::<()>::MAX - 1).is_some());
        assert_eq!(place(usize::MAX), None);
    }

    #[test]
    fn a_slot_is_filled_once() {
        let slots = Slots::new();
        assert_eq!(*slots.get_or_init(40, || 1), 1);
        assert_eq!(*slots.get_or_init(40, || 2), 1);
        assert_eq!(slots.get(40), Some(&1));
        assert_eq!(slots.get(41), None);
        assert_eq!(slots.get(4000), None);
        slots.get_or_init(3, || 7);
        assert_eq!(slots.iter().collect::<Vec<_>>(), [(3, &7), (40, &1)]);
    }

    #[test]
    fn threads_that_come_at_once_get_the_same() {
        let slots = Slots::new();
        let addresses: Vec<Vec<usize>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|thread| {
                    let slots = &slots;
                    scope.spawn(move || {
                        (0..1000)
                            .map(|index| {
                                std::ptr::from_ref(slots.get_or_init(index, || (thread, index)))
                                    .addr()
                            })
                            .collect()
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert!(addresses.windows(2).all(|pair| pair[0] == pair[1]));
    }
}
