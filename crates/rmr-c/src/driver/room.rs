//! What messages that are there in part may take, all connections together.
//!
//! A message is kept until all of it has come, and a peer may announce a long one and send it slowly,
//! or not at all. A limit for each connection is none when there are many: there is one for all, and
//! who was silent longest makes room.

use super::{COPIED, Driver, Observer};
use crate::log::say;
use bytes::BytesMut;
use corewire_rmr::LossKind;

/// A connection that holds as few octets of a message is not closed for want of room while others hold
/// more.
const FEW: usize = COPIED;

/// What all connections together may hold at least, beside two messages of the greatest length.
const LEAST: usize = 4 << 20;

/// What peers may make this end hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Octets of the longest message.
    pub(crate) message: usize,
    /// Octets of messages that are there in part, all connections together.
    pub(crate) partial: usize,
    /// Whether a peer of this host that floods it with single messages is made to gather them.
    pub(crate) holds_floods: bool,
}

impl Limits {
    /// With these, a message of the greatest length and a batch of small ones get in always.
    pub(super) fn usable(self) -> Self {
        let least = self.message.saturating_mul(2).saturating_add(LEAST);
        let partial = self.partial.max(least);
        Self { partial, ..self }
    }
}

impl Driver {
    /// Counts anew what the connection of that index holds.
    pub(super) fn account(&mut self, index: usize) {
        if let Some(connection) = self.connections[index].as_mut() {
            let kept = connection.kept.as_ref().map_or(0, BytesMut::capacity);
            self.held -= connection.held;
            connection.held = kept + connection.framing.held();
            self.held += connection.held;
        }
    }

    /// Closes connections until the parts of messages take no more than they may: first those that
    /// were silent longest.
    pub(super) fn make_room(&mut self, observer: &mut impl Observer) {
        while self.held > self.limits.partial {
            let among = |least: usize| {
                let connections = self.connections.iter().enumerate();
                connections
                    .filter_map(|(index, connection)| {
                        let connection = connection.as_ref()?;
                        (connection.held > least).then_some((connection.heard, index))
                    })
                    .min()
            };
            let Some((_, index)) = among(FEW).or_else(|| among(0)) else {
                return;
            };
            if let Some(Some(connection)) = self.connections.get(index) {
                say!(
                    Error,
                    "the connection with {} is closed: parts of messages take {} octets, {} of them \
                     its own; up to {} are held",
                    connection.link.name(),
                    self.held,
                    connection.held,
                    self.limits.partial
                );
            }
            observer.refused(LossKind::Crowded);
            self.close_one(index, observer);
        }
    }
}
