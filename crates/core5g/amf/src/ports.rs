//! What an AMF's procedures need of the world, as traits: time and other network functions
//! ([`corewire_core5g_runtime::ports`]), and gNBs.
//!
//! ```text
//!   procedures ──▶ Clock, Peers, Association ◀── driver: event loops, HTTP/2, SCTP
//!                                            ◀── transcripts: a virtual clock and a script
//! ```
//!
//! Nothing below the driver reads a clock, opens a socket or starts a task.

pub(crate) use corewire_core5g_runtime::ports::{Clock, Peers, Sbi, Wait};

/// An association with a gNB, as far as sending goes.
pub(crate) trait Association: Send + Sync {
    /// Sends a message, of this name, on a stream. One that cannot be sent is dropped and logged.
    fn send(&self, stream: u16, name: &'static str, octets: &[u8]);

    /// Outbound streams; none once the association has ended.
    fn streams(&self) -> u16;

    /// Ends the association at once.
    fn abort(&self);
}
