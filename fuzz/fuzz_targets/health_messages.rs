//! Feeds the messages of the health service with anything.

#![no_main]

#[path = "../src/health_messages.rs"]
mod health_messages;

libfuzzer_sys::fuzz_target!(|data: &[u8]| health_messages::run(data));
