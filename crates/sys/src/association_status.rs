//! What an implementation of SCTP says of an association that is up: `struct sctp_status` (RFC 6458,
//! section 8.2.1), which begins alike everywhere.

/// Octets in front of the number of streams that may be sent by: identifier, state and window of 32
/// bits, what is unacknowledged, what is pending and the streams that come in of 16.
const OUTGOING: usize = 18;

/// A buffer for it, aligned as its fields are and larger than any has it.
#[repr(C, align(8))]
pub(crate) struct Status(pub(crate) [u8; 256]);

impl Status {
    /// Of whatever association the socket has.
    pub(crate) const fn zeroed() -> Self {
        Self([0; 256])
    }

    /// The streams that may be sent by.
    pub(crate) fn outgoing(&self) -> u16 {
        u16::from_ne_bytes([self.0[OUTGOING], self.0[OUTGOING + 1]])
    }
}
