//! The calls in flight: a slab of slots, and from a call's number to its slot without hashing.

use super::credit::{Held, ReceiveCredit, SendCredit};
use super::outgoing::Outgoing;
use super::reassembly::Partial;
use super::send_queue::Links;
use crate::deadlines::DeadlineId;
use std::collections::VecDeque;

/// "No slot".
pub(super) const NONE: u32 = u32::MAX;

/// What one call holds. A lane is a slot without a number in which events of one priority wait.
#[derive(Debug, Default)]
pub(super) struct Call {
    /// 0 for a lane and for a free slot.
    pub(super) number: u32,
    pub(super) priority: u8,
    /// Client: the request's first octet was transmitted.
    pub(super) begun: bool,
    /// Client: the request's last octet was transmitted.
    pub(super) requested: bool,
    /// Server: the application was told of it.
    pub(super) delivered: bool,
    /// Server: its answer waits or is on its way.
    pub(super) answered: bool,
    pub(super) deadline: Option<DeadlineId>,
    /// Server: what the connection's account holds for it, of headers and of its body.
    pub(super) held: (usize, usize),
    /// What waits to be sent, first to last: the first in place, so that unary calls allocate
    /// nothing.
    pub(super) front: Option<Outgoing>,
    pub(super) rest: VecDeque<Outgoing>,
    /// What they weigh together.
    pub(super) waiting: usize,
    pub(super) links: Links,
    /// Boxed: unary calls have none.
    pub(super) stream: Option<Box<Stream>>,
    /// What came of a message in fragments.
    pub(super) partial: Option<Box<Partial>>,
}

/// What a stream has beyond a unary call.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) send: SendCredit,
    /// What the messages cost that wait here.
    pub(super) queued: u64,
    /// This side was ended.
    pub(super) finished: bool,
    pub(super) receive: ReceiveCredit,
    /// The peer's side was ended.
    pub(super) peer_finished: bool,
    pub(super) held: Held,
}

impl Stream {
    pub(super) fn new(send_window: u32, receive_window: u32) -> Self {
        Self {
            send: SendCredit::new(send_window),
            queued: 0,
            finished: false,
            receive: ReceiveCredit::new(receive_window),
            peer_finished: false,
            held: Held::default(),
        }
    }

    /// How many octets it may still take in.
    pub(super) fn room(&self) -> usize {
        let queued = i64::try_from(self.queued).unwrap_or(i64::MAX);
        usize::try_from(self.send.octets().saturating_sub(queued)).unwrap_or(0)
    }
}

/// All calls of one connection.
#[derive(Debug)]
pub(super) struct Calls {
    slots: Vec<Call>,
    free: Vec<u32>,
    ring: Vec<u32>,
    /// Calls whose place in the ring was taken by another: (number, slot), in order of number.
    displaced: Vec<(u32, u32)>,
    count: usize,
}

const FIRST_RING: usize = 64;

/// How many messages' room a slot keeps for its next call.
const KEPT: usize = 16;

impl Calls {
    pub(super) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            ring: Vec::new(),
            displaced: Vec::new(),
            count: 0,
        }
    }

    /// Calls, without lanes.
    pub(super) const fn count(&self) -> usize {
        self.count
    }

    pub(super) fn slots(&mut self) -> &mut [Call] {
        &mut self.slots
    }

    /// Slots that hold calls.
    pub(super) fn occupied(&self) -> impl Iterator<Item = u32> {
        (0u32..)
            .zip(&self.slots)
            .filter_map(|(slot, call)| (call.number != 0).then_some(slot))
    }

    pub(super) fn get(&self, slot: u32) -> &Call {
        &self.slots[slot as usize]
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> &mut Call {
        &mut self.slots[slot as usize]
    }

    /// The slot of the call with this number.
    pub(super) fn find(&self, number: u32) -> Option<u32> {
        let slot = *self.ring.get(self.place(number))?;
        if slot != NONE && self.slots[slot as usize].number == number {
            return Some(slot);
        }
        let index = self
            .displaced
            .binary_search_by_key(&number, |entry| entry.0)
            .ok()?;
        Some(self.displaced[index].1)
    }

    /// A slot for a new call; the number must not be 0 or in use.
    pub(super) fn insert(&mut self, number: u32) -> u32 {
        if self.ring.len() < 2 * (self.count + 1) {
            self.grow();
        }
        let slot = self.take_slot();
        self.count += 1;
        self.slots[slot as usize].number = number;
        self.place_number(number, slot);
        slot
    }

    /// A slot for events.
    pub(super) fn insert_lane(&mut self, priority: u8) -> u32 {
        let slot = self.take_slot();
        self.slots[slot as usize].priority = priority;
        slot
    }

    /// Empties a call's slot; it must be in no list of the send queue.
    pub(super) fn remove(&mut self, slot: u32) {
        let call = &mut self.slots[slot as usize];
        let number = std::mem::take(&mut call.number);
        call.begun = false;
        call.requested = false;
        call.delivered = false;
        call.answered = false;
        call.deadline = None;
        call.held = (0, 0);
        call.front = None;
        call.rest.clear();
        if call.rest.capacity() > KEPT {
            call.rest = VecDeque::new();
        }
        call.waiting = 0;
        call.stream = None;
        call.partial = None;
        self.free.push(slot);
        self.count -= 1;
        let place = self.place(number);
        if self.ring[place] == slot {
            self.ring[place] = NONE;
        } else if let Ok(index) = self
            .displaced
            .binary_search_by_key(&number, |entry| entry.0)
        {
            self.displaced.remove(index);
        }
    }

    fn take_slot(&mut self) -> u32 {
        if let Some(slot) = self.free.pop() {
            return slot;
        }
        self.slots.push(Call::default());
        u32::try_from(self.slots.len() - 1).unwrap_or(NONE)
    }

    /// Numbers of one side are all odd or all even, and mostly consecutive.
    fn place(&self, number: u32) -> usize {
        (number >> 1) as usize & self.ring.len().wrapping_sub(1)
    }

    fn place_number(&mut self, number: u32, slot: u32) {
        let place = self.place(number);
        if self.ring[place] == NONE {
            self.ring[place] = slot;
        } else {
            let at = self.displaced.partition_point(|entry| entry.0 < number);
            self.displaced.insert(at, (number, slot));
        }
    }

    fn grow(&mut self) {
        let size = (self.ring.len() * 2).max(FIRST_RING);
        self.ring.clear();
        self.ring.resize(size, NONE);
        self.displaced.clear();
        for slot in 0..self.slots.len() {
            let number = self.slots[slot].number;
            if number != 0 {
                self.place_number(number, u32::try_from(slot).unwrap_or(NONE));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn every_call_is_found_by_its_number(steps in proptest::collection::vec((1u32..5000, any::<bool>()), 0..600)) {
            let mut calls = Calls::new();
            let mut model: HashMap<u32, u32> = HashMap::new();
            for (number, remove) in steps {
                let number = number * 2 + 1;
                match model.get(&number) {
                    Some(&slot) if remove => {
                        calls.remove(slot);
                        model.remove(&number);
                    }
                    Some(_) => {}
                    None => {
                        model.insert(number, calls.insert(number));
                    }
                }
                prop_assert_eq!(calls.count(), model.len());
                for (number, slot) in &model {
                    prop_assert_eq!(calls.find(*number), Some(*slot));
                }
                prop_assert_eq!(calls.find(number + 1), None);
            }
        }
    }

    #[test]
    fn old_calls_do_not_stand_in_the_way_of_new_ones() {
        let mut calls = Calls::new();
        let old: Vec<u32> = (0..20).map(|n| calls.insert(n * 2 + 1)).collect();
        for number in (41..10_001).step_by(2) {
            let slot = calls.insert(number);
            assert_eq!(calls.find(number), Some(slot));
            calls.remove(slot);
            assert_eq!(calls.find(number), None);
        }
        for (n, slot) in (0u32..).zip(&old) {
            assert_eq!(calls.find(n * 2 + 1), Some(*slot));
        }
        assert_eq!((calls.slots.len(), calls.ring.len()), (21, FIRST_RING));
    }

    /// No search and no hash on the way from a frame to its call.
    #[test]
    fn consecutive_calls_have_a_place_each_in_a_ring_of_twice_their_number() {
        let mut calls = Calls::new();
        for count in 1..=300u32 {
            calls.insert(count * 2 - 1);
            let ring = (2 * count as usize).next_power_of_two().max(FIRST_RING);
            assert_eq!((calls.ring.len(), calls.displaced.len()), (ring, 0));
        }
    }

    #[test]
    fn a_slot_keeps_room_for_sixteen_messages_and_no_more() {
        for (room, kept) in [(1, 1), (KEPT, KEPT), (KEPT + 1, 0), (1000, 0)] {
            let mut calls = Calls::new();
            let slot = calls.insert(1);
            calls.get_mut(slot).rest = VecDeque::with_capacity(room);
            calls.remove(slot);
            assert_eq!(calls.get(slot).rest.capacity(), kept, "of {room}");
        }
    }
}
