//! Resumed sessions: a connection that goes on from what an earlier one proved.
//!
//! ```text
//!   full handshake     certificates verified ─▶ Bound: until when that holds
//!                                                 │ goes with the ticket, sealed by the server,
//!                                                 ▼ and with the session that the client keeps
//!   resumed handshake  within the bound? ─▶ same peer, same certificate, the same bound again
//! ```
//!
//! A resumed handshake verifies no certificate, and gives a new ticket. So that nobody goes on for
//! ever with what has ended, each ticket carries the time until which the *full* handshake holds:
//! an hour, less when a certificate of the peer's chain ends before. After it the handshake is a full
//! one. The keys of tickets and the sessions are part of what is made of an end's files: other files
//! (a new certificate, an authority that is gone) begin with none.
//!
//! Only who the peer is goes on; application data is never sent before the handshake has ended.

mod proved;
mod sessions;
mod tickets;

#[cfg(test)]
mod tests;

pub(super) use proved::Proving;
pub(super) use sessions::Sessions;
pub(super) use tickets::{NoTickets, Tickets};

use rustls::pki_types::UnixTime;
use std::cell::Cell;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

/// How long after a full handshake it may be resumed, whatever the certificates say.
const LONGEST: Duration = Duration::from_secs(3600);

thread_local! {
    /// The connection whose messages are processed: rustls asks its verifier, its tickets and its
    /// sessions without saying for which one.
    static CURRENT: Cell<Bound> = const { Cell::new(Bound { until: None, place: 0 }) };
}

/// Until when that what a connection has proved may be resumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bound {
    /// Seconds since 1970. `None`: nothing of the peer was verified yet.
    until: Option<u64>,
    /// Client: which of the servers of one name it is.
    place: u64,
}

impl Bound {
    /// Of a connection to this address.
    pub(super) fn at(authority: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        authority.hash(&mut hasher);
        let place = hasher.finish();
        Self { until: None, place }
    }

    /// Does something of rustls for this connection.
    pub(super) fn within<T>(&mut self, act: impl FnOnce() -> T) -> T {
        CURRENT.set(*self);
        let done = act();
        *self = CURRENT.get();
        done
    }

    fn current() -> Self {
        CURRENT.get()
    }

    /// The current connection's is this.
    fn set_current(until: u64) {
        CURRENT.set(Self {
            until: Some(until),
            ..Self::current()
        });
    }
}

/// What a full handshake of now proves holds until then, when no certificate ends before.
fn longest_from(now: UnixTime) -> u64 {
    now.as_secs().saturating_add(LONGEST.as_secs())
}
