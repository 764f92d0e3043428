//! Feeds the NAS codec and its protection with anything.

#![no_main]

#[path = "../src/nas_messages.rs"]
mod nas_messages;

libfuzzer_sys::fuzz_target!(|data: &[u8]| nas_messages::run(data));
