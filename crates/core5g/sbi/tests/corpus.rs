//! Replays the corpus of the fuzz targets of the service interfaces, so that what was once found stays
//! found.

#[path = "../../../../fuzz/src/sbi_headers.rs"]
mod sbi_headers;
#[path = "../../../../fuzz/src/sbi_multipart.rs"]
mod sbi_multipart;
#[path = "../../../../fuzz/src/sbi_patches.rs"]
mod sbi_patches;
#[path = "../../../../fuzz/src/sbi_tokens.rs"]
mod sbi_tokens;

use corewire_testkit::corpus::replay;

/// What ends something in a text.
const TURNS: [u8; 5] = [0, b'"', b';', b'\r', 0xff];

#[test]
fn sbi_headers() {
    replay("sbi_headers", &TURNS, sbi_headers::run);
}

#[test]
fn sbi_multipart() {
    replay("sbi_multipart", &TURNS, sbi_multipart::run);
}

#[test]
fn sbi_patches() {
    replay("sbi_patches", &TURNS, sbi_patches::run);
}

#[test]
fn sbi_tokens() {
    replay("sbi_tokens", &TURNS, sbi_tokens::run);
}
