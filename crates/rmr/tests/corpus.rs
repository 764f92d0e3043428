//! Replays the fuzz target's corpus, so that what was once found stays found.

#[path = "../../../fuzz/src/rmr_table.rs"]
mod rmr_table;

use std::fs;
use std::path::Path;

#[test]
fn rmr_tables() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/rmr_table");
    let mut count = 0;
    for entry in fs::read_dir(&folder).expect("the corpus is committed") {
        let input = fs::read(entry.unwrap().path()).unwrap();
        rmr_table::run(&input);
        // And every beginning of a short one, as a message that was cut.
        for cut in 0..input.len().min(300) {
            rmr_table::run(&input[..cut]);
        }
        count += 1;
    }
    assert!(count > 0, "{} is empty", folder.display());
}
