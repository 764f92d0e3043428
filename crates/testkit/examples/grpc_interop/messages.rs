//! The messages of `grpc/testing/messages.proto`, as far as the cases use them.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Payload {
    /// 0: compressible, the only kind there is.
    #[prost(int32, tag = "1")]
    pub(crate) kind: i32,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) body: Vec<u8>,
}

impl Payload {
    /// So many zeros.
    pub(crate) fn of(length: usize) -> Self {
        Self {
            kind: 0,
            body: vec![0; length],
        }
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct EchoStatus {
    #[prost(int32, tag = "1")]
    pub(crate) code: i32,
    #[prost(string, tag = "2")]
    pub(crate) message: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SimpleRequest {
    #[prost(int32, tag = "2")]
    pub(crate) response_size: i32,
    #[prost(message, optional, tag = "3")]
    pub(crate) payload: Option<Payload>,
    #[prost(message, optional, tag = "7")]
    pub(crate) response_status: Option<EchoStatus>,
    #[prost(bool, tag = "9")]
    pub(crate) fill_server_id: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SimpleResponse {
    #[prost(message, optional, tag = "1")]
    pub(crate) payload: Option<Payload>,
    #[prost(string, tag = "4")]
    pub(crate) server_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StreamingInputCallRequest {
    #[prost(message, optional, tag = "1")]
    pub(crate) payload: Option<Payload>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StreamingInputCallResponse {
    #[prost(int32, tag = "1")]
    pub(crate) aggregated_payload_size: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ResponseParameters {
    #[prost(int32, tag = "1")]
    pub(crate) size: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StreamingOutputCallRequest {
    #[prost(message, repeated, tag = "2")]
    pub(crate) response_parameters: Vec<ResponseParameters>,
    #[prost(message, optional, tag = "3")]
    pub(crate) payload: Option<Payload>,
    #[prost(message, optional, tag = "7")]
    pub(crate) response_status: Option<EchoStatus>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StreamingOutputCallResponse {
    #[prost(message, optional, tag = "1")]
    pub(crate) payload: Option<Payload>,
}
