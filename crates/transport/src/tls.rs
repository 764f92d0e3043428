//! TLS 1.3 between a protocol and its socket, on one port with clear text and chosen by ALPN.
//!
//! ```text
//!   driver ── octets ──▶ Secured ── decrypted ──▶ native, gRPC, REST
//!          ◀─ records ──    │     ◀── octets ────
//!                        rustls
//! ```
//!
//! `Secured` is itself a [`Core`](corewire_wire::Core) around another: drivers and protocols know
//! nothing of it. The server learns by ALPN which protocol to put inside (`corewire/1` or `h2`), and
//! from a client without ALPN by the first octets, as without TLS.
//!
//! Certificates come from PEM files and are read again when these change: [`Files`]. A client that comes
//! again resumes its session while what it proved holds (`resumption`).

#[cfg(feature = "authority")]
mod authority;
mod configs;
mod files;
mod name;
mod peer_names;
mod resumption;
mod secured;
mod settings;
mod validity;

#[cfg(feature = "authority")]
pub use authority::{Authority, AuthorityFault, Issued, Subject};
pub use configs::ClientCertificates;
pub use files::{Files, TlsFault, first_certificate};
pub use peer_names::{AcceptNames, certificate_names};
pub use settings::{ClientTls, ServerTls};

pub(crate) use secured::Secured;

/// What the native protocol is called in ALPN.
pub(crate) const ALPN_NATIVE: &[u8] = b"corewire/1";

/// What HTTP/2 is called in ALPN (RFC 9113, 3.2).
pub(crate) const ALPN_HTTP2: &[u8] = b"h2";

/// The first octet of every TLS connection: a handshake record (RFC 8446, 5.1).
pub(crate) const FIRST_OCTET: u8 = 22;
