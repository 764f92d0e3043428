//! The answering end: requests in.

use super::body::Gathered;
use super::call::{Call, Receiving};
use super::config::Flavour;
use super::connection::{Connection, Drain, End, Pending};
use super::flow::{OVERLOADED, TOO_MUCH, only_message};
use super::head::{self, Head, Media};
use corewire_message::{
    Body, CallKind, Code, Event, Headers, Operation, Request, Response, Status,
};
use corewire_wire::grpc::Deframer;
use corewire_wire::http2::{ErrorCode, HeadersKind};
use corewire_wire::mapping::{deadline, method, status};
use corewire_wire::memory::CALL_OCTETS;
use corewire_wire::{CallId, Output};
use std::ops::Range;
use std::time::Duration;

/// How long a request over REST may go on behind its answer before the peer is asked to stop.
const REST_OF_A_REQUEST: Duration = Duration::from_millis(200);

/// Why a request is answered before it is asked: a status, and what HTTP has its own word for.
pub(super) struct Refusal {
    pub(super) status: Status,
    pub(super) http_status: u16,
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
        let held = head.path.len() + head.headers.as_block().len();
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
        // Last: what is refused for another reason holds nothing.
        let accepted = accepted.and_then(|accepted| {
            if self.memory.hold(held, CALL_OCTETS) {
                Ok(accepted)
            } else {
                Err(Refusal::new(OVERLOADED, TOO_MUCH.0, TOO_MUCH.1))
            }
        });
        call.timer = call
            .deadline
            .map(|deadline| self.deadlines.insert(deadline, stream));
        match accepted {
            Ok((operation, kind)) => {
                (call.held_headers, call.held_body) = (held, CALL_OCTETS);
                call.headers = head.headers;
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
        let Some(call) = self.calls.get_mut(stream) else {
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
        let Some(call) = self.calls.get_mut(stream) else {
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
                let cost = std::mem::take(&mut call.unreturned);
                call.receiving = Receiving::Nothing;
                let message = match call.flavour {
                    Flavour::Rest => Ok(octets),
                    Flavour::Grpc => only_message(octets, self.config.max_message),
                };
                let pending = match message {
                    Ok(message) => self.whole_request(stream, message.into()),
                    Err((code, what)) => {
                        self.request_unreadable(stream, Status::new(code, what));
                        None
                    }
                };
                match pending {
                    Some(pending) => self.outputs.push_back(Pending { cost, ..pending }),
                    None => self.session.consume_connection(cost),
                }
            }
        }
    }

    /// What to tell of a request that is whole. It is held until it is answered, an event until it is told.
    fn whole_request(&mut self, stream: u32, body: Body) -> Option<Pending> {
        let call = self.calls.get_mut(stream)?;
        let is_event = call.is_event;
        let request = take_request(call, body)?;
        if is_event {
            let headers = std::mem::take(&mut call.held_headers);
            let body = std::mem::take(&mut call.held_body);
            self.answer_event(stream);
            let output = Output::Event(Event {
                operation: request.operation,
                headers: request.headers,
                body: request.body,
                priority: request.priority,
            });
            let held = (headers, body);
            return Some(Pending {
                output,
                cost: 0,
                held,
            });
        }
        call.delivered = true;
        let call = CallId::new(stream);
        Some(Pending::from(Output::Request { call, request }))
    }

    /// The request's body cannot be read, or is more than is taken here.
    pub(super) fn request_unreadable(&mut self, stream: u32, status: Status) {
        let http_status = match status.code() {
            Code::ResourceExhausted => 413,
            Code::Internal => 400,
            code => status::http_status(code),
        };
        self.request_refused(stream, status, http_status);
    }

    /// Answers a request whose body has not come wholly, or cannot be read.
    pub(super) fn request_refused(&mut self, stream: u32, status: Status, http_status: u16) {
        let Some(call) = self.calls.get_mut(stream) else {
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
        let Some(call) = self.calls.get_mut(stream) else {
            return;
        };
        if call.answered {
            self.half_open.push(stream);
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
        let Some(call) = self.calls.get_mut(stream) else {
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
    pub(super) fn mark_answered(&mut self, stream: u32) {
        self.stop_receiving(stream);
        let Some(call) = self.calls.get_mut(stream) else {
            return;
        };
        call.answered = true;
        call.sent_all = true;
        call.headers = Headers::new();
        self.memory
            .release(std::mem::take(&mut call.held_headers), 0);
        if let Some(timer) = call.timer.take() {
            self.deadlines.remove(timer);
        }
        if call.received_all {
            return;
        }
        // gRPC clients expect to be told at once. Others mostly send a short rest, and some (curl
        // 7.88) lose an answer that is followed by a reset; but java.net.http looks at an answer only
        // when it has sent its request or need not.
        if call.flavour == Flavour::Grpc || self.drain != Drain::No {
            self.half_open.push(stream);
        } else if let Some(until) = self.now.checked_add(REST_OF_A_REQUEST) {
            call.timer = Some(self.deadlines.insert(until, stream));
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
    let not_allowed = |what| Refusal::new(405, Code::Unimplemented, what);
    let method = method::Method::read(head.method);
    match (method, head.media) {
        (Some(method::Method::Post), _) => {}
        (Some(_), media) if media != Media::Grpc => {}
        _ => return Err(not_allowed("this method reaches no operation")),
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
    if !method.is_some_and(|method| method.reaches(&operation, kind)) {
        return Err(not_allowed("only POST and GET reach a procedure"));
    }
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
