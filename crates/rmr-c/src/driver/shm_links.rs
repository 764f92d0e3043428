//! When to look at memories: for a moment before whoever drives sleeps, so that a stream needs no system
//! call. Where nothing comes within that moment it soon stops, and is rung for.

use std::time::Duration;

/// How long to look before sleeping.
const WINDOW: Duration = Duration::from_micros(50);
/// Looks between two looks at the clock.
pub(super) const LOOKS_A_TURN: usize = 64;
/// With more than this, looking costs more than being rung for.
const MOST_LOOKED_AT: usize = 64;
/// Times that something was found in a memory between two looks at the sockets.
const TURNS_WITHOUT_SOCKETS: u32 = 16;

/// A score of this is as sure as it gets that looking pays.
const SURE: u8 = 8;
/// What looking in vain takes off the score; once that paid adds one.
const IN_VAIN: u8 = 2;
/// While it does not pay, one wait in so many looks whether it would.
const LOOK_AGAIN: u16 = 256;

/// What a driver has learned of looking at the memories among its connections.
pub(super) struct ShmLinks {
    score: u8,
    waits: u16,
    turns: u32,
}

impl ShmLinks {
    pub(super) fn new() -> Self {
        Self {
            score: SURE / 2,
            waits: 0,
            turns: 0,
        }
    }

    /// Something was found; whether it is the sockets' turn now.
    pub(super) fn is_sockets_turn(&mut self) -> bool {
        self.turns = (self.turns + 1) % TURNS_WITHOUT_SOCKETS;
        self.turns == 0
    }

    /// How long to look before a wait of at most `timeout`, if it is worth it.
    pub(super) fn window(
        &mut self,
        timeout: Option<Duration>,
        memories: usize,
    ) -> Option<Duration> {
        let window = timeout.map_or(WINDOW, |timeout| timeout.min(WINDOW));
        if window.is_zero() || memories == 0 || memories > MOST_LOOKED_AT {
            return None;
        }
        self.waits = (self.waits + 1) % LOOK_AGAIN;
        (self.score > 0 || self.waits == 0).then_some(window)
    }

    /// Learns from a wait that looked.
    pub(super) fn learn(&mut self, paid: bool) {
        self.score = if paid {
            (self.score + 1).min(SURE)
        } else {
            self.score.saturating_sub(IN_VAIN)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_in_vain_stops_soon() {
        let mut links = ShmLinks::new();
        assert_eq!(links.window(None, 0), None);
        assert_eq!(links.window(Some(Duration::ZERO), 1), None);
        let mut looked = 0;
        for _ in 0..1024 {
            if links.window(None, 1) == Some(WINDOW) {
                looked += 1;
                links.learn(false);
            }
        }
        assert!((2..10).contains(&looked), "{looked}");
        for _ in 0..8 {
            links.learn(true);
        }
        assert_eq!(links.window(None, 1), Some(WINDOW));
        assert_eq!(links.window(None, MOST_LOOKED_AT), Some(WINDOW));
        assert_eq!(links.window(None, MOST_LOOKED_AT + 1), None);
    }
}
