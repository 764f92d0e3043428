//! The headers of the service interfaces and their queries.

#![no_main]

#[path = "../src/sbi_headers.rs"]
mod sbi_headers;

libfuzzer_sys::fuzz_target!(|data: &[u8]| sbi_headers::run(data));
