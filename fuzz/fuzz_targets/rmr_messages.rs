//! Feeds RMR's SI95 framing and message header with anything.

#![no_main]

#[path = "../src/rmr_messages.rs"]
mod rmr_messages;

libfuzzer_sys::fuzz_target!(|data: &[u8]| rmr_messages::run(data));
