//! The lines of a transcript, taken apart.

use crate::nas::{PduSessionId, PduSessionSet, Snssai, Tac};
use std::time::Duration;

/// What stands behind the name of a message: `key=value`, `"text"`, and words.
pub(crate) struct Args<'a>(pub(crate) Vec<&'a str>);

impl<'a> Args<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let mut rest = text.trim();
        let mut words = Vec::new();
        while !rest.is_empty() {
            // A quoted text is one word, also behind `key=`.
            let space = rest.find(' ').unwrap_or(rest.len());
            let end = match rest.find('"').filter(|quote| *quote < space) {
                Some(quote) => quote + 2 + rest[quote + 1..].find('"').expect("a closing quote"),
                None => space,
            };
            words.push(&rest[..end]);
            rest = rest[end..].trim_start();
        }
        Self(words)
    }

    pub(crate) fn value(&self, key: &str) -> Option<&'a str> {
        let found = self
            .0
            .iter()
            .find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        found.map(|value| value.trim_matches('"'))
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.0.contains(&word)
    }

    pub(crate) fn text(&self) -> Vec<u8> {
        let text = self.0.iter().find(|word| word.starts_with('"'));
        text.map_or("", |text| text.trim_matches('"'))
            .as_bytes()
            .to_vec()
    }

    pub(crate) fn set(&self, key: &str) -> Option<PduSessionSet> {
        let numbers = self
            .value(key)?
            .split(',')
            .filter(|number| *number != "none");
        Some(numbers.fold(PduSessionSet::default(), |set, number| {
            set.with(session(number))
        }))
    }

    pub(crate) fn slices(&self, key: &str) -> Vec<Snssai> {
        let slices = self.value(key).into_iter().flat_map(|list| list.split(','));
        slices.map(|slice| slice.parse().unwrap()).collect()
    }
}

pub(crate) fn tac(text: &str) -> Tac {
    Tac::new(text.parse().unwrap()).unwrap()
}

pub(crate) fn session(text: &str) -> PduSessionId {
    PduSessionId::new(text.parse().unwrap()).unwrap()
}

/// The words in capitals at the beginning, and the others.
pub(crate) fn message_name(line: &str) -> (&str, Args<'_>) {
    let mut end = 0;
    for word in line.split_inclusive(' ') {
        if !word
            .trim()
            .chars()
            .all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit())
        {
            break;
        }
        end += word.len();
    }
    (line[..end].trim_end(), Args::new(&line[end..]))
}

pub(crate) fn duration(text: &str) -> Duration {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let number: u64 = digits.parse().expect("a number");
    match &text[digits.len()..] {
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        "min" => Duration::from_secs(60 * number),
        other => panic!("{other:?} is no unit of time"),
    }
}
