//! What is kept for each stream, by its number.

use std::collections::VecDeque;
use std::fmt;

/// Places that are kept when a map is empty.
const KEEP: usize = 1024;

/// A map by stream number.
///
/// Numbers come in the order of their size, mostly one after the other, so that the place of one is where
/// its distance to the first says. Else it is searched for: whatever numbers a peer chooses, that takes
/// no more steps than the map's size has bits.
#[derive(Clone)]
pub struct StreamMap<V> {
    /// By number. Those in the middle that are gone leave their place empty for a while.
    entries: VecDeque<(u32, Option<V>)>,
    len: usize,
}

impl<V> StreamMap<V> {
    /// A map of nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            entries: VecDeque::new(),
            len: 0,
        }
    }

    /// How many streams are in it.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn find(&self, number: u32) -> Option<usize> {
        let first = self.entries.front()?.0;
        let place = (number.checked_sub(first)? / 2) as usize;
        if let Some(entry) = self.entries.get(place)
            && entry.0 == number
        {
            return Some(place);
        }
        self.search(number)
    }

    #[inline(never)]
    fn search(&self, number: u32) -> Option<usize> {
        self.entries
            .binary_search_by_key(&number, |entry| entry.0)
            .ok()
    }

    /// What is kept for a stream.
    #[must_use]
    #[inline]
    pub fn get(&self, number: u32) -> Option<&V> {
        self.entries[self.find(number)?].1.as_ref()
    }

    /// What is kept for a stream.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut V> {
        let place = self.find(number)?;
        self.entries[place].1.as_mut()
    }

    /// Whether there is such a stream.
    #[must_use]
    pub fn contains(&self, number: u32) -> bool {
        self.get(number).is_some()
    }

    /// Keeps something for a stream, in place of what was kept before.
    pub fn insert(&mut self, number: u32, value: V) {
        if self.entries.back().is_none_or(|last| last.0 < number) {
            self.entries.push_back((number, Some(value)));
            self.len += 1;
            return;
        }
        let place = self.entries.partition_point(|entry| entry.0 < number);
        match self.entries.get_mut(place) {
            Some(entry) if entry.0 == number => {
                self.len += usize::from(entry.1.is_none());
                entry.1 = Some(value);
            }
            _ => {
                self.entries.insert(place, (number, Some(value)));
                self.len += 1;
            }
        }
    }

    /// Takes out what is kept for a stream.
    pub fn remove(&mut self, number: u32) -> Option<V> {
        let place = self.find(number)?;
        let value = self.entries[place].1.take()?;
        self.len -= 1;
        if place == 0 {
            while self.entries.front().is_some_and(|entry| entry.1.is_none()) {
                self.entries.pop_front();
            }
        } else if self.entries.len() > 2 * self.len + 16 {
            self.entries.retain(|entry| entry.1.is_some());
        }
        if self.len == 0 && self.entries.capacity() > KEEP {
            self.entries.shrink_to(KEEP);
        }
        Some(value)
    }

    /// All streams, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &V)> {
        let entries = self.entries.iter();
        entries.filter_map(|(number, value)| Some((*number, value.as_ref()?)))
    }
}

impl<V> Default for StreamMap<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: fmt::Debug> fmt::Debug for StreamMap<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_is_a_map(steps in prop::collection::vec((0u8..4, 0u32..60, any::<u16>()), 1..400)) {
            let (mut map, mut model) = (StreamMap::new(), BTreeMap::new());
            let mut next = 1;
            for (step, number, value) in steps {
                match step {
                    // Numbers that come one behind the other, some left out.
                    0 | 1 => {
                        next += if number % 5 == 0 { 2 * number } else { 2 };
                        map.insert(next, value);
                        model.insert(next, value);
                    }
                    // Any.
                    2 => {
                        map.insert(number, value);
                        model.insert(number, value);
                    }
                    _ => {
                        let key = model.keys().nth(number as usize % model.len().max(1));
                        let key = key.copied().unwrap_or(number);
                        prop_assert_eq!(map.remove(key), model.remove(&key));
                        prop_assert_eq!(map.remove(key), None);
                    }
                }
                prop_assert_eq!(map.len(), model.len());
                prop_assert!(map.entries.len() <= 2 * (map.len() + 1) + 16);
                prop_assert!(map.iter().eq(model.iter().map(|(key, value)| (*key, value))));
                for key in [number, next, next + 2] {
                    prop_assert_eq!(map.get(key), model.get(&key));
                    prop_assert_eq!(map.get_mut(key).copied(), model.get(&key).copied());
                    prop_assert_eq!(map.contains(key), model.contains_key(&key));
                }
            }
        }
    }

    fn consecutive(count: u32) -> StreamMap<u32> {
        let mut map = StreamMap::new();
        for number in 0..count {
            map.insert(2 * number + 1, number);
        }
        map
    }

    #[test]
    fn empty_places_are_kept_while_they_are_few() {
        let mut map = consecutive(40);
        for gone in 1..40 {
            map.remove(2 * gone + 1);
            // Twice as many as there are streams, and sixteen.
            let places = if gone <= 28 { 40 } else { 11 };
            assert_eq!(map.entries.len(), places, "{gone} are gone");
        }
        let mut map = consecutive(40);
        for gone in 0..40 {
            map.remove(2 * gone + 1);
            assert_eq!(map.entries.len(), 39 - gone as usize, "from the front");
        }
    }

    #[test]
    fn memory_is_given_back_once_the_map_is_empty() {
        let mut map = consecutive(3000);
        let before = map.entries.capacity();
        for number in 0..2999 {
            map.remove(2 * number + 1);
        }
        assert_eq!((map.len(), map.entries.capacity()), (1, before));
        map.remove(5999);
        assert!(map.entries.capacity() < before);
    }

    #[test]
    fn an_empty_map_keeps_little() {
        let mut map = StreamMap::new();
        for number in (1..20_000).step_by(2) {
            map.insert(number, number);
        }
        for number in (1..20_000).step_by(2).rev() {
            assert_eq!(map.remove(number), Some(number));
        }
        assert!(map.is_empty() && map.entries.capacity() <= 2 * KEEP);
    }
}
