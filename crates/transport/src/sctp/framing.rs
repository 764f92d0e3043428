//! Records over TCP, for tests without SCTP.
//!
//! ```text
//! 0        4       8        10     12
//! | length | PPID  | stream | kind | payload ...      all numbers most significant octet first
//! ```

use std::fmt;

use bytes::{Bytes, BytesMut};

/// Octets before the payload.
pub const HEADER_LEN: usize = 12;
/// Octets of the largest payload: several times the largest NGAP message that anybody sends.
pub const MAX_MESSAGE: usize = 256 * 1024;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the format has two")]
pub enum FrameKind {
    /// A message.
    Data,
    /// The sender has no more to say.
    Shutdown,
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it is.
    pub kind: FrameKind,
    /// The stream.
    pub stream: u16,
    /// What the payload is.
    pub ppid: u32,
    /// The payload.
    pub payload: Bytes,
}

/// Octets that are no record: the peer speaks something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the format allows two faults")]
pub enum FrameError {
    /// The payload is longer than [`MAX_MESSAGE`].
    Length(u32),
    /// No such kind.
    Kind(u16),
}

impl Frame {
    /// The octets before the payload.
    #[must_use]
    pub fn header(kind: FrameKind, stream: u16, ppid: u32, length: u32) -> [u8; HEADER_LEN] {
        let kind: u16 = match kind {
            FrameKind::Data => 0,
            FrameKind::Shutdown => 1,
        };
        let mut header = [0; HEADER_LEN];
        header[..4].copy_from_slice(&length.to_be_bytes());
        header[4..8].copy_from_slice(&ppid.to_be_bytes());
        header[8..10].copy_from_slice(&stream.to_be_bytes());
        header[10..].copy_from_slice(&kind.to_be_bytes());
        header
    }

    /// Takes the first record of what was received; none when it is not whole yet.
    ///
    /// # Errors
    /// These octets never become a record.
    pub fn take(received: &mut BytesMut) -> Result<Option<Self>, FrameError> {
        let Some(header) = received.first_chunk::<HEADER_LEN>() else {
            return Ok(None);
        };
        let [l0, l1, l2, l3, p0, p1, p2, p3, s0, s1, k0, k1] = *header;
        let kind = match u16::from_be_bytes([k0, k1]) {
            0 => FrameKind::Data,
            1 => FrameKind::Shutdown,
            other => return Err(FrameError::Kind(other)),
        };
        let length = u32::from_be_bytes([l0, l1, l2, l3]);
        let payload = usize::try_from(length)
            .ok()
            .filter(|length| *length <= MAX_MESSAGE)
            .ok_or(FrameError::Length(length))?;
        if received.len() < HEADER_LEN + payload {
            return Ok(None);
        }
        let mut record = received.split_to(HEADER_LEN + payload);
        let payload = record.split_off(HEADER_LEN).freeze();
        Ok(Some(Self {
            kind,
            stream: u16::from_be_bytes([s0, s1]),
            ppid: u32::from_be_bytes([p0, p1, p2, p3]),
            payload,
        }))
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(length) => write!(f, "a record of {length} octets: no N2 over TCP"),
            Self::Kind(kind) => write!(f, "a record of kind {kind}: no N2 over TCP"),
        }
    }
}

impl std::error::Error for FrameError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_taken_when_it_is_whole() {
        let mut octets = Frame::header(FrameKind::Data, 3, 60, 5).to_vec();
        octets.extend(b"hello");
        for end in 0..octets.len() {
            let mut part = BytesMut::from(&octets[..end]);
            assert_eq!(Frame::take(&mut part), Ok(None));
            assert_eq!(part.len(), end, "nothing was taken");
        }
        octets.extend(b"next");
        let mut received = BytesMut::from(&octets[..]);
        let frame = Frame::take(&mut received).unwrap().unwrap();
        assert_eq!(
            (frame.stream, frame.ppid, &frame.payload[..]),
            (3, 60, &b"hello"[..])
        );
        assert_eq!(&received[..], b"next");
    }

    #[test]
    fn what_never_becomes_a_record_is_refused_at_its_header() {
        let mut long = BytesMut::from(&Frame::header(FrameKind::Data, 0, 60, u32::MAX)[..]);
        assert_eq!(Frame::take(&mut long), Err(FrameError::Length(u32::MAX)));
        let mut http = BytesMut::from(&b"GET / HTTP/1.1\r\n"[..]);
        assert!(Frame::take(&mut http).is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_octets_are_read_or_refused(octets in proptest::collection::vec(0_u8.., 0..64)) {
            let mut received = BytesMut::from(&octets[..]);
            while let Ok(Some(_)) = Frame::take(&mut received) {}
        }
    }
}
