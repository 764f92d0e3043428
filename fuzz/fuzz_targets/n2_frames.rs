//! Feeds the records of N2 over TCP with anything.

#![no_main]

#[path = "../src/n2_frames.rs"]
mod n2_frames;

libfuzzer_sys::fuzz_target!(|data: &[u8]| n2_frames::run(data));
