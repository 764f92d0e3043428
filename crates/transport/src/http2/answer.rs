//! The answering end: answers out.

use super::config::Flavour;
use super::connection::Connection;
use super::fields::FieldList;
use super::flow::OVERLOADED;
use super::head;
use super::server::Refusal;
use corewire_message::{CallKind, Code, Headers, Response, Status};
use corewire_wire::http2::Field;
use corewire_wire::mapping::problem::{self, Problem};
use corewire_wire::mapping::{decimal, method, status};

const GRPC_OK: &[Field<'static>] = &[Field::fixed("grpc-status", "0")];
/// Seconds after which a request may be tried again that this end had no room for (RFC 9110, 10.2.3).
const RETRY_AFTER: &str = "1";
const NO_CONTENT: u16 = 204;
const NO_CONTENT_FIELDS: &[Field<'static>] = &[Field::fixed(":status", "204")];
const NOT_MODIFIED: u16 = 304;
const REST_OK: &[Field<'static>] = &[Field::fixed(head::STATUS, "0")];

impl Connection {
    pub(super) fn answer_event(&mut self, stream: u32) {
        let Some(call) = self.calls.get(stream) else {
            return;
        };
        let flavour = call.flavour;
        self.mark_answered(stream);
        let answered = match flavour {
            Flavour::Rest => self.session.answer(stream, None, NO_CONTENT_FIELDS, false),
            Flavour::Grpc => {
                self.session
                    .answer(stream, Some(&mut self.leads.grpc), GRPC_OK, false)
            }
        };
        // It fails only when the stream is gone: nobody waits.
        let _gone = answered;
    }

    /// Answers a request that no application sees.
    pub(super) fn refuse(&mut self, stream: u32, refusal: &Refusal) {
        let Some(call) = self.calls.get(stream) else {
            return;
        };
        let mut response = Response::failed(refusal.status.clone());
        if refusal.http_status == OVERLOADED {
            // It is a header.
            let _fits = response.headers.append("retry-after", RETRY_AFTER);
        }
        if call.flavour == Flavour::Rest && !call.head_sent {
            self.answer_rest_whole(stream, response, refusal.http_status);
        } else {
            self.answer(stream, response);
        }
    }

    /// Answers a unary call, or ends a stream.
    pub(super) fn answer(&mut self, stream: u32, response: Response) {
        let Some(call) = self.calls.get(stream) else {
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
                let http_status = http_status(&response);
                self.answer_rest_whole(stream, response, http_status);
            }
            (Flavour::Grpc, false) if !is_ok && response.body.is_empty() => {
                self.answer_grpc_failed(stream, &response);
            }
            (Flavour::Grpc, false) if kind == CallKind::Unary => {
                self.answer_grpc_whole(stream, response);
            }
            (_, false) => {
                self.send_stream_head(stream, &Headers::new());
                self.end_stream(stream, flavour, response);
            }
            (_, true) => self.end_stream(stream, flavour, response),
        }
    }

    /// The response, or another that says why it cannot be sent.
    fn carriable(&self, response: Response) -> Response {
        let length = response.body.len();
        let why =
            if let Some(why) = head::unsendable(&response.headers, self.config.max_header_list) {
                Status::new(Code::Internal, why)
            } else if length > self.config.max_message {
                let why = "the answer is longer than this connection sends";
                Status::new(Code::Internal, why)
            } else if length > 0 && self.session.queued_total() + length > self.config.max_backlog {
                let why = "too many octets wait for this peer";
                Status::new(Code::ResourceExhausted, why)
            } else {
                return response;
            };
        Response::failed(why)
    }

    /// The header section before a stream's first message.
    pub(super) fn send_stream_head(&mut self, stream: u32, headers: &Headers) {
        let Some(call) = self.calls.get_mut(stream) else {
            return;
        };
        call.head_sent = true;
        let flavour = call.flavour;
        self.scratch.binary.encode(headers);
        let mut list = FieldList::new();
        let lead = match flavour {
            Flavour::Grpc => &mut self.leads.grpc,
            Flavour::Rest => {
                list.push(Field::fixed("content-type", head::STREAM_MEDIA_TYPE));
                &mut self.leads.ok
            }
        };
        let (binary, varying) = (&self.scratch.binary, &mut self.varying);
        head::push_headers(&mut list, headers, binary, varying, flavour, true);
        // It fails only when the stream is gone: its close is told.
        let _gone = self
            .session
            .answer(stream, Some(lead), list.as_slice(), true);
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
        let (binary, varying) = (&self.scratch.binary, &mut self.varying);
        head::push_headers(&mut list, headers, binary, varying, flavour, false);
        // Lengths were checked when the headers were: see `carriable`.
        let _checked = self.session.finish_with_trailers(stream, list.as_slice());
    }

    fn answer_grpc_failed(&mut self, stream: u32, response: &Response) {
        self.mark_answered(stream);
        let status = &response.status;
        self.scratch.message.clear();
        corewire_wire::grpc::write_message(status.message(), &mut self.scratch.message);
        self.scratch.binary.encode(&response.headers);
        let mut list = FieldList::new();
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
            &mut self.varying,
            Flavour::Grpc,
            false,
        );
        let _gone = self
            .session
            .answer(stream, Some(&mut self.leads.grpc), list.as_slice(), false);
    }

    fn answer_grpc_whole(&mut self, stream: u32, response: Response) {
        self.mark_answered(stream);
        let (leading, trailing) = leading_and_trailing(&response.headers);
        let leading = leading.as_ref().unwrap_or(&response.headers);
        self.scratch.binary.encode(leading);
        let mut list = FieldList::new();
        head::push_headers(
            &mut list,
            leading,
            &self.scratch.binary,
            &mut self.varying,
            Flavour::Grpc,
            false,
        );
        let answered =
            self.session
                .answer(stream, Some(&mut self.leads.grpc), list.as_slice(), true);
        if answered.is_err() {
            return;
        }
        self.push_message(stream, response.body);
        self.send_trailers(stream, Flavour::Grpc, &response.status, trailing.as_ref());
    }

    fn answer_rest_whole(&mut self, stream: u32, response: Response, http_status: u16) {
        let is_head = self.calls.get(stream).is_some_and(|call| call.is_head);
        self.mark_answered(stream);
        let Response {
            status,
            headers,
            mut body,
        } = response;
        let has_type = headers.get("content-type").is_some();
        let generated =
            !status.is_ok() && body.is_empty() && !has_type && http_status != NOT_MODIFIED;
        if generated {
            body = Problem::of(&status, http_status).to_json().into();
        }
        self.scratch.message.clear();
        corewire_wire::grpc::write_message(status.message(), &mut self.scratch.message);
        self.scratch.binary.encode(&headers);
        let http_status_text = decimal::write(u64::from(http_status));
        let length = decimal::write(body.len() as u64);
        let mut list = FieldList::new();
        let lead = if http_status == 200 {
            Some(&mut self.leads.ok)
        } else {
            list.push(Field::named(":status", http_status_text.as_bytes()));
            None
        };
        if generated {
            list.push(Field::fixed("content-type", problem::MEDIA_TYPE));
        } else if !body.is_empty() && !has_type {
            list.push(Field::fixed("content-type", head::DEFAULT_MEDIA_TYPE));
        }
        if http_status == 405 && headers.get("allow").is_none() {
            list.push(Field::fixed("allow", method::ALLOWED));
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
            let length = Field::named("content-length", length.as_bytes());
            list.push(self.varying.mark(length));
        }
        head::push_headers(
            &mut list,
            &headers,
            &self.scratch.binary,
            &mut self.varying,
            Flavour::Rest,
            false,
        );
        let has_body = !body.is_empty() && !is_head;
        if self
            .session
            .answer(stream, lead, list.as_slice(), has_body)
            .is_ok()
            && has_body
        {
            self.push_body(stream, &body);
            self.session.finish(stream);
        }
    }
}

/// The HTTP status of an answer: the one it names, if that does not contradict its code, else the
/// code's own.
fn http_status(response: &Response) -> u16 {
    let code = response.status.code();
    let own = status::http_status(code);
    let Some(named) = response.headers.get(head::HTTP_STATUS) else {
        return own;
    };
    // RFC 9110, 15.3.5 and 15.4.5: these two have no content.
    let fits = |named: &u16| {
        status::may_be_said_by(code, *named)
            && (!matches!(*named, NO_CONTENT | NOT_MODIFIED) || response.body.is_empty())
    };
    status::read_http_status(named).filter(fits).unwrap_or(own)
}

/// The headers that go before the message and those that go behind it: gRPC looks for its own binary
/// ones (`grpc-status-details-bin`, `endpoint-load-metrics-bin`) in the trailers, and a message does not
/// say which is which. `None`: all before, none behind.
fn leading_and_trailing(headers: &Headers) -> (Option<Headers>, Option<Headers>) {
    let is_binary = |name: &str| corewire_wire::grpc::is_binary(name.as_bytes());
    if !headers.iter().any(|(name, _)| is_binary(name)) {
        return (None, None);
    }
    let (mut leading, mut trailing) = (Headers::new(), Headers::new());
    for (name, value) in headers.iter() {
        let part = if is_binary(name) {
            &mut trailing
        } else {
            &mut leading
        };
        // It was a header: it is one.
        let _fits = part.append(name, value);
    }
    (Some(leading), Some(trailing))
}
