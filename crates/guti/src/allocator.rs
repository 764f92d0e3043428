//! The GUTI allocator of one AMF.
//!
//! An *index space* of at least four times the capacity; a bit for each index says whether it is
//! taken; a secret permutation makes the TMSI of an index, and the index of a TMSI.
//!
//! ```text
//! allocate:    ticket -> index -> set its bit -> permute -> TMSI
//! deallocate:  TMSI -> permute back -> clear its bit
//! ```
//!
//! - *Unique*: a bit is set by one caller only, and the permutation maps no two indices to one TMSI.
//! - *Small and steady*: one bit an index, so the default 64 Mi GUTIs need 32 MiB, of which only the
//!   pages in use are resident; the cost of an allocation does not depend on how many went before.
//! - *Reuse*: the first pass over the space goes straight through, so that a freed TMSI stays out
//!   of use for as long as any other is fresh: late messages for its old owner find nobody. After
//!   it, indices are drawn at random (keyed, so not to be predicted either, not even by someone
//!   who recorded the whole first pass). At least three quarters of the space are free, so a draw
//!   hits a taken index at most one time in four.
//! - *Threads*: no lock. Two counters and one bit are changed by atomic operations.

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::permutation::{Permutation, PrfKey};
use crate::{Guami, Guti, NoEntropy, Tmsi, TmsiKey};

/// How many GUTIs an [`Allocator`] may have allocated at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Capacity(u32);

impl Capacity {
    /// The most there can be: a quarter of the 32-bit space, so that reuse stays unpredictable and
    /// quick to the last one. Its bitmap is 512 MiB.
    pub const MAX: Self = Self(1 << 30);

    /// The number of GUTIs.
    #[must_use]
    pub const fn value(self) -> u32 {
        self.0
    }

    /// Indices to choose from: a power of two, so that random bits can be cut to it without bias.
    fn space(self) -> u64 {
        const SPARE: u64 = 4;
        // Even a tiny allocator should not hand a TMSI out again at once.
        const LEAST: u64 = 4096;
        (u64::from(self.0) * SPARE).next_power_of_two().max(LEAST)
    }
}

/// 64 Mi: an AMF of a large network, with a bitmap of 32 MiB.
impl Default for Capacity {
    fn default() -> Self {
        Self(1 << 26)
    }
}

impl TryFrom<u32> for Capacity {
    type Error = CapacityError;

    fn try_from(value: u32) -> Result<Self, CapacityError> {
        if value == 0 || value > Self::MAX.0 {
            return Err(CapacityError(value));
        }
        Ok(Self(value))
    }
}

/// No [`Capacity`]: zero, or more than [`Capacity::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapacityError(u32);

impl fmt::Display for CapacityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let max = Capacity::MAX.0;
        write!(f, "a capacity of {} GUTIs is not within 1 to {max}", self.0)
    }
}

impl std::error::Error for CapacityError {}

/// Allocates the GUTIs of one GUAMI. Shared by reference between threads.
///
/// Its state lives and dies with the process: a new one has a new key and knows nothing of GUTIs
/// allocated before. An AMF that restarts and wants to stay clear of them comes back under another
/// AMF pointer.
pub struct Allocator {
    guami: Guami,
    capacity: Capacity,
    permutation: Permutation,
    reuse: PrfKey,
    /// Bit `i % 64` of word `i / 64`: index `i` is taken. Relaxed order is enough for it and the
    /// counters: a bit guards no other memory, and the operations on one bit have one order anyway.
    taken: Box<[AtomicU64]>,
    /// Draws so far; below the size of the space a ticket is the index itself.
    tickets: AtomicU64,
    /// GUTIs allocated or just being so; at most the capacity. Counts before a bit is set and after
    /// one is cleared, hence there is always a free bit for who was counted.
    allocated: AtomicU32,
}

impl Allocator {
    /// An allocator of default capacity with a key from the operating system.
    ///
    /// # Errors
    /// See [`TmsiKey::random`].
    pub fn new(guami: Guami) -> Result<Self, NoEntropy> {
        Ok(Self::with_key(
            guami,
            Capacity::default(),
            TmsiKey::random()?,
        ))
    }

    /// An allocator of the given capacity and key.
    #[must_use]
    pub fn with_key(guami: Guami, capacity: Capacity, key: TmsiKey) -> Self {
        let (permutation, reuse) = key.split();
        let words = usize::try_from(capacity.space() / 64).expect("2^32 / 64 fits");
        let allocator = Self {
            guami,
            capacity,
            permutation: Permutation::new(permutation),
            reuse,
            taken: zeroed(words),
            tickets: AtomicU64::new(0),
            allocated: AtomicU32::new(0),
        };
        // The index whose TMSI would be the reserved one is taken from the start, by nobody.
        allocator.take(allocator.permutation.backward(Tmsi::RESERVED));
        allocator
    }

    /// Allocates a GUTI, different from all that are allocated now.
    ///
    /// # Errors
    /// [`AllocateError::Exhausted`] when the capacity is reached; the same call succeeds again as
    /// soon as a GUTI was deallocated.
    pub fn allocate(&self) -> Result<Guti, AllocateError> {
        // Compare-and-swap rather than add and take back: an overshoot would fail a second caller
        // for whom there was room.
        self.allocated
            .try_update(Relaxed, Relaxed, |allocated| {
                (allocated < self.capacity.0).then_some(allocated + 1)
            })
            .map_err(|_| AllocateError::Exhausted {
                capacity: self.capacity.0,
            })?;
        loop {
            // Ends: tickets run through the whole space once, then each draw succeeds with a
            // probability of three quarters or more.
            let index = self.draw();
            if self.take(index)
                && let Ok(tmsi) = Tmsi::try_from(self.permutation.forward(index))
            {
                return Ok(Guti::new(self.guami, tmsi));
            }
        }
    }

    /// Gives a GUTI back.
    ///
    /// # Errors
    /// The GUTI belongs to another AMF, or is not allocated (never was, or was given back already).
    /// Nothing has changed then.
    pub fn deallocate(&self, guti: &Guti) -> Result<(), DeallocateError> {
        if guti.guami() != self.guami {
            return Err(DeallocateError::OtherGuami {
                ours: self.guami,
                theirs: guti.guami(),
            });
        }
        let index = self.permutation.backward(guti.tmsi().value());
        if !self.release(index) {
            return Err(DeallocateError::NotAllocated);
        }
        self.allocated.fetch_sub(1, Relaxed);
        Ok(())
    }

    /// Whether the GUTI is allocated here at this moment.
    #[must_use]
    pub fn is_allocated(&self, guti: &Guti) -> bool {
        let (word, bit) = place(self.permutation.backward(guti.tmsi().value()));
        guti.guami() == self.guami
            && self
                .taken
                .get(word)
                .is_some_and(|word| word.load(Relaxed) & bit != 0)
    }

    /// The GUAMI of every GUTI allocated here.
    #[must_use]
    pub const fn guami(&self) -> Guami {
        self.guami
    }

    /// How many GUTIs may be allocated at one time.
    #[must_use]
    pub const fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// How many GUTIs are allocated at this moment.
    #[must_use]
    pub fn allocated(&self) -> u32 {
        self.allocated.load(Relaxed)
    }

    /// Octets of memory this allocator owns, now and ever: it does not grow. Pages of it that were
    /// never used are not resident.
    #[must_use]
    pub const fn memory(&self) -> usize {
        size_of::<Self>() + size_of_val::<[AtomicU64]>(&self.taken)
    }

    /// The index to try next.
    fn draw(&self) -> u32 {
        let space = self.capacity.space();
        let ticket = self.tickets.fetch_add(1, Relaxed);
        let index = if ticket < space {
            ticket
        } else {
            self.reuse.hash(&ticket.to_le_bytes()) & (space - 1)
        };
        index as u32
    }

    /// Takes an index; false if it was taken already.
    fn take(&self, index: u32) -> bool {
        let (word, bit) = place(index);
        self.taken
            .get(word)
            .is_some_and(|word| word.fetch_or(bit, Relaxed) & bit == 0)
    }

    /// Releases an index; false if it was not taken or lies outside of the space.
    fn release(&self, index: u32) -> bool {
        let (word, bit) = place(index);
        self.taken
            .get(word)
            .is_some_and(|word| word.fetch_and(!bit, Relaxed) & bit != 0)
    }
}

impl fmt::Debug for Allocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Allocator")
            .field("guami", &self.guami)
            .field("capacity", &self.capacity)
            .field("allocated", &self.allocated())
            .finish_non_exhaustive()
    }
}

/// The word of an index and its bit in there.
const fn place(index: u32) -> (usize, u64) {
    ((index / 64) as usize, 1 << (index % 64))
}

/// Words of zeros. By way of plain integers, because for them the memory comes from `calloc`, which
/// hands untouched zero pages out: 32 MiB of bitmap cost nothing until they are used.
fn zeroed(words: usize) -> Box<[AtomicU64]> {
    // The two types have the same size and alignment, so the collect happens in place.
    vec![0u64; words]
        .into_iter()
        .map(AtomicU64::new)
        .collect::<Vec<_>>()
        .into_boxed_slice()
}

/// Why no GUTI was allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no other reason")]
pub enum AllocateError {
    /// As many GUTIs are allocated as may be.
    Exhausted {
        /// That many.
        capacity: u32,
    },
}

impl fmt::Display for AllocateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exhausted { capacity } => {
                write!(f, "all {capacity} GUTIs are allocated")
            }
        }
    }
}

impl std::error::Error for AllocateError {}

/// Why a GUTI was not deallocated. Shows no TMSI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no other reason")]
pub enum DeallocateError {
    /// Another AMF allocated it.
    OtherGuami {
        /// The GUAMI of the allocator asked.
        ours: Guami,
        /// The GUAMI in the GUTI.
        theirs: Guami,
    },
    /// It is not allocated: it never was, or it was given back already.
    NotAllocated,
}

impl fmt::Display for DeallocateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherGuami { ours, theirs } => {
                write!(f, "the GUTI is of GUAMI {theirs}, this is {ours}")
            }
            Self::NotAllocated => f.write_str("the GUTI is not allocated"),
        }
    }
}

impl std::error::Error for DeallocateError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// One key in 16 384 puts the reserved TMSI into a space of this size: look for one.
    fn key_that_meets_the_reserved_tmsi(capacity: Capacity) -> TmsiKey {
        (0u32..)
            .map(|seed| {
                let mut bytes = [0; TmsiKey::LEN];
                bytes[..4].copy_from_slice(&seed.to_le_bytes());
                TmsiKey::from_bytes(bytes)
            })
            .find(|key| {
                let index = Permutation::new(key.split().0).backward(Tmsi::RESERVED);
                u64::from(index) < capacity.space()
            })
            .unwrap()
    }

    #[test]
    fn the_reserved_tmsi_is_skipped_and_costs_no_capacity() {
        let capacity = Capacity(1 << 16);
        let allocator = Allocator::with_key(
            Guami::default(),
            capacity,
            key_that_meets_the_reserved_tmsi(capacity),
        );
        assert_eq!(allocator.allocated(), 0);
        let held = 1 << 16;
        for _ in 0..held {
            allocator.allocate().unwrap();
        }
        assert!(allocator.allocate().is_err(), "the capacity and no more");

        // One pass over the space plus some reuse: each ticket but the reserved one gives a GUTI.
        let allocator = Allocator::with_key(
            Guami::default(),
            capacity,
            key_that_meets_the_reserved_tmsi(capacity),
        );
        let others = capacity.space() - 1;
        for _ in 0..others {
            let guti = allocator.allocate().unwrap();
            assert_ne!(guti.tmsi().value(), Tmsi::RESERVED);
            allocator.deallocate(&guti).unwrap();
        }
        assert_eq!(allocator.tickets.load(Relaxed), capacity.space());
    }

    #[test]
    fn a_space_is_a_power_of_two_of_at_least_four_times_the_capacity() {
        for (capacity, space) in [
            (1, 1 << 12),
            (1024, 1 << 12),
            (1025, 1 << 13),
            (10_000_000, 1 << 26),
            (1 << 30, 1 << 32),
        ] {
            assert_eq!(Capacity(capacity).space(), space, "{capacity}");
        }
    }
}
