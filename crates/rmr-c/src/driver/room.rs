//! What messages that are there in part may take, all connections together.
//!
//! A message is kept until all of it has come, and a peer may announce a long one and send it slowly,
//! or not at all. A limit for each connection is none when there are many: there is one for all, and
//! who was silent longest makes room.

/// Part of a message up to this is copied out of the large buffer, which the next connection uses.
pub(super) const COPIED: usize = 16 * 1024;

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
    /// Whether a peer of this host that sends bursts of single messages is made to gather them.
    pub(crate) holds_bursts: bool,
}

impl Limits {
    /// With these, a message of the greatest length and a batch of small ones get in always.
    pub(super) fn usable(self) -> Self {
        let least = self.message.saturating_mul(2).saturating_add(LEAST);
        let partial = self.partial.max(least);
        Self { partial, ..self }
    }
}

/// What one connection holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) index: usize,
    /// Octets of messages that are there in part.
    pub(super) held: usize,
    /// The number of its last read.
    pub(super) heard: u64,
}

/// Whose connection is closed for want of room: that which was silent longest, of those that hold much
/// if there are any.
pub(super) fn who_makes_room(connections: impl Iterator<Item = Held>) -> Option<usize> {
    let held = connections.filter(|it| it.held > 0);
    held.min_by_key(|it| (it.held <= FEW, it.heard, it.index))
        .map(|it| it.index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(connections: &[(usize, u64)]) -> Option<usize> {
        let each = connections.iter().enumerate();
        who_makes_room(each.map(|(index, &(held, heard))| Held { index, held, heard }))
    }

    #[test]
    fn the_one_that_was_silent_longest_makes_room() {
        assert_eq!(closed(&[(FEW + 1, 7), (1 << 20, 5), (FEW + 1, 6)]), Some(1));
        // Not one that holds little, as long as another holds more.
        assert_eq!(closed(&[(FEW, 1), (FEW + 1, 9)]), Some(1));
        assert_eq!(closed(&[(FEW, 3), (1, 2), (0, 1)]), Some(1));
        assert_eq!(closed(&[(0, 1), (0, 2)]), None);
        assert_eq!(closed(&[]), None);
    }

    #[test]
    fn a_message_of_the_greatest_length_gets_in_whatever_is_set() {
        let limits = |partial| Limits {
            message: 1000,
            partial,
            holds_bursts: false,
        };
        assert_eq!(limits(0).usable().partial, 2000 + LEAST);
        assert_eq!(limits(1 << 30).usable().partial, 1 << 30);
    }
}
