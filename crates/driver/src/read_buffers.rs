//! Memory to read into.
//!
//! Idle connections hold none: a loop reads every socket into one current buffer, message bodies
//! are shared slices of it, and when its room is used up it is taken back as soon as the last
//! slice is gone. A connection in the middle of a message keeps the buffer until it is whole, unless
//! little of it has come: that is copied and the buffer goes on to others. What is gained at 100 kB: no page faults, no zeroing, and memory that is still in the cache.

use bytes::BytesMut;
use std::collections::VecDeque;

/// The size of a buffer: two of the evaluation's largest messages.
const BUFFER: usize = 256 * 1024;

/// Room below which a buffer is not read into: a larger read is worth a change of buffer.
const LEAST_ROOM: usize = 64 * 1024;

/// Octets that are copied rather than left to hold a whole buffer, when it is not known for how long.
pub const COPIED_BELOW: usize = 4 * 1024;

/// Buffers that are kept although their slices are still in use somewhere.
const KEPT: usize = 32;

/// The buffers of one driver.
#[derive(Debug)]
pub struct ReadBuffers {
    kept: VecDeque<BytesMut>,
    /// A start of a message that is shorter is copied.
    copied_below: usize,
    /// A buffer that has grown beyond this is not kept.
    largest: usize,
}

impl Default for ReadBuffers {
    /// Those of a driver whose bodies are slices of what it reads: buffers that a large message has made
    /// larger are kept for the next.
    fn default() -> Self {
        Self::keeping(COPIED_BELOW, usize::MAX)
    }
}

impl ReadBuffers {
    /// Buffers of which starts of messages below `copied_below` bytes are copied, and of which those above
    /// `largest` bytes are not kept.
    #[must_use]
    pub const fn keeping(copied_below: usize, largest: usize) -> Self {
        Self {
            kept: VecDeque::new(),
            copied_below,
            largest,
        }
    }

    /// An empty buffer with room to read into.
    #[must_use]
    pub fn take(&mut self) -> BytesMut {
        // The one given back last is warm in the cache; look at few, they are probably free.
        for _ in 0..self.kept.len().min(4) {
            let Some(mut buffer) = self.kept.pop_back() else {
                break;
            };
            if buffer.capacity() >= LEAST_ROOM || buffer.try_reclaim(LEAST_ROOM) {
                return buffer;
            }
            self.kept.push_front(buffer);
        }
        BytesMut::with_capacity(BUFFER)
    }

    /// A buffer to read the rest of a message into, with its start in front.
    #[must_use]
    pub fn take_with(&mut self, start: BytesMut) -> BytesMut {
        if start.len() >= self.copied_below {
            return start;
        }
        let mut buffer = self.take();
        buffer.extend_from_slice(&start);
        buffer
    }

    /// Takes a buffer back that holds the start of a message; gives what to keep until its rest
    /// comes. A short start is copied: a peer that stops in the middle of a header would hold a whole
    /// buffer otherwise.
    #[must_use]
    pub fn give_but_start(&mut self, buffer: BytesMut) -> Option<BytesMut> {
        if buffer.len() >= self.copied_below {
            return Some(buffer);
        }
        let start = (!buffer.is_empty()).then(|| BytesMut::from(&buffer[..]));
        self.give(buffer);
        start
    }

    /// Takes an empty buffer back. Its slices may still be in use.
    pub fn give(&mut self, mut buffer: BytesMut) {
        buffer.clear();
        if self.kept.len() < KEPT && buffer.capacity() <= self.largest {
            self.kept.push_back(buffer);
        }
    }

    /// Keeps the buffer that is warm in the cache, if any.
    pub fn shrink(&mut self) {
        let spare = self.kept.len().saturating_sub(1);
        self.kept.drain(..spare);
    }

    /// Makes room in a buffer that holds the start of a message of which `wanted` octets are
    /// missing.
    pub fn make_room(buffer: &mut BytesMut, wanted: usize) {
        // A length that the peer only announces is not worth more than this at once.
        let wanted = wanted.clamp(LEAST_ROOM / 4, 1024 * 1024);
        if buffer.capacity() - buffer.len() < wanted && !buffer.try_reclaim(wanted) {
            buffer.reserve(wanted.max(BUFFER - buffer.len().min(BUFFER)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again_when_its_slices_are_gone() {
        let mut buffers = ReadBuffers::default();
        let mut first = buffers.take();
        first.extend_from_slice(&[1; BUFFER - 10]);
        let place = first.as_ptr();
        let body = first.split_to(BUFFER - 10).freeze();
        buffers.give(first);

        let other = buffers.take();
        assert_ne!(other.as_ptr(), place, "its octets are still in use");
        drop(other);
        drop(body);
        let again = buffers.take();
        assert_eq!(again.as_ptr(), place);
        assert!(again.capacity() >= LEAST_ROOM);
    }

    #[test]
    fn a_short_start_of_a_message_does_not_keep_a_buffer() {
        let mut buffers = ReadBuffers::default();
        for length in [0, 1, COPIED_BELOW - 1, COPIED_BELOW, 100_000] {
            let mut buffer = buffers.take();
            buffer.extend_from_slice(&vec![5; length]);
            let place = buffer.as_ptr();
            let kept = buffers.give_but_start(buffer);
            let held = kept.as_ref().map_or(0, BytesMut::capacity);
            assert_eq!(held >= BUFFER, length >= COPIED_BELOW, "{length}");
            assert_eq!(kept.as_ref().map_or(0, BytesMut::len), length);
            let Some(kept) = kept else { continue };
            let again = buffers.take_with(kept);
            assert_eq!(&again[..], vec![5; length]);
            assert_eq!(again.as_ptr(), place, "the same memory, {length}");
            assert!(again.capacity() >= LEAST_ROOM);
            buffers.give(again);
        }
    }

    #[test]
    fn a_buffer_that_has_grown_is_kept_up_to_a_length() {
        for (largest, keeps) in [(usize::MAX, true), (2 * BUFFER, false)] {
            let mut buffers = ReadBuffers::keeping(COPIED_BELOW, largest);
            let mut buffer = buffers.take();
            buffer.reserve(3 * BUFFER);
            buffers.give(buffer);
            assert_eq!(buffers.kept.len(), usize::from(keeps), "{largest}");
        }
    }

    #[test]
    fn an_announced_length_alone_takes_little_memory() {
        let mut buffer = BytesMut::new();
        ReadBuffers::make_room(&mut buffer, usize::MAX);
        assert!(buffer.capacity() <= 2 * 1024 * 1024);
    }
}
