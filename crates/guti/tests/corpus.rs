//! Replays the corpus of the GUTI service's fuzz target, so that what was once found stays found.

#[path = "../../../fuzz/src/guti_messages.rs"]
mod guti_messages;

use corewire_testkit::corpus::replay;

#[test]
fn guti_messages() {
    replay("guti_messages", &[0, b'"', b'}', 0xff], guti_messages::run);
}
