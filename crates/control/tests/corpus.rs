//! Replays the corpus of this crate's fuzz targets, so that what was once found stays found.

#[path = "../../../fuzz/src/control_config.rs"]
mod control_config;
#[path = "../../../fuzz/src/discovery_requests.rs"]
mod discovery_requests;

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
        // And every beginning of a short one.
        for cut in 0..input.len().min(300) {
            run(&input[..cut]);
        }
        count += 1;
    }
    assert!(count > 0, "{} is empty", folder.display());
}

#[test]
fn discovery_requests() {
    replay("discovery_requests", discovery_requests::run);
}

#[test]
fn control_config() {
    replay("control_config", control_config::run);
}
