//! The verbs and commands of [`Core`].

use super::connection::{Connection, Drain, End, Pending};
use super::head;
use super::keep_alive::Due;
use super::received::Received;
use super::sink::IntoOutbox;
use bytes::BytesMut;
use corewire_message::{
    Body, CallError, CallKind, Code, ErrorKind, Event, Headers, Origin, Request, Response,
};
use corewire_wire::http2::ErrorCode;
use corewire_wire::mapping::status;
use corewire_wire::{CallId, Core, Fault, Input, Outbox, Output};
use std::time::Instant;

impl Core for Connection {
    fn handle_event(&mut self, now: Instant, input: Input<'_>) -> Result<(), Fault> {
        self.now = now;
        match input {
            Input::Octets(octets) => self.octets(now, octets),
            Input::Closed => {
                self.closed = true;
                self.connection_lost();
                Ok(())
            }
        }
    }

    fn has_more(&self) -> bool {
        self.has_more
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        while let Some(stream) = self.deadlines.pop_due(now) {
            if let Some(call) = self.calls.get_mut(stream) {
                call.timer = None;
            }
            match self.end {
                End::Client { .. } => self.answer_overdue(stream),
                End::Server { .. } => self.request_overdue(stream),
            }
        }
        if self.closed || self.fault.is_some() {
            return;
        }
        if let Drain::Noticed(until) = self.drain
            && until <= now
        {
            self.last_word();
        }
        match self.keep_alive.handle_timeout(now) {
            Due::Nothing => {}
            Due::Ping => self.session.ping(),
            Due::Dead => {
                self.fail("the peer is silent");
                self.connection_lost();
            }
        }
    }

    fn poll_transmit(&mut self, now: Instant, outbox: &mut Outbox) -> bool {
        self.now = now;
        if self.closed {
            return false;
        }
        let mut wrote = self.write(&mut IntoOutbox(outbox));
        if !self.half_open.is_empty() && self.reset_half_open() {
            wrote |= self.write(&mut IntoOutbox(outbox));
        }
        self.forget_written_events();
        self.tell_writable();
        self.memory.settle();
        wrote
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if !self.outputs.is_empty() {
            // Something came up while octets were written: it is told at once.
            return Some(self.now);
        }
        let deadline = self.deadlines.next();
        if self.closed || self.fault.is_some() {
            return deadline;
        }
        let noticed = match self.drain {
            Drain::Noticed(until) => Some(until),
            Drain::No | Drain::Said => None,
        };
        [deadline, noticed, self.keep_alive.next()]
            .into_iter()
            .flatten()
            .min()
    }

    fn poll(&mut self) -> Option<Output> {
        let Pending { output, cost, held } = self.outputs.pop_front()?;
        self.memory.release(held.0, held.1);
        if cost > 0 {
            self.session.consume_connection(cost);
        }
        Some(output)
    }

    fn call(&mut self, now: Instant, request: Request) -> Result<CallId, CallError> {
        self.start(now, request, CallKind::Unary, false)
    }

    fn open(&mut self, now: Instant, request: Request) -> Result<CallId, CallError> {
        self.start(now, request, CallKind::Stream, false)
    }

    fn send_event(&mut self, now: Instant, event: Event) -> Result<(), CallError> {
        let request = Request {
            operation: event.operation,
            headers: event.headers,
            body: event.body,
            deadline: None,
            priority: event.priority,
        };
        self.start(now, request, CallKind::Unary, true).map(drop)
    }

    fn room(&self, call: CallId) -> Option<usize> {
        let stream = call.number();
        let call = self.calls.get(stream).filter(|call| !call.answered)?;
        let room = self.room_of(stream, call);
        if room == 0 && !call.sent_all && !call.blocked.replace(true) {
            self.blocked.borrow_mut().push(stream);
        }
        Some(room)
    }

    fn send(&mut self, call: CallId, message: Body) -> Result<(), CallError> {
        let stream = call.number();
        let ended = || {
            CallError::new(
                ErrorKind::NotSent,
                Origin::Local,
                true,
                "the call has ended; the message was not sent",
            )
        };
        let known = self
            .calls
            .get(stream)
            .filter(|call| !call.answered && !call.sent_all)
            .ok_or_else(ended)?;
        if message.len() > self.config.max_message {
            return Err(too_long(message.len(), self.config.max_message));
        }
        if self.session.queued_total() + message.len() > self.config.max_backlog {
            return Err(CallError::overloaded(
                Origin::Local,
                "too many octets wait for this peer",
            ));
        }
        if !known.head_sent {
            self.send_stream_head(stream, &Headers::new());
        }
        self.push_message(stream, message);
        Ok(())
    }

    fn finish(&mut self, call: CallId) {
        let End::Client { .. } = self.end else {
            return;
        };
        if let Some(known) = self.calls.get_mut(call.number()) {
            known.sent_all = true;
            self.session.finish(call.number());
        }
    }

    fn send_headers(&mut self, call: CallId, headers: &Headers) {
        let stream = call.number();
        let known = self
            .calls
            .get(stream)
            .filter(|call| !call.answered && !call.head_sent && call.kind == CallKind::Stream);
        let carriable = head::unsendable(headers, self.config.max_header_list).is_none();
        if matches!(self.end, End::Server { .. }) && known.is_some() && carriable {
            self.send_stream_head(stream, headers);
        }
    }

    fn respond(&mut self, call: CallId, response: Response) {
        self.answer(call.number(), response);
    }

    fn cancel(&mut self, call: CallId, code: Code) {
        let stream = call.number();
        match self.end {
            End::Client { .. } => {
                if let Some(call) = self.remove(stream) {
                    self.session
                        .reset(stream, ErrorCode(status::reset_of(code)));
                    self.recycle(call);
                }
            }
            End::Server { .. } => self.give_up_request(stream, code),
        }
    }

    fn consumed(&mut self, call: CallId, octets: usize) {
        self.message_octets_consumed(call.number(), octets);
    }

    fn drain(&mut self) {
        if self.drain != Drain::No {
            return;
        }
        match self.end {
            End::Client { .. } => self.last_word(),
            End::Server { .. } => {
                let answered = self.calls.iter().filter(|(_, call)| call.answered);
                self.half_open.extend(answered.map(|(stream, _)| stream));
                self.session.shutdown_notice();
                self.session.ping();
                let until = self.now.checked_add(self.config.drain_notice);
                self.drain = Drain::Noticed(until.unwrap_or(self.now));
            }
        }
    }

    fn in_flight(&self) -> usize {
        // Until the client is known to have heard the notice its calls may be on their way, and
        // are served: the connection must not be closed over them.
        self.calls.len() + usize::from(matches!(self.drain, Drain::Noticed(_)))
    }

    fn queued(&self) -> usize {
        self.session.queued_total()
    }

    fn backlog(&self) -> usize {
        // Once a turn's writing is done the session wants to write only what the outbox had no
        // room for; what waits for credit it does not want to write.
        let waits = if self.session.wants_write() {
            self.session.queued_total().max(1)
        } else {
            0
        };
        // An event that waits for the peer's credit or its leave to open a stream counts as one
        // octet: enough for a blocking sender to go on reading, not to stop one from it.
        waits + usize::from(!self.events.is_empty())
    }

    fn wants(&self) -> usize {
        self.session.wants()
    }

    fn is_over(&self) -> bool {
        // A client that has said that it sends no more waits for the connection's end.
        self.peer_drains && self.calls.is_empty() && self.is_finished()
    }

    fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    fn protocol(&self) -> &'static str {
        match &self.end {
            End::Client { flavour, .. } => flavour.name(),
            End::Server { .. } => "http2",
        }
    }
}

impl Connection {
    fn octets(&mut self, now: Instant, octets: &mut BytesMut) -> Result<(), Fault> {
        self.has_more = false;
        if let Some(fault) = &self.fault {
            octets.clear();
            return Err(fault.clone());
        }
        if self.closed || octets.is_empty() {
            return Ok(());
        }
        self.keep_alive.heard(now);
        match self.session.receive(now, octets) {
            Ok(taken) => {
                self.received += taken as u64;
                self.take_events(Received::new(octets, taken));
                self.has_more = self.session.has_more();
            }
            Err(error) => self.fail(error.text()),
        }
        if let Some(code) = self.session.terminated() {
            self.fail(code.name());
        }
        if self.fault.is_some() {
            octets.clear();
            self.has_more = false;
        }
        self.settle_touched();
        self.tell_writable();
        self.fault.clone().map_or(Ok(()), Err)
    }

    fn connection_lost(&mut self) {
        let streams: Vec<u32> = self.calls.iter().map(|(stream, _)| stream).collect();
        for stream in streams {
            let Some(call) = self.remove(stream) else {
                continue;
            };
            match self.end {
                End::Client { .. } => self.answer_lost(stream, &call),
                End::Server { .. } => self.request_lost(stream, &call),
            }
        }
    }
}

pub(super) fn too_long(length: usize, most: usize) -> CallError {
    CallError::unsendable(format!(
        "a message of {length} octets is longer than the {most} that this connection sends"
    ))
}

/// Headers that a caller asks for and HTTP/2 cannot carry.
pub(super) fn check_headers(
    headers: &corewire_message::Headers,
    max_octets: u32,
) -> Result<(), CallError> {
    match head::unsendable(headers, max_octets) {
        None => Ok(()),
        Some(why) => Err(CallError::unsendable(why)),
    }
}
