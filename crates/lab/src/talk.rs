//! What goes wrong with programs under test, as sentences: each names the program, what it did or did
//! not do, and its last words.

use std::time::Duration;

use crate::harness::Event;
use crate::process::Process;
use crate::record::Failure;

/// What a line says.
///
/// # Errors
/// When it is an event and damaged.
pub(crate) fn parse(process: &Process, line: &str) -> Result<Event, Failure> {
    Event::parse(line).map_err(|error| Failure {
        what: format!("a line is not understood: {error}: {}", shortened(line)),
        place: place(process, "reading its output"),
        next: "are lab and programs of the same version? `make peers` builds the C++ ones again"
            .to_owned(),
    })
}

fn shortened(line: &str) -> String {
    const SHOWN: usize = 120;
    if line.chars().count() <= SHOWN {
        line.to_owned()
    } else {
        line.chars().take(SHOWN).chain("...".chars()).collect()
    }
}

/// Where something went wrong.
pub(crate) fn place(process: &Process, step: &str) -> String {
    format!("{}, {step}", process.name())
}

/// It ended when it should not.
pub(crate) fn gone(process: &Process, phase: &str) -> Failure {
    let ending = process.wait(Duration::from_secs(1)).map_or_else(
        || "closed its output".to_owned(),
        |ending| format!("ended with {ending}"),
    );
    let words = process.last_words();
    Failure {
        what: format!("{} {ending} {phase}", process.name()),
        place: if words.is_empty() {
            "it said nothing".to_owned()
        } else {
            words
        },
        next: String::new(),
    }
}

/// It did not do it in time.
pub(crate) fn late(process: &Process, what: &str, allowed: Duration) -> Failure {
    Failure {
        what: format!("{} {what} for {} s", process.name(), allowed.as_secs()),
        place: process.last_words(),
        next: "it was killed".to_owned(),
    }
}
