//! Replays the fuzz targets' corpus, so that what was once found stays found.

// By its file: the test kit stands upon this crate, and would be built for each change of it.
#[expect(unreachable_pub, reason = "in the test kit it is public")]
#[path = "../../testkit/src/corpus.rs"]
mod corpus;
#[path = "../../../fuzz/src/headers_block.rs"]
mod headers_block;
#[path = "../../../fuzz/src/hpack_blocks.rs"]
mod hpack_blocks;
#[path = "../../../fuzz/src/native_frames.rs"]
mod native_frames;
#[path = "../../../fuzz/src/rmr_messages.rs"]
mod rmr_messages;
#[path = "../../../fuzz/src/rmr_records.rs"]
mod rmr_records;

use corpus::replay;

#[test]
fn native_frames() {
    replay("native_frames", &[], native_frames::run);
}

#[test]
fn headers_block() {
    replay("headers_block", &[], headers_block::run);
}

#[test]
fn hpack_blocks() {
    // Lengths that are a little off, indices at the tables' ends, changes of the size.
    replay("hpack_blocks", &[0, 0x20, 0x80, 0xbe], hpack_blocks::run);
}

#[test]
fn rmr_messages() {
    replay("rmr_messages", &[], rmr_messages::run);
}

#[test]
fn rmr_records() {
    replay("rmr_records", &[], rmr_records::run);
}
