//! The outbox as the session sees it.

use bytes::Bytes;
use corewire_wire::Outbox;
use corewire_wire::http2::Sink;

pub(super) struct IntoOutbox<'a>(pub(super) &'a mut Outbox);

impl Sink for IntoOutbox<'_> {
    fn put(&mut self, octets: &[u8]) {
        self.0.put(octets);
    }

    fn put_shared(&mut self, octets: Bytes) {
        self.0.put_shared(octets);
    }

    fn budget(&self) -> usize {
        self.0.budget()
    }
}
