//! The GUTI service: messages in, messages out.
//!
//! Speaks protobuf, and JSON to whoever sends JSON or nothing at all (`curl`). One implementation
//! for every transport: it sees only messages.

use crate::message::{
    AllocateRequest, DeallocateRequest, RESPONSE_HEAD_MAX, encode_allocate_response_head, json,
};
use crate::{AllocateError, Allocator, DeallocateError, Guti};
use bytes::Bytes;
use corewire_message::{
    Body, CallContext, CallError, CallKind, Code, Headers, Inbound, Operation, Outbound, Request,
    Response, Service, Status,
};

/// Allocates a GUTI and gives the payload back.
pub const ALLOCATE: Operation = Operation::from_static("guti.v1.GutiService/Allocate");
/// Takes a GUTI back.
pub const DEALLOCATE: Operation = Operation::from_static("guti.v1.GutiService/Deallocate");
/// Allocates a GUTI for each message of a stream.
pub const ALLOCATE_STREAM: Operation = Operation::from_static("guti.v1.GutiService/AllocateStream");

const JSON: &str = "application/json";

/// The GUTI service over one allocator.
#[derive(Debug)]
pub struct GutiService {
    allocator: Allocator,
}

impl GutiService {
    /// A service that allocates from this allocator.
    #[must_use]
    pub const fn new(allocator: Allocator) -> Self {
        Self { allocator }
    }

    /// Its allocator.
    #[must_use]
    pub const fn allocator(&self) -> &Allocator {
        &self.allocator
    }

    fn answer(&self, request: Request) -> Result<Response, Status> {
        let speaks_json = request
            .headers
            .get_str("content-type")
            .is_some_and(|media_type| media_type.starts_with(JSON));
        let body = request.body.into_bytes();
        let speaks_json = speaks_json || body.is_empty() && wants_json(&request.headers);
        if request.operation == ALLOCATE {
            if speaks_json {
                let payload = json::parse_allocate_request_json(&body).map_err(invalid)?;
                let guti = self.allocate()?;
                return Ok(json_response(json::allocate_response_json(&guti, &payload)));
            }
            let payload = AllocateRequest::decode(&body).map_err(invalid)?.payload;
            return Ok(Response::ok(allocate_response(&self.allocate()?, payload)));
        }
        if request.operation == DEALLOCATE {
            if speaks_json {
                let guti = json::parse_deallocate_request_json(&body).map_err(invalid)?;
                self.deallocate(&guti)?;
                return Ok(json_response(json::deallocate_response_json().to_owned()));
            }
            let guti = DeallocateRequest::decode(&body).map_err(invalid)?.guti;
            self.deallocate(&guti)?;
            return Ok(Response::ok(Body::new()));
        }
        Err(Status::of(Code::Unimplemented))
    }

    fn allocate(&self) -> Result<Guti, Status> {
        self.allocator
            .allocate()
            .map_err(|error: AllocateError| Status::new(Code::ResourceExhausted, error.to_string()))
    }

    fn deallocate(&self, guti: &Guti) -> Result<(), Status> {
        self.allocator
            .deallocate(guti)
            .map_err(|error: DeallocateError| Status::new(Code::NotFound, error.to_string()))
    }

    async fn allocate_each(
        &self,
        inbound: &mut Inbound,
        outbound: &mut Outbound,
    ) -> Result<(), Status> {
        let given_up = |error: CallError| error.to_status();
        while let Some(message) = inbound.message().await.map_err(given_up)? {
            let payload = AllocateRequest::decode(&message.into_bytes())
                .map_err(invalid)?
                .payload;
            let response = allocate_response(&self.allocate()?, payload);
            outbound.send(response).await.map_err(given_up)?;
        }
        Ok(())
    }
}

impl Service for GutiService {
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        match operation {
            operation if *operation == ALLOCATE || *operation == DEALLOCATE => {
                Some(CallKind::Unary)
            }
            operation if *operation == ALLOCATE_STREAM => Some(CallKind::Stream),
            _ => None,
        }
    }

    async fn call(&self, _context: &CallContext, request: Request) -> Response {
        self.answer(request).unwrap_or_else(Response::failed)
    }

    async fn stream(
        &self,
        _context: &CallContext,
        _request: Request,
        mut inbound: Inbound,
        mut outbound: Outbound,
    ) -> Response {
        match self.allocate_each(&mut inbound, &mut outbound).await {
            Ok(()) => Response::ok(Body::new()),
            Err(status) => Response::failed(status),
        }
    }
}

/// The payload is shared with the request it came in, not copied.
fn allocate_response(guti: &Guti, payload: Bytes) -> Body {
    let mut head = [0; RESPONSE_HEAD_MAX];
    let length = encode_allocate_response_head(guti, payload.len(), &mut head);
    Body::with_head(&head[..length], payload)
}

/// An empty body is a valid protobuf request; a caller that says that it reads text gets text.
fn wants_json(headers: &Headers) -> bool {
    headers
        .get_str("accept")
        .is_some_and(|accept| accept.contains("*/*") || accept.contains(JSON))
        && headers
            .get("content-type")
            .is_none_or(|media_type| !media_type.ends_with(b"protobuf"))
}

fn json_response(text: String) -> Response {
    let mut headers = Headers::new();
    // Name and value are constants that are valid headers.
    let _ = headers.append("content-type", JSON);
    Response::ok(text).with_headers(headers)
}

fn invalid(error: impl std::fmt::Display) -> Status {
    Status::new(Code::InvalidArgument, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::AllocateResponse;
    use crate::{Capacity, Guami, TmsiKey};

    fn service(capacity: u32) -> GutiService {
        let capacity = Capacity::try_from(capacity).unwrap();
        let key = TmsiKey::from_bytes([7; TmsiKey::LEN]);
        GutiService::new(Allocator::with_key(Guami::default(), capacity, key))
    }

    fn request(operation: Operation, body: &'static [u8], media_type: &str) -> Request {
        let mut headers = Headers::new();
        headers.append("content-type", media_type).unwrap();
        Request::new(operation)
            .with_body(Body::from_static(body))
            .with_headers(headers)
    }

    #[test]
    fn the_payload_comes_back_without_a_copy() {
        let service = service(10);
        // Field 1, five octets.
        let body = Bytes::from(b"\x0a\x05hello".to_vec());
        let request = Request::new(ALLOCATE).with_body(body.clone());
        let response = service.answer(request).unwrap();
        assert_eq!(response.body.tail().as_ptr(), body[2..].as_ptr());
        let decoded = AllocateResponse::decode(&response.body.into_bytes()).unwrap();
        assert_eq!(&decoded.payload[..], b"hello");
        assert!(service.allocator().is_allocated(&decoded.guti));
    }

    #[test]
    fn json_is_answered_with_json() {
        let service = service(10);
        let asked = request(ALLOCATE, br#"{"payload":"aGVsbG8="}"#, "application/json");
        let response = service.answer(asked).unwrap();
        let text = String::from_utf8(response.body.into_bytes().to_vec()).unwrap();
        let (guti, payload) = json::parse_allocate_response_json(text.as_bytes()).unwrap();
        assert_eq!(payload, b"hello");

        let body = json::deallocate_request_json(&guti);
        let mut free = request(DEALLOCATE, b"", "application/json");
        free.body = body.clone().into();
        service.answer(free.clone()).unwrap();
        let again = service.answer(free).unwrap_err();
        assert_eq!(again.code(), Code::NotFound);
    }

    #[test]
    fn exhaustion_and_rubbish_are_told_apart() {
        let service = service(1);
        service.answer(Request::new(ALLOCATE)).unwrap();
        let exhausted = service.answer(Request::new(ALLOCATE)).unwrap_err();
        assert_eq!(exhausted.code(), Code::ResourceExhausted);
        let rubbish = Request::new(ALLOCATE).with_body(Body::from_static(b"\xff"));
        assert_eq!(
            service.answer(rubbish).unwrap_err().code(),
            Code::InvalidArgument
        );
    }
}
