//! The table that grows with what is sent (RFC 7541, 2.3.2): first in, first out.

use super::flat;

/// What an entry costs beside its name and value (4.1).
pub(super) const OVERHEAD: usize = 32;

/// The fields sent last, as many as the table's size allows. `L` is what its user keeps with each.
///
/// Entries lie one behind the other in one piece of memory, each in the flat form, and are known by how many
/// came before them.
#[derive(Debug)]
pub(super) struct DynamicTable<L> {
    octets: Vec<u8>,
    /// Which octet of all that were ever inserted `octets` begins with.
    base: u64,
    /// Where each entry is, at its number modulo the length, a power of two.
    ring: Vec<Entry<L>>,
    /// How many entries were ever inserted: the next one's number.
    inserted: u64,
    count: usize,
    size: usize,
    max_size: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry<L> {
    start: u64,
    name: u32,
    value: u32,
    link: L,
}

impl<L> Entry<L> {
    const fn length(&self) -> usize {
        flat::PREFIX + self.name as usize + self.value as usize
    }
}

/// Memory below which nothing is moved to get at what is free.
const SMALL: u64 = 512;

impl<L: Copy + Default> DynamicTable<L> {
    pub(super) const fn new(max_size: usize) -> Self {
        Self {
            octets: Vec::new(),
            base: 0,
            ring: Vec::new(),
            inserted: 0,
            count: 0,
            size: 0,
            max_size,
        }
    }

    /// The most that it may hold now.
    pub(super) const fn max_size(&self) -> usize {
        self.max_size
    }

    /// How many entries it has ever had: the next one's number.
    pub(super) const fn inserted(&self) -> u64 {
        self.inserted
    }

    pub(super) fn set_max_size(&mut self, max_size: usize) {
        self.max_size = max_size;
        self.make_room(0);
    }

    /// The entry that came when `number` had come before it, and what is kept with it. One whose name
    /// or value is too long for the flat form has a wrong prefix: see [`flat::fits`].
    pub(super) fn get(&self, number: u64) -> Option<(&[u8], L)> {
        // Numbers that have not come yet are as far away as the largest.
        let age = self.inserted.wrapping_sub(number).wrapping_sub(1);
        if age >= self.count as u64 {
            return None;
        }
        let entry = self.ring.get(self.place(number))?;
        let start = (entry.start - self.base) as usize;
        let octets = self.octets.get(start..start + entry.length())?;
        Some((octets, entry.link))
    }

    /// The lengths of an entry's name and value.
    pub(super) fn lengths(&self, number: u64) -> (usize, usize) {
        let entry = self.ring.get(self.place(number));
        entry.map_or((0, 0), |entry| (entry.name as usize, entry.value as usize))
    }

    /// Inserts a field; those that came first make room for it, and when all of them do not, it is not
    /// inserted either (4.4). Its octets, `flat`, have a prefix.
    pub(super) fn insert(&mut self, parts: [&[u8]; 3], link: L) {
        let [prefix, name, value] = parts;
        let size = name.len() + value.len() + OVERHEAD;
        if !self.make_room(size) {
            return;
        }
        if self.count == self.ring.len() {
            self.grow();
        }
        let entry = Entry {
            start: self.base + self.octets.len() as u64,
            // Both are at most the table's size, which SETTINGS give in 32 bits.
            name: name.len() as u32,
            value: value.len() as u32,
            link,
        };
        for part in [prefix, name, value] {
            self.octets.extend_from_slice(part);
        }
        let place = self.place(self.inserted);
        self.ring[place] = entry;
        self.inserted += 1;
        self.count += 1;
        self.size += size;
    }

    /// Drops the oldest entries until so much fits; says whether it does.
    fn make_room(&mut self, size: usize) -> bool {
        while self.count > 0 && self.size + size > self.max_size {
            let oldest = self.ring[self.place(self.inserted - self.count as u64)];
            self.size -= oldest.length() - flat::PREFIX + OVERHEAD;
            self.count -= 1;
        }
        // What is moved is never more than what was inserted since it was moved last.
        let live = match self.count {
            0 => self.base + self.octets.len() as u64,
            count => self.ring[self.place(self.inserted - count as u64)].start,
        };
        let dead = (live - self.base) as usize;
        if dead as u64 >= SMALL.max((self.octets.len() - dead) as u64) {
            self.octets.drain(..dead);
            self.base = live;
        }
        self.size + size <= self.max_size
    }

    fn place(&self, number: u64) -> usize {
        number as usize & self.ring.len().wrapping_sub(1)
    }

    #[cold]
    fn grow(&mut self) {
        let larger = (self.ring.len() * 2).max(8);
        let mut ring = vec![Entry::default(); larger];
        for age in 0..self.count as u64 {
            let number = self.inserted - 1 - age;
            ring[number as usize & (larger - 1)] = self.ring[self.place(number)];
        }
        self.ring = ring;
    }
}
