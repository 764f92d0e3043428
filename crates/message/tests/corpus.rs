//! Replays the corpus of the health service's fuzz target, so that what was once found stays found.

#[path = "../../../fuzz/src/health_messages.rs"]
mod health_messages;

use corewire_testkit::corpus::replay;

#[test]
fn health_messages() {
    replay(
        "health_messages",
        &[0, 1, 2, 8, 10, 0x7f, 0xff],
        health_messages::run,
    );
}
