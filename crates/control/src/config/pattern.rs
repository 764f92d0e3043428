//! Patterns with `*` and `?`, for node names.

use std::fmt;

/// A pattern: `*` stands for any characters, `?` for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// A pattern as written.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether the whole of `text` is as the pattern says. Takes at most the product of their
    /// lengths.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        let (pattern, text) = (self.0.as_bytes(), text.as_bytes());
        let (mut at, mut reached) = (0, 0);
        // Where the last star stands, and how much of the text it has eaten.
        let mut star: Option<(usize, usize)> = None;
        while reached < text.len() {
            match pattern.get(at) {
                Some(b'*') => {
                    star = Some((at, reached));
                    at += 1;
                }
                Some(octet) if *octet == b'?' || *octet == text[reached] => {
                    at += 1;
                    reached += 1;
                }
                _ => {
                    let Some((stands, eaten)) = star else {
                        return false;
                    };
                    star = Some((stands, eaten + 1));
                    at = stands + 1;
                    reached = eaten + 1;
                }
            }
        }
        pattern[at..].iter().all(|octet| *octet == b'*')
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("*", "anything", true),
            ("gateway-*", "gateway-7", true),
            ("gateway-*", "gateway", false),
            ("*-pdu-*", "smf-pdu-session-3", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b-", false),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(
                Pattern::new(pattern).matches(text),
                expected,
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn many_stars_take_no_time() {
        let pattern = Pattern::new("*a".repeat(100));
        assert!(!pattern.matches(&"a".repeat(20_000).replace("aa", "ab")[..50]));
        assert!(!pattern.matches(&"b".repeat(20_000)));
    }
}
