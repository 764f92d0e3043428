//! Replays the fuzz targets' corpus, so that what was once found stays found.

#[path = "../../../fuzz/src/headers_block.rs"]
mod headers_block;
#[path = "../../../fuzz/src/native_frames.rs"]
mod native_frames;
#[path = "../../../fuzz/src/rmr_messages.rs"]
mod rmr_messages;
#[path = "../../../fuzz/src/rmr_records.rs"]
mod rmr_records;

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
fn native_frames() {
    replay("native_frames", native_frames::run);
}

#[test]
fn headers_block() {
    replay("headers_block", headers_block::run);
}

#[test]
fn rmr_messages() {
    replay("rmr_messages", rmr_messages::run);
}

#[test]
fn rmr_records() {
    replay("rmr_records", rmr_records::run);
}
