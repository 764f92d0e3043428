//! Messages of streams, either side, and the credit for them.

use super::connection::{Connection, Pending, Role};
use super::fault::Violation;
use super::frame::Header;
use super::outgoing::Outgoing;
use super::reassembly::{Partial, What};
use crate::{CallId, Output};
use bytes::{Bytes, BytesMut};
use corewire_message::{Body, CallError, Code, Headers, Origin, Response, Status};

impl Connection {
    pub(super) fn queue_message(&mut self, call: CallId, message: Body) -> Result<(), CallError> {
        let ended = |context| CallError::cancelled(Origin::Local, context);
        let slot = self
            .calls
            .find(call.number())
            .ok_or_else(|| ended("the call has ended"))?;
        self.is_sendable(&Headers::new(), &message)?;
        let call = self.calls.get_mut(slot);
        let Some(stream) = call.stream.as_deref_mut() else {
            return Err(CallError::unsendable(
                "a unary call has one message each way",
            ));
        };
        if stream.finished || call.answered {
            return Err(ended("this side of the call was ended"));
        }
        self.enqueue(slot, Outgoing::message(message));
        Ok(())
    }

    pub(super) fn queue_finish(&mut self, call: CallId) {
        let Some(slot) = self.calls.find(call.number()) else {
            return;
        };
        if matches!(self.role, Role::Server(_)) {
            return;
        }
        if let Some(stream) = self.calls.get_mut(slot).stream.as_deref_mut()
            && !stream.finished
        {
            stream.finished = true;
            self.enqueue(slot, Outgoing::finish());
        }
    }

    pub(super) fn on_message(
        &mut self,
        header: Header,
        octets: &mut BytesMut,
    ) -> Result<(), Violation> {
        let (_, layout) = self.layout(header, octets)?;
        let slot = self.slot_of(header.call)?;
        self.charge(layout.cost())?;
        let Some(slot) = slot else {
            layout.skip(octets);
            self.give_back(layout.cost());
            return Ok(());
        };
        let slack = self.enforced.stream_credit - self.own.stream_credit;
        let call = self.calls.get_mut(slot);
        if call.partial.is_some() {
            return Err(Violation::WithinMessage);
        }
        let stream = call.stream.as_deref_mut().ok_or(Violation::NotAStream)?;
        if stream.peer_finished {
            return Err(Violation::AfterFinish);
        }
        if !stream.receive.charge(layout.cost(), slack) {
            return Err(Violation::StreamCredit);
        }
        if call.answered {
            layout.skip(octets);
            self.give_back(layout.cost());
            return Ok(());
        }
        let (_, body) = layout.take(octets)?;
        if let Some(total) = layout.more {
            let partial = Partial::new(What::Message, total, &body)?;
            call.partial = Some(Box::new(partial));
        } else {
            self.deliver(slot, header.call, body, layout.cost());
        }
        Ok(())
    }

    /// A whole message came.
    pub(super) fn deliver(&mut self, slot: u32, number: u32, body: Bytes, cost: u32) {
        let call = self.calls.get_mut(slot);
        match call.stream.as_deref_mut() {
            Some(stream) if !call.answered => {
                stream.held.push(u32::try_from(body.len()).unwrap_or(0));
                self.tell(Output::Message {
                    call: CallId::new(number),
                    message: Body::from(body),
                });
            }
            _ => self.give_back(cost),
        }
    }

    pub(super) fn on_finish(&mut self, number: u32) -> Result<(), Violation> {
        if matches!(self.role, Role::Client) {
            return Err(Violation::WrongDirection);
        }
        let Some(slot) = self.slot_of(number)? else {
            return Ok(());
        };
        let call = self.calls.get_mut(slot);
        if call.partial.is_some() {
            return Err(Violation::WithinMessage);
        }
        let stream = call.stream.as_deref_mut().ok_or(Violation::NotAStream)?;
        if std::mem::replace(&mut stream.peer_finished, true) {
            return Err(Violation::AfterFinish);
        }
        if !call.answered {
            self.tell(Output::Finished {
                call: CallId::new(number),
            });
        }
        Ok(())
    }

    pub(super) fn on_cancel(&mut self, header: Header) -> Result<(), Violation> {
        let Some(slot) = self.slot_of(header.call)? else {
            return Ok(());
        };
        let code = match Code::from_number(u32::from(header.aux)) {
            Code::Ok => Code::Cancelled,
            code => code,
        };
        match self.role {
            Role::Server(_) => self.cancelled(slot, code),
            Role::Client => {
                let call = CallId::new(header.call);
                self.end(slot);
                let response = Response::failed(Status::of(code));
                self.tell(Output::Response { call, response });
            }
        }
        Ok(())
    }

    pub(super) fn give_up(&mut self, call: CallId, code: Code) {
        let Some(slot) = self.calls.find(call.number()) else {
            return;
        };
        if matches!(self.role, Role::Server(_)) || self.calls.get(slot).begun {
            self.control.cancel(call.number(), code);
        }
        self.end(slot);
        self.untell(call);
    }

    /// Nothing more is told of a call that was given up.
    fn untell(&mut self, ended: CallId) {
        let mut freed: u32 = 0;
        self.outputs.retain(|Pending { output, cost }| {
            let keep = match output {
                Output::Request { call, .. }
                | Output::Opened { call, .. }
                | Output::Message { call, .. }
                | Output::Finished { call }
                | Output::Writable { call } => *call != ended,
                _ => true,
            };
            if !keep {
                freed = freed.saturating_add(*cost);
            }
            keep
        });
        self.give_back(freed);
    }

    pub(super) fn on_credit(&mut self, number: u32, octets: u32) -> Result<(), Violation> {
        if number == 0 {
            let could = self.send_credit.may_begin();
            if !self.send_credit.add(octets) {
                return Err(Violation::CreditOverflow);
            }
            if !could && self.send_credit.may_begin() {
                self.tell_writable();
            }
            return Ok(());
        }
        let Some(slot) = self.slot_of(number)? else {
            return Ok(());
        };
        let open = self.send_credit.may_begin();
        let call = self.calls.get_mut(slot);
        let answered = call.answered;
        let stream = call.stream.as_deref_mut().ok_or(Violation::NotAStream)?;
        let before = stream.room();
        if !stream.send.add(octets) {
            return Err(Violation::CreditOverflow);
        }
        let writable = open && before == 0 && stream.room() > 0;
        if writable && !stream.finished && !answered {
            self.tell(Output::Writable {
                call: CallId::new(number),
            });
        }
        self.resume(slot);
        Ok(())
    }

    /// The connection has credit again: every stream that has some may go on.
    pub(super) fn tell_writable(&mut self) {
        if !self.send_credit.may_begin() {
            return;
        }
        let slots: Vec<u32> = self.calls.occupied().collect();
        for slot in slots {
            let call = self.calls.get(slot);
            if let Some(stream) = call.stream.as_deref()
                && !(stream.finished || call.answered)
                && stream.room() > 0
            {
                let call = CallId::new(call.number);
                self.tell(Output::Writable { call });
            }
        }
    }

    pub(super) fn consume(&mut self, call: CallId, octets: usize) {
        let Some(slot) = self.calls.find(call.number()) else {
            return;
        };
        let call = self.calls.get_mut(slot);
        let Some(stream) = call.stream.as_deref_mut() else {
            return;
        };
        let freed = stream.held.consume(octets);
        if freed == 0 {
            return;
        }
        if let Some(returned) = stream.receive.give(freed)
            && !stream.peer_finished
        {
            self.control.credit(call.number, returned);
        }
        self.give_back(freed);
    }

    /// The end of a call gives back what its messages held.
    pub(super) fn held_by(&self, slot: u32) -> u32 {
        let call = self.calls.get(slot);
        let stream = call.stream.as_ref().map_or(0, |stream| stream.held.cost());
        let partial = call.partial.as_ref().map_or(0, |partial| partial.cost());
        stream.saturating_add(partial)
    }
}
