//! Messages over Corewire's own protocol (`docs/native-protocol.md`): many of them in one event.
//!
//! A connection is one of the native protocol, made by the sender, and every event of the
//! operation [`OPERATION`] holds records, one a message. What was gathered while the connection was
//! busy goes as one event, so that framing, credit and a system call are paid once for all of it;
//! a record has a tenth of SI95's overhead.

pub(crate) mod incoming;
pub(crate) mod outgoing;
pub(crate) mod received;
pub(crate) mod record;

use corewire_message::Operation;
use corewire_wire::native::Config;
use corewire_wire::rmr;

/// What events with records are about.
pub(crate) const OPERATION: Operation = Operation::from_static(rmr::record::OPERATION);

/// Octets of records that a sender may have in one event: a batch, or one message of any length.
const BATCH_ROOM: usize = 1 << 20;

/// What either end allows.
fn config(most_octets: usize) -> Config {
    Config::with(|config| {
        let longest = most_octets.saturating_add(BATCH_ROOM);
        config.max_message = u32::try_from(longest)
            .unwrap_or(u32::MAX)
            .min(i32::MAX as u32);
        // Whether a peer lives shows when something is sent to it, as with every RMR.
        config.keep_alive_interval = None;
        config.passive = true;
        // The driver here reads what it can take in at once, from each connection in turn.
        config.turn_work = usize::MAX;
        // What is held of partial messages is bounded by `COREWIRE_RMR_MAX_PARTIAL`, for all carriers
        // alike; a message of `COREWIRE_RMR_MAX_MESSAGE` must fit whatever else is in use.
        config.max_connection_memory = usize::MAX;
    })
}
