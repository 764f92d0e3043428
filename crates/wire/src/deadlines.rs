//! Which deadline passes next: a list of those that came in their order, an indexed heap for the
//! rest; exact to the clock's own grain.
//!
//! Most calls are given the same time, so that each deadline is later than those before it: it goes
//! to the end of the list, and leaves it from anywhere, without being compared with more than one.
//! One that is earlier than the last of the list goes to the heap, which is four wide: half as deep
//! as a binary one, and four children share a cache line or two. A timer wheel would round;
//! deadlines here are tens of microseconds long. Nothing is allocated once there is room for as many
//! as there are.

use std::time::Instant;

const WIDTH: usize = 4;
const NONE: u32 = u32::MAX;

/// The position of a deadline that stands in the list.
const LISTED: u32 = u32::MAX;

/// Names one deadline until it is removed or has passed; its number is used again afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlineId(u32);

/// A set of deadlines, each with a number of the owner's (a call's slot, for example).
#[derive(Debug)]
pub struct Deadlines {
    heap: Vec<Entry>,
    places: Vec<Place>,
    free: u32,
    /// The ends of the list, through the places.
    first: u32,
    last: u32,
    listed: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Instant,
    id: u32,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    at: Instant,
    key: u32,
    /// Where in the heap it stands, or that it is listed.
    position: u32,
    /// Its neighbours in the list; for a free place `after` is the next free one.
    before: u32,
    after: u32,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self::new()
    }
}

impl Deadlines {
    /// No deadlines. Does not allocate.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            heap: Vec::new(),
            places: Vec::new(),
            free: NONE,
            first: NONE,
            last: NONE,
            listed: 0,
        }
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.heap.len() + self.listed
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The earliest.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        let listed = self.places.get(self.first as usize).map(|place| place.at);
        let heaped = self.heap.first().map(|entry| entry.at);
        match (listed, heaped) {
            (Some(listed), Some(heaped)) => Some(listed.min(heaped)),
            (listed, heaped) => listed.or(heaped),
        }
    }

    /// Adds one.
    pub fn insert(&mut self, at: Instant, key: u32) -> DeadlineId {
        let last = self.places.get(self.last as usize);
        let in_order = last.is_none_or(|last| last.at <= at);
        let place = Place {
            at,
            key,
            position: LISTED,
            before: self.last,
            after: NONE,
        };
        let id = match self.places.get_mut(self.free as usize) {
            Some(found) => {
                let id = self.free;
                self.free = found.after;
                *found = place;
                id
            }
            None => {
                self.places.push(place);
                u32::try_from(self.places.len() - 1).unwrap_or(NONE)
            }
        };
        if in_order {
            match self.places.get_mut(self.last as usize) {
                Some(last) => last.after = id,
                None => self.first = id,
            }
            self.last = id;
            self.listed += 1;
        } else {
            self.heap.push(Entry { at, id });
            self.sift_up(self.heap.len() - 1);
        }
        DeadlineId(id)
    }

    /// Takes one out. It must not have been removed or have passed before.
    pub fn remove(&mut self, id: DeadlineId) {
        match self.places[id.0 as usize].position {
            LISTED => self.unlist(id.0),
            position => self.remove_at(position as usize),
        }
    }

    /// Takes the earliest out if it is not later than `now`; gives its owner's number.
    pub fn pop_due(&mut self, now: Instant) -> Option<u32> {
        let earliest = self.next().filter(|at| *at <= now)?;
        let first = self.heap.first().filter(|entry| entry.at == earliest);
        let key = match first.map(|entry| entry.id) {
            Some(id) => {
                self.remove_at(0);
                self.places[id as usize].key
            }
            None => {
                let id = self.first;
                self.unlist(id);
                self.places[id as usize].key
            }
        };
        Some(key)
    }

    fn unlist(&mut self, id: u32) {
        let Place { before, after, .. } = self.places[id as usize];
        match self.places.get_mut(before as usize) {
            Some(place) => place.after = after,
            None => self.first = after,
        }
        match self.places.get_mut(after as usize) {
            Some(place) => place.before = before,
            None => self.last = before,
        }
        self.listed -= 1;
        self.free_place(id);
    }

    fn remove_at(&mut self, position: usize) {
        let entry = self.heap.swap_remove(position);
        if position < self.heap.len() {
            // The last one took its place and may belong higher or lower.
            let settled = self.sift_up(position);
            self.sift_down(settled);
        }
        self.free_place(entry.id);
    }

    fn free_place(&mut self, id: u32) {
        self.places[id as usize].after = self.free;
        self.free = id;
    }

    fn sift_up(&mut self, mut position: usize) -> usize {
        let entry = self.heap[position];
        while position > 0 {
            let parent = (position - 1) / WIDTH;
            if self.heap[parent].at <= entry.at {
                break;
            }
            self.put(position, self.heap[parent]);
            position = parent;
        }
        self.put(position, entry);
        position
    }

    fn sift_down(&mut self, mut position: usize) {
        let entry = self.heap[position];
        loop {
            let first = position * WIDTH + 1;
            let children = first..(first + WIDTH).min(self.heap.len());
            let Some(least) = children.min_by_key(|child| self.heap[*child].at) else {
                break;
            };
            if entry.at <= self.heap[least].at {
                break;
            }
            self.put(position, self.heap[least]);
            position = least;
        }
        self.put(position, entry);
    }

    fn put(&mut self, position: usize, entry: Entry) {
        self.heap[position] = entry;
        self.places[entry.id as usize].position = u32::try_from(position).unwrap_or(NONE);
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "an instant to count from; only distances matter"
)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u64),
        Remove(usize),
        Pop(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            3 => (0u64..1000).prop_map(Step::Insert),
            1 => any::<usize>().prop_map(Step::Remove),
            1 => (0u64..1000).prop_map(Step::Pop),
        ];
        proptest::collection::vec(step, 0..200)
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_sorted_list(steps in steps()) {
            let start = Instant::now();
            let at = |micros| start + Duration::from_micros(micros);
            let mut deadlines = Deadlines::new();
            let mut model: Vec<(Instant, u32, DeadlineId)> = Vec::new();
            for (key, step) in steps.into_iter().enumerate() {
                let key = u32::try_from(key).unwrap();
                match step {
                    Step::Insert(micros) => {
                        let id = deadlines.insert(at(micros), key);
                        model.push((at(micros), key, id));
                    }
                    Step::Remove(which) if !model.is_empty() => {
                        let (_, _, id) = model.swap_remove(which % model.len());
                        deadlines.remove(id);
                    }
                    Step::Remove(_) => {}
                    Step::Pop(micros) => {
                        let popped = deadlines.pop_due(at(micros));
                        let least = model.iter().map(|entry| entry.0).min();
                        prop_assert_eq!(popped.is_some(), least.is_some_and(|l| l <= at(micros)));
                        if let Some(key) = popped {
                            let index = model.iter().position(|entry| entry.1 == key).unwrap();
                            prop_assert_eq!(Some(model.swap_remove(index).0), least);
                        }
                    }
                }
                prop_assert_eq!(deadlines.len(), model.len());
                prop_assert_eq!(deadlines.is_empty(), model.is_empty());
                prop_assert_eq!(deadlines.next(), model.iter().map(|entry| entry.0).min());
            }
        }
    }

    #[test]
    fn deadlines_in_their_order_need_no_heap() {
        let start = Instant::now();
        let at = |micros| start + Duration::from_micros(micros);
        let mut deadlines = Deadlines::new();
        let ids: Vec<_> = (0u32..64)
            .map(|key| deadlines.insert(at(u64::from(key) / 2), key))
            .collect();
        assert!(deadlines.heap.is_empty());
        // One that is earlier does not keep those that follow from the list.
        deadlines.insert(at(0), 64);
        let late = deadlines.insert(at(100), 65);
        assert_eq!((deadlines.heap.len(), deadlines.listed), (1, 65));
        for id in ids.into_iter().rev().chain([late]) {
            deadlines.remove(id);
        }
        assert_eq!((deadlines.pop_due(at(0)), deadlines.len()), (Some(64), 0));
    }

    #[test]
    fn its_memory_is_used_again() {
        let start = Instant::now();
        let mut deadlines = Deadlines::new();
        for round in 0..1000 {
            let id = deadlines.insert(start + Duration::from_secs(round), 1);
            if round % 2 == 0 {
                deadlines.remove(id);
            } else {
                assert_eq!(
                    deadlines.pop_due(start + Duration::from_secs(round)),
                    Some(1)
                );
            }
        }
        assert_eq!((deadlines.places.len(), deadlines.is_empty()), (1, true));
    }
}
