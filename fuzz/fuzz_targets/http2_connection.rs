//! Feeds an HTTP/2 connection, either end, with anything.

#![no_main]

#[path = "../src/http2_connection.rs"]
mod http2_connection;

libfuzzer_sys::fuzz_target!(|data: &[u8]| http2_connection::run(data));
