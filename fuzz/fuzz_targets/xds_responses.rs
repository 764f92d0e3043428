//! Feeds an xDS client with anything.

#![no_main]

#[path = "../src/xds_responses.rs"]
mod xds_responses;

libfuzzer_sys::fuzz_target!(|data: &[u8]| xds_responses::run(data));
