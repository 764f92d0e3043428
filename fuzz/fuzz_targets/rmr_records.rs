//! Feeds the records of RMR's native transport with anything.

#![no_main]

#[path = "../src/rmr_records.rs"]
mod rmr_records;

libfuzzer_sys::fuzz_target!(|data: &[u8]| rmr_records::run(data));
