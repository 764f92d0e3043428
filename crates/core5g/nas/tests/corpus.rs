//! Replays the corpus of the fuzz target of NAS, so that what was once found stays found.

#[path = "../../../../fuzz/src/nas_messages.rs"]
mod nas_messages;

use corewire_testkit::corpus::replay;

#[test]
fn nas_messages() {
    replay("nas_messages", &[], nas_messages::run);
}
