//! Replays the corpus of the fuzz target of SUCIs, so that what was once found stays found.

#[path = "../../../../fuzz/src/suci.rs"]
mod suci;

use corewire_testkit::corpus::replay;

#[test]
fn suci() {
    replay("suci", &[], suci::run);
}
