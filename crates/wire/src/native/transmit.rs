//! From queued messages to octets in the outbox.

use super::calls::Call;
use super::codec::Fields;
use super::connection::Connection;
use super::credit::cost;
use super::frame::{HEADER, Header, Kind, flag};
use super::outgoing::{Head, Outgoing};
use crate::Outbox;
use corewire_message::{Body, Priority};
use std::time::Instant;

/// Bodies below this go next to their header before both go to the outbox: one append, not two.
const JOIN_BELOW: usize = 512;

impl Connection {
    pub(super) fn transmit(&mut self, now: Instant, outbox: &mut Outbox) -> bool {
        if self.closed {
            return false;
        }
        let before = outbox.len();
        self.transmit_control(outbox);
        if self.fault.is_none() {
            while outbox.budget() > 0 {
                let credit = self.send_credit.may_begin();
                let Some(slot) = self.queue.pop(self.calls.slots(), credit) else {
                    break;
                };
                self.queued -= self.calls.get(slot).waiting;
                self.transmit_frame(slot, now, outbox);
            }
            self.transmit_control(outbox);
        }
        outbox.len() > before
    }

    fn transmit_control(&mut self, outbox: &mut Outbox) {
        if !self.control.octets().is_empty() {
            outbox.put(self.control.octets());
            self.control.clear();
        }
    }

    /// One frame of a call's first message; the call is in no list.
    fn transmit_frame(&mut self, slot: u32, now: Instant, outbox: &mut Outbox) {
        let call = self.calls.get_mut(slot);
        let Some(outgoing) = call.front.as_mut() else {
            return;
        };
        let before = outgoing.weight();
        if outgoing.begun {
            put_fragment(
                outgoing,
                call.number,
                call.priority,
                self.limits.max_frame,
                outbox,
            );
        } else {
            if outgoing.is_late(now) {
                // Its timer fails it; nothing was sent.
                return;
            }
            let operation = match &outgoing.head {
                Head::Request { operation, .. } | Head::Event { operation } => {
                    let limit = self.limits.max_operations;
                    self.sent_operations.number(operation, limit)
                }
                _ => (0, false),
            };
            self.scratch.clear();
            let first = First {
                number: call.number,
                priority: call.priority,
                operation,
                now,
                max_frame: self.limits.max_frame as usize,
            };
            first.put(outgoing, &mut self.scratch, outbox);
            let cost = outgoing.cost();
            self.send_credit.charge(cost);
            if outgoing.is_message()
                && let Some(stream) = call.stream.as_deref_mut()
            {
                stream.send.charge(cost);
                stream.queued -= u64::from(cost);
            }
            call.begun = true;
        }
        if outgoing.sent < outgoing.body.len() {
            let sent = before - outgoing.weight();
            call.waiting -= sent;
            self.waiting -= sent;
            self.schedule(slot, true);
            return;
        }
        match outgoing.head {
            Head::Response { .. } => return self.end(slot),
            Head::Request { .. } => call.requested = true,
            _ => {}
        }
        call.waiting -= before;
        self.waiting -= before;
        call.front = call.rest.pop_front();
        self.resume(slot);
    }

    /// Adds a message at the end of its call's.
    pub(super) fn enqueue(&mut self, slot: u32, outgoing: Outgoing) {
        let weight = outgoing.weight();
        let call = self.calls.get_mut(slot);
        if outgoing.is_message()
            && let Some(stream) = call.stream.as_deref_mut()
        {
            stream.queued += u64::from(outgoing.cost());
        }
        if call.front.is_none() {
            call.front = Some(outgoing);
        } else {
            call.rest.push_back(outgoing);
        }
        call.waiting += weight;
        self.waiting += weight;
        if call.links.is_queued() {
            self.queued += weight;
        } else {
            self.resume(slot);
        }
    }

    /// Queues a call if its first message may go.
    pub(super) fn resume(&mut self, slot: u32) {
        let call = self.calls.get(slot);
        if let Some(outgoing) = &call.front
            && !call.links.is_queued()
            && call.may_go()
        {
            let begun = outgoing.begun;
            self.schedule(slot, begun);
        }
    }

    fn schedule(&mut self, slot: u32, begun: bool) {
        self.queued += self.calls.get(slot).waiting;
        self.queue.push(self.calls.slots(), slot, begun);
    }

    pub(super) fn unschedule(&mut self, slot: u32) {
        if self.calls.get(slot).links.is_queued() {
            self.queued -= self.calls.get(slot).waiting;
            self.queue.remove(self.calls.slots(), slot);
        }
    }
}

impl Call {
    /// Whether its stream's credit lets its first message go.
    pub(super) fn may_go(&self) -> bool {
        match (&self.stream, &self.front) {
            (Some(stream), Some(first)) if first.is_message() => {
                first.begun || stream.send.may_begin()
            }
            _ => true,
        }
    }
}

impl Outgoing {
    /// A request whose deadline has passed.
    fn is_late(&self, now: Instant) -> bool {
        matches!(&self.head, Head::Request { deadline: Some(deadline), .. } if *deadline <= now)
    }

    /// What it takes of the credit when it begins.
    fn cost(&self) -> u32 {
        let length = u32::try_from(self.body.len()).unwrap_or(u32::MAX);
        match self.head {
            Head::Finish => 0,
            Head::Response { .. } => length,
            _ => cost(length),
        }
    }
}

/// What the first frame of a message needs to know beside the message.
struct First {
    number: u32,
    priority: u8,
    /// The operation's number, and whether the name goes with it.
    operation: (u16, bool),
    now: Instant,
    max_frame: usize,
}

impl First {
    fn put(&self, outgoing: &mut Outgoing, scratch: &mut Vec<u8>, outbox: &mut Outbox) {
        let block = outgoing.headers.as_block();
        let mut fields = Fields {
            headers: block.len(),
            ..Fields::default()
        };
        let mut header = self.describe(&outgoing.head, &mut fields);
        scratch.resize(HEADER, 0);
        let mut flags = fields.encode(scratch);
        let mut length = outgoing.body.len();
        if scratch.len() - HEADER + block.len() + length > self.max_frame {
            fields.total = Some(u32::try_from(length).unwrap_or(u32::MAX));
            scratch.truncate(HEADER);
            flags = fields.encode(scratch);
            length = self.max_frame + HEADER - scratch.len() - block.len();
        }
        let payload = scratch.len() - HEADER + block.len() + length;
        header.flags |= flags;
        header.length = u32::try_from(payload).unwrap_or(u32::MAX);
        scratch[..HEADER].copy_from_slice(&header.encode());
        if payload < JOIN_BELOW {
            scratch.extend_from_slice(block);
            scratch.extend_from_slice(outgoing.body.head());
            scratch.extend_from_slice(outgoing.body.tail());
            outbox.put(scratch);
        } else {
            outbox.put(scratch);
            outbox.put(block);
            put_body(&outgoing.body, 0, length, outbox);
        }
        outgoing.sent = length;
        outgoing.begun = true;
    }

    fn describe<'a>(&self, head: &'a Head, fields: &mut Fields<'a>) -> Header {
        let (operation, is_new) = self.operation;
        let priority = Priority::try_from(self.priority)
            .ok()
            .filter(|priority| *priority != Priority::NORMAL);
        let name = |name: &'a str| is_new.then_some(name.as_bytes());
        match head {
            Head::Request {
                operation: named,
                deadline,
                stream,
            } => {
                fields.name = name(named.as_str());
                fields.priority = priority;
                fields.timeout = deadline.map(|deadline| {
                    let left = deadline.saturating_duration_since(self.now).as_micros();
                    u64::try_from(left).unwrap_or(u64::MAX).max(1)
                });
                Header::new(Kind::Request)
                    .with_call(self.number)
                    .with_aux(operation)
                    .with_flags(if *stream { flag::STREAM } else { 0 })
            }
            Head::Event { operation: named } => {
                fields.name = name(named.as_str());
                fields.priority = priority;
                Header::new(Kind::Event).with_aux(operation)
            }
            Head::Message => Header::new(Kind::Message).with_call(self.number),
            Head::Finish => Header::new(Kind::Finish).with_call(self.number),
            Head::Response { status } => {
                let text = status.message();
                fields.text = (!text.is_empty()).then_some(text);
                Header::new(Kind::Response)
                    .with_call(self.number)
                    .with_aux(u16::from(status.code().number()))
            }
        }
    }
}

/// The next fragment of a message that has begun.
fn put_fragment(
    outgoing: &mut Outgoing,
    number: u32,
    priority: u8,
    max_frame: u32,
    outbox: &mut Outbox,
) {
    let left = outgoing.body.len() - outgoing.sent;
    let length = left.min(max_frame as usize);
    let header = Header::new(Kind::Fragment)
        .with_call(number)
        // Events have no number; theirs is told by the priority.
        .with_aux(if number == 0 { u16::from(priority) } else { 0 })
        .with_flags(if length < left { flag::MORE } else { 0 })
        .with_length(u32::try_from(length).unwrap_or(u32::MAX));
    outbox.put(&header.encode());
    put_body(
        &outgoing.body,
        outgoing.sent,
        outgoing.sent + length,
        outbox,
    );
    outgoing.sent += length;
}

/// Octets `from..to` of a body.
fn put_body(body: &Body, from: usize, to: usize, outbox: &mut Outbox) {
    let head = body.head();
    if from < head.len() {
        outbox.put(&head[from..to.min(head.len())]);
    }
    let (from, to) = (
        from.saturating_sub(head.len()),
        to.saturating_sub(head.len()),
    );
    if from < to {
        outbox.put_shared(body.tail().slice(from..to));
    }
}
