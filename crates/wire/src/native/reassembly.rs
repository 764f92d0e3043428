//! A message that came in part.

use super::credit::cost;
use super::fault::Violation;
use bytes::{Bytes, BytesMut};
use corewire_message::{Event, Request, Response};

/// The fewest octets of body in a fragment that is not the last: bounds how many fragments one
/// message can have.
pub(super) const MIN_FRAGMENT: usize = 1024;

/// Room that is made for a body before it has come.
const MAX_ROOM_AT_ONCE: usize = 4 << 20;

/// A message whose body came in part.
#[derive(Debug)]
pub(super) struct Partial {
    pub(super) what: What,
    body: BytesMut,
    /// What its body will be long.
    total: u32,
}

/// What it will be: everything but the body.
#[derive(Debug)]
pub(super) enum What {
    Request(Request),
    Event(Event),
    Message,
    Response {
        response: Response,
        not_executed: bool,
    },
}

impl Partial {
    /// The first fragment came.
    pub(super) fn new(what: What, total: u32, first: &[u8]) -> Result<Self, Violation> {
        if first.len() < MIN_FRAGMENT {
            return Err(Violation::FragmentTooShort);
        }
        if first.len() >= total as usize {
            return Err(Violation::FragmentPastEnd);
        }
        // The whole length at once: it was charged whole, and a body that grows is copied again
        // and again. But a long one gets room as it comes, not as it promises.
        let mut body = BytesMut::with_capacity((total as usize).min(MAX_ROOM_AT_ONCE));
        body.extend_from_slice(first);
        Ok(Self { what, body, total })
    }

    /// Another fragment came; says whether the body is whole.
    pub(super) fn add(&mut self, fragment: &[u8], more: bool) -> Result<bool, Violation> {
        let whole = self.body.len() + fragment.len();
        if whole > self.total as usize || (more && whole == self.total as usize) {
            return Err(Violation::FragmentPastEnd);
        }
        if more && fragment.len() < MIN_FRAGMENT {
            return Err(Violation::FragmentTooShort);
        }
        if !more && whole < self.total as usize {
            return Err(Violation::FragmentMissing);
        }
        self.body.extend_from_slice(fragment);
        Ok(!more)
    }

    /// What it cost when it began.
    pub(super) fn cost(&self) -> u32 {
        match self.what {
            What::Response { .. } => self.total,
            _ => cost(self.total),
        }
    }

    /// What it was, and its body.
    pub(super) fn into_parts(self) -> (What, Bytes) {
        (self.what, self.body.freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_must_make_up_the_length_that_was_announced() {
        let piece = [7; MIN_FRAGMENT];
        let new = |total, first| Partial::new(What::Message, total, first);
        assert_eq!(
            new(4096, &piece[1..]).err(),
            Some(Violation::FragmentTooShort)
        );
        assert_eq!(new(1024, &piece).err(), Some(Violation::FragmentPastEnd));
        let mut partial = new(3000, &piece).unwrap();
        assert_eq!(
            partial.add(&piece[1..], true),
            Err(Violation::FragmentTooShort)
        );
        assert_eq!(partial.add(&piece, false), Err(Violation::FragmentMissing));
        assert_eq!(partial.add(&piece, true), Ok(false));
        assert_eq!(partial.add(&piece, false), Err(Violation::FragmentPastEnd));
        assert_eq!(
            partial.add(&piece[..952], true),
            Err(Violation::FragmentPastEnd)
        );
        assert_eq!(partial.add(&piece[..952], false), Ok(true));
        assert_eq!(partial.into_parts().1.len(), 3000);
    }
}
