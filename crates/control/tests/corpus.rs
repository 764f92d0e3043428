//! Replays the corpus of this crate's fuzz targets, so that what was once found stays found.

#[path = "../../../fuzz/src/control_config.rs"]
mod control_config;
#[path = "../../../fuzz/src/discovery_requests.rs"]
mod discovery_requests;

use corewire_testkit::corpus::replay;

#[test]
fn discovery_requests() {
    replay("discovery_requests", &[], discovery_requests::run);
}

#[test]
fn control_config() {
    replay("control_config", &[], control_config::run);
}
