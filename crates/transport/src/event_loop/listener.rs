//! The one port: telling by its first octets which protocol a new connection speaks.

use crate::{Protocol, ServerOptions, http2};
use bytes::BytesMut;
use corewire_sys::Listener;
use corewire_wire::{Core, KindOf, native};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// What every HTTP/2 client says first (RFC 9113, 3.4).
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

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
    pub(crate) kind_of: KindOf,
    pub(crate) options: Arc<ServerOptions>,
    pub(crate) counters: Arc<ServerCounters>,
    /// Events in progress whose connection is gone.
    pub(crate) orphans: usize,
}

/// What the first octets tell.
pub(crate) enum FirstOctets {
    /// Too few yet.
    Undecided,
    Speaks(Box<dyn Core + Send>),
    Http1,
    Unknown,
}

impl Accepting {
    /// Events of one connection that may be in progress.
    pub(crate) fn max_events(&self) -> usize {
        self.options.max_events_in_progress.max(1)
    }

    /// Whether another connection is too many. The events of connections that are gone count as
    /// connections, as many of them as one may have as one: or a peer that comes again and again
    /// would have as many in progress as it likes.
    pub(crate) fn is_full(&self, connections: usize) -> bool {
        connections + self.orphans.div_ceil(self.max_events()) >= self.options.max_connections
    }

    /// Tells the protocol of a new connection by its first octets, which stay in the buffer.
    pub(crate) fn tell(&self, octets: &BytesMut, now: Instant) -> FirstOctets {
        let allows = |protocol| self.options.protocols.contains(&protocol);
        let is_start_of = |whole: &[u8]| {
            let length = whole.len().min(octets.len());
            octets[..length] == whole[..length]
        };
        if octets.is_empty() {
            return FirstOctets::Undecided;
        }
        if is_start_of(&native::MAGIC) {
            return match (
                allows(Protocol::Native),
                octets.len() >= native::MAGIC.len(),
            ) {
                (false, _) => FirstOctets::Unknown,
                (true, false) => FirstOctets::Undecided,
                (true, true) => FirstOctets::Speaks(Box::new(native::Connection::server(
                    self.options.native.clone(),
                    Arc::clone(&self.kind_of),
                    now,
                ))),
            };
        }
        if is_start_of(HTTP2_PREFACE) {
            let http2 = allows(Protocol::Grpc) || allows(Protocol::Rest);
            return match (http2, octets.len() >= HTTP2_PREFACE.len()) {
                (false, _) => FirstOctets::Unknown,
                (true, false) => FirstOctets::Undecided,
                (true, true) => FirstOctets::Speaks(Box::new(http2::Connection::server(
                    self.http2_config(),
                    Arc::clone(&self.kind_of),
                    now,
                ))),
            };
        }
        if octets[0].is_ascii_uppercase() {
            FirstOctets::Http1
        } else {
            FirstOctets::Unknown
        }
    }

    /// The settings of HTTP/2 with what is not spoken on this port taken out.
    fn http2_config(&self) -> http2::Config {
        let mut config = self.options.http2.clone();
        config.flavours.retain(|flavour| {
            let protocol = match flavour {
                http2::Flavour::Grpc => Protocol::Grpc,
                http2::Flavour::Rest => Protocol::Rest,
            };
            self.options.protocols.contains(&protocol)
        });
        config
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
