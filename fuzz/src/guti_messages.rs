//! The GUTI service's messages, in protobuf and JSON, and a GUTI as text and as a mobile identity: what is
//! read can be written and is read as the same.

use bytes::Bytes;
use corewire_guti::Guti;
use corewire_guti::message::json::{
    allocate_request_json, allocate_response_json, deallocate_request_json,
    parse_allocate_request_json, parse_allocate_response_json, parse_deallocate_request_json,
};
use corewire_guti::message::{
    AllocateRequest, AllocateResponse, DeallocateRequest, DeallocateResponse, RESPONSE_HEAD_MAX,
    encode_allocate_response_head,
};

/// One input, read as each of them.
pub(crate) fn run(data: &[u8]) {
    let octets = Bytes::copy_from_slice(data);
    if let Ok(request) = AllocateRequest::decode(&octets) {
        assert!(request.payload.len() <= data.len());
    }
    if let Ok(response) = AllocateResponse::decode(&octets) {
        let mut head = [0; RESPONSE_HEAD_MAX];
        let length =
            encode_allocate_response_head(&response.guti, response.payload.len(), &mut head);
        let again = Bytes::from([&head[..length], &response.payload].concat());
        assert_eq!(AllocateResponse::decode(&again), Ok(response));
    }
    let _ = DeallocateRequest::decode(data);
    let _ = DeallocateResponse::decode(data);
    if let Ok(payload) = parse_allocate_request_json(data) {
        let again = parse_allocate_request_json(allocate_request_json(&payload).as_bytes());
        assert_eq!(again.ok(), Some(payload));
    }
    if let Ok((guti, payload)) = parse_allocate_response_json(data) {
        let text = allocate_response_json(&guti, &payload);
        let again = parse_allocate_response_json(text.as_bytes());
        assert_eq!(again.ok(), Some((guti, payload)));
    }
    if let Ok(guti) = parse_deallocate_request_json(data) {
        let again = parse_deallocate_request_json(deallocate_request_json(&guti).as_bytes());
        assert_eq!(again.ok(), Some(guti));
    }
    if let Ok(guti) = Guti::from_mobile_identity(data) {
        let again = Guti::from_mobile_identity(&guti.to_mobile_identity());
        assert_eq!(again, Ok(guti));
    }
    if let Some(guti) = std::str::from_utf8(data)
        .ok()
        .and_then(|it| it.parse::<Guti>().ok())
    {
        assert_eq!(guti.to_string().parse(), Ok(guti));
    }
}
