//! When a driver of many connections looks at those in shared memory by itself, and when at its sockets.
//!
//! A driver that looks needs no system call for a message; one that sleeps is rung for. It looks for a
//! window of time before it sleeps, and stops when nothing comes within it. Sockets have their turn now
//! and then while it finds something in memory.

use crate::AdaptiveSpin;

/// Looks at the memories between two looks at the clock and whatever else a turn has to do.
pub const LOOKS_A_TURN: usize = 64;

/// Turns with something in a memory between two looks at the sockets.
const TURNS_WITHOUT_SOCKETS: u32 = 16;

/// More connections than this are not looked at, they ring: looking costs for each.
const MOST_LOOKED_AT: usize = 64;

/// What a driver has learned of looking at its memories.
#[derive(Debug)]
pub struct ShmPolling {
    spin: AdaptiveSpin,
    turns: u32,
}

impl ShmPolling {
    /// Nothing is known yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            spin: AdaptiveSpin::new(),
            turns: 0,
        }
    }

    /// Whether the next wait should begin with looking, at so many memories. Its end is to be
    /// [learned](Self::learn).
    #[inline]
    pub const fn should_look(&mut self, memories: usize) -> bool {
        0 < memories && memories <= MOST_LOOKED_AT && self.spin.should_spin()
    }

    /// Learns whether looking paid.
    #[inline]
    pub fn learn(&mut self, paid: bool) {
        self.spin.learn(paid);
    }

    /// The memories were looked at, and something `found` there or not: whether it is the sockets' turn.
    #[inline]
    pub const fn are_sockets_due(&mut self, found: bool) -> bool {
        self.turns += 1;
        let due = !found || self.turns >= TURNS_WITHOUT_SOCKETS;
        if due {
            self.turns = 0;
        }
        due
    }
}

impl Default for ShmPolling {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_in_vain_stops_soon() {
        let mut polling = ShmPolling::new();
        assert!(!polling.should_look(0));
        let mut looked = 0;
        for _ in 0..1024 {
            if polling.should_look(1) {
                looked += 1;
                polling.learn(false);
            }
        }
        assert!((2..10).contains(&looked), "{looked}");
        for _ in 0..8 {
            polling.learn(true);
        }
        assert!(polling.should_look(1) && polling.should_look(MOST_LOOKED_AT));
        assert!(!polling.should_look(MOST_LOOKED_AT + 1));
    }

    #[test]
    fn sockets_have_their_turn_while_memories_are_busy() {
        let mut polling = ShmPolling::new();
        for _ in 0..3 {
            let due = (1..100).find(|_| polling.are_sockets_due(true));
            assert_eq!(due, Some(TURNS_WITHOUT_SOCKETS));
        }
        assert!(polling.are_sockets_due(false));
    }
}
