//! Whose turn it is to send: most urgent first, in turns within a priority.
//!
//! What is queued is calls, not messages: a call's own messages keep their order, and a call that
//! sends a long message in fragments goes to the end of its priority after each. Calls whose
//! message has not begun stand apart from those in the middle of one, because only the former
//! need credit. Lists are linked through the slots, so that a call leaves from the middle at once
//! and nothing is allocated.

use super::calls::{Call, NONE};

/// Where a slot stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    list: Place,
    before: u32,
    after: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Nowhere,
    Fresh,
    Begun,
}

impl Default for Links {
    fn default() -> Self {
        Self {
            list: Place::Nowhere,
            before: NONE,
            after: NONE,
        }
    }
}

impl Links {
    /// Whether the slot is queued.
    pub(super) fn is_queued(self) -> bool {
        self.list != Place::Nowhere
    }
}

#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

/// Lists of one kind, one a priority, and which of them hold anything.
#[derive(Debug)]
struct Lists {
    lists: [List; 32],
    occupied: u32,
}

impl Lists {
    const fn new() -> Self {
        Self {
            lists: [List {
                first: NONE,
                last: NONE,
            }; 32],
            occupied: 0,
        }
    }
}

/// The calls that have something to send.
#[derive(Debug)]
pub(super) struct SendQueue {
    fresh: Lists,
    begun: Lists,
    /// Whether a begun message had the last turn.
    begun_last: bool,
}

impl SendQueue {
    pub(super) const fn new() -> Self {
        Self {
            fresh: Lists::new(),
            begun: Lists::new(),
            begun_last: false,
        }
    }

    /// Whether `next` would give something.
    pub(super) const fn is_ready(&self, credit: bool) -> bool {
        self.begun.occupied != 0 || (credit && self.fresh.occupied != 0)
    }

    /// Adds a slot at the end of its priority. It must not be queued.
    pub(super) fn push(&mut self, slots: &mut [Call], slot: u32, begun: bool) {
        let place = if begun { Place::Begun } else { Place::Fresh };
        let lists = if begun {
            &mut self.begun
        } else {
            &mut self.fresh
        };
        let priority = slots[slot as usize].priority & 31;
        let list = &mut lists.lists[usize::from(priority)];
        slots[slot as usize].links = Links {
            list: place,
            before: list.last,
            after: NONE,
        };
        if list.last == NONE {
            list.first = slot;
            lists.occupied |= 1 << priority;
        } else {
            slots[list.last as usize].links.after = slot;
        }
        list.last = slot;
    }

    /// Takes a slot out of the middle; nothing happens if it is not queued.
    pub(super) fn remove(&mut self, slots: &mut [Call], slot: u32) {
        let call = &mut slots[slot as usize];
        let links = std::mem::take(&mut call.links);
        let lists = match links.list {
            Place::Nowhere => return,
            Place::Fresh => &mut self.fresh,
            Place::Begun => &mut self.begun,
        };
        let priority = call.priority & 31;
        let list = &mut lists.lists[usize::from(priority)];
        match links.before {
            NONE => list.first = links.after,
            before => slots[before as usize].links.after = links.after,
        }
        match links.after {
            NONE => list.last = links.before,
            after => slots[after as usize].links.before = links.before,
        }
        if list.first == NONE {
            lists.occupied &= !(1 << priority);
        }
    }

    /// Takes out the slot whose turn it is. Without `credit` only messages that have begun go on.
    pub(super) fn pop(&mut self, slots: &mut [Call], credit: bool) -> Option<u32> {
        let fresh = if credit { self.fresh.occupied } else { 0 };
        let candidates = fresh | self.begun.occupied;
        if candidates == 0 {
            return None;
        }
        let bit = candidates & candidates.wrapping_neg();
        let priority = candidates.trailing_zeros() as usize;
        let begun = match (fresh & bit != 0, self.begun.occupied & bit != 0) {
            (true, true) => !self.begun_last,
            (_, begun) => begun,
        };
        self.begun_last = begun;
        let lists = if begun { &self.begun } else { &self.fresh };
        let slot = lists.lists[priority].first;
        self.remove(slots, slot);
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(priorities: &[u8]) -> Vec<Call> {
        let call = |priority: &u8| Call {
            priority: *priority,
            ..Call::default()
        };
        priorities.iter().map(call).collect()
    }

    #[test]
    fn the_most_urgent_goes_first_and_equals_in_order() {
        let mut slots = slots(&[24, 0, 24, 31, 0]);
        let mut queue = SendQueue::new();
        for slot in 0..5 {
            queue.push(&mut slots, slot, false);
        }
        queue.remove(&mut slots, 2);
        let order: Vec<u32> = std::iter::from_fn(|| queue.pop(&mut slots, true)).collect();
        assert_eq!(order, [1, 4, 0, 3]);
        assert!(slots.iter().all(|call| !call.links.is_queued()));
    }

    #[test]
    fn something_can_be_sent_if_it_has_begun_or_there_is_credit_for_it() {
        for (fresh, begun, without, with) in [
            (false, false, false, false),
            (true, false, false, true),
            (false, true, true, true),
            (true, true, true, true),
        ] {
            let mut slots = slots(&[5, 5]);
            let mut queue = SendQueue::new();
            if fresh {
                queue.push(&mut slots, 0, false);
            }
            if begun {
                queue.push(&mut slots, 1, true);
            }
            assert_eq!(
                (queue.is_ready(false), queue.is_ready(true)),
                (without, with)
            );
        }
    }

    #[test]
    fn begun_messages_go_on_without_credit_and_take_turns_with_it() {
        let mut slots = slots(&[5, 5, 5, 9]);
        let mut queue = SendQueue::new();
        queue.push(&mut slots, 0, false);
        queue.push(&mut slots, 1, true);
        queue.push(&mut slots, 2, true);
        queue.push(&mut slots, 3, false);
        assert_eq!(queue.pop(&mut slots, false), Some(1));
        assert_eq!(queue.pop(&mut slots, true), Some(0));
        assert_eq!(queue.pop(&mut slots, true), Some(2));
        assert!(!queue.is_ready(false));
        assert_eq!(queue.pop(&mut slots, false), None);
        assert_eq!(queue.pop(&mut slots, true), Some(3));
    }
}
