//! The calling end of the cases.

use crate::messages::{
    EchoStatus, Payload, ResponseParameters, SimpleRequest, SimpleResponse,
    StreamingInputCallRequest, StreamingInputCallResponse, StreamingOutputCallRequest,
    StreamingOutputCallResponse,
};
use crate::service::{
    ECHOED, EMPTY_CALL, FULL_DUPLEX, STREAMING_INPUT, STREAMING_OUTPUT, UNARY_CALL,
};
use corewire_message::blocking::{CallStream, Caller};
use corewire_message::{CallError, Code, ErrorKind, Headers, Operation, Request};
use corewire_transport::blocking::Client;
use prost::Message;
use std::error::Error;
use std::time::{Duration, Instant};

type Outcome = Result<(), Box<dyn Error>>;
/// One case, on a connection that the others use too.
type Case = fn(&Client) -> Outcome;

/// Each case and its name in gRPC's list.
pub(crate) const CASES: &[(&str, Case)] = &[
    ("empty_unary", empty_unary),
    ("large_unary", large_unary),
    ("client_streaming", client_streaming),
    ("server_streaming", server_streaming),
    ("ping_pong", ping_pong),
    ("empty_stream", empty_stream),
    ("timeout_on_sleeping_server", timeout_on_sleeping_server),
    ("cancel_after_begin", cancel_after_begin),
    ("cancel_after_first_response", cancel_after_first_response),
    ("status_code_and_message", status_code_and_message),
    ("special_status_message", special_status_message),
    ("custom_metadata", custom_metadata),
    ("unimplemented_method", unimplemented_method),
    ("unimplemented_service", unimplemented_service),
];

/// What a client sends and what it asks for, in the cases with several messages.
const ASKED: [usize; 4] = [27182, 8, 1828, 45904];
const GOT: [usize; 4] = [31415, 9, 2653, 58979];

fn empty_unary(client: &Client) -> Outcome {
    let response = client.call(Request::new(EMPTY_CALL))?;
    expect(response.body.is_empty(), "an empty message")
}

fn large_unary(client: &Client) -> Outcome {
    let request = SimpleRequest {
        response_size: 314_159,
        payload: Some(Payload::of(271_828)),
        ..SimpleRequest::default()
    };
    let response = client.call(Request::new(UNARY_CALL).with_body(request.encode_to_vec()))?;
    let response = SimpleResponse::decode(response.body.into_bytes())?;
    expect(
        response.payload == Some(Payload::of(314_159)),
        "314,159 zeros",
    )
}

fn client_streaming(client: &Client) -> Outcome {
    let mut stream = client.open(Request::new(STREAMING_INPUT))?;
    for length in ASKED {
        let payload = Some(Payload::of(length));
        stream.send(StreamingInputCallRequest { payload }.encode_to_vec())?;
    }
    stream.finish()?;
    let message = stream.receive()?.ok_or("no answer came")?;
    let sum = StreamingInputCallResponse::decode(message.into_bytes())?;
    expect(sum.aggregated_payload_size == 74_922, "the sum 74,922")?;
    expect(stream.receive()?.is_none(), "one message")
}

fn server_streaming(client: &Client) -> Outcome {
    let request = asking(&GOT, 0);
    let body = request.encode_to_vec();
    let mut stream = client.open(Request::new(STREAMING_OUTPUT).with_body(body))?;
    stream.finish()?;
    for length in GOT {
        expect_message(&mut stream, length)?;
    }
    expect(stream.receive()?.is_none(), "four messages")
}

fn ping_pong(client: &Client) -> Outcome {
    let mut stream = client.open(Request::new(FULL_DUPLEX))?;
    for (asked, got) in ASKED.into_iter().zip(GOT) {
        stream.send(asking(&[got], asked).encode_to_vec())?;
        expect_message(&mut stream, got)?;
    }
    stream.finish()?;
    expect(stream.receive()?.is_none(), "four messages")
}

fn empty_stream(client: &Client) -> Outcome {
    let mut stream = client.open(Request::new(FULL_DUPLEX))?;
    stream.finish()?;
    expect(stream.receive()?.is_none(), "no message")
}

fn timeout_on_sleeping_server(client: &Client) -> Outcome {
    let deadline = Instant::now() + Duration::from_millis(1);
    let opened = client.open(Request::new(FULL_DUPLEX).with_deadline(deadline));
    let received = opened.and_then(|mut stream| {
        // The deadline may pass before it is sent.
        let _late = stream.send(asking(&[], 27182).encode_to_vec());
        stream.receive()
    });
    expect_code(received, Code::DeadlineExceeded)
}

fn cancel_after_begin(client: &Client) -> Outcome {
    client
        .open(Request::new(STREAMING_INPUT))?
        .cancel(Code::Cancelled);
    // The connection goes on.
    empty_unary(client)
}

fn cancel_after_first_response(client: &Client) -> Outcome {
    let mut stream = client.open(Request::new(FULL_DUPLEX))?;
    stream.send(asking(&[31415], 27182).encode_to_vec())?;
    expect_message(&mut stream, 31415)?;
    stream.cancel(Code::Cancelled);
    empty_unary(client)
}

fn status_code_and_message(client: &Client) -> Outcome {
    let wanted = || {
        Some(EchoStatus {
            code: 2,
            message: "test status message".into(),
        })
    };
    expect_status(client, wanted())?;
    let request = StreamingOutputCallRequest {
        response_status: wanted(),
        ..StreamingOutputCallRequest::default()
    };
    let mut stream = client.open(Request::new(FULL_DUPLEX))?;
    stream.send(request.encode_to_vec())?;
    stream.finish()?;
    let error = stream.receive().err().ok_or("the call did not fail")?;
    let status = error.to_status();
    expect(status.code() == Code::Unknown, "UNKNOWN")?;
    expect(status.message() == "test status message", "its message")
}

fn special_status_message(client: &Client) -> Outcome {
    let message = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n".into();
    expect_status(client, Some(EchoStatus { code: 2, message }))
}

fn custom_metadata(client: &Client) -> Outcome {
    let values: [&[u8]; 2] = [b"test_initial_metadata_value", b"\xab\xab\xab"];
    let mut headers = Headers::new();
    for (name, value) in ECHOED.into_iter().zip(values) {
        headers.append(name, value)?;
    }
    let request = SimpleRequest {
        response_size: 314_159,
        payload: Some(Payload::of(271_828)),
        ..SimpleRequest::default()
    };
    let request = Request::new(UNARY_CALL).with_body(request.encode_to_vec());
    let response = client.call(request.with_headers(headers.clone()))?;
    for (name, value) in ECHOED.into_iter().zip(values) {
        expect(response.headers.get(name) == Some(value), name)?;
    }
    let mut stream = client.open(Request::new(FULL_DUPLEX).with_headers(headers))?;
    stream.send(asking(&[314_159], 271_828).encode_to_vec())?;
    expect_message(&mut stream, 314_159)?;
    stream.finish()?;
    expect(stream.receive()?.is_none(), "one message")?;
    // What a stream's headers say before its messages is not shown to a caller here.
    let trailing = stream.trailers().get(ECHOED[1]);
    expect(trailing == Some(values[1]), ECHOED[1])
}

fn unimplemented_method(client: &Client) -> Outcome {
    const UNKNOWN: Operation = Operation::from_static("grpc.testing.TestService/UnimplementedCall");
    expect_code(client.call(Request::new(UNKNOWN)), Code::Unimplemented)
}

fn unimplemented_service(client: &Client) -> Outcome {
    const UNKNOWN: Operation =
        Operation::from_static("grpc.testing.UnimplementedService/UnimplementedCall");
    expect_code(client.call(Request::new(UNKNOWN)), Code::Unimplemented)
}

fn asking(sizes: &[usize], payload: usize) -> StreamingOutputCallRequest {
    let size = |size: &usize| ResponseParameters {
        size: i32::try_from(*size).unwrap_or(i32::MAX),
    };
    StreamingOutputCallRequest {
        response_parameters: sizes.iter().map(size).collect(),
        payload: (payload > 0).then(|| Payload::of(payload)),
        response_status: None,
    }
}

fn expect(held: bool, what: &str) -> Outcome {
    if held {
        Ok(())
    } else {
        Err(format!("expected {what}").into())
    }
}

fn expect_message(stream: &mut CallStream, length: usize) -> Outcome {
    let message = stream.receive()?.ok_or("the stream ended early")?;
    let message = StreamingOutputCallResponse::decode(message.into_bytes())?;
    expect(
        message.payload == Some(Payload::of(length)),
        &format!("{length} zeros"),
    )
}

fn expect_code<T>(ended: Result<T, CallError>, code: Code) -> Outcome {
    match ended {
        Err(error) if error.code() == code => Ok(()),
        Err(error) => Err(format!("expected {code}, got {error}").into()),
        Ok(_) => Err(format!("expected {code}, got an answer").into()),
    }
}

fn expect_status(client: &Client, wanted: Option<EchoStatus>) -> Outcome {
    let message = wanted.clone().unwrap_or_default().message;
    let request = SimpleRequest {
        response_status: wanted,
        ..SimpleRequest::default()
    };
    let request = Request::new(UNARY_CALL).with_body(request.encode_to_vec());
    let error = client.call(request).err().ok_or("the call did not fail")?;
    expect(error.kind() == ErrorKind::Answered, "an answer")?;
    let status = error.to_status();
    expect(status.code() == Code::Unknown, "UNKNOWN")?;
    expect(status.message() == message, "its message")
}
