//! Says in sentences what came of the thesis's statements.

use std::fmt::Write as _;

use super::claims::{Outcome, Tally, check};
use super::runs::Runs;
use super::thesis::{Place, STATEMENTS, Statement};
use crate::report::escape::escape;
use crate::report::format;
use crate::statistics::PAIRS_NEEDED;

/// The statements that belong to `place`, each with its tests under the payloads shown there.
pub(super) fn at(runs: &Runs<'_>, place: Place) -> Vec<(&'static Statement, Tally)> {
    let payloads = payloads_shown(place);
    STATEMENTS
        .iter()
        .filter(|statement| statement.places.contains(&place))
        .map(|statement| (statement, check(runs, &statement.claim, payloads)))
        // A statement about other payloads than this figure's has no test here at all.
        .filter(|(_, tally)| tally.tested() + tally.missing > 0)
        .collect()
}

/// Every statement with all its tests.
pub(super) fn all(runs: &Runs<'_>) -> Vec<(&'static Statement, Tally)> {
    STATEMENTS
        .iter()
        .map(|statement| (statement, check(runs, &statement.claim, None)))
        .collect()
}

/// One sentence on what agrees and what does not, and the statements one by one, as markup.
/// `what` is what they are about: `figure` or `table`.
pub(super) fn markup(found: &[(&Statement, Tally)], what: &str) -> String {
    let mut html = format!(
        "<p class=\"finding\">{}</p><ul class=\"statements\">",
        escape(&sentence(found, what))
    );
    for (statement, tally) in found {
        let (class, words) = tally.mark();
        let _ = write!(
            html,
            "<li><span class=\"mark {class}\">{words}</span> {} <small>({})</small></li>",
            escape(&capitalised(statement.text)),
            escape(&evidence(statement, tally)),
        );
    }
    html.push_str("</ul>");
    html
}

/// How many of the statements agree.
fn sentence(found: &[(&Statement, Tally)], what: &str) -> String {
    let count = |outcome| {
        found
            .iter()
            .filter(|(_, tally)| tally.outcome() == outcome)
            .count()
    };
    let untested = count(Outcome::Untested);
    let tested = found.len() - untested;
    let mut parts = Vec::new();
    for (outcome, words) in [
        (Outcome::Agrees, "agrees with"),
        (Outcome::AgreesInPart, "agrees in part with"),
        (Outcome::Differs, "does not agree with"),
        (Outcome::NoDifference, "shows no difference for"),
    ] {
        match count(outcome) {
            0 => {}
            all if all == tested && tested > 1 => parts.push(format!("{words} all {all}")),
            some => parts.push(format!("{words} {some}")),
        }
    }
    let mut sentence = match (found.len(), tested) {
        (0, _) => return "The thesis states nothing about this figure in words.".to_owned(),
        (_, 0) => {
            "No statement of the thesis on this figure could be tested with these runs".to_owned()
        }
        (_, 1) => format!(
            "This series {} statement of the thesis on this {what} that it can test",
            parts.join("").replace(" 1", " the one")
        ),
        (_, tested) => format!(
            "Of the {tested} statements of the thesis on this {what} that it can test, this \
             series {}",
            format::list(&parts)
        ),
    };
    if tested > 0 && untested > 0 {
        let _ = write!(sentence, "; {untested} more it cannot");
    }
    if found.iter().any(|(_, tally)| tally.unsure > 0) {
        let _ = write!(
            sentence,
            " (with fewer than {PAIRS_NEEDED} repetitions by the medians alone: a hint, no verdict)"
        );
    }
    sentence.push('.');
    sentence
}

/// How often it held, where it did not, and where the thesis says it.
fn evidence(statement: &Statement, tally: &Tally) -> String {
    let mut words = match tally.outcome() {
        Outcome::Untested => "no runs".to_owned(),
        _ => format!("in {}", tally.score()),
    };
    if let Some(first) = tally.against.first() {
        let _ = write!(words, "; otherwise {first}");
        if tally.against.len() > 1 {
            let _ = write!(words, ", and {} more", tally.against.len() - 1);
        }
    }
    if !statement.reading.is_empty() {
        let _ = write!(words, "; taken as: {}", statement.reading);
    }
    let _ = write!(words, "; section {}", statement.section);
    words
}

/// With a capital letter, unless it begins with a name.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// The payloads that a figure of one payload shows; `None` for those that show all.
fn payloads_shown(place: Place) -> Option<u64> {
    match place {
        Place::Figure("5.7" | "5.10a" | "5.11a") => Some(0),
        Place::Figure("5.8" | "5.10b" | "5.11b") => Some(10_000),
        Place::Figure("5.9" | "5.10c" | "5.11c") => Some(100_000),
        Place::Figure(_) | Place::Table(_) => None,
    }
}
