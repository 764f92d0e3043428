//! The table that grows with what is sent (RFC 7541, 2.3.2): first in, first out.

use super::flat::{self, SLACK};

/// What an entry costs beside its name and value (RFC 7541, 4.1).
pub(super) const OVERHEAD: usize = 32;

/// The fields sent last, as many as the table's size allows. `L` is what its user keeps with each.
///
/// Entries lie one behind the other in one piece of memory, each in the flat form, and are known by how many
/// came before them (the lower 32 bits of it).
#[derive(Debug)]
pub(super) struct DynamicTable<L> {
    /// Entries and then [`SLACK`] octets of nothing, so that a short entry is copied without counting.
    octets: Vec<u8>,
    /// Where each entry is, at its number modulo the length, a power of two.
    ring: Vec<Entry<L>>,
    /// The next entry's number.
    next: u32,
    count: u32,
    /// Which octet of all that were ever inserted `octets` begins with.
    base: u32,
    size: usize,
    max_size: usize,
    /// How often anything came or went.
    version: u64,
}

/// The first entry's number: behind those of the static table. (When numbers have come round, some of the
/// dynamic entries have those, too.)
const FIRST: u32 = 64;

/// Positions wrap; distances are right as long as a table has less than 4 GiB.
#[derive(Clone, Copy, Debug, Default)]
struct Entry<L> {
    start: u32,
    length: u32,
    name: u32,
    link: L,
}

/// Memory below which nothing is moved to get at what is free.
const SMALL: usize = 512;

/// An entry as it is found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found<'t, L> {
    /// The entry, and behind it at least [`SLACK`] octets of anything.
    pub(super) octets: &'t [u8],
    /// How many of the octets are the entry's.
    pub(super) length: usize,
    /// How many of the octets behind the prefix are the name's.
    pub(super) name: usize,
    pub(super) link: L,
}

impl<L: Copy + Default> DynamicTable<L> {
    pub(super) const fn new(max_size: usize) -> Self {
        Self {
            octets: Vec::new(),
            ring: Vec::new(),
            next: FIRST,
            count: 0,
            base: 0,
            size: 0,
            max_size,
            version: 0,
        }
    }

    /// The most that it may hold now.
    pub(super) const fn max_size(&self) -> usize {
        self.max_size
    }

    /// The number that the next entry will have.
    pub(super) const fn next(&self) -> u32 {
        self.next
    }

    /// As long as it is the same the table is.
    pub(super) const fn version(&self) -> u64 {
        self.version
    }

    /// How many entries have come since the one of this number.
    pub(super) const fn age(&self, number: u32) -> u32 {
        self.next.wrapping_sub(number).wrapping_sub(1)
    }

    /// RFC 7541, 4.3: the oldest entries go.
    pub(super) fn set_max_size(&mut self, max_size: usize) {
        self.max_size = max_size;
        self.version += 1;
        self.make_room(0);
    }

    /// The entry of this number, if it is still there.
    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<Found<'_, L>> {
        if self.age(number) >= self.count {
            return None;
        }
        let entry = self.ring.get(self.place(number))?;
        Some(Found {
            octets: self
                .octets
                .get(entry.start.wrapping_sub(self.base) as usize..)?,
            length: entry.length as usize,
            name: entry.name as usize,
            link: entry.link,
        })
    }

    /// Inserts a field; those that came first make room for it, and when all of them do not, it is not
    /// inserted either (RFC 7541, 4.4). `parts` are those of the flat form; a prefix that cannot hold the
    /// lengths may be a wrong one.
    #[inline(never)]
    pub(super) fn insert(&mut self, parts: [&[u8]; 3], link: L) {
        self.version += 1;
        let [prefix, name, value] = parts;
        let size = name.len() + value.len() + OVERHEAD;
        if !self.make_room(size) {
            return;
        }
        if self.count as usize == self.ring.len() {
            self.grow();
        }
        let start = self.octets.len().saturating_sub(SLACK);
        self.octets.truncate(start);
        for part in [prefix, name, value, &[0; SLACK]] {
            self.octets.extend_from_slice(part);
        }
        let place = self.place(self.next);
        // Lengths are at most the table's size, which SETTINGS give in 32 bits.
        self.ring[place] = Entry {
            start: self.base.wrapping_add(start as u32),
            length: (self.octets.len() - SLACK - start) as u32,
            name: name.len() as u32,
            link,
        };
        self.next = self.next.wrapping_add(1);
        self.count += 1;
        self.size += size;
    }

    /// Drops the oldest entries until so much fits; says whether it does.
    fn make_room(&mut self, size: usize) -> bool {
        while self.count > 0 && self.size + size > self.max_size {
            self.size -= self.oldest().length as usize - flat::PREFIX + OVERHEAD;
            self.count -= 1;
        }
        let used = self.octets.len().saturating_sub(SLACK);
        let dead = match self.count {
            0 => used,
            _ => self.oldest().start.wrapping_sub(self.base) as usize,
        };
        // Never more is moved than was inserted since it was last.
        if dead >= SMALL.max(used - dead) {
            self.octets.drain(..dead);
            self.base = self.base.wrapping_add(dead as u32);
        }
        self.size + size <= self.max_size
    }

    /// The entry that came first, when there is any.
    fn oldest(&self) -> Entry<L> {
        self.ring[self.place(self.next.wrapping_sub(self.count))]
    }

    const fn place(&self, number: u32) -> usize {
        number as usize & self.ring.len().wrapping_sub(1)
    }

    #[cold]
    fn grow(&mut self) {
        let larger = (self.ring.len() * 2).max(8);
        let mut ring = vec![Entry::default(); larger];
        for age in 1..=self.count {
            let number = self.next.wrapping_sub(age);
            ring[number as usize & (larger - 1)] = self.ring[self.place(number)];
        }
        self.ring = ring;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(usize, usize),
        Resize(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            12 => (1..40_usize, prop_oneof![9 => 0..30_usize, 1 => 0..2000_usize])
                .prop_map(|(name, value)| Step::Insert(name, value)),
            1 => prop_oneof![0..200_usize, Just(4096)].prop_map(Step::Resize),
        ]
    }

    proptest! {
        /// RFC 7541, 4.1 to 4.4, against a queue of owned fields.
        #[test]
        fn it_holds_the_last_fields_that_fit(steps in prop::collection::vec(step(), 0..300)) {
            let mut table = DynamicTable::new(4096);
            let (mut model, mut max_size) = (VecDeque::new(), 4096);
            let size = |model: &VecDeque<(Vec<u8>, usize)>| -> usize {
                model.iter().map(|(entry, _)| entry.len() - flat::PREFIX + OVERHEAD).sum()
            };
            for (at, step) in steps.into_iter().enumerate() {
                let version = table.version();
                let entry = match step {
                    Step::Insert(name, value) => {
                        let (name, value) = (vec![b'n'; name], vec![at as u8; value]);
                        let prefix = flat::prefix(name.len(), value.len());
                        table.insert([&prefix, &name, &value], at);
                        Some(([&prefix[..], &name, &value].concat(), name.len()))
                    }
                    Step::Resize(to) => {
                        max_size = to;
                        table.set_max_size(to);
                        None
                    }
                };
                let room = entry.as_ref().map_or(0, |(entry, _)| entry.len() - flat::PREFIX + OVERHEAD);
                while !model.is_empty() && size(&model) + room > max_size {
                    model.pop_back();
                }
                if let Some(entry) = entry.filter(|_| room <= max_size) {
                    model.push_front(entry);
                }
                prop_assert_ne!(table.version(), version);
                prop_assert_eq!(table.max_size(), max_size);
                for (age, (entry, name)) in model.iter().enumerate() {
                    let number = table.next().wrapping_sub(1 + age as u32);
                    prop_assert_eq!(table.age(number), age as u32);
                    let found = table.get(number).expect("it is there");
                    prop_assert_eq!(&found.octets[..found.length], &entry[..]);
                    prop_assert_eq!(found.name, *name);
                    prop_assert!(found.octets.len() >= found.length + SLACK);
                }
                let gone = table.next().wrapping_sub(1 + model.len() as u32);
                prop_assert!(table.get(gone).is_none() && table.get(table.next()).is_none());
                // What is gone is given up in time: as much again as is held, and little beside.
                let held = model.iter().map(|(entry, _)| entry.len()).sum::<usize>();
                prop_assert!(table.octets.len() <= 2 * held + SMALL + room + SLACK, "{} for {held}", table.octets.len());
                prop_assert!(table.ring.is_empty() || table.ring.len().is_power_of_two());
                prop_assert!(table.ring.len() <= 2 * (4096 / OVERHEAD));
            }
        }
    }
}
