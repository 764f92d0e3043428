//! Feeds RMR's route tables with anything.

#![no_main]

#[path = "../src/rmr_table.rs"]
mod rmr_table;

libfuzzer_sys::fuzz_target!(|data: &[u8]| rmr_table::run(data));
