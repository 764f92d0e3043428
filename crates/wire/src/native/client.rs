//! The calling side.

use super::calls::{self, Stream};
use super::connection::{Connection, Role};
use super::fault::Violation;
use super::frame::{Header, flag};
use super::outgoing::{Head, Outgoing};
use super::reassembly::{Partial, What};
use crate::{CallId, Output};
use bytes::BytesMut;
use corewire_message::{
    Body, CallError, CallKind, Code, ErrorKind, Event, Headers, Origin, Request, Response, Status,
};

/// Past this no number is given: the connection is drained instead.
const LAST_NUMBER: u32 = u32::MAX - 2;

fn local(kind: ErrorKind, context: &'static str) -> CallError {
    CallError::new(kind, Origin::Local, false, context)
}

impl Connection {
    /// Whether another message may be taken in.
    fn may_send(&self) -> Result<(), CallError> {
        if self.closed || self.fault.is_some() {
            let context = "the connection is closed";
            return Err(CallError::not_sent(Origin::Transport, context));
        }
        if matches!(self.role, Role::Server(_)) {
            return Err(local(
                ErrorKind::Unsendable,
                "this end of the connection answers",
            ));
        }
        if self.peer_drains.is_some() {
            let context = "the peer takes no more calls on this connection";
            return Err(CallError::refused(context));
        }
        if self.draining {
            return Err(local(ErrorKind::NotSent, "the connection is draining"));
        }
        if self.waiting >= self.config.max_backlog {
            return Err(local(
                ErrorKind::Overloaded,
                "too much waits to be sent on this connection",
            ));
        }
        Ok(())
    }

    /// Whether a message of this size can be carried.
    pub(super) fn is_sendable(&self, headers: &Headers, body: &Body) -> Result<(), CallError> {
        if body.len() > self.limits.max_message as usize {
            return Err(local(
                ErrorKind::Unsendable,
                "the message is longer than the peer or this end allows",
            ));
        }
        if headers.as_block().len() > self.limits.max_header_block as usize {
            return Err(local(
                ErrorKind::Unsendable,
                "the headers are longer than the peer or this end allows",
            ));
        }
        Ok(())
    }

    pub(super) fn start(&mut self, request: Request, kind: CallKind) -> Result<CallId, CallError> {
        self.may_send()?;
        self.is_sendable(&request.headers, &request.body)?;
        if self.calls.count() >= self.limits.max_concurrent_calls as usize {
            return Err(local(
                ErrorKind::Overloaded,
                "too many calls in flight on this connection",
            ));
        }
        let Request {
            operation,
            headers,
            body,
            deadline,
            priority,
        } = request;
        let stream = kind == CallKind::Stream;
        let number = self.next_number();
        let slot = self.calls.insert(number);
        let call = self.calls.get_mut(slot);
        call.priority = priority.value();
        if let Some(deadline) = deadline {
            call.deadline = Some(self.deadlines.insert(deadline, slot));
        }
        let head = Head::Request {
            operation,
            deadline,
            stream,
        };
        if stream {
            call.stream = Some(Box::new(Stream::new(
                self.limits.stream_credit,
                self.own.stream_credit,
            )));
            self.enqueue(slot, Outgoing::new(head, headers, Body::new()));
            if !body.is_empty() {
                self.enqueue(slot, Outgoing::message(body));
            }
        } else {
            self.enqueue(slot, Outgoing::new(head, headers, body));
        }
        Ok(CallId::new(number))
    }

    fn next_number(&mut self) -> u32 {
        let number = self.number;
        self.number += 2;
        if self.number > LAST_NUMBER && !self.draining {
            self.draining = true;
            self.tell(Output::Draining);
        }
        number
    }

    pub(super) fn queue_event(&mut self, event: Event) -> Result<(), CallError> {
        self.may_send()?;
        self.is_sendable(&event.headers, &event.body)?;
        let Event {
            operation,
            headers,
            body,
            priority,
        } = event;
        let lane = usize::from(priority.value());
        if self.lanes[lane] == calls::NONE {
            self.lanes[lane] = self.calls.insert_lane(priority.value());
        }
        let outgoing = Outgoing::new(Head::Event { operation }, headers, body);
        self.enqueue(self.lanes[lane], outgoing);
        Ok(())
    }

    pub(super) fn on_response(
        &mut self,
        header: Header,
        octets: &mut BytesMut,
    ) -> Result<(), Violation> {
        if !matches!(self.role, Role::Client) {
            return Err(Violation::WrongDirection);
        }
        let (fields, layout) = self.layout(header, octets)?;
        let code = Code::from_number(u32::from(header.aux));
        let status = match fields.text {
            Some(text) => Status::new(code, text.to_owned()),
            None => Status::of(code),
        };
        let slot = self.slot_of(header.call)?;
        let cost = layout.total;
        self.charge(cost)?;
        let Some(slot) = slot else {
            layout.skip(octets);
            self.give_back(cost);
            return Ok(());
        };
        if self.calls.get(slot).partial.is_some() {
            return Err(Violation::WithinMessage);
        }
        let (headers, body) = layout.take(octets)?;
        let mut response = Response {
            status,
            headers,
            body: Body::new(),
        };
        let not_executed = header.has(flag::NOT_EXECUTED);
        if let Some(total) = layout.more {
            response.headers.detach();
            let what = What::Response {
                response,
                not_executed,
            };
            let partial = Partial::new(what, total, &body)?;
            self.calls.get_mut(slot).partial = Some(Box::new(partial));
        } else {
            response.body = Body::from(body);
            let call = CallId::new(header.call);
            self.answered(slot, call, response, not_executed, cost);
        }
        Ok(())
    }

    /// The whole answer came.
    pub(super) fn answered(
        &mut self,
        slot: u32,
        call: CallId,
        response: Response,
        not_executed: bool,
        cost: u32,
    ) {
        self.end(slot);
        let output = if not_executed {
            let kind = match response.status.code() {
                Code::ResourceExhausted => ErrorKind::Overloaded,
                _ => ErrorKind::Refused,
            };
            let context = response.status.to_string();
            let error = CallError::new(kind, Origin::Peer, false, context);
            Output::Failed { call, error }
        } else {
            Output::Response { call, response }
        };
        self.tell_costly(output, cost);
    }

    /// A call's deadline passed here.
    pub(super) fn client_deadline(&mut self, slot: u32) {
        let call = self.calls.get(slot);
        let (number, begun) = (call.number, call.begun);
        let error = CallError::deadline_exceeded(call.may_have_executed());
        if begun {
            self.control.cancel(number, Code::DeadlineExceeded);
        }
        self.failed(slot, error);
    }

    /// Ends a call without an answer.
    pub(super) fn failed(&mut self, slot: u32, error: CallError) {
        let call = CallId::new(self.calls.get(slot).number);
        self.end(slot);
        self.tell(Output::Failed { call, error });
    }

    /// The peer drains: what it has not seen, or says it does not take, may go elsewhere at once.
    pub(super) fn refuse_above(&mut self, last: u32) {
        let slots: Vec<u32> = self.calls.occupied().collect();
        for slot in slots {
            let call = self.calls.get(slot);
            if !call.begun || call.number > last {
                let context = "the peer takes no more calls on this connection";
                let error = CallError::refused(context);
                self.failed(slot, error);
            }
        }
    }

    /// The server's limits became known: what waits and does not fit is not sent. `could` says
    /// whether the connection had credit before.
    pub(super) fn fit_to_limits(&mut self, stream_credit_before: u32, could: bool) {
        let slots: Vec<u32> = self.calls.occupied().collect();
        let can = self.send_credit.may_begin();
        for slot in slots {
            let call = self.calls.get_mut(slot);
            let mut writable = false;
            if let Some(stream) = call.stream.as_mut() {
                let was_full = !could || stream.room() == 0;
                let after = self.limits.stream_credit;
                stream.send.shift(stream_credit_before, after);
                writable = was_full && can && !stream.finished && stream.room() > 0;
            }
            let call = self.calls.get(slot);
            let may_go = call.may_go();
            let fits = call
                .front
                .iter()
                .chain(&call.rest)
                .filter(|outgoing| !outgoing.begun)
                .all(|outgoing| self.is_sendable(&outgoing.headers, &outgoing.body).is_ok());
            if fits {
                if writable {
                    let call = CallId::new(call.number);
                    self.tell(Output::Writable { call });
                }
                if may_go {
                    self.resume(slot);
                } else {
                    self.unschedule(slot);
                }
                continue;
            }
            // A stream may be under way although this message of it cannot go.
            let error = CallError::new(
                ErrorKind::Unsendable,
                Origin::Local,
                call.may_have_executed(),
                "a message is longer than the peer turned out to allow",
            );
            if call.begun {
                self.control.cancel(call.number, Code::Cancelled);
            }
            self.failed(slot, error);
        }
        self.drop_unfit_events();
    }

    fn drop_unfit_events(&mut self) {
        for lane in self.lanes {
            if lane == calls::NONE {
                continue;
            }
            self.unschedule(lane);
            let call = self.calls.get_mut(lane);
            let front = call.front.take();
            let queue: Vec<Outgoing> = front.into_iter().chain(call.rest.drain(..)).collect();
            self.waiting -= std::mem::take(&mut call.waiting);
            for outgoing in queue {
                if outgoing.begun || self.is_sendable(&outgoing.headers, &outgoing.body).is_ok() {
                    self.enqueue(lane, outgoing);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;
    use crate::Core;
    use corewire_message::Operation;

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "an instant to count from; only distances matter"
    )]
    fn a_client_whose_numbers_run_out_asks_for_another_connection() {
        const ECHO: Operation = Operation::from_static("test.v1.Test/Echo");
        let now = std::time::Instant::now();
        let mut client = Connection::client(Config::default(), now);
        client.number = LAST_NUMBER - 2;
        client.call(now, Request::new(ECHO)).unwrap();
        assert!(client.poll().is_none());
        let last = client.call(now, Request::new(ECHO)).unwrap();
        assert_eq!(last.number(), 0xffff_fffd);
        assert!(matches!(client.poll(), Some(Output::Draining)));
        let error = client.call(now, Request::new(ECHO)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSent);
        assert!(client.was_made(LAST_NUMBER) && !client.was_made(u32::MAX));
    }
}
