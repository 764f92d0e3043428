//! HTTP/2 sessions: the C library nghttp2 behind a safe, sans-IO face.
//!
//! A [`Session`] takes octets in and gives [`Event`]s out, takes commands and writes octets to a
//! [`Sink`]. It holds no policy: which header means what, which stream may exist and what to
//! answer is its caller's business.
//!
//! nghttp2 calls back while it is being called. Those callbacks reach one heap cell through a raw
//! pointer that no living reference covers, only queue what happened, and are run inside a panic
//! boundary: no code of the caller but its [`Sink`] runs inside them.

mod callbacks;
mod cell;
mod error;
mod event;
mod field;
mod limits;
mod memory;
mod open;
mod outgoing;
mod session;
mod stream_map;
// Miri runs no C library.
#[cfg(all(test, not(miri)))]
mod tests;
mod watch;

pub use error::{Error, ErrorCode};
pub use event::{Event, Fields, HeadersKind};
pub use field::Field;
pub use limits::Limits;
pub use outgoing::{INLINE_PIECE, Sink};
pub use session::{Role, Session};
pub use stream_map::{StreamHasher, StreamMap};
