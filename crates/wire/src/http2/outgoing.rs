//! Bodies on their way out, and where they go.

use super::field::{Field, Section};
use bytes::Bytes;
use std::collections::VecDeque;

/// How many octets of a piece may stand in front of its shared part.
pub const INLINE_PIECE: usize = 48;

/// Octets of a shared piece below which they are copied next to the frame's head: what holding them
/// and writing them apart costs is more.
const SHARE_FROM: usize = 4096;

/// Octets that are put together by copying before the sink is given them.
const GATHER: usize = 32 << 10;

/// Where a session writes what is to be sent.
pub trait Sink {
    /// Appends octets by copying.
    fn put(&mut self, octets: &[u8]);
    /// Appends octets by sharing.
    fn put_shared(&mut self, octets: Bytes);
    /// How many octets may still be added in this turn.
    fn budget(&self) -> usize;
}

/// A sink with the frames in front of it that are put together by copying.
pub(super) struct Writer<'a> {
    pub(super) sink: &'a mut dyn Sink,
    pub(super) out: Vec<u8>,
    pub(super) wrote: bool,
}

impl Writer<'_> {
    /// Whether there is room for another frame.
    pub(super) fn has_room(&mut self) -> bool {
        if self.out.len() >= GATHER {
            self.flush();
        }
        self.sink.budget() > self.out.len()
    }

    /// Gives the sink what was put together.
    pub(super) fn flush(&mut self) {
        if !self.out.is_empty() {
            self.sink.put(&self.out);
            self.out.clear();
            self.wrote = true;
        }
    }

    fn put_shared(&mut self, octets: Bytes) {
        if octets.len() < SHARE_FROM {
            self.out.extend_from_slice(&octets);
            if self.out.len() >= GATHER {
                self.flush();
            }
        } else {
            self.flush();
            self.sink.put_shared(octets);
            self.wrote = true;
        }
    }
}

/// One run of a body: a few octets of its own, then shared ones.
#[derive(Debug)]
struct Piece {
    inline: [u8; INLINE_PIECE],
    inline_len: u8,
    shared: Bytes,
}

/// What one stream has still to send.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// The header section in front of the body, until it is written.
    pub(super) head: Section,
    /// The first piece stands apart: most bodies are one, and need no queue.
    first: Option<Piece>,
    more: VecDeque<Piece>,
    /// Octets of all pieces.
    pub(super) queued: usize,
    /// No piece follows.
    pub(super) finished: bool,
    pub(super) trailers: Trailers,
    /// The trailers, when they are [`Trailers::Own`].
    pub(super) tail: Section,
    /// Something was queued here: of most streams nothing is.
    pub(super) is_used: bool,
}

/// Fields sent after the body.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Trailers {
    /// None: the body's end ends the stream.
    #[default]
    None,
    /// Known when the program was written.
    Fixed(&'static [Field<'static>]),
    /// [`Outgoing::tail`].
    Own,
}

impl Outgoing {
    /// Adds a piece; `inline` beyond [`INLINE_PIECE`] is joined with `shared` by copying.
    pub(super) fn push(&mut self, inline: &[u8], shared: Bytes) {
        let length = inline.len() + shared.len();
        if length == 0 {
            return;
        }
        let mut piece = Piece {
            inline: [0; INLINE_PIECE],
            inline_len: 0,
            shared,
        };
        if let Some(room) = piece.inline.get_mut(..inline.len()) {
            room.copy_from_slice(inline);
            // Fits: the length of the array does.
            piece.inline_len = inline.len() as u8;
        } else {
            piece.shared = [inline, &piece.shared].concat().into();
        }
        self.queued += length;
        if self.first.is_none() {
            self.first = Some(piece);
        } else {
            self.more.push_back(piece);
        }
    }

    /// Writes the first `count` octets, which there are.
    pub(super) fn take(&mut self, mut count: usize, writer: &mut Writer<'_>) {
        self.queued -= count;
        while count > 0 {
            let Some(piece) = &mut self.first else {
                return;
            };
            let inline = usize::from(piece.inline_len).min(count);
            if inline > 0 {
                writer.out.extend_from_slice(&piece.inline[..inline]);
                piece.inline.copy_within(inline.., 0);
                piece.inline_len -= inline as u8;
                count -= inline;
            }
            let shared = piece.shared.len().min(count);
            if shared > 0 {
                writer.put_shared(piece.shared.split_to(shared));
                count -= shared;
            }
            if piece.inline_len == 0 && piece.shared.is_empty() {
                self.first = self.more.pop_front();
            }
        }
    }

    /// Empties it for the next stream, keeping its memory.
    pub(super) fn clear(&mut self) {
        if !std::mem::take(&mut self.is_used) {
            return;
        }
        self.head.clear();
        self.first = None;
        if self.more.capacity() > 0 {
            self.more.clear();
            self.more.shrink_to(16);
        }
        self.queued = 0;
        self.finished = false;
        self.trailers = Trailers::None;
        self.tail.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tells how much it was given at a time.
    #[derive(Default)]
    struct Given {
        copied: Vec<usize>,
        shared: Vec<usize>,
        budget: usize,
    }

    impl Sink for Given {
        fn put(&mut self, octets: &[u8]) {
            self.copied.push(octets.len());
        }

        fn put_shared(&mut self, octets: Bytes) {
            self.shared.push(octets.len());
        }

        fn budget(&self) -> usize {
            self.budget
        }
    }

    fn writer(sink: &mut Given, gathered: usize) -> Writer<'_> {
        Writer {
            sink,
            out: vec![0; gathered],
            wrote: false,
        }
    }

    #[test]
    fn there_is_room_while_less_was_put_together_than_the_sink_takes() {
        for (gathered, budget, has_room) in
            [(0, 0, false), (0, 1, true), (9, 10, true), (10, 10, false)]
        {
            let mut sink = Given {
                budget,
                ..Given::default()
            };
            assert_eq!(writer(&mut sink, gathered).has_room(), has_room);
        }
    }

    #[test]
    fn what_was_put_together_goes_out_when_it_is_much() {
        for (gathered, given) in [(GATHER - 1, vec![]), (GATHER, vec![GATHER])] {
            let mut sink = Given {
                budget: usize::MAX,
                ..Given::default()
            };
            writer(&mut sink, gathered).has_room();
            assert_eq!(sink.copied, given);
        }
    }

    #[test]
    fn short_pieces_are_copied_and_long_ones_shared_behind_what_was_copied() {
        for (gathered, piece, copied, shared) in [
            (5, SHARE_FROM - 1, vec![], vec![]),
            (5, SHARE_FROM, vec![5], vec![SHARE_FROM]),
            (GATHER - 10, 9, vec![], vec![]),
            (GATHER - 10, 10, vec![GATHER], vec![]),
        ] {
            let mut sink = Given::default();
            writer(&mut sink, gathered).put_shared(Bytes::from(vec![0; piece]));
            assert_eq!((sink.copied, sink.shared), (copied, shared));
        }
    }

    #[test]
    fn nothing_of_one_stream_is_sent_on_the_next() {
        let mut outgoing = Outgoing {
            is_used: true,
            ..Outgoing::default()
        };
        for octet in 1..5 {
            outgoing.push(&[octet; 3], Bytes::new());
        }
        outgoing.clear();
        outgoing.push(&[7; 2], Bytes::from_static(&[7; 4]));
        assert_eq!(outgoing.queued, 6);
        let mut sink = Given::default();
        let mut writer = writer(&mut sink, 0);
        outgoing.take(6, &mut writer);
        assert_eq!(writer.out, [7; 6]);
        assert!(outgoing.first.is_none());
    }
}
