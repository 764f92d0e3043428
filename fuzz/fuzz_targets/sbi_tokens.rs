//! A set of keys, and a token that they may have signed; and where in JSON a decoder stops.

#![no_main]

#[path = "../src/sbi_tokens.rs"]
mod sbi_tokens;

libfuzzer_sys::fuzz_target!(|data: &[u8]| sbi_tokens::run(data));
