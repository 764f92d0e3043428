//! The messages of the GUTI service, `guti.v1.GutiService`.
//!
//! ```proto
//! service GutiService {
//!   rpc Allocate(AllocateRequest) returns (AllocateResponse);
//!   rpc Deallocate(DeallocateRequest) returns (DeallocateResponse);
//!   rpc AllocateStream(stream AllocateRequest) returns (stream AllocateResponse);
//! }
//! message AllocateRequest    { bytes payload = 1; }
//! message AllocateResponse   { Guti guti = 1; bytes payload = 2; }   // the request's payload
//! message DeallocateRequest  { Guti guti = 1; }
//! message DeallocateResponse { }
//! message Guti {
//!   uint32 mcc = 1; uint32 mnc = 2; uint32 mnc_digits = 3;
//!   uint32 amf_region = 4; uint32 amf_set = 5; uint32 amf_pointer = 6;
//!   fixed32 tmsi = 7;
//! }
//! ```
//!
//! The codec is written by hand because a payload may be large and nothing about it has to be
//! touched: a decoded payload is a slice of the message it came in, and encoding writes only the
//! *head*, the octets that come before the payload, which is always the last field. A test holds
//! it against `prost` in both directions.
//!
//! [`json`] is the same for humans with `curl`.

mod decode;
mod encode;
pub mod json;
mod reader;

pub use decode::{
    AllocateRequest, AllocateResponse, DeallocateRequest, DeallocateResponse, DecodeError,
    DecodeErrorKind, Field,
};
pub(crate) use decode::{GutiNumbers, allocate_request_payload, allocate_response_parts};
pub use encode::{
    GUTI_MESSAGE_MAX, REQUEST_HEAD_MAX, RESPONSE_HEAD_MAX, encode_allocate_request_head,
    encode_allocate_response_head, encode_deallocate_request,
};
