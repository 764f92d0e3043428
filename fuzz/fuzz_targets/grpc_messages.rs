//! Feeds gRPC's framing and header values with anything.

#![no_main]

#[path = "../src/grpc_messages.rs"]
mod grpc_messages;

libfuzzer_sys::fuzz_target!(|data: &[u8]| grpc_messages::run(data));
