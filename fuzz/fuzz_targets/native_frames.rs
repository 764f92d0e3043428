//! Feeds a native connection, either end, with anything.

#![no_main]

#[path = "../src/native_frames.rs"]
mod native_frames;

libfuzzer_sys::fuzz_target!(|data: &[u8]| native_frames::run(data));
