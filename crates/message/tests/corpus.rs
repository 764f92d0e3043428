//! Replays the corpus of the health service's fuzz target, so that what was once found stays found.

#[path = "../../../fuzz/src/health_messages.rs"]
mod health_messages;

use std::fs;
use std::path::Path;

#[test]
fn health_messages() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/health_messages");
    let mut count = 0;
    for entry in fs::read_dir(&folder).expect("the corpus is committed") {
        let input = fs::read(entry.unwrap().path()).unwrap();
        for cut in 0..=input.len() {
            health_messages::run(&input[..cut]);
        }
        // And with each octet changed.
        for place in 0..input.len() {
            for octet in 0..=u8::MAX {
                let mut changed = input.clone();
                changed[place] = octet;
                health_messages::run(&changed);
            }
        }
        count += 1;
    }
    assert!(count > 0, "{} is empty", folder.display());
}
