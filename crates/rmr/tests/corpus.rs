//! Replays the fuzz target's corpus, so that what was once found stays found.

#[path = "../../../fuzz/src/rmr_table.rs"]
mod rmr_table;

use corewire_testkit::corpus::replay;

#[test]
fn rmr_table() {
    replay("rmr_table", &[], rmr_table::run);
}
