//! The server's side: tickets that say until when they hold.

use super::{Bound, LONGEST, longest_from};
use rustls::Error;
use rustls::crypto::aws_lc_rs::Ticketer;
use rustls::server::ProducesTickets;
use rustls::time_provider::TimeProvider;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Seals a session together with its bound. The keys are drawn with it, replaced every six hours,
/// and never leave the process.
#[derive(Debug)]
pub(crate) struct Tickets {
    keys: Arc<dyn ProducesTickets>,
    clock: Arc<dyn TimeProvider>,
}

/// None at all.
#[derive(Debug)]
pub(crate) struct NoTickets;

impl ProducesTickets for NoTickets {
    fn enabled(&self) -> bool {
        false
    }

    fn lifetime(&self) -> u32 {
        0
    }

    fn encrypt(&self, _session: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn decrypt(&self, _ticket: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

/// The bound, behind the session.
type Until = [u8; 8];

impl Tickets {
    /// With new keys.
    ///
    /// # Errors
    /// When the system gives no random octets.
    pub(crate) fn new(clock: Arc<dyn TimeProvider>) -> Result<Self, Error> {
        let keys = Ticketer::new()?;
        Ok(Self { keys, clock })
    }

    fn now(&self) -> Option<u64> {
        self.clock.current_time().map(|now| now.as_secs())
    }
}

impl ProducesTickets for Tickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        u32::try_from(LONGEST.as_secs()).unwrap_or(u32::MAX)
    }

    /// `None`, and so no ticket, when the bound has come.
    fn encrypt(&self, session: &[u8]) -> Option<Vec<u8>> {
        let now = self.clock.current_time()?;
        // A client that showed no certificate: it proved nothing that could end.
        let until = Bound::current().until.unwrap_or_else(|| longest_from(now));
        if until <= now.as_secs() {
            return None;
        }
        let mut bounded = Zeroizing::new(Vec::with_capacity(session.len() + size_of::<Until>()));
        bounded.extend_from_slice(session);
        bounded.extend_from_slice(&until.to_be_bytes());
        self.keys.encrypt(&bounded)
    }

    /// `None`, and so a full handshake, when it is none of ours or its bound has come.
    fn decrypt(&self, ticket: &[u8]) -> Option<Vec<u8>> {
        let mut session = self.keys.decrypt(ticket)?;
        let until = Until::try_from(session.split_off(session.len().checked_sub(8)?)).ok()?;
        let until = u64::from_be_bytes(until);
        if until <= self.now()? {
            return None;
        }
        Bound::set_current(until);
        Some(session)
    }
}
