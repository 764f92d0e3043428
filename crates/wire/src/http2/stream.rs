//! One stream, and all that are open (RFC 9113, 5.1).
//!
//! ```text
//!                 this side's HEADERS                          END_STREAM sent
//!   waiting ---------------------------> open, ---------------------------------> half-closed
//!   (a client's  (a server's stream is   both ways <------------------------------ either way
//!    request)     open when it comes)                     END_STREAM came
//!                                           |                                         |
//!                                           +-- RST_STREAM, GOAWAY, the other end ----+--> gone
//! ```
//!
//! What is gone is not kept: see [`super::ended`] for what is remembered of it.

use super::StreamMap;
use super::flow::{ReceiveWindow, SendWindow};
use super::messaging::Body;
use super::outgoing::Outgoing;
use super::queues::Queue;
use std::cell::Cell;

/// Places of streams that are gone that are kept for the next.
const SPARE_STREAMS: usize = 256;

/// Where this side's part of a stream stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sending {
    /// Client: the request waits for its turn. Server: there is no answer yet.
    #[default]
    Nothing,
    /// The header section waits to be written.
    Head,
    /// The header section is written; the body goes on.
    Body,
    /// All is written.
    Done,
}

/// One stream that is open.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) number: u32,
    pub(super) sending: Sending,
    pub(super) queue: Queue,
    /// A body follows the header section.
    pub(super) has_body: bool,
    /// The peer's side has ended.
    pub(super) received_all: bool,
    /// What is known of the message that comes.
    pub(super) body: Body,
    /// What this side may send on it.
    pub(super) credit: SendWindow,
    /// What the peer may send on it.
    pub(super) window: ReceiveWindow,
    pub(super) outgoing: Outgoing,
}

impl Stream {
    /// Makes room for the next, and keeps the memory for what it sends.
    fn clear(&mut self) {
        self.number = 0;
        self.sending = Sending::Nothing;
        self.queue = Queue::None;
        self.has_body = false;
        self.received_all = false;
        self.body = Body::default();
        self.credit = SendWindow::default();
        self.window = ReceiveWindow::default();
        self.outgoing.clear();
    }
}

/// The streams that are open, by number.
#[derive(Debug, Default)]
pub(super) struct Streams {
    places: Vec<Stream>,
    free: Vec<u32>,
    by_number: StreamMap<u32>,
    /// The stream that was asked for last and its place: most often it is the next, too. Number 0 is
    /// none.
    recent: Cell<(u32, u32)>,
}

impl Streams {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }

    /// The place of a stream.
    #[inline]
    pub(super) fn find(&self, number: u32) -> Option<usize> {
        let (recent, place) = self.recent.get();
        if recent == number && number != 0 {
            return Some(place as usize);
        }
        let place = *self.by_number.get(number)?;
        self.recent.set((number, place));
        Some(place as usize)
    }

    pub(super) fn get(&self, number: u32) -> Option<&Stream> {
        self.find(number).map(|place| &self.places[place])
    }

    pub(super) fn at(&mut self, place: usize) -> &mut Stream {
        &mut self.places[place]
    }

    /// Opens a stream; gives its place.
    pub(super) fn insert(
        &mut self,
        number: u32,
        credit: SendWindow,
        window: ReceiveWindow,
    ) -> usize {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Stream::default());
            // There are fewer streams than stream numbers.
            (self.places.len() - 1) as u32
        });
        let stream = &mut self.places[place as usize];
        stream.number = number;
        stream.credit = credit;
        stream.window = window;
        self.by_number.insert(number, place);
        self.recent.set((number, place));
        place as usize
    }

    /// Forgets a stream.
    pub(super) fn remove(&mut self, place: usize) {
        let stream = &mut self.places[place];
        self.by_number.remove(stream.number);
        self.recent.set((0, 0));
        stream.clear();
        self.free.push(place as u32);
        if self.by_number.is_empty() && self.places.len() > SPARE_STREAMS {
            self.places.truncate(SPARE_STREAMS);
            self.places.shrink_to_fit();
            self.free.clear();
            self.free.extend((0..SPARE_STREAMS as u32).rev());
        }
    }

    /// How many places there are; those whose stream has number 0 are free.
    pub(super) const fn places(&self) -> usize {
        self.places.len()
    }

    /// All of them, in no order.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.places.iter_mut().filter(|stream| stream.number != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again_and_not_kept_without_end() {
        let mut streams = Streams::default();
        for round in 0..3u32 {
            let first = round * 10_000 + 1;
            for number in first..first + 1000 {
                let place = streams.insert(number, SendWindow::new(1), ReceiveWindow::new(2));
                assert_eq!(streams.find(number), Some(place));
            }
            assert_eq!(streams.len(), 1000);
            assert_eq!(streams.iter_mut().count(), 1000);
            assert_eq!(streams.get(first + 7).unwrap().number, first + 7);
            for number in first..first + 1000 {
                let place = streams.find(number).unwrap();
                assert_eq!(streams.at(place).number, number);
                streams.remove(place);
                assert_eq!(streams.find(number), None);
            }
            assert_eq!(streams.len(), 0);
            assert_eq!(streams.places.len(), SPARE_STREAMS);
        }
        assert_eq!(streams.find(0), None);
    }
}
