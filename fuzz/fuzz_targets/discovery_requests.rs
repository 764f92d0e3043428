//! Feeds a stream of the xDS server with anything.

#![no_main]

#[path = "../src/discovery_requests.rs"]
mod discovery_requests;

libfuzzer_sys::fuzz_target!(|data: &[u8]| discovery_requests::run(data));
