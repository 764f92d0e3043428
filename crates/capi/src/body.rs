//! Octets across the boundary: pieces that C lends become a [`Body`].

use crate::error::{Fault, corewire_error};
use bytes::Bytes;
use corewire_message::{Body, INLINE_HEAD};
use std::ffi::c_void;

/// Some octets, borrowed. Nothing ends them: texts in it have no NUL. Laid out as struct iovec.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct corewire_slice {
    /// The first of them; NULL only if there are none.
    pub data: *const c_void,
    /// How many there are.
    pub length: usize,
}

impl corewire_slice {
    pub(crate) const EMPTY: Self = Self {
        data: std::ptr::null(),
        length: 0,
    };

    pub(crate) const fn of(octets: &[u8]) -> Self {
        Self {
            data: octets.as_ptr().cast(),
            length: octets.len(),
        }
    }

    /// The octets.
    ///
    /// # Safety
    /// `data` is null or points to `length` octets that are readable and not changed for `'a`.
    pub(crate) unsafe fn octets<'a>(self) -> Result<&'a [u8], Fault> {
        match (self.data.is_null(), self.length) {
            (_, 0) => Ok(&[]),
            (true, _) => Err(corewire_error::misuse("a slice has a length but no data")),
            (false, length) if isize::try_from(length).is_err() => Err(corewire_error::misuse(
                "a slice is longer than memory can be",
            )),
            (false, length) => {
                // SAFETY: not null, of a possible size, and the caller keeps the rest.
                Ok(unsafe { std::slice::from_raw_parts(self.data.cast::<u8>(), length) })
            }
        }
    }
}

/// An array from C.
///
/// # Safety
/// `first` is null or points to `count` elements that are readable and not changed for `'a`.
pub(crate) unsafe fn array<'a, T>(
    first: *const T,
    count: usize,
    name: &str,
) -> Result<&'a [T], Fault> {
    match (first.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(corewire_error::null(name)),
        (false, count) if count > isize::MAX as usize / size_of::<T>() => Err(
            corewire_error::misuse(format!("{name} has more elements than memory can hold")),
        ),
        // SAFETY: not null, of a possible size, and the caller keeps the rest.
        (false, count) => Ok(unsafe { std::slice::from_raw_parts(first, count) }),
    }
}

/// A body of all pieces in their order.
///
/// The first few octets go inline; a last piece that lies within `shared` is shared with it; the
/// rest is copied once.
///
/// # Safety
/// Each piece keeps the contract of [`corewire_slice::octets`] for the call.
pub(crate) unsafe fn gather(
    pieces: &[corewire_slice],
    shared: Option<&Bytes>,
) -> Result<Body, Fault> {
    let mut head = [0; INLINE_HEAD];
    let mut head_len = 0;
    for (index, piece) in pieces.iter().enumerate() {
        // SAFETY: the caller's contract.
        let octets = unsafe { piece.octets() }?;
        if let Some(free) = head.get_mut(head_len..head_len + octets.len()) {
            free.copy_from_slice(octets);
            head_len += octets.len();
            continue;
        }
        // SAFETY: the caller's contract.
        let tail = unsafe { tail(&pieces[index..], shared) }?;
        return Ok(Body::with_head(&head[..head_len], tail));
    }
    Ok(Body::copy_from_slice(&head[..head_len]))
}

/// The pieces in one; see [`gather`].
unsafe fn tail(pieces: &[corewire_slice], shared: Option<&Bytes>) -> Result<Bytes, Fault> {
    // SAFETY: the caller's contract.
    let octets = |piece: &corewire_slice| unsafe { piece.octets() };
    if let [only] = pieces {
        let only = octets(only)?;
        return Ok(match shared.and_then(|shared| part_of(shared, only)) {
            Some(part) => part,
            None => Bytes::copy_from_slice(only),
        });
    }
    let mut joined = Vec::with_capacity(pieces.iter().map(|piece| piece.length).sum());
    for piece in pieces {
        joined.extend_from_slice(octets(piece)?);
    }
    Ok(Bytes::from(joined))
}

/// `octets` as a part of `whole`, if they lie in it.
fn part_of(whole: &Bytes, octets: &[u8]) -> Option<Bytes> {
    let start = (octets.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    let end = start.checked_add(octets.len())?;
    (end <= whole.len()).then(|| whole.slice(start..end))
}

/// The same body in one piece, as C reads it. Received bodies are; this costs nothing then.
pub(crate) fn contiguous(body: Body) -> Body {
    if body.head().is_empty() {
        body
    } else {
        Body::from(body.into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(pieces: &[&[u8]], shared: Option<&Bytes>) -> Body {
        let pieces: Vec<_> = pieces
            .iter()
            .map(|piece| corewire_slice::of(piece))
            .collect();
        // SAFETY: the pieces are slices that live until the end of the caller.
        unsafe { gather(&pieces, shared) }.unwrap()
    }

    #[test]
    fn a_payload_of_the_request_is_shared_behind_an_inline_head() {
        let request = Bytes::from(vec![7u8; 1000]);
        let body = gathered(&[b"head", &request[3..]], Some(&request));
        assert_eq!(body.head(), b"head");
        assert_eq!(body.tail().as_ptr(), request[3..].as_ptr());
        assert_eq!(body.len(), 1001);
    }

    #[test]
    fn what_lies_elsewhere_is_copied() {
        let request = Bytes::from(vec![7u8; 1000]);
        let other = vec![8u8; 1000];
        let body = gathered(&[b"head", &other], Some(&request));
        assert_ne!(body.tail().as_ptr(), other.as_ptr());
        assert_eq!(body.into_bytes()[4..], other);
        let body = gathered(&[&request, &request, b"x"], Some(&request));
        assert_eq!(body.into_bytes(), [&request[..], &request, b"x"].concat());
    }

    #[test]
    fn few_octets_stay_inline() {
        let body = gathered(&[b"ab", b"", b"cd"], None);
        assert_eq!((body.head(), body.tail().len()), (&b"abcd"[..], 0));
        assert!(gathered(&[], None).is_empty());
    }

    #[test]
    fn impossible_slices_are_refused() {
        for (data, length) in [(std::ptr::null(), 1), (std::ptr::dangling(), usize::MAX)] {
            // SAFETY: refused before it is read.
            assert!(unsafe { gather(&[corewire_slice { data, length }], None) }.is_err());
        }
    }

    #[test]
    fn only_octets_within_the_whole_are_part_of_it() {
        let memory = Bytes::from(vec![1u8; 100]);
        let whole = memory.slice(10..20);
        assert!(part_of(&whole, &memory[10..20]).is_some());
        assert!(part_of(&whole, &memory[9..12]).is_none());
        assert!(part_of(&whole, &memory[19..21]).is_none());
    }
}
