//! A document and its changes.

#![no_main]

#[path = "../src/sbi_patches.rs"]
mod sbi_patches;

libfuzzer_sys::fuzz_target!(|data: &[u8]| sbi_patches::run(data));
