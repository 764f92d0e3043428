//! Replays the corpus of the fuzz targets of N1 and N2, so that what was once found stays found.

#[path = "../../../fuzz/src/nas_messages.rs"]
mod nas_messages;
#[path = "../../../fuzz/src/ngap_messages.rs"]
mod ngap_messages;
#[path = "../../../fuzz/src/suci.rs"]
mod suci;

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
        // And every beginning of it, and each octet changed.
        for at in 0..input.len().min(300) {
            run(&input[..at]);
            let mut changed = input.clone();
            changed[at] ^= 0xff;
            run(&changed);
        }
        count += 1;
    }
    assert!(count > 0, "{} is empty", folder.display());
}

#[test]
fn ngap_messages() {
    replay("ngap_messages", ngap_messages::run);
}

#[test]
fn nas_messages() {
    replay("nas_messages", nas_messages::run);
}

#[test]
fn suci_octets_and_texts() {
    replay("suci", suci::run);
}
