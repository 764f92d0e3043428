//! A hash map of small keys and values in one block: open addressing, linear probing.
//!
//! A lookup touches one cache line in most cases. The standard map's hash alone would take as long
//! as a whole lookup here; ours is seeded, so that nobody can choose keys that collide.

/// A key that is hashed by a multiplication or two.
pub(crate) trait Key: Copy + Eq {
    fn hash(self, seed: u64) -> u64;
}

impl Key for u64 {
    fn hash(self, seed: u64) -> u64 {
        fold(self ^ seed, MULTIPLIER)
    }
}

impl Key for [u64; 4] {
    fn hash(self, seed: u64) -> u64 {
        let [a, b, c, d] = self;
        fold(
            fold(a ^ seed, b ^ MULTIPLIER) ^ seed,
            fold(c ^ seed, d ^ MULTIPLIER) ^ MULTIPLIER,
        )
    }
}

/// The fractional part of the golden ratio: its bits are as even as any.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

/// At most three quarters of the slots are taken, so a free one always ends a search.
#[derive(Clone, Debug)]
pub(crate) struct Map<K, V> {
    slots: Vec<Option<(K, V)>>,
    len: usize,
    seed: u64,
}

const LEAST: usize = 16;

impl<K: Key, V: Copy> Map<K, V> {
    /// An empty map; what it holds at first takes no memory.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            slots: Vec::new(),
            len: 0,
            seed,
        }
    }

    /// Room for so many without growing.
    pub(crate) fn with_capacity(seed: u64, count: usize) -> Self {
        let mut map = Self::new(seed);
        if count > 0 {
            map.slots = vec![None; (count * 4 / 3 + 1).next_power_of_two().max(LEAST)];
        }
        map
    }

    /// What keys are hashed with.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn get(&self, key: K) -> Option<V> {
        if self.slots.is_empty() {
            return None;
        }
        let mut at = self.home(key);
        loop {
            match self.slots[at & (self.slots.len() - 1)] {
                Some((found, value)) if found == key => return Some(value),
                Some(_) => at += 1,
                None => return None,
            }
        }
    }

    /// Puts a value; gives the one that it replaces.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        if (self.len + 1) * 4 > self.slots.len() * 3 {
            self.grow();
        }
        let at = self.find(key);
        let before = self.slots[at].replace((key, value));
        self.len += usize::from(before.is_none());
        before.map(|(_, value)| value)
    }

    /// Takes a value out, and closes the gap: whoever comes later in the same run moves up.
    pub(crate) fn remove(&mut self, key: K) -> Option<V> {
        if self.slots.is_empty() {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut gap = self.find(key);
        let (_, removed) = self.slots[gap].take()?;
        self.len -= 1;
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let Some((key, _)) = self.slots[at] else {
                return Some(removed);
            };
            // It may move up when its home is not between the gap and itself.
            let from_home = at.wrapping_sub(self.home(key) & mask) & mask;
            if from_home >= at.wrapping_sub(gap) & mask {
                self.slots.swap(gap, at);
                gap = at;
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, V)> {
        self.slots.iter().filter_map(|slot| *slot)
    }

    #[inline]
    fn home(&self, key: K) -> usize {
        key.hash(self.seed) as usize & (self.slots.len() - 1)
    }

    /// Where the key is or would be put.
    fn find(&self, key: K) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = self.home(key);
        while self.slots[at].is_some_and(|(found, _)| found != key) {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        let slots = vec![None; (self.slots.len() * 2).max(LEAST)];
        for (key, value) in std::mem::replace(&mut self.slots, slots)
            .into_iter()
            .flatten()
        {
            let at = self.find(key);
            self.slots[at] = Some((key, value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// All keys have one home, so that runs are long and wrap around.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    struct Crowded(u8);

    impl Key for Crowded {
        fn hash(self, _: u64) -> u64 {
            u64::from(self.0 % 3).wrapping_sub(2)
        }
    }

    fn same_as_the_standard_map<K: Key + std::hash::Hash + std::fmt::Debug>(
        operations: impl IntoIterator<Item = (K, Option<u32>)>,
    ) {
        let (mut ours, mut theirs) = (Map::new(7), HashMap::new());
        for (key, operation) in operations {
            assert_eq!(ours.get(key), theirs.get(&key).copied());
            match operation {
                Some(value) => assert_eq!(ours.insert(key, value), theirs.insert(key, value)),
                None => assert_eq!(ours.remove(key), theirs.remove(&key)),
            }
            assert_eq!(ours.len(), theirs.len());
            assert!(
                theirs
                    .iter()
                    .all(|(key, value)| ours.get(*key) == Some(*value))
            );
            assert_eq!(ours.iter().collect::<HashMap<_, _>>(), theirs);
        }
    }

    proptest! {
        #[test]
        fn it_is_a_map(operations in proptest::collection::vec((0..40_u64, any::<Option<u32>>()), 0..120)) {
            same_as_the_standard_map(operations);
        }

        #[test]
        fn it_is_a_map_in_a_crowd(operations in proptest::collection::vec((0..40_u8, any::<Option<u32>>()), 0..120)) {
            same_as_the_standard_map(operations.into_iter().map(|(key, operation)| (Crowded(key), operation)));
        }
    }

    fn furthest<K: Key>(keys: impl Iterator<Item = K>) -> usize {
        let mut map = Map::with_capacity(3, 10_000);
        for key in keys {
            map.insert(key, ());
        }
        assert_eq!(map.len(), 10_000);
        let mask = map.slots.len() - 1;
        let slots = map.slots.iter().enumerate();
        let from_home = slots
            .filter_map(|(at, slot)| slot.map(|(key, ())| at.wrapping_sub(map.home(key)) & mask));
        from_home.max().unwrap_or_default()
    }

    #[test]
    fn neighbouring_keys_are_spread() {
        // Of types, of subscriptions of one type, and of managed elements in any of the four words.
        assert!(furthest(0..10_000_u64) < 60);
        assert!(furthest((0..10_000_u64).map(|sub_id| sub_id << 32)) < 60);
        for word in 0..4 {
            let meid = |number: u64| std::array::from_fn(|at| if at == word { number } else { 7 });
            let keys: Vec<[u64; 4]> = (0..10_000).map(meid).collect();
            assert!(furthest(keys.into_iter()) < 60);
        }
    }

    proptest! {
        /// Without the seed nobody can choose keys that collide: each bit of the seed and of the key changes
        /// the hash, and so does the order of the key's words.
        #[test]
        fn every_bit_of_a_key_and_of_the_seed_changes_the_hash(
            key: [u64; 4], any: u64, word in 0..4_usize, bit in 0..64_u32,
        ) {
            for seed in [any, 0, u64::MAX] {
                let mut other = key;
                other[word] ^= 1 << bit;
                prop_assert_ne!(key.hash(seed), other.hash(seed));
                prop_assert_ne!(key.hash(seed), key.hash(seed ^ (1 << bit)));
                prop_assert_ne!(key[0].hash(seed), (key[0] ^ (1 << bit)).hash(seed));
                prop_assert_ne!(key[0].hash(seed), key[0].hash(seed ^ (1 << bit)));
            }
            let [a, b, c, d] = key;
            for other in [[c, d, a, b], [b, a, c, d], [a, b, d, c]] {
                prop_assert_ne!(key.hash(any), other.hash(any));
            }
        }
    }

    #[test]
    fn it_takes_no_more_room_than_three_quarters_full_needs() {
        let mut map = Map::new(3);
        assert_eq!(map.slots.len(), 0, "an empty one takes none");
        for len in 1..1000_usize {
            map.insert(len as u64, ());
            let least = (LEAST..).find(|slots| slots.is_power_of_two() && len * 4 <= slots * 3);
            assert_eq!(Some(map.slots.len()), least, "{len} keys");
        }
        assert_eq!(map.seed(), 3);
        for len in 0..1000 {
            let mut map = Map::with_capacity(3, len);
            let slots = map.slots.len();
            assert!(slots <= (len * 4).max(LEAST) && (len > 0 || slots == 0));
            for key in 0..len as u64 {
                map.insert(key, ());
            }
            assert_eq!(map.slots.len(), slots, "room for {len} without growing");
        }
    }
}
