//! Heads of frames, read and written (RFC 9113, 4.1).

/// Octets of a frame's head.
pub(super) const HEAD: usize = 9;

// Kinds (RFC 9113, 6).
pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const PRIORITY: u8 = 2;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

// Flags, each of some kinds only; the others mean nothing (RFC 9113, 4.1).
pub(super) const ACK: u8 = 1;
pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;
pub(super) const PADDED: u8 = 8;
pub(super) const WITH_PRIORITY: u8 = 0x20;

/// What a frame says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Octets of its payload.
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    /// 0: it is about the connection.
    pub(super) stream: u32,
}

impl Head {
    pub(super) const fn read(octets: [u8; HEAD]) -> Self {
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = octets;
        Self {
            length: u32::from_be_bytes([0, l0, l1, l2]) as usize,
            kind,
            flags,
            // The first bit is reserved and means nothing (RFC 9113, 4.1).
            stream: u32::from_be_bytes([s0 & 0x7f, s1, s2, s3]),
        }
    }

    pub(super) const fn write(self) -> [u8; HEAD] {
        // A payload is shorter than 2^24 octets: who makes a frame keeps to the peer's
        // SETTINGS_MAX_FRAME_SIZE (RFC 9113, 4.2).
        let [_, l0, l1, l2] = (self.length as u32).to_be_bytes();
        let [s0, s1, s2, s3] = self.stream.to_be_bytes();
        [l0, l1, l2, self.kind, self.flags, s0, s1, s2, s3]
    }

    pub(super) const fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// The 31 bits of a stream number or a window's increment; the first is reserved (RFC 9113, 4.1 and 6.9).
pub(super) const fn number(octets: [u8; 4]) -> u32 {
    u32::from_be_bytes(octets) & 0x7fff_ffff
}

/// A payload without its padding (RFC 9113, 6.1 and 6.2), and how many octets the padding took; `None` when
/// there is more padding than payload.
pub(super) fn without_padding(head: Head, payload: &[u8]) -> Option<(&[u8], usize)> {
    if !head.has(PADDED) {
        return Some((payload, 0));
    }
    let (&padding, rest) = payload.split_first()?;
    let padding = usize::from(padding);
    let kept = rest.len().checked_sub(padding)?;
    Some((&rest[..kept], padding + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written() {
        let head = Head {
            length: 0x12_3456,
            kind: HEADERS,
            flags: END_STREAM | END_HEADERS,
            stream: 0x7fff_fffe,
        };
        assert_eq!(Head::read(head.write()), head);
        let mut reserved = head.write();
        reserved[5] |= 0x80;
        assert_eq!(Head::read(reserved), head);
    }

    #[test]
    fn padding_is_no_more_than_there_is() {
        let padded = |flags| Head {
            length: 0,
            kind: DATA,
            flags,
            stream: 1,
        };
        let octets = [2, 7, 7, 0, 0];
        assert_eq!(without_padding(padded(0), &octets), Some((&octets[..], 0)));
        assert_eq!(
            without_padding(padded(PADDED), &octets),
            Some((&[7, 7][..], 3))
        );
        assert_eq!(
            without_padding(padded(PADDED), &[2, 0, 0]),
            Some((&[][..], 3))
        );
        assert_eq!(without_padding(padded(PADDED), &[2, 0]), None);
        assert_eq!(without_padding(padded(PADDED), &[]), None);
    }
}
