//! The xDS server's side of one stream: a sans-IO core.
//!
//! Requests and snapshots come in, responses go out; `now` is an argument. The verbs are those of
//! every core here: [`handle_event`](AdsStream::handle_event),
//! [`handle_timeout`](AdsStream::handle_timeout), [`poll_transmit`](AdsStream::poll_transmit),
//! [`poll_timeout`](AdsStream::poll_timeout), [`poll`](AdsStream::poll).
//!
//! What holds, whatever the client does:
//!
//! - At most one response of a type is on its way. What changes meanwhile is not queued: the next
//!   response is made of the then current snapshot, so a slow client costs no memory.
//! - What a client has is known name by name; only what differs is sent, and it is never sent
//!   again to who refused it. Of several that were refused together the bad ones are found by
//!   sending halves. After a refusal the type is silent for [`NACK_PAUSE`].
//! - Clusters and endpoints go before listeners and routes (make before break).
//! - What a client names after reconnecting is compared by content, so that a restart of either
//!   side costs a request and no response.
//!
//! ```text
//!   request ──▶ subscription ─┐
//!   snapshot ─────────────────┴▶ diff ──▶ response (nonce) ──ACK──▶ settled
//!                                  ▲                        └─NACK─▶ refused, silent for a while
//!                                  └──────── next snapshot ─────────────┘
//! ```

mod diff;
mod fault;
mod node;
mod response;
mod stream;
mod subscription;
mod suspects;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use fault::StreamFault;
pub(crate) use stream::{AdsStream, Event, Input, Variant};

use std::time::Duration;

/// How long a type is silent after a client refused a response of it, from when that was sent.
pub(crate) const NACK_PAUSE: Duration = Duration::from_secs(1);
/// How long a response may stay without an answer before a newer one is sent all the same.
pub(crate) const ACK_PATIENCE: Duration = Duration::from_secs(15);
/// How long listeners and routes wait at most for a client to take the clusters they lead to.
pub(crate) const MAKE_BEFORE_BREAK: Duration = Duration::from_millis(500);
/// How long a new stream may stay without its first request.
pub(crate) const IDENTIFY_WITHIN: Duration = Duration::from_secs(30);
/// What one response holds at most, octets, unless one resource alone is longer, or the protocol
/// wants all of a type in one.
pub(crate) const RESPONSE_OCTETS: usize = 1 << 20;
/// The longest name of a resource, octets.
pub(crate) const MAX_RESOURCE_NAME: usize = 1024;
/// Requests a client may send at once before the limit of requests a second holds.
pub(crate) const REQUEST_BURST: u32 = 256;
