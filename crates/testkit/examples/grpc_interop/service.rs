//! The answering end of the cases.

use crate::messages::{
    EchoStatus, Payload, SimpleRequest, SimpleResponse, StreamingInputCallRequest,
    StreamingInputCallResponse, StreamingOutputCallRequest, StreamingOutputCallResponse,
};
use corewire_message::{
    Body, CallContext, CallKind, Code, Headers, Inbound, Operation, Outbound, Request, Response,
    Service, Status,
};
use prost::Message;

pub(crate) const EMPTY_CALL: Operation =
    Operation::from_static("grpc.testing.TestService/EmptyCall");
pub(crate) const UNARY_CALL: Operation =
    Operation::from_static("grpc.testing.TestService/UnaryCall");
pub(crate) const STREAMING_INPUT: Operation =
    Operation::from_static("grpc.testing.TestService/StreamingInputCall");
pub(crate) const STREAMING_OUTPUT: Operation =
    Operation::from_static("grpc.testing.TestService/StreamingOutputCall");
pub(crate) const FULL_DUPLEX: Operation =
    Operation::from_static("grpc.testing.TestService/FullDuplexCall");

/// Headers that a caller wants to see again.
pub(crate) const ECHOED: [&str; 2] = ["x-grpc-test-echo-initial", "x-grpc-test-echo-trailing-bin"];

/// The longest message that a caller may ask for.
const LONGEST: usize = 16 << 20;

pub(crate) struct TestService;

impl Service for TestService {
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        let is = |known: &[Operation]| known.contains(operation);
        if is(&[EMPTY_CALL, UNARY_CALL]) {
            Some(CallKind::Unary)
        } else if is(&[STREAMING_INPUT, STREAMING_OUTPUT, FULL_DUPLEX]) {
            Some(CallKind::Stream)
        } else {
            None
        }
    }

    async fn call(&self, _context: &CallContext, request: Request) -> Response {
        if request.operation == EMPTY_CALL {
            return Response::ok(Body::new());
        }
        let echoed = echoed(&request.headers);
        match unary(request.body) {
            Ok(body) => Response::ok(body).with_headers(echoed),
            Err(status) => Response::failed(status).with_headers(echoed),
        }
    }

    async fn stream(
        &self,
        _context: &CallContext,
        request: Request,
        mut inbound: Inbound,
        mut outbound: Outbound,
    ) -> Response {
        let (mut leading, mut trailing) = (Headers::new(), Headers::new());
        for (name, part) in ECHOED.into_iter().zip([&mut leading, &mut trailing]) {
            if let Some(value) = request.headers.get(name) {
                // It was a header: it is one.
                let _fits = part.append(name, value);
            }
        }
        if !leading.is_empty() {
            outbound.send_headers(leading);
        }
        let served = if request.operation == STREAMING_INPUT {
            sum(&mut inbound, &mut outbound).await
        } else {
            answer_each(&mut inbound, &mut outbound).await
        };
        let response = match served {
            Ok(()) => Response::ok(Body::new()),
            Err(status) => Response::failed(status),
        };
        response.with_headers(trailing)
    }
}

fn unary(body: Body) -> Result<Vec<u8>, Status> {
    let request: SimpleRequest = decode(body)?;
    wanted_status(request.response_status)?;
    let server_id = if request.fill_server_id {
        "corewire".into()
    } else {
        String::new()
    };
    let response = SimpleResponse {
        payload: Some(Payload::of(length(request.response_size)?)),
        server_id,
    };
    Ok(response.encode_to_vec())
}

/// The lengths of all messages in one.
async fn sum(inbound: &mut Inbound, outbound: &mut Outbound) -> Result<(), Status> {
    let mut sum = 0;
    while let Some(message) = next::<StreamingInputCallRequest>(inbound).await? {
        sum += message.payload.map_or(0, |payload| payload.body.len());
    }
    let response = StreamingInputCallResponse {
        aggregated_payload_size: i32::try_from(sum).unwrap_or(i32::MAX),
    };
    let sent = outbound.send(response.encode_to_vec()).await;
    sent.map_err(|error| error.to_status())
}

/// For each message as many as it asks for.
async fn answer_each(inbound: &mut Inbound, outbound: &mut Outbound) -> Result<(), Status> {
    while let Some(request) = next::<StreamingOutputCallRequest>(inbound).await? {
        wanted_status(request.response_status)?;
        for wanted in request.response_parameters {
            let response = StreamingOutputCallResponse {
                payload: Some(Payload::of(length(wanted.size)?)),
            };
            let sent = outbound.send(response.encode_to_vec()).await;
            sent.map_err(|error| error.to_status())?;
        }
    }
    Ok(())
}

async fn next<M: Message + Default>(inbound: &mut Inbound) -> Result<Option<M>, Status> {
    let message = inbound.message().await;
    let message = message.map_err(|error| error.to_status())?;
    message.map(decode).transpose()
}

fn decode<M: Message + Default>(body: Body) -> Result<M, Status> {
    M::decode(body.into_bytes())
        .map_err(|error| Status::new(Code::InvalidArgument, error.to_string()))
}

/// The status that the caller wants to see.
fn wanted_status(wanted: Option<EchoStatus>) -> Result<(), Status> {
    match wanted {
        Some(EchoStatus { code, message }) if code != 0 => {
            let code = Code::from_number(u32::try_from(code).unwrap_or(u32::MAX));
            Err(Status::new(code, message))
        }
        _ => Ok(()),
    }
}

fn length(asked: i32) -> Result<usize, Status> {
    let length = usize::try_from(asked).ok();
    length
        .filter(|length| *length <= LONGEST)
        .ok_or_else(|| Status::of(Code::InvalidArgument))
}

fn echoed(headers: &Headers) -> Headers {
    let mut echoed = Headers::new();
    for name in ECHOED {
        if let Some(value) = headers.get(name) {
            // It was a header: it is one.
            let _fits = echoed.append(name, value);
        }
    }
    echoed
}
