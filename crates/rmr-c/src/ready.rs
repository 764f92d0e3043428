//! A message on its way to a connection: its octets, and where its parts stand in them.

use corewire_wire::rmr::si95::TRANSPORT_OCTETS;
use std::ops::Range;

/// Where the parts of a message stand, from the RMR header on, as its lengths say. The octets may
/// end before.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) trace: Range<usize>,
    /// The octets of a call.
    pub(crate) call: Range<usize>,
    pub(crate) payload: usize,
}

/// A message whose header is complete.
pub(crate) struct Ready<'a> {
    /// The buffer's octets that may be used, the transport's 50 in front.
    pub(crate) octets: &'a [u8],
    pub(crate) parts: Parts,
    /// Octets of payload that are used.
    pub(crate) used: usize,
    pub(crate) message_type: i32,
    pub(crate) sub_id: i32,
    /// Whose names stand in the header: a number for those of one context, 0 when that is unknown.
    pub(crate) begun: usize,
}

impl Ready<'_> {
    /// As SI95 carries it.
    #[inline]
    pub(crate) fn frame(&self) -> &[u8] {
        let end = TRANSPORT_OCTETS + self.parts.payload + self.used;
        &self.octets[..end.min(self.octets.len())]
    }

    /// As it is carried without SI95's octets.
    pub(crate) fn rmr_frame(&self) -> &[u8] {
        self.frame().get(TRANSPORT_OCTETS..).unwrap_or_default()
    }

    /// From the RMR header on, with all the room that there is.
    #[inline]
    pub(crate) fn rmr_octets(&self) -> &[u8] {
        self.octets.get(TRANSPORT_OCTETS..).unwrap_or_default()
    }

    /// The octets of payload that are used.
    #[inline]
    pub(crate) fn payload(&self) -> &[u8] {
        let at = TRANSPORT_OCTETS + self.parts.payload;
        self.frame().get(at..).unwrap_or_default()
    }
}
