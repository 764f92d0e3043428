//! Streams that wait to be written, by their places.

use std::collections::VecDeque;

/// Which queue of the session a stream stands in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Queue {
    #[default]
    None,
    /// Client: requests in the order of their numbers.
    Starts,
    /// What needs no credit: header sections, ends.
    Heads,
    /// Bodies that have credit of their stream.
    Bodies,
}

/// The queues, in the order in which they are written.
#[derive(Debug, Default)]
pub(super) struct Queues {
    /// Client: requests that wait for their turn.
    pub(super) starts: VecDeque<u32>,
    /// Streams whose next frame needs no credit.
    pub(super) heads: VecDeque<u32>,
    /// Streams with bodies to send and credit of their own.
    pub(super) bodies: VecDeque<u32>,
    /// Octets of all bodies that wait, whether in a queue or for credit.
    pub(super) octets: usize,
}

impl Queues {
    pub(super) fn is_empty(&self) -> bool {
        self.starts.is_empty() && self.heads.is_empty() && self.bodies.is_empty()
    }

    /// Takes a stream out of the queue that it stands in.
    pub(super) fn remove(&mut self, queue: Queue, place: usize) {
        let queue = match queue {
            Queue::None => return,
            Queue::Starts => &mut self.starts,
            Queue::Heads => &mut self.heads,
            Queue::Bodies => &mut self.bodies,
        };
        queue.retain(|other| *other as usize != place);
    }
}
