//! Replays the corpus of the fuzz target of NGAP, so that what was once found stays found.

#[path = "../../../../fuzz/src/ngap_messages.rs"]
mod ngap_messages;

use corewire_testkit::corpus::replay;

#[test]
fn ngap_messages() {
    replay("ngap_messages", &[], ngap_messages::run);
}
