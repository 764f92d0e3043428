//! The one port: telling by its first octets which protocol a new connection speaks.

use crate::tls::{self, Secured};
use crate::{Protocol, ServerOptions, http2};
use corewire_sys::Listener;
use corewire_wire::{Core, KindOf, native};
use rustls::ServerConnection;
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
    pub(crate) tongues: Tongues,
    pub(crate) counters: Arc<ServerCounters>,
    /// Events in progress whose connection is gone.
    pub(crate) orphans: usize,
}

/// What the first octets of a connection, or of what TLS carries, tell.
pub(crate) enum Told {
    /// Too few yet.
    Undecided,
    Speaks(Box<dyn Core + Send>),
    Http1,
    Unknown,
}

impl Accepting {
    /// Events of one connection that may be in progress.
    pub(crate) fn max_events(&self) -> usize {
        self.tongues.options.max_events_in_progress.max(1)
    }

    /// Whether another connection is too many. The events of connections that are gone count as
    /// connections, as many of them as one may have as one: or a peer that comes again and again
    /// would have as many in progress as it likes.
    pub(crate) fn is_full(&self, connections: usize) -> bool {
        let orphans = self.orphans.div_ceil(self.max_events());
        connections + orphans >= self.tongues.options.max_connections
    }

    /// Tells what a new connection speaks by its first octets, which stay in the buffer.
    pub(crate) fn tell(&self, octets: &[u8], now: Instant) -> Told {
        let Some(tls) = &self.tongues.options.tls else {
            return self.tongues.tell(octets, now);
        };
        match octets.first() {
            None => Told::Undecided,
            Some(&tls::FIRST_OCTET) => match ServerConnection::new(tls.config(now)) {
                Ok(session) => {
                    Told::Speaks(Box::new(Secured::server(session, self.tongues.clone())))
                }
                Err(_) => Told::Unknown,
            },
            Some(_) if tls.allows_clear_text() => self.tongues.tell(octets, now),
            Some(_) => Told::Unknown,
        }
    }
}

/// What is spoken on a port, and how.
#[derive(Clone)]
pub(crate) struct Tongues {
    pub(crate) kind_of: KindOf,
    pub(crate) options: Arc<ServerOptions>,
}

impl Tongues {
    fn allows(&self, protocol: Protocol) -> bool {
        self.options.protocols.contains(&protocol)
    }

    /// The core for a connection that speaks the native protocol; `None` where it is not spoken.
    pub(crate) fn native(&self, now: Instant) -> Option<Box<dyn Core + Send>> {
        let (config, kind_of) = (self.options.native.clone(), Arc::clone(&self.kind_of));
        self.allows(Protocol::Native).then(|| {
            Box::new(native::Connection::server(config, kind_of, now)) as Box<dyn Core + Send>
        })
    }

    /// The core for a connection that speaks HTTP/2; `None` where neither gRPC nor REST is spoken.
    pub(crate) fn http2(&self, now: Instant) -> Option<Box<dyn Core + Send>> {
        let spoken = self.allows(Protocol::Grpc) || self.allows(Protocol::Rest);
        spoken.then(|| {
            let kind_of = Arc::clone(&self.kind_of);
            Box::new(http2::Connection::server(self.http2_config(), kind_of, now))
                as Box<dyn Core + Send>
        })
    }

    /// Tells the protocol by the first octets, which stay where they are.
    pub(crate) fn tell(&self, octets: &[u8], now: Instant) -> Told {
        let is_start_of = |whole: &[u8]| {
            let length = whole.len().min(octets.len());
            octets[..length] == whole[..length]
        };
        let speaks = |core: Option<_>, whole: &[u8]| match core {
            None => Told::Unknown,
            Some(_) if octets.len() < whole.len() => Told::Undecided,
            Some(core) => Told::Speaks(core),
        };
        if octets.is_empty() {
            Told::Undecided
        } else if is_start_of(&native::MAGIC) {
            speaks(self.native(now), &native::MAGIC)
        } else if is_start_of(HTTP2_PREFACE) {
            speaks(self.http2(now), HTTP2_PREFACE)
        } else if may_be_http1(octets) {
            Told::Http1
        } else {
            Told::Unknown
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

/// Whether these octets may begin with the request line of HTTP/1.1 (RFC 9112, 3): one that is whole
/// names the version.
fn may_be_http1(octets: &[u8]) -> bool {
    let line = octets.split(|octet| *octet == b'\n').next();
    let line = line.filter(|line| line.len() < octets.len());
    octets.first().is_some_and(u8::is_ascii_uppercase)
        && line.is_none_or(|line| {
            line.trim_ascii_end()
                .rsplit(|octet| *octet == b' ')
                .next()
                .is_some_and(|version| version.starts_with(b"HTTP/1."))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_line_without_a_version_is_no_http1() {
        for line in ["GET / HTTP/1.1\r\n", "GET / HTTP/1.0\n", "POST", "GET /x"] {
            assert!(may_be_http1(line.as_bytes()), "{line}");
        }
        for line in ["INVALID PREFACE\r\n\r\n", "get / HTTP/1.1\r\n", "PRI\n", ""] {
            assert!(!may_be_http1(line.as_bytes()), "{line}");
        }
    }

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
