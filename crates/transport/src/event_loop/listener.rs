//! A loop's listening sockets, what came in by them, and what their connections get.

use crate::detection::{Detection, ProtocolDetector};
use crate::tls::{self, Secured};
use corewire_sys::Listener;
use rustls::ServerConnection;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// What an HTTP/1.1 client is told: HTTP/2 is spoken here, without upgrade (RFC 9110, 15.5.22).
pub(crate) const UPGRADE_REQUIRED: &[u8] = b"HTTP/1.1 426 Upgrade Required\r\n\
    connection: close\r\ncontent-type: text/plain\r\ncontent-length: 46\r\n\r\n\
    This port speaks HTTP/2 with prior knowledge.\n";

/// What a server has seen, for all its loops together.
#[derive(Debug, Default)]
pub struct ServerCounters {
    pub(crate) accepted: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) http1: AtomicU64,
    pub(crate) unknown: AtomicU64,
    pub(crate) faults: AtomicU64,
}

impl ServerCounters {
    /// Connections accepted.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Connections closed at once because as many as allowed were open.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Connections that spoke HTTP/1.1 and were told so.
    #[must_use]
    pub fn http1(&self) -> u64 {
        self.http1.load(Ordering::Relaxed)
    }

    /// Connections that spoke nothing known here, or nothing in time.
    #[must_use]
    pub fn unknown(&self) -> u64 {
        self.unknown.load(Ordering::Relaxed)
    }

    /// Connections closed because the peer broke the protocol.
    #[must_use]
    pub fn faults(&self) -> u64 {
        self.faults.load(Ordering::Relaxed)
    }

    pub(crate) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// A listening socket of a loop and what its connections get.
pub(crate) struct Accepting {
    /// `None` once the loop drains: who connects then is refused by the kernel.
    pub(crate) socket: Option<Listener>,
    pub(crate) detector: ProtocolDetector,
    pub(crate) counters: Arc<ServerCounters>,
    /// Events in progress whose connection is gone.
    pub(crate) orphans: usize,
}

impl Accepting {
    /// Events of one connection that may be in progress.
    pub(crate) fn max_events(&self) -> usize {
        self.detector.options.max_events_in_progress.max(1)
    }

    /// Whether another connection is too many. The events of connections that are gone count as
    /// connections, as many of them as one may have as one: or a peer that comes again and again
    /// would have as many in progress as it likes.
    pub(crate) fn is_full(&self, connections: usize) -> bool {
        let orphans = self.orphans.div_ceil(self.max_events());
        connections + orphans >= self.detector.options.max_connections
    }

    /// Tells what a new connection speaks by its first octets, which stay in the buffer.
    pub(crate) fn detect(&self, octets: &[u8], now: Instant) -> Detection {
        let Some(tls) = &self.detector.options.tls else {
            return self.detector.detect(octets, now);
        };
        match octets.first() {
            None => Detection::Undecided,
            Some(&tls::FIRST_OCTET) => match ServerConnection::new(tls.config(now)) {
                Ok(session) => {
                    Detection::Speaks(Box::new(Secured::server(session, self.detector.clone())))
                }
                Err(_) => Detection::Unknown,
            },
            Some(_) if tls.allows_clear_text() => self.detector.detect(octets, now),
            Some(_) => Detection::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_to_http1_counts_its_octets() {
        let text = std::str::from_utf8(UPGRADE_REQUIRED).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(
            head.contains(&format!("content-length: {}", body.len())),
            "{}",
            body.len()
        );
    }
}
