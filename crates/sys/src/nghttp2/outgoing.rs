//! Bodies on their way out, and where they go.

use super::Field;
use bytes::Bytes;
use std::collections::VecDeque;

/// How many octets of a piece may stand in front of its shared part.
pub const INLINE_PIECE: usize = 48;

/// Where a session writes what is to be sent. Methods run inside the library: they must not panic
/// (a panic ends the session) and cannot reach the session.
pub trait Sink {
    /// Appends octets by copying.
    fn put(&mut self, octets: &[u8]);
    /// Appends octets by sharing.
    fn put_shared(&mut self, octets: Bytes);
    /// How many octets may still be added in this turn.
    fn budget(&self) -> usize;
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
    /// The first piece stands apart: most bodies are one, and need no queue.
    first: Option<Piece>,
    more: VecDeque<Piece>,
    /// Octets of all pieces.
    pub(super) queued: usize,
    /// No piece follows.
    pub(super) finished: bool,
    /// The library waits to be told that there is more.
    pub(super) deferred: bool,
    pub(super) trailers: Trailers,
}

/// Fields sent after the body.
#[derive(Debug, Default)]
pub(super) enum Trailers {
    /// None: the body's end ends the stream.
    #[default]
    None,
    /// Known when the program was written.
    Fixed(&'static [Field<'static>]),
    /// Flat, as [`super::Fields`] reads them.
    Block(Vec<u8>),
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

    /// Moves the first `count` octets to the sink; says whether there were as many.
    pub(super) fn take(&mut self, mut count: usize, sink: &mut dyn Sink) -> bool {
        while count > 0 {
            let Some(piece) = &mut self.first else {
                return false;
            };
            let inline = usize::from(piece.inline_len).min(count);
            if inline > 0 {
                sink.put(&piece.inline[..inline]);
                piece.inline.copy_within(inline.., 0);
                piece.inline_len -= inline as u8;
                count -= inline;
                self.queued -= inline;
            }
            let shared = piece.shared.len().min(count);
            if shared > 0 {
                sink.put_shared(piece.shared.split_to(shared));
                count -= shared;
                self.queued -= shared;
            }
            if piece.inline_len == 0 && piece.shared.is_empty() {
                self.first = self.more.pop_front();
            }
        }
        true
    }

    /// Empties it for the next stream, keeping its memory.
    pub(super) fn clear(&mut self) {
        self.first = None;
        self.more.clear();
        self.more.shrink_to(16);
        self.queued = 0;
        self.finished = false;
        self.deferred = false;
        self.trailers = Trailers::None;
    }
}

/// Appends one field to a flat block; `false` when it does not fit the format.
pub(super) fn append_flat(block: &mut Vec<u8>, name: &[u8], value: &[u8]) -> bool {
    let (Ok(name_len), Ok(value_len)) = (u8::try_from(name.len()), u32::try_from(value.len()))
    else {
        return false;
    };
    if value_len > 0xff_ffff {
        return false;
    }
    let [v0, v1, v2, _] = value_len.to_le_bytes();
    block.extend_from_slice(&[name_len, v0, v1, v2]);
    block.extend_from_slice(name);
    block.extend_from_slice(value);
    true
}
