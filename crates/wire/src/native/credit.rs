//! How much one end may send before the other has taken it.
//!
//! A message is charged whole when its first frame is sent, and may begin while the credit is
//! above zero. So a message in fragments can always be finished (two half-sent ones cannot starve
//! each other), and what a receiver holds is at most its window and one message more.

use std::collections::VecDeque;

/// What a message costs beside its body, so that empty messages are bounded too. Answers do not:
/// calls are few, and a refusal must be possible without credit.
pub(super) const MESSAGE_COST: u32 = 16;

/// What a message of so many octets costs.
pub(super) const fn cost(octets: u32) -> u32 {
    octets.saturating_add(MESSAGE_COST)
}

/// What the peer still allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendCredit(i64);

impl SendCredit {
    pub(super) fn new(window: u32) -> Self {
        Self(i64::from(window))
    }

    pub(super) const fn may_begin(self) -> bool {
        self.0 > 0
    }

    pub(super) fn charge(&mut self, cost: u32) {
        self.0 -= i64::from(cost);
    }

    /// Adds credit; `false` when the sum is more than a window can be.
    pub(super) fn add(&mut self, octets: u32) -> bool {
        self.0 += i64::from(octets);
        self.0 <= i64::from(u32::MAX)
    }

    /// The peer's window is not what was taken for granted.
    pub(super) fn shift(&mut self, from: u32, to: u32) {
        self.0 += i64::from(to) - i64::from(from);
    }

    pub(super) const fn octets(self) -> i64 {
        self.0
    }
}

/// What this end still allows the peer.
#[derive(Debug)]
pub(super) struct ReceiveCredit {
    window: u32,
    balance: i64,
    returned: u32,
    half: u32,
}

impl ReceiveCredit {
    pub(super) fn new(window: u32) -> Self {
        Self {
            window,
            balance: i64::from(window),
            returned: 0,
            half: (window / 2).max(1),
        }
    }

    /// A message begins. `slack` is what the peer may still take for granted beyond the window;
    /// `false` when it had no credit left.
    pub(super) fn charge(&mut self, cost: u32, slack: u32) -> bool {
        let may_begin = self.balance + i64::from(slack) > 0;
        self.balance -= i64::from(cost);
        may_begin
    }

    /// What the peer believes to have.
    pub(super) const fn balance(&self) -> i64 {
        self.balance
    }

    /// What was charged and not given back.
    pub(super) fn held(&self) -> i64 {
        i64::from(self.window) - self.balance - i64::from(self.returned)
    }

    /// So much was taken. Once it is half a window, gives what to tell the peer: telling it at
    /// each message would double the frames.
    pub(super) fn give(&mut self, octets: u32) -> Option<u32> {
        self.returned = self.returned.saturating_add(octets);
        if self.returned < self.half {
            return None;
        }
        let returned = std::mem::take(&mut self.returned);
        self.balance += i64::from(returned);
        Some(returned)
    }
}

/// Messages of one stream that were given to the application and not consumed.
#[derive(Debug, Default)]
pub(super) struct Held {
    lengths: VecDeque<u32>,
    /// Octets of the first one that are consumed.
    consumed: usize,
    cost: u64,
}

impl Held {
    pub(super) fn push(&mut self, length: u32) {
        self.lengths.push_back(length);
        self.cost += u64::from(cost(length));
    }

    /// The application consumed so many octets; gives what that frees.
    pub(super) fn consume(&mut self, octets: usize) -> u32 {
        self.consumed = self.consumed.saturating_add(octets);
        let mut freed: u32 = 0;
        while let Some(&first) = self.lengths.front() {
            if (first as usize) > self.consumed {
                break;
            }
            self.consumed -= first as usize;
            self.lengths.pop_front();
            freed = freed.saturating_add(cost(first));
        }
        if self.lengths.is_empty() {
            self.consumed = 0;
        }
        self.cost -= u64::from(freed);
        freed
    }

    /// What all of them cost.
    pub(super) fn cost(&self) -> u32 {
        u32::try_from(self.cost).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_begins_while_credit_is_above_zero_and_is_charged_whole() {
        let mut credit = SendCredit::new(100);
        credit.charge(cost(1000));
        assert!(!credit.may_begin());
        assert!(credit.add(916));
        assert!(!credit.may_begin());
        assert!(credit.add(1));
        assert!(credit.may_begin());
        assert!(!credit.add(u32::MAX));
    }

    #[test]
    fn credit_comes_back_in_halves() {
        let mut credit = ReceiveCredit::new(100);
        assert!(credit.charge(60, 0) && credit.charge(60, 0));
        assert!(!credit.charge(1, 0));
        assert_eq!(credit.give(49), None);
        assert_eq!(credit.give(2), Some(51));
        assert_eq!(credit.give(50), Some(50), "half is enough");
    }

    #[test]
    fn a_message_may_begin_while_the_peer_can_take_some_credit_for_granted() {
        let mut credit = ReceiveCredit::new(100);
        assert!(credit.charge(100, 0));
        assert!(!credit.charge(1, 0), "nothing is left");
        let mut credit = ReceiveCredit::new(100);
        assert!(credit.charge(150, 0));
        assert!(!credit.charge(1, 50), "nor of what it may believe to have");
        assert!(credit.charge(1, 52));
        assert_eq!((credit.balance(), credit.held()), (-52, 152));
    }

    #[test]
    fn consuming_in_any_pieces_frees_every_message() {
        let mut held = Held::default();
        for length in [0, 10, 0, 20, 0] {
            held.push(length);
        }
        assert_eq!(held.consume(0), MESSAGE_COST);
        assert_eq!(held.consume(15), 10 + 2 * MESSAGE_COST);
        assert_eq!(held.consume(14), 0);
        assert_eq!(held.consume(1), 20 + 2 * MESSAGE_COST);
        assert_eq!(held.cost(), 0);
    }
}
