//! Feeds the NGAP codec with anything.

#![no_main]

#[path = "../src/ngap_messages.rs"]
mod ngap_messages;

libfuzzer_sys::fuzz_target!(|data: &[u8]| ngap_messages::run(data));
