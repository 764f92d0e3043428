//! Bodies of several parts, as anybody may send them.

#![no_main]

#[path = "../src/sbi_multipart.rs"]
mod sbi_multipart;

libfuzzer_sys::fuzz_target!(|data: &[u8]| sbi_multipart::run(data));
