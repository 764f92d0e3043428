//! The calling end: requests out, answers in.

use super::call::Receiving;
use super::config::Flavour;
use super::connection::{Connection, Drain, End, Pending};
use super::core::{check_headers, too_long};
use super::fields::FieldList;
use super::flow::{TOO_MUCH, only_message};
use super::head::{self, Media};
use super::header_prefixes::Shape;
use bytes::Bytes;
use corewire_message::{
    Body, CallError, CallKind, Code, ErrorKind, Headers, Origin, Request, Response, Status,
};
use corewire_wire::grpc::{self, Deframer};
use corewire_wire::http2::{ErrorCode, Field};
use corewire_wire::mapping::method::Method;
use corewire_wire::mapping::problem::Problem;
use corewire_wire::mapping::{deadline, decimal, priority, status};
use corewire_wire::{CallId, Output};
use std::ops::Range;
use std::time::Instant;

/// Calls one connection makes before it asks to be replaced: stream numbers are 31 bits, every
/// second is ours, and they are not used again.
const LAST_STREAMS: u32 = 0x7fff_0000;

impl Connection {
    /// Sends a request, opens a stream or sends an event.
    pub(super) fn start(
        &mut self,
        now: Instant,
        request: Request,
        kind: CallKind,
        is_event: bool,
    ) -> Result<CallId, CallError> {
        self.now = now;
        let End::Client { flavour, .. } = self.end else {
            return Err(not_sent("an HTTP/2 server does not call its clients"));
        };
        self.check_start(now, &request)?;
        let stream = self.submit(now, flavour, &request, kind, is_event)?;
        let is_stream = kind == CallKind::Stream;
        let mut call = self.new_call();
        call.flavour = flavour;
        call.kind = kind;
        call.is_event = is_event;
        call.delivered = true;
        call.head_sent = true;
        call.sent_all = !is_stream;
        call.deadline = request.deadline;
        call.timer = request
            .deadline
            .map(|deadline| self.deadlines.insert(deadline, stream));
        self.calls.insert(stream, call);
        if is_event {
            self.events.push(stream);
        }
        match (flavour, is_stream) {
            (Flavour::Grpc, false) => {
                self.push_message(stream, request.body);
                self.session.finish(stream);
            }
            (Flavour::Rest, false) if request.body.is_empty() => {}
            (Flavour::Rest, false) => {
                self.push_body(stream, &request.body);
                self.session.finish(stream);
            }
            (_, true) if request.body.is_empty() => {}
            (_, true) => {
                self.push_message(stream, request.body);
            }
        }
        if stream >= LAST_STREAMS && !self.peer_drains {
            self.peer_drains = true;
            self.tell(Output::Draining);
        }
        Ok(CallId::new(stream))
    }

    fn check_start(&self, now: Instant, request: &Request) -> Result<(), CallError> {
        if self.closed || self.fault.is_some() {
            return Err(not_sent("the connection is closed"));
        }
        if self.drain != Drain::No {
            return Err(not_sent("this end takes no more calls"));
        }
        if self.peer_drains {
            return Err(CallError::refused(
                "the peer takes no more calls on this connection",
            ));
        }
        if self.calls.len() >= self.config.max_concurrent_calls as usize {
            return Err(overloaded(
                "too many calls are in flight on this connection",
            ));
        }
        if self.session.queued_total() >= self.config.max_backlog {
            return Err(overloaded("too many octets wait for this peer"));
        }
        if request.deadline.is_some_and(|deadline| deadline <= now) {
            return Err(CallError::deadline_exceeded(false));
        }
        if request.body.len() > self.config.max_message {
            return Err(too_long(request.body.len(), self.config.max_message));
        }
        check_headers(&request.headers, self.config.max_header_list)
    }

    fn submit(
        &mut self,
        now: Instant,
        flavour: Flavour,
        request: &Request,
        kind: CallKind,
        is_event: bool,
    ) -> Result<u32, CallError> {
        let End::Client { authority, .. } = &self.end else {
            return Err(not_sent("an HTTP/2 server does not call its clients"));
        };
        let query = request.headers.get(head::QUERY);
        let method = match flavour {
            Flavour::Grpc => Method::Post,
            Flavour::Rest => Method::of(&request.headers),
        };
        let name = request.operation.as_str();
        let path = &mut self.scratch.path;
        path.clear();
        path.push(b'/');
        path.extend_from_slice(name.as_bytes());
        if flavour == Flavour::Rest {
            if name.contains(['?', '#']) {
                return Err(CallError::unsendable(
                    "an operation whose name holds ? or # is no REST path",
                ));
            }
            if let Some(query) = query {
                path.push(b'?');
                path.extend_from_slice(query);
            }
        }
        self.scratch.binary.encode(&request.headers);
        let span = request
            .deadline
            .map(|deadline| deadline.saturating_duration_since(now));
        let mut timeout = [0; grpc::TIMEOUT_OCTETS];
        let millis;
        let length;

        let mut list = FieldList::new();
        let shape = match (flavour, kind) {
            (Flavour::Grpc, _) => Shape::Grpc,
            (Flavour::Rest, CallKind::Stream) => Shape::Stream,
            _ if request.body.is_empty() || request.headers.get("content-type").is_some() => {
                Shape::Plain
            }
            _ => Shape::Octets,
        };
        let (lead, own, fixed) =
            self.leads
                .request(method, authority.as_bytes(), &self.scratch.path, shape);
        for field in own.iter().flatten().chain(fixed) {
            list.push(*field);
        }
        match (flavour, kind) {
            (Flavour::Grpc, _) => {
                if let Some(span) = span {
                    let length = grpc::write_timeout(span, &mut timeout);
                    let timeout = Field::named("grpc-timeout", &timeout[..length]);
                    list.push(self.varying.mark(timeout));
                }
            }
            (Flavour::Rest, _) => {
                if let Some(span) = span {
                    millis = deadline::max_rsp_time(span);
                    let time = Field::named(deadline::MAX_RSP_TIME, millis.as_bytes());
                    list.push(self.varying.mark(time));
                }
                if kind == CallKind::Unary && request.body.len() >= head::TELL_LENGTH_FROM {
                    length = decimal::write(request.body.len() as u64);
                    let length = Field::named("content-length", length.as_bytes());
                    list.push(self.varying.mark(length));
                }
            }
        }
        if let Some(text) = priority::text(request.priority) {
            list.push(Field::named(priority::MESSAGE_PRIORITY, text.as_bytes()));
        }
        if is_event {
            list.push(Field::fixed(head::EVENT, "1"));
        }
        let skip_type = flavour == Flavour::Rest && kind == CallKind::Stream;
        head::push_headers(
            &mut list,
            &request.headers,
            &self.scratch.binary,
            &mut self.varying,
            flavour,
            skip_type,
        );
        let has_body =
            flavour == Flavour::Grpc || kind == CallKind::Stream || !request.body.is_empty();
        self.session
            .request(Some(lead), list.as_slice(), has_body)
            .map_err(|error| not_sent("no stream could be opened").with_source(error))
    }

    /// A header section of an answer, or its trailers.
    pub(super) fn answer_head(&mut self, stream: u32, fields: Range<usize>, oversized: bool) {
        let Some(call) = self.calls.get_mut(stream) else {
            return;
        };
        let head = head::read(
            self.session.fields(fields),
            &mut self.arena,
            &mut self.scratch.octets,
        );
        if head.http_status.is_some_and(|status| status < 200) {
            return;
        }
        if oversized || head.is_broken {
            self.answer_unreadable(
                stream,
                Code::Internal,
                "the answer's headers cannot be read",
            );
            return;
        }
        let held = head.headers.as_block().len();
        if !self.memory.hold(held, 0) {
            self.answer_unreadable(stream, TOO_MUCH.0, TOO_MUCH.1);
            return;
        }
        call.held_headers += held;
        let is_leading = head.http_status.is_some();
        let own_code = match call.flavour {
            Flavour::Grpc => (head.grpc_status, head.grpc_message),
            Flavour::Rest => (head.status, head.message),
        };
        call.code = own_code.0.or(call.code);
        if is_leading {
            call.is_generated_problem = call.flavour == Flavour::Rest
                && head.media == Media::Problem
                && own_code.0.is_some()
                && own_code.1.is_none();
            call.http_status = head.http_status;
            call.media = head.media;
            call.content_length = head.content_length;
            call.headers = head.headers;
            let framed = match call.flavour {
                Flavour::Grpc => head.media == Media::Grpc,
                Flavour::Rest => head.media == Media::Stream,
            };
            call.receiving = if call.kind == CallKind::Stream && framed {
                Receiving::Messages(Deframer::new(self.config.max_message))
            } else if call.is_event {
                Receiving::Nothing
            } else {
                Receiving::Whole(super::body::Gathered::Empty)
            };
        } else if call.kind == CallKind::Stream {
            call.headers = head.headers;
        } else {
            append_all(&mut call.headers, &head.headers);
        }
        call.message = own_code.1.or_else(|| call.message.take());
    }

    /// The peer's side of an answer has ended well.
    pub(super) fn answer_end(&mut self, stream: u32) {
        let Some(call) = self.calls.get_mut(stream) else {
            return;
        };
        call.received_all = true;
        let cost = std::mem::take(&mut call.unreturned);
        let whole = match &mut call.receiving {
            Receiving::Whole(body) => Some(body.take()),
            Receiving::Messages(deframer) => {
                if deframer.finish().is_err() {
                    call.unreturned = cost;
                    self.answer_unreadable(
                        stream,
                        Code::Internal,
                        "the answer ends inside a message",
                    );
                    return;
                }
                None
            }
            Receiving::Nothing => None,
        };
        // A whole body and headers stay counted until the application takes them.
        let held = match whole {
            Some(_) => (
                std::mem::take(&mut call.held_headers),
                std::mem::take(&mut call.held_body),
            ),
            None => (std::mem::take(&mut call.held_headers), 0),
        };
        // Octets of messages stay owed until they are consumed, or until the call goes below.
        let cost = if whole.is_some() {
            cost
        } else {
            call.unreturned = cost;
            0
        };
        let still_sending = !call.sent_all || self.session.queued(stream) > 0;
        let Some(mut call) = self.remove(stream) else {
            return;
        };
        if still_sending {
            // The answer is here: nobody reads what would follow.
            self.session.reset(stream, ErrorCode::CANCEL);
        }
        if !call.is_event {
            let id = CallId::new(stream);
            let ended = self.read_answer(&mut call, whole.unwrap_or_default());
            let output = match ended {
                Ok((first, response)) => {
                    if let Some(message) = first {
                        self.tell(Output::Message { call: id, message });
                    }
                    Output::Response { call: id, response }
                }
                Err(error) => Output::Failed { call: id, error },
            };
            self.outputs.push_back(Pending { output, cost, held });
        } else {
            self.memory.release(held.0, held.1);
        }
        self.recycle(call);
    }

    /// What a complete answer says; for a stream that was answered with one plain body, that
    /// body is its message.
    fn read_answer(
        &self,
        call: &mut super::call::Call,
        octets: Bytes,
    ) -> Result<(Option<Body>, Response), CallError> {
        let http_status = call.http_status.unwrap_or(0);
        let headers = std::mem::take(&mut call.headers);
        let message = call.message.take();
        let is_stream = call.kind == CallKind::Stream;
        match call.flavour {
            Flavour::Grpc => {
                let code = match call.code {
                    Some(code) => code,
                    None if http_status == 200 => {
                        let status = Status::new(Code::Unknown, "the answer has no grpc-status");
                        return Ok((None, response(status, headers, Body::new())));
                    }
                    None => {
                        let code = status::code_of_grpc_http_status(http_status);
                        let what = format!("the peer answered with HTTP status {http_status}");
                        return Ok((
                            None,
                            response(Status::new(code, what), headers, Body::new()),
                        ));
                    }
                };
                let status = Status::new(code, message.unwrap_or_default());
                if octets.is_empty() && (is_stream || code != Code::Ok) {
                    return Ok((None, response(status, headers, Body::new())));
                }
                match only_message(octets, self.config.max_message) {
                    Ok(body) => Ok((None, response(status, headers, body.into()))),
                    Err((_, what)) => Err(protocol(what)),
                }
            }
            Flavour::Rest => {
                let code = call
                    .code
                    .unwrap_or_else(|| status::code_of_http_status(http_status));
                if code != Code::Ok {
                    return Ok((
                        None,
                        self.read_failure(call, http_status, code, message, headers, octets),
                    ));
                }
                let status = Status::new(code, message.unwrap_or_default());
                if is_stream {
                    let first = (!octets.is_empty()).then(|| octets.into());
                    return Ok((first, response(status, headers, Body::new())));
                }
                Ok((None, response(status, headers, octets.into())))
            }
        }
    }

    fn read_failure(
        &self,
        call: &super::call::Call,
        http_status: u16,
        code: Code,
        message: Option<String>,
        headers: Headers,
        octets: Bytes,
    ) -> Response {
        let problem = (call.media == Media::Problem)
            .then(|| Problem::from_json(&octets))
            .flatten();
        if call.is_generated_problem {
            let message = problem
                .and_then(|problem| problem.detail)
                .unwrap_or_default();
            return response(Status::new(code, message), headers, Body::new());
        }
        // A stranger's document may name a code of ours that fits its HTTP status.
        let code = match (&call.code, &problem) {
            (None, Some(problem)) => problem
                .code()
                .filter(|named| status::http_status(*named) == http_status)
                .unwrap_or(code),
            _ => code,
        };
        let message = message
            .or_else(|| problem.and_then(Problem::message))
            .unwrap_or_else(|| match call.code {
                Some(_) => String::new(),
                None => format!("the peer answered with HTTP status {http_status}"),
            });
        response(Status::new(code, message), headers, octets.into())
    }

    /// The stream is gone before the answer was complete.
    pub(super) fn answer_closed(&mut self, stream: u32, call: &super::call::Call, code: ErrorCode) {
        if call.is_event {
            return;
        }
        let sent = stream <= self.session.last_request_sent();
        // Both ends keep the deadline, and the server's word may come before our own timer is looked
        // at (grpc-go resets with CANCEL when it passes).
        let overdue = call.deadline.is_some_and(|deadline| deadline <= self.now);
        if code == ErrorCode::CANCEL && overdue {
            let (call, error) = (CallId::new(stream), CallError::deadline_exceeded(sent));
            return self.tell(Output::Failed { call, error });
        }
        let (kind, executed) = match code {
            ErrorCode::REFUSED_STREAM => (ErrorKind::Refused, false),
            ErrorCode::CANCEL => (ErrorKind::Cancelled, sent),
            ErrorCode::ENHANCE_YOUR_CALM => (ErrorKind::Overloaded, sent),
            _ => (ErrorKind::Protocol, sent),
        };
        let what = format!("the peer reset the stream: {code}");
        let error = if code == ErrorCode::INADEQUATE_SECURITY {
            let status = Status::new(status::code_of_reset(code.0), what);
            CallError::answered(Response::failed(status))
        } else {
            CallError::new(kind, Origin::Peer, executed, what)
        };
        self.tell(Output::Failed {
            call: CallId::new(stream),
            error,
        });
    }

    /// The connection is gone before the answer was complete.
    pub(super) fn answer_lost(&mut self, stream: u32, call: &super::call::Call) {
        if call.is_event {
            return;
        }
        let error = if stream <= self.session.last_request_sent() {
            CallError::fate_unknown("the connection was lost before an answer came")
        } else {
            not_sent("the connection was lost before the request was written")
        };
        // That the peer is silent, for example.
        let error = match self.fault.clone() {
            Some(fault) => error.with_source(fault),
            None => error,
        };
        self.tell(Output::Failed {
            call: CallId::new(stream),
            error,
        });
    }

    /// The deadline passed.
    pub(super) fn answer_overdue(&mut self, stream: u32) {
        let sent = stream <= self.session.last_request_sent();
        self.end_call(stream, CallError::deadline_exceeded(sent));
    }

    /// The answer breaks the protocol, or is more than is taken here.
    pub(super) fn answer_unreadable(&mut self, stream: u32, code: Code, what: &'static str) {
        let error = if code == Code::ResourceExhausted {
            CallError::new(ErrorKind::Overloaded, Origin::Local, true, what)
        } else if code == Code::Unimplemented {
            CallError::answered(Response::failed(Status::new(code, what)))
        } else {
            protocol(what)
        };
        self.end_call(stream, error);
    }

    fn end_call(&mut self, stream: u32, error: CallError) {
        let Some(call) = self.remove(stream) else {
            return;
        };
        self.session.reset(stream, ErrorCode::CANCEL);
        if !call.is_event {
            self.tell(Output::Failed {
                call: CallId::new(stream),
                error,
            });
        }
        self.recycle(call);
    }
}

fn response(status: Status, headers: Headers, body: Body) -> Response {
    Response {
        status,
        headers,
        body,
    }
}

fn append_all(headers: &mut Headers, more: &Headers) {
    if more.is_empty() {
        return;
    }
    if headers.is_empty() {
        headers.clone_from(more);
        return;
    }
    for (name, value) in more.iter() {
        // Both were checked when they were received.
        let _checked = headers.append(name, value);
    }
}

fn not_sent(what: &'static str) -> CallError {
    CallError::not_sent(Origin::Transport, what)
}

fn overloaded(what: &'static str) -> CallError {
    CallError::overloaded(Origin::Local, what)
}

fn protocol(what: &'static str) -> CallError {
    CallError::protocol(what)
}
