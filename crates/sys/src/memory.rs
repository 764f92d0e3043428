//! A stream of octets between two processes of one host, through memory that both have mapped.
//!
//! ```text
//!   client                     memory (sealed memfd)                    server
//!   send ──▶ ring to the server ═══════════════════════▶ receive
//!   receive ◀══════════════════ ring to the client ◀──── send
//!      │                                                     │
//!      └────────── Unix socket: doorbell, and whose end is the peer's end ──────────┘
//! ```
//!
//! An end that looks at its ring all the time needs no system call for a message. One that sleeps
//! has said so in the memory, and the other rings: one octet on the Unix socket, which it waits for
//! as for any socket. When a process dies, however it dies, the kernel closes that socket: the other
//! end wakes with the end of the stream, after what was sent before.
//!
//! The peer is not trusted with more than a socket's peer would be: its positions are checked, the
//! memory cannot shrink under a reader (it is sealed), and octets are copied out before anybody
//! looks at them. Both ends must run as the same user, or one of them as root.

mod join;
mod positions;
mod ring;

pub(crate) use join::{Ends, bind, connect, join};

/// Octets of each direction's ring: two of the evaluation's largest messages, and small enough to
/// stay in a core's second cache. Under Miri, which takes a microsecond for an instruction, small
/// enough to go round in a test.
pub(crate) const RING: usize = if cfg!(miri) { 4096 } else { 256 * 1024 };
