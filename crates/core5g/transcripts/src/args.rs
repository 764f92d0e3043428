//! The lines of a transcript, taken apart. Everything here panics where a line is not as it must be.

use corewire_core5g_nas::{PduSessionId, PduSessionSet, Snssai, Tac};
use std::time::Duration;

/// What stands behind the name of a message: `key=value`, `"text"`, and words.
pub struct Args<'a>(pub Vec<&'a str>);

impl<'a> Args<'a> {
    /// The words of a line.
    ///
    /// # Panics
    /// When a quoted text has no end.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
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

    /// What stands behind `key=`.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&'a str> {
        let found = self
            .0
            .iter()
            .find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        found.map(|value| value.trim_matches('"'))
    }

    /// Whether this word is among them.
    #[must_use]
    pub fn has(&self, word: &str) -> bool {
        self.0.contains(&word)
    }

    /// The octets of the first text in quotes.
    #[must_use]
    pub fn text(&self) -> Vec<u8> {
        let text = self.0.iter().find(|word| word.starts_with('"'));
        text.map_or("", |text| text.trim_matches('"'))
            .as_bytes()
            .to_vec()
    }

    /// Sessions behind `key=`: numbers, or `none`.
    #[must_use]
    pub fn set(&self, key: &str) -> Option<PduSessionSet> {
        let numbers = self
            .value(key)?
            .split(',')
            .filter(|number| *number != "none");
        Some(numbers.fold(PduSessionSet::default(), |set, number| {
            set.with(session(number))
        }))
    }

    /// Slices behind `key=`.
    ///
    /// # Panics
    /// When one is none.
    #[must_use]
    pub fn slices(&self, key: &str) -> Vec<Snssai> {
        let slices = self.value(key).into_iter().flat_map(|list| list.split(','));
        slices.map(|slice| slice.parse().unwrap()).collect()
    }
}

/// A tracking area code.
///
/// # Panics
/// When it is none.
#[must_use]
pub fn tac(text: &str) -> Tac {
    Tac::new(text.parse().unwrap()).unwrap()
}

/// The number of a PDU session.
///
/// # Panics
/// When it is none.
#[must_use]
pub fn session(text: &str) -> PduSessionId {
    PduSessionId::new(text.parse().unwrap()).unwrap()
}

/// The words in capitals at the beginning, and the others.
pub fn message_name(line: &str) -> (&str, Args<'_>) {
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

/// A time with its unit: `250ms`, `6s`, `2min`.
///
/// # Panics
/// When it is none.
#[must_use]
pub fn duration(text: &str) -> Duration {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let number: u64 = digits.parse().expect("a number");
    match &text[digits.len()..] {
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        "min" => Duration::from_secs(60 * number),
        other => panic!("{other:?} is no unit of time"),
    }
}
