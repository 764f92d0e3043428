//! The one port: detecting by its first octets which protocol a new connection speaks.

use crate::http2;
use crate::{Protocol, ServerOptions};
use corewire_wire::{Core, KindOf, native};
use std::sync::Arc;
use std::time::Instant;

/// What every HTTP/2 client says first (RFC 9113, 3.4).
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What the first octets of a connection, or of what TLS carries, tell.
pub(crate) enum Detection {
    /// Too few yet.
    Undecided,
    Speaks(Box<dyn Core + Send>),
    Http1,
    Unknown,
}

/// What is spoken on a port, and how.
#[derive(Clone)]
pub(crate) struct ProtocolDetector {
    pub(crate) kind_of: KindOf,
    pub(crate) options: Arc<ServerOptions>,
}

impl ProtocolDetector {
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
    pub(crate) fn detect(&self, octets: &[u8], now: Instant) -> Detection {
        let is_start_of = |whole: &[u8]| {
            let length = whole.len().min(octets.len());
            octets[..length] == whole[..length]
        };
        let speaks = |core: Option<_>, whole: &[u8]| match core {
            None => Detection::Unknown,
            Some(_) if octets.len() < whole.len() => Detection::Undecided,
            Some(core) => Detection::Speaks(core),
        };
        if octets.is_empty() {
            Detection::Undecided
        } else if is_start_of(&native::MAGIC) {
            speaks(self.native(now), &native::MAGIC)
        } else if is_start_of(HTTP2_PREFACE) {
            speaks(self.http2(now), HTTP2_PREFACE)
        } else if may_be_http1(octets) {
            Detection::Http1
        } else {
            Detection::Unknown
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
}
