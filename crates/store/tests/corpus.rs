//! Replays the corpus of the fuzz target, so that what was once found stays found.

#[path = "../../../fuzz/src/store_log.rs"]
mod store_log;

use corewire_testkit::corpus::replay;

/// What a length, a marker or a kind may become.
const TURNS: [u8; 4] = [0, 1, 0xc5, 0xff];

#[test]
fn store_log() {
    replay("store_log", &TURNS, store_log::run);
}
