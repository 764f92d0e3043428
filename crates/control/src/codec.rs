//! Protobuf or JSON: whoever sends JSON gets JSON.

use bytes::Bytes;
use corewire_message::{Body, Code, Headers, Request, Response, Status};
use prost::Message;
use serde::Serialize;
use serde::de::DeserializeOwned;

const JSON: &str = "application/json";

/// How a message is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Protobuf,
    Json,
}

impl Form {
    /// What a caller sends, or reads when it sends nothing.
    pub(crate) fn of(headers: &Headers, body: &Body) -> Self {
        let media_type = headers.get_str("content-type").unwrap_or_default();
        let reads_text = headers
            .get_str("accept")
            .is_some_and(|accept| accept.contains("*/*") || accept.contains(JSON));
        let sends_nothing =
            body.is_empty() && !media_type.contains("grpc") && !media_type.contains("proto");
        if media_type.starts_with(JSON) || sends_nothing && reads_text {
            Self::Json
        } else {
            Self::Protobuf
        }
    }
}

pub(crate) fn read<M: Message + Default + DeserializeOwned>(
    form: Form,
    request: &Request,
) -> Result<M, Status> {
    let body: Bytes = request.body.clone().into_bytes();
    match form {
        Form::Protobuf => M::decode(body).map_err(|error| invalid(&error)),
        Form::Json if body.is_empty() => Ok(M::default()),
        Form::Json => serde_json::from_slice(&body).map_err(|error| invalid(&error)),
    }
}

pub(crate) fn write<M: Message + Serialize>(form: Form, message: &M) -> Response {
    match form {
        Form::Protobuf => Response::ok(message.encode_to_vec()),
        Form::Json => {
            let mut headers = Headers::new();
            // Name and value are constants that are valid headers.
            let _ = headers.append("content-type", JSON);
            match serde_json::to_vec(message) {
                Ok(text) => Response::ok(text).with_headers(headers),
                Err(error) => Response::failed(Status::new(Code::Internal, error.to_string())),
            }
        }
    }
}

fn invalid(error: &dyn std::error::Error) -> Status {
    Status::new(
        Code::InvalidArgument,
        format!("the message cannot be read: {error}"),
    )
}
