//! Replays the corpus of the fuzz targets of the service interfaces, so that what was once found stays
//! found.

#[path = "../../../fuzz/src/sbi_headers.rs"]
mod sbi_headers;
#[path = "../../../fuzz/src/sbi_multipart.rs"]
mod sbi_multipart;
#[path = "../../../fuzz/src/sbi_patches.rs"]
mod sbi_patches;
#[path = "../../../fuzz/src/sbi_tokens.rs"]
mod sbi_tokens;

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
        // And every beginning of a short one, and every one with an octet changed.
        for at in 0..input.len().min(300) {
            run(&input[..at]);
            for other in [0, b'"', b';', b'\r', 0xff] {
                let mut changed = input.clone();
                changed[at] = other;
                run(&changed);
            }
        }
        count += 1;
    }
    assert!(count > 0, "{} is empty", folder.display());
}

#[test]
fn sbi_headers() {
    replay("sbi_headers", sbi_headers::run);
}

#[test]
fn sbi_multipart() {
    replay("sbi_multipart", sbi_multipart::run);
}

#[test]
fn sbi_patches() {
    replay("sbi_patches", sbi_patches::run);
}

#[test]
fn sbi_tokens() {
    replay("sbi_tokens", sbi_tokens::run);
}
