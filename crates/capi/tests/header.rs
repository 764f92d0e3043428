//! `include/corewire.h` is what cbindgen makes of the sources.

use std::path::Path;

/// Set it to write the header instead of comparing it.
const WRITE: &str = "COREWIRE_WRITE_HEADER";

#[test]
fn the_committed_header_is_what_the_sources_say() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(here.join("cbindgen.toml")).unwrap();
    let mut generated = Vec::new();
    cbindgen::Builder::new()
        .with_crate(here)
        .with_config(config)
        .generate()
        .unwrap()
        .write(&mut generated);
    let generated = String::from_utf8(generated).unwrap();
    let path = here.join("include/corewire.h");
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let same = committed
        .lines()
        .zip(generated.lines())
        .take_while(|(a, b)| a == b)
        .count();
    assert!(
        committed == generated,
        "corewire.h is out of date from line {}: run {WRITE}=1 cargo test -p corewire-capi \
         --test header and commit it",
        same + 1
    );
}
