//! Recorded messages of every released version: read by today's code, written by it as they stand in
//! the newest, and read with what a later version may add. They may be added to, never changed.

use bytes::Bytes;
use corewire_guti::Guti;
use corewire_guti::message::json::{
    allocate_request_json, allocate_response_json, deallocate_request_json,
    parse_allocate_request_json, parse_allocate_response_json, parse_deallocate_request_json,
};
use corewire_guti::message::{
    AllocateRequest, AllocateResponse, DeallocateRequest, DeallocateResponse, GUTI_MESSAGE_MAX,
    REQUEST_HEAD_MAX, RESPONSE_HEAD_MAX, encode_allocate_request_head,
    encode_allocate_response_head, encode_deallocate_request,
};
use std::collections::BTreeMap;

/// The last is what is written now.
const RELEASES: [(&str, &str); 1] = [("v0.1", include_str!("vectors/v0.1/messages.txt"))];

const PAYLOAD: &[u8] = b"hello";

fn guti() -> Guti {
    "5g-guti-310410cafe3fdeadbeef".parse().unwrap()
}

/// Each message by its name: octets for `name`, text for `name.json`.
fn recorded(text: &str) -> BTreeMap<&str, Vec<u8>> {
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, value) = line.split_once(':').unwrap();
            let octets = if name.ends_with(".json") {
                value.trim().as_bytes().to_vec()
            } else {
                let octets = value.split_whitespace();
                octets
                    .map(|it| u8::from_str_radix(it, 16).unwrap())
                    .collect()
            };
            (name, octets)
        })
        .collect()
}

/// What this version writes.
fn written() -> BTreeMap<&'static str, Vec<u8>> {
    let mut head = [0; REQUEST_HEAD_MAX];
    let length = encode_allocate_request_head(PAYLOAD.len(), &mut head);
    let request = [&head[..length], PAYLOAD].concat();
    let mut head = [0; RESPONSE_HEAD_MAX];
    let length = encode_allocate_response_head(&guti(), PAYLOAD.len(), &mut head);
    let response = [&head[..length], PAYLOAD].concat();
    let mut head = [0; GUTI_MESSAGE_MAX];
    let length = encode_deallocate_request(&guti(), &mut head);
    let deallocate = head[..length].to_vec();
    BTreeMap::from([
        ("AllocateRequest", request),
        ("AllocateResponse", response),
        ("DeallocateRequest", deallocate),
        ("DeallocateResponse", Vec::new()),
        (
            "AllocateRequest.json",
            allocate_request_json(PAYLOAD).into(),
        ),
        (
            "AllocateResponse.json",
            allocate_response_json(&guti(), PAYLOAD).into(),
        ),
        (
            "DeallocateRequest.json",
            deallocate_request_json(&guti()).into(),
        ),
    ])
}

/// Reads all, each changed by `change`, and finds what was put in.
fn understand(messages: &BTreeMap<&str, Vec<u8>>, change: impl Fn(&str, &[u8]) -> Vec<u8>) {
    let message = |name: &str| Bytes::from(change(name, &messages[name]));
    let request = AllocateRequest::decode(&message("AllocateRequest")).unwrap();
    assert_eq!(&request.payload[..], PAYLOAD);
    let response = AllocateResponse::decode(&message("AllocateResponse")).unwrap();
    assert_eq!((response.guti, &response.payload[..]), (guti(), PAYLOAD));
    let deallocate = DeallocateRequest::decode(&message("DeallocateRequest")).unwrap();
    assert_eq!(deallocate.guti, guti());
    DeallocateResponse::decode(&message("DeallocateResponse")).unwrap();
    let request = parse_allocate_request_json(&message("AllocateRequest.json"));
    assert_eq!(request, Ok(PAYLOAD.to_vec()));
    let response = parse_allocate_response_json(&message("AllocateResponse.json"));
    assert_eq!(response, Ok((guti(), PAYLOAD.to_vec())));
    let deallocate = parse_deallocate_request_json(&message("DeallocateRequest.json"));
    assert_eq!(deallocate, Ok(guti()));
}

#[test]
fn every_release_is_understood_and_the_newest_is_written() {
    for (_, text) in RELEASES {
        understand(&recorded(text), |_, message| message.to_vec());
    }
    assert_eq!(recorded(RELEASES[RELEASES.len() - 1].1), written());
}

#[test]
fn what_a_later_version_adds_is_passed_over() {
    // Field 15 a number, field 1000 octets, field 14 eight octets, field 13 four.
    let more = b"\x78\x2a\xc2\x3e\x05later\x71\0\0\0\0\0\0\0\0\x6d\0\0\0\0";
    for (_, text) in RELEASES {
        let messages = recorded(text);
        let json = |message: &[u8]| {
            let text = std::str::from_utf8(message).unwrap();
            let open = text.strip_prefix('{').unwrap();
            format!("{{\"later\":[1,{{}}],{open}").into_bytes()
        };
        understand(&messages, |name, message| match name {
            name if name.ends_with(".json") => json(message),
            _ => [message, more].concat(),
        });
        understand(&messages, |name, message| match name {
            name if name.ends_with(".json") => json(message),
            _ => [more, message].concat(),
        });
    }
}

#[test]
fn every_release_has_a_folder_and_every_folder_is_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors");
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    assert_eq!(found, RELEASES.map(|(name, _)| name));
}
