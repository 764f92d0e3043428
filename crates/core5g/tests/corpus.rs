//! Replays the corpus of the fuzz targets of N1 and N2, so that what was once found stays found.

#[path = "../../../fuzz/src/nas_messages.rs"]
mod nas_messages;
#[path = "../../../fuzz/src/ngap_messages.rs"]
mod ngap_messages;
#[path = "../../../fuzz/src/suci.rs"]
mod suci;

use corewire_testkit::corpus::replay;

#[test]
fn ngap_messages() {
    replay("ngap_messages", &[], ngap_messages::run);
}

#[test]
fn nas_messages() {
    replay("nas_messages", &[], nas_messages::run);
}

#[test]
fn suci() {
    replay("suci", &[], suci::run);
}
