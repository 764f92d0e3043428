//! The octets that the session received last, which its events speak of.

use bytes::{Buf, Bytes, BytesMut};
use std::ops::Range;

/// Octets that the session has received, still in the driver's buffer. When this goes they are taken out
/// of it: shared by those bodies that asked for it, else to be overwritten.
pub(super) struct Received<'a> {
    buffer: &'a mut BytesMut,
    /// How many of the buffer's octets they are; 0 once they are shared.
    count: usize,
    shared: Option<Bytes>,
}

impl<'a> Received<'a> {
    /// The first `count` octets of the buffer.
    pub(super) const fn new(buffer: &'a mut BytesMut, count: usize) -> Self {
        Self {
            buffer,
            count,
            shared: None,
        }
    }

    /// Some of them.
    pub(super) fn get(&self, place: Range<usize>) -> &[u8] {
        let octets = match &self.shared {
            Some(shared) => shared,
            None => &self.buffer[..self.count],
        };
        octets.get(place).unwrap_or_default()
    }

    /// The same without a copy: the memory that all of them were received in stays until the last such
    /// piece is gone.
    pub(super) fn share(&mut self, place: Range<usize>) -> Bytes {
        let shared = self.shared.get_or_insert_with(|| {
            let count = std::mem::take(&mut self.count);
            self.buffer.split_to(count).freeze()
        });
        match shared.get(place.clone()) {
            Some(_) => shared.slice(place),
            None => Bytes::new(),
        }
    }
}

impl Drop for Received<'_> {
    fn drop(&mut self) {
        if self.count == self.buffer.len() {
            // The next octets come where these stood, in memory that is in the cache.
            self.buffer.clear();
        } else {
            self.buffer.advance(self.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_received_leaves_the_buffer_and_what_is_shared_stays() {
        for share in [false, true] {
            let mut buffer = BytesMut::from(&b"receivedrest"[..]);
            let mut received = Received::new(&mut buffer, 8);
            assert_eq!(received.get(0..2), b"re");
            let kept = share.then(|| received.share(2..8));
            assert_eq!(received.get(0..8), b"received");
            assert_eq!(received.get(8..9), b"");
            drop(received);
            assert_eq!(&buffer[..], b"rest");
            assert_eq!(kept.unwrap_or_default(), &b"ceived"[..share as usize * 6]);
        }
    }

    #[test]
    fn a_buffer_of_which_nothing_is_shared_begins_where_it_did() {
        let mut buffer = BytesMut::from(&b"received"[..]);
        let place = buffer.as_ptr();
        drop(Received::new(&mut buffer, 8));
        assert_eq!((buffer.len(), buffer.as_ptr()), (0, place));
    }
}
