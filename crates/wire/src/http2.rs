//! HTTP/2 sessions (RFC 9113), sans-IO.
//!
//! A [`Session`] takes octets in and gives [`Event`]s out, takes commands and writes octets to a
//! [`Sink`]. It holds no policy: which header means what, which stream may exist and what to
//! answer is its caller's business.
//!
//! ```text
//!   octets -> receive.rs -> sections.rs (HPACK) -> messaging.rs (HTTP's rules) -> events
//!                 |              |
//!              stream.rs: what is open; ended.rs: what is remembered of what was
//!                 |
//!   sink  <- ready.rs: what can go as it is <------------------------------ commands
//!         <- transmit.rs: header sections that wait, long bodies in turns <----/
//! ```
//!
//! Frames are taken whole: what has come of a frame that is not stays in the driver's buffer. Bodies
//! are never copied on their way in, and long ones not on their way out.

mod closing;
mod ended;
mod error;
mod event;
mod field;
mod flow;
mod frame;
mod limits;
mod messaging;
mod outgoing;
mod queues;
mod ready;
mod receive;
mod requests;
mod sections;
mod session;
mod settings;
mod stream;
mod stream_map;
#[cfg(test)]
mod tests;
mod transmit;

pub use error::{Error, ErrorCode};
pub use event::{Event, Fields, HeadersKind};
pub use field::{Field, HeaderPrefix};
pub use limits::Limits;
pub use outgoing::{INLINE_PIECE, Sink};
pub use session::{Role, Session};
pub use stream_map::StreamMap;
