//! Message bodies: octets, whatever their media type.

use bytes::{Bytes, BytesMut};
use std::fmt;

/// How many octets of a body may stand inline in front of its shared part.
///
/// Large enough for a small message's own fields, so that a large payload received in one message
/// can be sent on in another without a copy.
pub const INLINE_HEAD: usize = 40;

/// The octets of one message: a short inline head and a shared tail.
///
/// Most bodies have only the tail. A head lets a service put its own fields in front of a payload
/// it shares with the request; the transport gathers both into one write. Received bodies never
/// have a head. Cloning shares the tail.
#[derive(Clone)]
pub struct Body {
    head: [u8; INLINE_HEAD],
    head_len: u8,
    tail: Bytes,
}

impl Body {
    /// A body of no octets. Does not allocate.
    #[must_use]
    pub const fn new() -> Self {
        Self::from_static(b"")
    }

    /// A body that borrows octets which live as long as the program.
    #[must_use]
    pub const fn from_static(octets: &'static [u8]) -> Self {
        Self {
            head: [0; INLINE_HEAD],
            head_len: 0,
            tail: Bytes::from_static(octets),
        }
    }

    /// A body of `head` followed by `tail`. The tail is shared, not copied; a head longer than
    /// [`INLINE_HEAD`] is joined with it into one new buffer.
    #[must_use]
    pub fn with_head(head: &[u8], tail: Bytes) -> Self {
        if head.len() > INLINE_HEAD {
            let mut joined = BytesMut::with_capacity(head.len() + tail.len());
            joined.extend_from_slice(head);
            joined.extend_from_slice(&tail);
            return Self::from(joined.freeze());
        }
        let mut body = Self::from(tail);
        body.head[..head.len()].copy_from_slice(head);
        body.head_len = u8::try_from(head.len()).unwrap_or(0);
        body
    }

    /// A body that copies `octets`; inline, without allocating, when they are few.
    #[must_use]
    pub fn copy_from_slice(octets: &[u8]) -> Self {
        if octets.len() <= INLINE_HEAD {
            Self::with_head(octets, Bytes::new())
        } else {
            Self::from(Bytes::copy_from_slice(octets))
        }
    }

    /// Its length in octets.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.head_len) + self.tail.len()
    }

    /// Whether it has no octets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The inline part, which comes first on the wire.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        &self.head[..usize::from(self.head_len)]
    }

    /// The shared part, which follows the head.
    #[must_use]
    pub const fn tail(&self) -> &Bytes {
        &self.tail
    }

    /// All octets in one piece; copies only if there are both a head and a tail.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        if self.head_len == 0 {
            return self.tail;
        }
        let mut joined = BytesMut::with_capacity(self.len());
        joined.extend_from_slice(self.head());
        joined.extend_from_slice(&self.tail);
        joined.freeze()
    }
}

impl Default for Body {
    fn default() -> Self {
        Self::new()
    }
}

impl From<Bytes> for Body {
    fn from(tail: Bytes) -> Self {
        Self {
            head: [0; INLINE_HEAD],
            head_len: 0,
            tail,
        }
    }
}

impl From<Vec<u8>> for Body {
    fn from(octets: Vec<u8>) -> Self {
        Self::from(Bytes::from(octets))
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Self::from(Bytes::from(text))
    }
}

impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        let octets = |body: &Self| -> Vec<u8> { [body.head(), &body.tail[..]].concat() };
        self.len() == other.len()
            && (self.head() == other.head() && self.tail == other.tail
                || octets(self) == octets(other))
    }
}

impl Eq for Body {}

impl fmt::Debug for Body {
    /// Prints the length only: bodies carry subscribers' data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({} octets)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_head_stays_inline_and_shares_the_tail() {
        let payload = Bytes::from(vec![7u8; 1000]);
        let body = Body::with_head(b"head", payload.clone());
        assert_eq!(body.len(), 1004);
        assert_eq!(body.tail().as_ptr(), payload.as_ptr());
        assert_eq!(&body.into_bytes()[..5], b"head\x07");
    }

    #[test]
    fn a_long_head_is_joined() {
        let body = Body::with_head(&[1; INLINE_HEAD + 1], Bytes::from_static(b"x"));
        assert!(body.head().is_empty());
        assert_eq!(body.len(), INLINE_HEAD + 2);
    }

    #[test]
    fn equality_is_of_octets_not_of_layout() {
        assert_eq!(
            Body::with_head(b"ab", Bytes::from_static(b"c")),
            Body::from_static(b"abc")
        );
        assert_ne!(Body::from_static(b"abd"), Body::from_static(b"abc"));
    }
}
