//! The answering end: requests in, answers out.

use super::body::Gathered;
use super::call::{Call, Receiving};
use super::config::Flavour;
use super::connection::{Connection, End, Pending};
use super::fields::FieldList;
use super::flow::only_message;
use super::head::{self, Head, Media};
use corewire_message::{
    Body, CallKind, Code, Event, Headers, Operation, Request, Response, Status,
};
use corewire_sys::nghttp2::{ErrorCode, Field, HeadersKind};
use corewire_wire::grpc::Deframer;
use corewire_wire::mapping::problem::{self, Problem};
use corewire_wire::mapping::{deadline, decimal, status};
use corewire_wire::{CallId, Output};
use std::ops::Range;

const GRPC_OK: &[Field<'static>] = &[Field::fixed("grpc-status", "0")];
const REST_OK: &[Field<'static>] = &[Field::fixed(head::STATUS, "0")];

/// Why a request is answered before it is asked: a status, and what HTTP has its own word for.
struct Refusal {
    status: Status,
    http_status: u16,
}

impl Refusal {
    fn new(http_status: u16, code: Code, what: &'static str) -> Self {
        Self {
            status: Status::new(code, what),
            http_status,
        }
    }
}

impl Connection {
    /// A header section of a request, or its trailers.
    pub(super) fn request_head(
        &mut self,
        stream: u32,
        kind: HeadersKind,
        fields: Range<usize>,
        oversized: bool,
    ) {
        if kind == HeadersKind::Later {
            // Trailers of a request mean nothing here.
            return;
        }
        let mut call = self.new_call();
        let head = head::read(
            self.session.fields(fields),
            &mut self.arena,
            &mut self.scratch.octets,
        );
        call.flavour = match head.media {
            Media::Grpc => Flavour::Grpc,
            _ => Flavour::Rest,
        };
        call.is_event = head.is_event;
        call.is_head = head.method == b"HEAD";
        call.priority = head.priority;
        call.media = head.media;
        call.content_length = head.content_length;
        call.deadline = head
            .timeout
            .and_then(|span| deadline::deadline(self.now, span));
        let accepted = if oversized {
            Err(Refusal::new(
                431,
                Code::ResourceExhausted,
                "the headers are longer than is taken here",
            ))
        } else if !self.config.flavours.contains(&call.flavour) {
            Err(Refusal::new(
                415,
                Code::Unimplemented,
                "this flavour of HTTP/2 is not spoken here",
            ))
        } else {
            accept(&head, &mut self.operations, &self.end)
        };
        call.headers = head.headers;
        call.timer = call
            .deadline
            .map(|deadline| self.deadlines.insert(deadline, stream));
        match accepted {
            Ok((operation, kind)) => {
                call.kind = kind;
                call.operation = Some(operation);
                call.receiving = match kind {
                    CallKind::Unary => Receiving::Whole(Gathered::Empty),
                    CallKind::Stream => Receiving::Messages(Deframer::new(self.config.max_message)),
                };
                self.calls.insert(stream, call);
                if kind == CallKind::Stream {
                    self.open_stream(stream);
                }
            }
            Err(refusal) => {
                self.calls.insert(stream, call);
                self.refuse(stream, &refusal);
            }
        }
    }

    fn open_stream(&mut self, stream: u32) {
        let Some(call) = self.calls.get_mut(&stream) else {
            return;
        };
        if let Some(request) = take_request(call, Body::new()) {
            call.delivered = true;
            self.tell(Output::Opened {
                call: CallId::new(stream),
                request,
            });
        }
    }

    /// The peer's side of a request has ended well.
    pub(super) fn request_end(&mut self, stream: u32) {
        let Some(call) = self.calls.get_mut(&stream) else {
            return;
        };
        call.received_all = true;
        match &mut call.receiving {
            Receiving::Nothing => {}
            Receiving::Messages(deframer) => {
                if deframer.finish().is_err() {
                    let what = "the request ends inside a message";
                    self.request_unreadable(stream, Status::new(Code::Internal, what));
                    return;
                }
                self.tell(Output::Finished {
                    call: CallId::new(stream),
                });
            }
            Receiving::Whole(body) => {
                let octets = body.take();
                let held = octets.len();
                let cost = std::mem::take(&mut call.unreturned);
                call.receiving = Receiving::Nothing;
                let message = match call.flavour {
                    Flavour::Rest => Ok(octets),
                    Flavour::Grpc => only_message(octets, self.config.max_message),
                };
                let output = match message {
                    Ok(message) => self.whole_request(stream, message.into()),
                    Err((code, what)) => {
                        self.request_unreadable(stream, Status::new(code, what));
                        None
                    }
                };
                match output {
                    Some(output) => self.outputs.push_back(Pending { output, cost, held }),
                    None => {
                        self.gathered -= held;
                        self.session.consume_connection(cost);
                    }
                }
            }
        }
    }

    fn whole_request(&mut self, stream: u32, body: Body) -> Option<Output> {
        let call = self.calls.get_mut(&stream)?;
        let is_event = call.is_event;
        let request = take_request(call, body)?;
        if is_event {
            self.answer_event(stream);
            return Some(Output::Event(Event {
                operation: request.operation,
                headers: request.headers,
                body: request.body,
                priority: request.priority,
            }));
        }
        call.delivered = true;
        Some(Output::Request {
            call: CallId::new(stream),
            request,
        })
    }

    /// The request's body cannot be read, or is more than is taken here.
    pub(super) fn request_unreadable(&mut self, stream: u32, status: Status) {
        let Some(call) = self.calls.get_mut(&stream) else {
            return;
        };
        if call.answered {
            return;
        }
        if std::mem::take(&mut call.delivered) {
            self.tell(Output::Cancelled {
                call: CallId::new(stream),
                code: Code::Cancelled,
            });
        }
        let http_status = match status.code() {
            Code::ResourceExhausted => 413,
            Code::Internal => 400,
            code => status::http_status(code),
        };
        self.refuse(
            stream,
            &Refusal {
                status,
                http_status,
            },
        );
    }

    /// The deadline passed.
    pub(super) fn request_overdue(&mut self, stream: u32) {
        let Some(call) = self.calls.get_mut(&stream) else {
            return;
        };
        if call.answered {
            return;
        }
        if std::mem::take(&mut call.delivered) {
            self.tell(Output::Cancelled {
                call: CallId::new(stream),
                code: Code::DeadlineExceeded,
            });
        }
        let what = "the deadline passed before the service answered";
        self.give_up(stream, Status::new(Code::DeadlineExceeded, what));
    }

    /// The application gives a call up.
    pub(super) fn give_up_request(&mut self, stream: u32, code: Code) {
        let Some(call) = self.calls.get_mut(&stream) else {
            return;
        };
        if call.answered {
            return;
        }
        call.delivered = false;
        self.give_up(stream, Status::of(code));
    }

    /// Answers with a failure, or resets the stream when octets before it cannot get out.
    fn give_up(&mut self, stream: u32, status: Status) {
        if self.session.queued(stream) > 0 {
            let error = ErrorCode(status::reset_of(status.code()));
            self.stop_receiving(stream);
            self.mark_answered(stream);
            self.session.reset(stream, error);
        } else {
            self.answer(stream, Response::failed(status));
        }
    }

    /// The stream is gone: the caller gave up, unless it was answered.
    pub(super) fn request_closed(&mut self, stream: u32, call: &Call) {
        self.ended_early(stream, call, Code::Cancelled);
    }

    /// The connection is gone.
    pub(super) fn request_lost(&mut self, stream: u32, call: &Call) {
        self.ended_early(stream, call, Code::Unavailable);
    }

    fn ended_early(&mut self, stream: u32, call: &Call, code: Code) {
        if call.delivered && !call.answered {
            self.tell(Output::Cancelled {
                call: CallId::new(stream),
                code,
            });
        }
    }

    /// Marks a call as answered: nothing more goes out but what is queued, and what still comes is
    /// dropped.
    fn mark_answered(&mut self, stream: u32) {
        self.stop_receiving(stream);
        let Some(call) = self.calls.get_mut(&stream) else {
            return;
        };
        call.answered = true;
        call.sent_all = true;
        if let Some(timer) = call.timer.take() {
            self.deadlines.remove(timer);
        }
        if !call.received_all {
            self.half_open.push(stream);
        }
    }

    fn answer_event(&mut self, stream: u32) {
        let Some(call) = self.calls.get(&stream) else {
            return;
        };
        let flavour = call.flavour;
        self.mark_answered(stream);
        let answered = match flavour {
            Flavour::Rest => self
                .session
                .answer(stream, &[Field::fixed(":status", "204")], false),
            Flavour::Grpc => self.session.answer(
                stream,
                &[
                    Field::fixed(":status", "200"),
                    Field::fixed("content-type", head::GRPC_MEDIA_TYPE),
                    Field::fixed("grpc-status", "0"),
                ],
                false,
            ),
        };
        // It fails only when the stream is gone: nobody waits.
        let _gone = answered;
    }

    /// Answers a request that no application sees.
    fn refuse(&mut self, stream: u32, refusal: &Refusal) {
        let Some(call) = self.calls.get(&stream) else {
            return;
        };
        match call.flavour {
            Flavour::Grpc => self.answer(stream, Response::failed(refusal.status.clone())),
            Flavour::Rest => {
                if call.head_sent {
                    self.answer(stream, Response::failed(refusal.status.clone()));
                } else {
                    let response = Response::failed(refusal.status.clone());
                    self.answer_rest_whole(stream, response, refusal.http_status);
                }
            }
        }
    }

    /// Answers a unary call, or ends a stream.
    pub(super) fn answer(&mut self, stream: u32, response: Response) {
        let Some(call) = self.calls.get(&stream) else {
            return;
        };
        if call.answered {
            return;
        }
        let (flavour, kind, head_sent) = (call.flavour, call.kind, call.head_sent);
        let response = self.carriable(response);
        let is_ok = response.status.is_ok();
        match (flavour, head_sent) {
            (Flavour::Rest, false) if kind == CallKind::Unary || !is_ok => {
                let http_status = status::http_status(response.status.code());
                self.answer_rest_whole(stream, response, http_status);
            }
            (Flavour::Grpc, false) if !is_ok && response.body.is_empty() => {
                self.answer_grpc_failed(stream, &response);
            }
            (Flavour::Grpc, false) if kind == CallKind::Unary => {
                self.answer_grpc_whole(stream, response);
            }
            (_, false) => {
                self.send_stream_head(stream);
                self.end_stream(stream, flavour, response);
            }
            (_, true) => self.end_stream(stream, flavour, response),
        }
    }

    /// The response, or another that says why it cannot be sent.
    fn carriable(&self, response: Response) -> Response {
        let why = head::unsendable(&response.headers, self.config.max_header_list);
        let why = why.or_else(|| {
            (response.body.len() > self.config.max_message)
                .then(|| "the answer is longer than this connection sends".to_owned())
        });
        match why {
            None => response,
            Some(why) => Response::failed(Status::new(Code::Internal, why)),
        }
    }

    /// The header section before a stream's first message.
    pub(super) fn send_stream_head(&mut self, stream: u32) {
        let Some(call) = self.calls.get_mut(&stream) else {
            return;
        };
        call.head_sent = true;
        let media_type = match call.flavour {
            Flavour::Grpc => head::GRPC_MEDIA_TYPE,
            Flavour::Rest => head::STREAM_MEDIA_TYPE,
        };
        let fields = [
            Field::fixed(":status", "200"),
            Field::fixed("content-type", media_type),
        ];
        // It fails only when the stream is gone: its close is told.
        let _gone = self.session.answer(stream, &fields, true);
    }

    /// A body as the last message, then trailers.
    fn end_stream(&mut self, stream: u32, flavour: Flavour, response: Response) {
        self.mark_answered(stream);
        if !response.body.is_empty() {
            self.push_message(stream, response.body);
        }
        self.send_trailers(stream, flavour, &response.status, Some(&response.headers));
    }

    fn send_trailers(
        &mut self,
        stream: u32,
        flavour: Flavour,
        status: &Status,
        headers: Option<&Headers>,
    ) {
        let none = Headers::new();
        let headers = headers.unwrap_or(&none);
        if status.is_ok() && status.message().is_empty() && headers.is_empty() {
            let fields = match flavour {
                Flavour::Grpc => GRPC_OK,
                Flavour::Rest => REST_OK,
            };
            self.session.finish_with_fixed_trailers(stream, fields);
            return;
        }
        let (code_name, message_name) = match flavour {
            Flavour::Grpc => ("grpc-status", "grpc-message"),
            Flavour::Rest => (head::STATUS, head::MESSAGE),
        };
        self.scratch.message.clear();
        corewire_wire::grpc::write_message(status.message(), &mut self.scratch.message);
        self.scratch.binary.encode(headers);
        let mut list = FieldList::new();
        list.push(Field::named(
            code_name,
            status::code_text(status.code()).as_bytes(),
        ));
        if !status.message().is_empty() {
            list.push(Field::named(message_name, &self.scratch.message));
        }
        head::push_headers(&mut list, headers, &self.scratch.binary, flavour, false);
        let fields = list.as_slice().iter().map(Field::parts);
        // Lengths were checked when the headers were: see `carriable`.
        let _checked = self.session.finish_with_trailers(stream, fields);
    }

    fn answer_grpc_failed(&mut self, stream: u32, response: &Response) {
        self.mark_answered(stream);
        let status = &response.status;
        self.scratch.message.clear();
        corewire_wire::grpc::write_message(status.message(), &mut self.scratch.message);
        self.scratch.binary.encode(&response.headers);
        let mut list = FieldList::new();
        list.push(Field::fixed(":status", "200"));
        list.push(Field::fixed("content-type", head::GRPC_MEDIA_TYPE));
        list.push(Field::named(
            "grpc-status",
            status::code_text(status.code()).as_bytes(),
        ));
        if !status.message().is_empty() {
            list.push(Field::named("grpc-message", &self.scratch.message));
        }
        head::push_headers(
            &mut list,
            &response.headers,
            &self.scratch.binary,
            Flavour::Grpc,
            false,
        );
        let _gone = self.session.answer(stream, list.as_slice(), false);
    }

    fn answer_grpc_whole(&mut self, stream: u32, response: Response) {
        self.mark_answered(stream);
        self.scratch.binary.encode(&response.headers);
        let mut list = FieldList::new();
        list.push(Field::fixed(":status", "200"));
        list.push(Field::fixed("content-type", head::GRPC_MEDIA_TYPE));
        head::push_headers(
            &mut list,
            &response.headers,
            &self.scratch.binary,
            Flavour::Grpc,
            false,
        );
        if self.session.answer(stream, list.as_slice(), true).is_err() {
            return;
        }
        self.push_message(stream, response.body);
        self.send_trailers(stream, Flavour::Grpc, &response.status, None);
    }

    fn answer_rest_whole(&mut self, stream: u32, response: Response, http_status: u16) {
        let is_head = self.calls.get(&stream).is_some_and(|call| call.is_head);
        self.mark_answered(stream);
        let Response {
            status,
            headers,
            mut body,
        } = response;
        let has_type = headers.get("content-type").is_some();
        let generated = !status.is_ok() && body.is_empty() && !has_type;
        if generated {
            body = Problem::of(&status, http_status).to_json().into();
        }
        self.scratch.message.clear();
        corewire_wire::grpc::write_message(status.message(), &mut self.scratch.message);
        self.scratch.binary.encode(&headers);
        let http_status_text = decimal::write(u64::from(http_status));
        let length = decimal::write(body.len() as u64);
        let mut list = FieldList::new();
        list.push(Field::named(":status", http_status_text.as_bytes()));
        if generated {
            list.push(Field::fixed("content-type", problem::MEDIA_TYPE));
        } else if !body.is_empty() && !has_type {
            list.push(Field::fixed("content-type", head::DEFAULT_MEDIA_TYPE));
        }
        if http_status == 405 {
            list.push(Field::fixed("allow", "POST, GET"));
        }
        if !status.is_ok() {
            list.push(Field::named(
                head::STATUS,
                status::code_text(status.code()).as_bytes(),
            ));
        }
        let is_plain = status.is_ok() && status.message().is_empty();
        if !(generated || is_plain) {
            list.push(Field::named(head::MESSAGE, &self.scratch.message));
        }
        if body.len() >= head::TELL_LENGTH_FROM {
            list.push(Field::named("content-length", length.as_bytes()));
        }
        head::push_headers(
            &mut list,
            &headers,
            &self.scratch.binary,
            Flavour::Rest,
            false,
        );
        let has_body = !body.is_empty() && !is_head;
        if self
            .session
            .answer(stream, list.as_slice(), has_body)
            .is_ok()
            && has_body
        {
            self.push_body(stream, &body);
            self.session.finish(stream);
        }
    }
}

/// The operation that a request asks for and its shape, or why it is refused.
fn accept(
    head: &Head<'_>,
    operations: &mut super::operations::Operations,
    end: &End,
) -> Result<(Operation, CallKind), Refusal> {
    let End::Server { kind_of } = end else {
        return Err(Refusal::new(500, Code::Internal, "this end takes no calls"));
    };
    let is_grpc = head.media == Media::Grpc;
    let method_known = head.method == b"POST" || !is_grpc && head.method == b"GET";
    if !method_known {
        return Err(Refusal::new(
            405,
            Code::Unimplemented,
            "only POST and GET reach an operation",
        ));
    }
    if head.is_broken {
        return Err(Refusal::new(
            400,
            Code::InvalidArgument,
            "a header's name or base64 value cannot be read",
        ));
    }
    if head.is_compressed {
        return Err(Refusal::new(
            415,
            Code::Unimplemented,
            "no compression is understood here: use grpc-encoding identity",
        ));
    }
    let unknown = || Refusal::new(404, Code::Unimplemented, "no such operation");
    let name = head
        .path
        .strip_prefix(b"/")
        .and_then(|name| std::str::from_utf8(name).ok())
        .ok_or_else(unknown)?;
    let (operation, is_new) = match operations.find(name) {
        Some(operation) => (operation, false),
        None => (Operation::parse(name).map_err(|_| unknown())?, true),
    };
    let kind = kind_of(&operation).ok_or_else(unknown)?;
    if is_new {
        operations.keep(&operation);
    }
    match (kind, head.media) {
        (CallKind::Stream, Media::Grpc | Media::Stream) => {}
        (CallKind::Stream, _) => {
            return Err(Refusal::new(
                415,
                Code::InvalidArgument,
                "the operation is a stream: send application/corewire-stream",
            ));
        }
        (CallKind::Unary, Media::Stream) => {
            return Err(Refusal::new(
                415,
                Code::InvalidArgument,
                "the operation is not a stream",
            ));
        }
        (CallKind::Unary, _) => {}
    }
    Ok((operation, kind))
}

fn take_request(call: &mut Call, body: Body) -> Option<Request> {
    Some(Request {
        operation: call.operation.take()?,
        headers: std::mem::take(&mut call.headers),
        body,
        deadline: call.deadline,
        priority: call.priority,
    })
}
