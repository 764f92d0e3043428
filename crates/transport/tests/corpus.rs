//! Replays the corpus of the fuzz targets of HTTP/2 and N2, so that what was once found stays found.

#[path = "../../../fuzz/src/grpc_messages.rs"]
mod grpc_messages;
#[path = "../../../fuzz/src/http2_connection.rs"]
mod http2_connection;
#[path = "../../../fuzz/src/n2_frames.rs"]
mod n2_frames;

use std::fs;
use std::path::Path;

fn replay(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let mut count = 0;
    for entry in fs::read_dir(&folder).expect("the corpus is committed") {
        let input = fs::read(entry.unwrap().path()).unwrap();
        run(&input);
        // And every beginning of a short one, as a slow peer would send it.
        for cut in 0..input.len().min(300) {
            run(&input[..cut]);
        }
        count += 1;
    }
    assert!(count > 0, "{} is empty", folder.display());
}

#[test]
fn grpc_messages() {
    replay("grpc_messages", grpc_messages::run);
}

#[test]
fn http2_connection() {
    replay("http2_connection", http2_connection::run);
}

#[test]
fn n2_frames() {
    replay("n2_frames", n2_frames::run);
}
