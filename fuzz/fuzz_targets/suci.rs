//! Feeds SUCIs with anything.

#![no_main]

#[path = "../src/suci.rs"]
mod suci;

libfuzzer_sys::fuzz_target!(|data: &[u8]| suci::run(data));
