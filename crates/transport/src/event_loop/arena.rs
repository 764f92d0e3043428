//! Things known by a number that is not mistaken for a later thing in the same place.

use corewire_sys::Token;

/// Where a thing is: its place and how often the place was used before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    place: u32,
    generation: u32,
}

impl Key {
    /// As epoll's token; the top bits are free for the kind of thing (see `Source`).
    pub(crate) fn to_token(self, kind: u8) -> Token {
        Token(
            u64::from(kind) << 56
                | u64::from(self.generation & 0xff_ffff) << 32
                | u64::from(self.place),
        )
    }
}

/// A growing array whose places are used again.
#[derive(Debug)]
pub(crate) struct Arena<T> {
    entries: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Arena<T> {
    pub(crate) const fn new() -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(crate) fn insert(&mut self, thing: T) -> Key {
        if let Some(place) = self.free.pop() {
            let entry = &mut self.entries[place as usize];
            entry.1 = Some(thing);
            return Key {
                place,
                generation: entry.0,
            };
        }
        let place = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        self.entries.push((0, Some(thing)));
        Key {
            place,
            generation: 0,
        }
    }

    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        match self.entries.get_mut(key.place as usize) {
            Some((generation, thing)) if *generation == key.generation => thing.as_mut(),
            _ => None,
        }
    }

    /// The thing of a token, if it is still the one the token was made for.
    pub(crate) fn find(&self, token: Token) -> Option<Key> {
        let place = (token.0 & 0xffff_ffff) as u32;
        let (generation, thing) = self.entries.get(place as usize)?;
        let key = Key {
            place,
            generation: *generation,
        };
        let same = key.to_token(0).0 == token.0 & 0x00ff_ffff_ffff_ffff;
        (thing.is_some() && same).then_some(key)
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        let (generation, thing) = self.entries.get_mut(key.place as usize)?;
        if *generation != key.generation {
            return None;
        }
        let removed = thing.take()?;
        *generation = generation.wrapping_add(1) & 0xff_ffff;
        self.free.push(key.place);
        Some(removed)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub(crate) fn keys(&self) -> Vec<Key> {
        let key = |(place, (generation, thing)): (usize, &(u32, Option<T>))| {
            thing.as_ref().map(|_| Key {
                place: u32::try_from(place).unwrap_or(u32::MAX),
                generation: *generation,
            })
        };
        self.entries.iter().enumerate().filter_map(key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_used_again_has_another_key() {
        let mut arena = Arena::new();
        let first = arena.insert("first");
        assert_eq!(arena.find(first.to_token(3)), Some(first));
        assert_eq!(arena.remove(first), Some("first"));
        let second = arena.insert("second");
        assert_eq!(second.place, first.place);
        assert_eq!(arena.get_mut(first), None);
        assert_eq!(arena.find(first.to_token(3)), None);
        assert_eq!(arena.remove(first), None);
        assert_eq!(arena.get_mut(second), Some(&mut "second"));
        assert_eq!((arena.len(), arena.keys()), (1, vec![second]));
    }
}
