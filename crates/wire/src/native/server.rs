//! The answering side.

use super::calls::Stream;
use super::connection::{Connection, Role};
use super::fault::Violation;
use super::frame::{Header, flag};
use super::outgoing::{Head, Outgoing};
use super::reassembly::{Partial, What};
use crate::memory::CALL_OCTETS;
use crate::{CallId, Output};
use bytes::BytesMut;
use corewire_message::{Body, CallKind, Code, Operation, Request, Response, Status};
use std::time::{Duration, Instant};

/// An answer without asking the application.
struct Refusal {
    code: Code,
    not_executed: bool,
    text: String,
}

impl Connection {
    /// The operation of a REQUEST or EVENT.
    pub(super) fn operation(
        &mut self,
        number: u16,
        name: Option<&[u8]>,
    ) -> Result<Operation, Violation> {
        if !matches!(self.role, Role::Server(_)) {
            return Err(Violation::WrongDirection);
        }
        match name {
            Some(name) => self
                .known_operations
                .define(number, name, self.enforced.max_operations),
            None => self.known_operations.get(number),
        }
    }

    pub(super) fn on_request(
        &mut self,
        now: Instant,
        header: Header,
        octets: &mut BytesMut,
    ) -> Result<(), Violation> {
        let (fields, layout) = self.layout(header, octets)?;
        let (name, timeout) = (fields.name, fields.timeout);
        let priority = fields.priority.unwrap_or_default();
        let operation = self.operation(header.aux, name)?;
        let number = header.call;
        if number.is_multiple_of(2) {
            return Err(Violation::CallNumber);
        }
        if self.calls.find(number).is_some() {
            return Err(Violation::CallNumberInUse);
        }
        self.number = self.number.max(number);
        let stream = header.has(flag::STREAM);
        if stream && layout.total > 0 {
            return Err(Violation::StreamBody);
        }
        self.charge(layout.cost())?;
        let held = (
            layout.headers(),
            CALL_OCTETS.saturating_add(layout.total as usize),
        );
        let refusal = self
            .refusal(header, &operation, stream)
            .or_else(|| self.no_room_for(held));
        if let Some(refusal) = refusal {
            layout.skip(octets);
            self.give_back(layout.cost());
            let Refusal {
                code,
                not_executed,
                text,
            } = refusal;
            self.control.refuse(number, code, not_executed, &text);
            return Ok(());
        }
        let (headers, body) = layout.take(octets)?;
        let timeout = timeout.map(Duration::from_micros);
        let mut request = Request {
            operation,
            headers,
            body: Body::new(),
            deadline: timeout.and_then(|timeout| now.checked_add(timeout)),
            priority,
        };
        let slot = self.calls.insert(number);
        let call = self.calls.get_mut(slot);
        call.priority = priority.value();
        call.held = held;
        if let Some(deadline) = request.deadline {
            call.deadline = Some(self.deadlines.insert(deadline, slot));
        }
        let id = CallId::new(number);
        if layout.more.is_some() || stream {
            // It stays for a while, and would hold all that was received with it.
            request.headers.detach();
        }
        if let Some(total) = layout.more {
            let partial = Partial::new(What::Request(request), total, &body)?;
            call.partial = Some(Box::new(partial));
            return Ok(());
        }
        call.delivered = true;
        let output = if stream {
            let stream = Stream::new(self.limits.stream_credit, self.own.stream_credit);
            call.stream = Some(Box::new(stream));
            Output::Opened { call: id, request }
        } else {
            request.body = Body::from(body);
            Output::Request { call: id, request }
        };
        self.tell_costly(output, layout.cost());
        Ok(())
    }

    /// Holds memory for a call; else says why it is not made.
    fn no_room_for(&mut self, (headers, body): (usize, usize)) -> Option<Refusal> {
        let may = self.memory.hold(headers, body);
        (!may).then(|| Refusal {
            code: Code::ResourceExhausted,
            not_executed: true,
            text: "the calls in progress hold as much memory as they may".into(),
        })
    }

    /// Why a call is not made, if so.
    fn refusal(&mut self, header: Header, operation: &Operation, stream: bool) -> Option<Refusal> {
        let refuse = |code, not_executed, text: String| {
            Some(Refusal {
                code,
                not_executed,
                text,
            })
        };
        if self.draining {
            return refuse(Code::Unavailable, true, "the service is draining".into());
        }
        if self.calls.count() >= self.own.max_concurrent_calls as usize {
            let text = "too many calls on one connection".into();
            return refuse(Code::ResourceExhausted, true, text);
        }
        let Role::Server(kind_of) = &self.role else {
            return None;
        };
        let kind = self
            .known_operations
            .kind(header.aux, operation, kind_of.as_ref());
        match (kind, stream) {
            (Some(CallKind::Unary), false) | (Some(CallKind::Stream), true) => None,
            (None, _) => refuse(
                Code::Unimplemented,
                false,
                format!("{operation} is not known here"),
            ),
            (Some(CallKind::Unary), true) => refuse(
                Code::Unimplemented,
                false,
                format!("{operation} is not a stream here"),
            ),
            (Some(CallKind::Stream), false) => refuse(
                Code::Unimplemented,
                false,
                format!("{operation} is a stream here"),
            ),
        }
    }

    pub(super) fn queue_response(&mut self, call: CallId, response: Response) {
        let Some(slot) = self.calls.find(call.number()) else {
            return;
        };
        let call = self.calls.get_mut(slot);
        if !call.delivered || call.answered {
            return;
        }
        call.answered = true;
        self.release(slot);
        let is_stream = self.calls.get(slot).stream.is_some();
        let Response {
            status,
            headers,
            body,
        } = self.sendable(response);
        // The last message of a stream is a message like any other to its receiver; what comes
        // with a failure is not.
        let body = if is_stream && status.is_ok() && !body.is_empty() {
            self.enqueue(slot, Outgoing::message(body));
            Body::new()
        } else {
            body
        };
        self.enqueue(
            slot,
            Outgoing::new(Head::Response { status }, headers, body),
        );
    }

    /// The response, or what is said instead when the peer would not take it.
    fn sendable(&self, response: Response) -> Response {
        let too_long = if response.body.len() > self.limits.max_message as usize {
            "the answer is longer than the caller takes"
        } else if response.headers.as_block().len() > self.limits.max_header_block as usize {
            "the answer's headers are longer than the caller takes"
        } else {
            return response;
        };
        Response::failed(Status::new(Code::ResourceExhausted, too_long))
    }

    /// A call's deadline passed here.
    pub(super) fn server_deadline(&mut self, slot: u32) {
        let code = Code::DeadlineExceeded;
        let number = self.calls.get(slot).number;
        self.control.cancel(number, code);
        self.cancelled(slot, code);
    }

    /// Ends a call that is not to be answered any more, and tells the application if it works on
    /// it.
    pub(super) fn cancelled(&mut self, slot: u32, code: Code) {
        let call = self.calls.get(slot);
        if call.delivered && !call.answered {
            let call = CallId::new(call.number);
            self.tell(Output::Cancelled { call, code });
        }
        self.end(slot);
    }
}
