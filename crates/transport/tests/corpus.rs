//! Replays the corpus of the fuzz targets of HTTP/2 and N2, so that what was once found stays found.

#[path = "../../../fuzz/src/grpc_messages.rs"]
mod grpc_messages;
#[path = "../../../fuzz/src/http2_connection.rs"]
mod http2_connection;
#[path = "../../../fuzz/src/n2_frames.rs"]
mod n2_frames;

use corewire_testkit::corpus::replay;

#[test]
fn grpc_messages() {
    replay("grpc_messages", &[], grpc_messages::run);
}

#[test]
fn http2_connection() {
    replay("http2_connection", &[], http2_connection::run);
}

#[test]
fn n2_frames() {
    replay("n2_frames", &[], n2_frames::run);
}
