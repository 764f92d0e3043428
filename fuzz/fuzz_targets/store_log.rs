//! The log of a store, with any bytes in it.

#![no_main]

#[path = "../src/store_log.rs"]
mod store_log;

libfuzzer_sys::fuzz_target!(|data: &[u8]| store_log::run(data));
