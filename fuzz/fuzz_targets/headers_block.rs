//! Reads header blocks from anything.

#![no_main]

#[path = "../src/headers_block.rs"]
mod headers_block;

libfuzzer_sys::fuzz_target!(|data: &[u8]| headers_block::run(data));
