//! Feeds the reader of the control plane's file with anything.

#![no_main]

#[path = "../src/control_config.rs"]
mod control_config;

libfuzzer_sys::fuzz_target!(|data: &[u8]| control_config::run(data));
