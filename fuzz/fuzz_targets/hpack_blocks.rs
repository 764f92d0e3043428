//! Reads HPACK header blocks from anything.

#![no_main]

#[path = "../src/hpack_blocks.rs"]
mod hpack_blocks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| hpack_blocks::run(data));
