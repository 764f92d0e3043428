//! Replays the committed inputs of a fuzz target (`fuzz/corpus`) in plain `cargo test`, so that what was
//! once found stays found.

use std::fs;
use std::path::Path;

/// So many octets of an input are cut and spoilt one by one, and of the rest, up to here, each seventh:
/// behind the heads of messages most places are alike.
const EACH: usize = 300;
const UP_TO: usize = 4096;

/// Runs every input of this target's corpus; then every beginning of it, as a slow or broken peer would
/// send it; then with each octet turned round, and with each of `instead` in its place.
///
/// # Panics
/// When `run` does, or when there is no corpus.
pub fn replay(target: &str, instead: &[u8], run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let entries = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}; it is committed", folder.display()));
    let mut count = 0;
    for entry in entries {
        let path = entry.expect("a readable folder").path();
        let mut input = fs::read(&path).expect("a readable file");
        run(&input);
        let (each, up_to) = (input.len().min(EACH), input.len().min(UP_TO));
        for place in (0..each).chain((each..up_to).step_by(7)) {
            run(&input[..place]);
            let kept = input[place];
            for &other in [!kept].iter().chain(instead) {
                input[place] = other;
                run(&input);
            }
            input[place] = kept;
        }
        count += 1;
    }
    assert!(count > 0, "{} is empty", folder.display());
}
