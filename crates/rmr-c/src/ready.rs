//! A message on its way to a connection.

use crate::message::Message;
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
    pub(crate) message: &'a Message,
    pub(crate) parts: Parts,
}

impl Ready<'_> {
    /// As SI95 carries it.
    pub(crate) fn frame(&self) -> &[u8] {
        let octets = self.message.octets();
        let used = usize::try_from(self.message.len).unwrap_or(0);
        let end = TRANSPORT_OCTETS + self.parts.payload + used;
        &octets[..end.min(octets.len())]
    }

    /// The octets of payload that are used.
    pub(crate) fn payload(&self) -> &[u8] {
        let at = TRANSPORT_OCTETS + self.parts.payload;
        self.frame().get(at..).unwrap_or_default()
    }
}
