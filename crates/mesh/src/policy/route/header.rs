//! Matching a request's headers, in every form that a route configuration has.

use super::path::{WholeRegex, with_path};
use corewire_message::{Headers, Operation};

/// What a text must look like.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TextMatch {
    /// It is this.
    Exact(Box<str>),
    /// It begins with this.
    Prefix(Box<str>),
    /// It ends with this.
    Suffix(Box<str>),
    /// It holds this somewhere.
    Contains(Box<str>),
    /// All of it fits.
    Regex(WholeRegex),
}

/// What a header's value must look like.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ValueMatch {
    /// A text; case counts unless `ignore_case`, which expressions do not know.
    Text {
        /// The form.
        text: TextMatch,
        /// Whether letters' case does not count.
        ignore_case: bool,
    },
    /// A decimal number, `start` or more and below `end`.
    Range {
        /// The first that fits.
        start: i64,
        /// The first that fits no more.
        end: i64,
    },
    /// Whether the header is there at all.
    Present(bool),
}

/// One condition on a header.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "what a header match has")]
pub struct HeaderMatch {
    /// The header's name in lower case, or `:path`, `:method`.
    pub name: Box<str>,
    /// What its value must look like. Several values of one name count as one, joined by commas.
    pub value: ValueMatch,
    /// Whether the condition holds when the value does *not* look so.
    pub invert: bool,
    /// Whether a header that is missing counts as empty; otherwise no value condition holds for it,
    /// inverted or not.
    pub missing_is_empty: bool,
}

impl HeaderMatch {
    /// The condition that header `name` has this value.
    #[must_use]
    pub fn new(name: &str, value: ValueMatch) -> Self {
        Self {
            name: name.to_ascii_lowercase().into(),
            value,
            invert: false,
            missing_is_empty: false,
        }
    }

    /// Whether the condition holds. Does not allocate unless the header has several values.
    #[must_use]
    pub fn matches(&self, operation: &Operation, headers: &Headers) -> bool {
        match &*self.name {
            ":path" => with_path(operation, |path| self.holds(Some(path.as_bytes()))),
            // Every call is carried by this method.
            ":method" => self.holds(Some(b"POST")),
            name => {
                let mut values = headers.iter().filter(|(found, _)| *found == name);
                let first = values.next().map(|(_, value)| value);
                match (first, values.next()) {
                    (Some(first), Some((_, second))) => {
                        let mut joined = first.to_vec();
                        for value in std::iter::once(second).chain(values.map(|(_, value)| value)) {
                            joined.push(b',');
                            joined.extend_from_slice(value);
                        }
                        self.holds(Some(&joined))
                    }
                    (first, _) => self.holds(first),
                }
            }
        }
    }

    fn holds(&self, value: Option<&[u8]>) -> bool {
        if let ValueMatch::Present(present) = self.value {
            return (value.is_some() == present) != self.invert;
        }
        let value = match value {
            Some(value) => value,
            None if self.missing_is_empty => b"",
            None => return false,
        };
        // What is no text fits no condition on texts.
        let fits = std::str::from_utf8(value).is_ok_and(|text| self.value.fits(text));
        fits != self.invert
    }
}

impl ValueMatch {
    fn fits(&self, value: &str) -> bool {
        match self {
            Self::Text { text, ignore_case } => text.fits(value, *ignore_case),
            Self::Range { start, end } => value
                .trim()
                .parse::<i64>()
                .is_ok_and(|number| (*start..*end).contains(&number)),
            Self::Present(present) => *present,
        }
    }
}

impl TextMatch {
    fn fits(&self, value: &str, ignore_case: bool) -> bool {
        let (value, same) = (value.as_bytes(), |a: &[u8], b: &[u8]| {
            if ignore_case {
                a.eq_ignore_ascii_case(b)
            } else {
                a == b
            }
        });
        match self {
            Self::Exact(text) => same(value, text.as_bytes()),
            Self::Prefix(text) => value
                .get(..text.len())
                .is_some_and(|start| same(start, text.as_bytes())),
            Self::Suffix(text) => value
                .len()
                .checked_sub(text.len())
                .is_some_and(|at| same(&value[at..], text.as_bytes())),
            Self::Contains(text) if text.is_empty() => true,
            Self::Contains(text) => value
                .windows(text.len())
                .any(|part| same(part, text.as_bytes())),
            Self::Regex(regex) => std::str::from_utf8(value).is_ok_and(|text| regex.matches(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATE: Operation = Operation::from_static("nsmf/create");

    fn headers(entries: &[(&str, &[u8])]) -> Headers {
        let mut headers = Headers::new();
        for (name, value) in entries {
            headers.append(name, value).unwrap();
        }
        headers
    }

    fn text(text: TextMatch) -> ValueMatch {
        ValueMatch::Text {
            text,
            ignore_case: false,
        }
    }

    #[test]
    fn every_form_of_a_value() {
        let exact = |value: &str| text(TextMatch::Exact(value.into()));
        let any_case = |text| ValueMatch::Text {
            text,
            ignore_case: true,
        };
        let regex = |expression| text(TextMatch::Regex(WholeRegex::new(expression).unwrap()));
        for (value, matcher, fits) in [
            ("canary", exact("canary"), true),
            ("Canary", exact("canary"), false),
            ("Canary", any_case(TextMatch::Exact("canary".into())), true),
            ("canary-2", text(TextMatch::Prefix("canary".into())), true),
            ("can", text(TextMatch::Prefix("canary".into())), false),
            (
                "CANARY-2",
                any_case(TextMatch::Prefix("canary".into())),
                true,
            ),
            ("my-canary", text(TextMatch::Suffix("canary".into())), true),
            ("ry", text(TextMatch::Suffix("canary".into())), false),
            (
                "MY-CANARY",
                any_case(TextMatch::Suffix("canary".into())),
                true,
            ),
            (
                "a canary sings",
                text(TextMatch::Contains("canary".into())),
                true,
            ),
            (
                "a cat sings",
                text(TextMatch::Contains("canary".into())),
                false,
            ),
            (
                "A CANARY",
                any_case(TextMatch::Contains("canary".into())),
                true,
            ),
            ("", text(TextMatch::Contains("".into())), true),
            ("imsi-00101", regex("imsi-[0-9]+"), true),
            ("xximsi-00101", regex("imsi-[0-9]+"), false),
            ("10", ValueMatch::Range { start: 10, end: 20 }, true),
            ("20", ValueMatch::Range { start: 10, end: 20 }, false),
            ("-1", ValueMatch::Range { start: -5, end: 0 }, true),
            ("ten", ValueMatch::Range { start: 0, end: 99 }, false),
            ("x", ValueMatch::Present(true), true),
            ("x", ValueMatch::Present(false), false),
        ] {
            let mut condition = HeaderMatch::new("X-Kind", matcher);
            let headers = headers(&[("other", b"canary"), ("x-kind", value.as_bytes())]);
            assert_eq!(
                condition.matches(&CREATE, &headers),
                fits,
                "{condition:?} {value}"
            );
            condition.invert = true;
            assert_eq!(
                condition.matches(&CREATE, &headers),
                !fits,
                "inverted {condition:?} {value}"
            );
        }
    }

    #[test]
    fn a_missing_header_fits_nothing_unless_it_counts_as_empty() {
        let none = Headers::new();
        let mut condition = HeaderMatch::new("x", text(TextMatch::Exact("".into())));
        for invert in [false, true] {
            condition.invert = invert;
            assert!(!condition.matches(&CREATE, &none), "inverted: {invert}");
        }
        condition.missing_is_empty = true;
        assert!(
            !condition.matches(&CREATE, &none),
            "empty is the empty text, inverted"
        );
        condition.invert = false;
        assert!(condition.matches(&CREATE, &none));

        let mut absent = HeaderMatch::new("x", ValueMatch::Present(false));
        assert!(absent.matches(&CREATE, &none));
        absent.invert = true;
        assert!(!absent.matches(&CREATE, &none));
    }

    #[test]
    fn several_values_count_as_one_and_octets_that_are_no_text_fit_nothing() {
        let condition = HeaderMatch::new("x", text(TextMatch::Exact("a,b,c".into())));
        let several = headers(&[("x", b"a"), ("y", b"-"), ("x", b"b"), ("x", b"c")]);
        assert!(condition.matches(&CREATE, &several));
        let octets = headers(&[("x", &[0xff, 0xfe])]);
        let any = HeaderMatch::new("x", text(TextMatch::Prefix("".into())));
        assert!(!any.matches(&CREATE, &octets));
    }

    #[test]
    fn the_path_and_the_method_can_be_asked_for() {
        let none = Headers::new();
        let path = HeaderMatch::new(":path", text(TextMatch::Exact("/nsmf/create".into())));
        assert!(path.matches(&CREATE, &none));
        let method = HeaderMatch::new(":method", text(TextMatch::Exact("POST".into())));
        assert!(method.matches(&CREATE, &none));
    }
}
