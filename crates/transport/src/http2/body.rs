//! Unary bodies that come in pieces, and the memory short ones share.

use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;

/// The size of one piece of shared memory, octets.
const ARENA: usize = 64 << 10;
/// Used-up pieces that are kept. While all of them hold something, what comes gets memory of its own:
/// few octets that stay long must not hold a piece each.
const MOST_PIECES: usize = 16;
/// Used-up pieces that are kept while no call is open.
const KEPT_PIECES: usize = 4;
/// Octets from which a body gets memory of its own.
const OWN_FROM: usize = 8 << 10;
/// The most that an announced length alone makes us reserve, octets.
const RESERVE_AT_MOST: usize = 256 << 10;

/// Memory that short-lived small things share: header blocks and short bodies. When all of a
/// piece are gone it is used again, so a steady flow of calls allocates nothing.
#[derive(Debug, Default)]
pub(super) struct Arena {
    /// The piece in use; the block being built stands at its front.
    current: BytesMut,
    /// Pieces that were used up. The one used up first comes first.
    used: VecDeque<BytesMut>,
    /// The piece that is put aside while `current` is no piece: the block being built gets memory of its
    /// own.
    aside: Option<BytesMut>,
}

impl Arena {
    /// Adds octets to the block being built.
    pub(super) fn put(&mut self, octets: &[u8]) {
        if self.current.is_empty() {
            // When all blocks before are gone the piece begins anew, in memory that is still in the
            // cache; when not, it goes on.
            let _anew = self.current.try_reclaim(ARENA);
        }
        if self.current.capacity() - self.current.len() < octets.len() {
            self.make_room(octets.len());
        }
        self.current.extend_from_slice(octets);
    }

    /// The block that was built.
    pub(super) fn take(&mut self) -> Bytes {
        if self.current.is_empty() {
            return Bytes::new();
        }
        let Some(piece) = self.aside.take() else {
            return self.current.split().freeze();
        };
        let own = std::mem::replace(&mut self.current, piece);
        // As long as it is: what it grew by while it was built would not be counted.
        Bytes::copy_from_slice(&own)
    }

    /// Lets go of pieces that only many calls at once need.
    pub(super) fn shrink(&mut self) {
        if self.used.len() > KEPT_PIECES {
            self.used.truncate(KEPT_PIECES);
        }
    }

    fn copy(&mut self, octets: &[u8]) -> Bytes {
        self.put(octets);
        self.take()
    }

    fn make_room(&mut self, more: usize) {
        if self.aside.is_some() {
            return self.current.reserve(more);
        }
        if self.current.try_reclaim(more) {
            return;
        }
        // A whole piece is asked for: the end of a used one would not last.
        let needed = (self.current.len() + more).max(ARENA);
        let free = self
            .used
            .iter_mut()
            .position(|piece| piece.try_reclaim(needed));
        let is_scarce = free.is_none() && self.used.len() >= MOST_PIECES;
        let mut next = free
            .and_then(|place| self.used.remove(place))
            .unwrap_or_else(|| {
                BytesMut::with_capacity(if is_scarce {
                    self.current.len() + more
                } else {
                    needed
                })
            });
        next.extend_from_slice(&self.current);
        let mut full = std::mem::replace(&mut self.current, next);
        full.clear();
        if is_scarce {
            self.aside = Some(full);
        } else {
            self.used.push_back(full);
        }
    }
}

/// A body that comes in pieces.
#[derive(Debug, Default)]
pub(super) enum Gathered {
    /// Nothing has come.
    #[default]
    Empty,
    /// One piece has come; most bodies are no more. A long one shares the memory it was received in.
    One(Bytes),
    /// More.
    Many(BytesMut),
}

impl Gathered {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::One(octets) => octets.len(),
            Self::Many(octets) => octets.len(),
        }
    }

    /// Adds a piece. `expected` is the whole length as the peer announced it, if it did.
    pub(super) fn put(&mut self, octets: &[u8], expected: Option<usize>, arena: &mut Arena) {
        *self = match std::mem::take(self) {
            Self::Empty if octets.len() < OWN_FROM => Self::One(arena.copy(octets)),
            Self::Empty => {
                let mut own = reserved(octets.len(), expected);
                own.extend_from_slice(octets);
                Self::Many(own)
            }
            Self::One(first) => {
                let mut own = reserved(first.len() + octets.len(), expected);
                own.extend_from_slice(&first);
                own.extend_from_slice(octets);
                Self::Many(own)
            }
            Self::Many(mut own) => {
                own.extend_from_slice(octets);
                Self::Many(own)
            }
        };
    }

    pub(super) fn take(&mut self) -> Bytes {
        match std::mem::take(self) {
            Self::Empty => Bytes::new(),
            Self::One(octets) => octets,
            Self::Many(octets) => octets.freeze(),
        }
    }
}

fn reserved(have: usize, expected: Option<usize>) -> BytesMut {
    BytesMut::with_capacity(expected.unwrap_or(0).clamp(have, have.max(RESERVE_AT_MOST)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_come_out_as_they_came_in() {
        let mut arena = Arena::default();
        for length in [0, 1, OWN_FROM - 1, OWN_FROM, 3 * ARENA] {
            for piece in [1usize, 1000, OWN_FROM, usize::MAX] {
                let octets: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
                let mut body = Gathered::default();
                for octets in octets.chunks(piece) {
                    body.put(octets, Some(length), &mut arena);
                }
                assert_eq!(body.len(), length);
                assert_eq!(body.take(), octets);
                assert_eq!(body.len(), 0);
            }
        }
    }

    #[test]
    fn an_announced_length_alone_reserves_little() {
        assert!(reserved(10, Some(usize::MAX)).capacity() <= RESERVE_AT_MOST);
        assert!(reserved(10, Some(100)).capacity() >= 100);
        assert!(reserved(RESERVE_AT_MOST * 2, Some(5)).capacity() >= RESERVE_AT_MOST * 2);
    }

    #[test]
    fn short_bodies_share_memory_that_is_used_again() {
        let mut arena = Arena::default();
        let mut addresses = std::collections::HashSet::new();
        for _ in 0..1000 {
            let mut body = Gathered::default();
            body.put(&[7; 4000], None, &mut arena);
            addresses.insert(body.take().as_ptr() as usize / ARENA);
        }
        assert!(addresses.len() <= 4, "{} pieces of memory", addresses.len());
    }
}
