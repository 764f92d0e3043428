//! Feeds the GUTI service's messages with anything.

#![no_main]

#[path = "../src/guti_messages.rs"]
mod guti_messages;

libfuzzer_sys::fuzz_target!(|data: &[u8]| guti_messages::run(data));
