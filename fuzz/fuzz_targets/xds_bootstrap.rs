//! Feeds the bootstrap of the xDS client with anything.

#![no_main]

#[path = "../src/xds_bootstrap.rs"]
mod xds_bootstrap;

libfuzzer_sys::fuzz_target!(|data: &[u8]| xds_bootstrap::run(data));
