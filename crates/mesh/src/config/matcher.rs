//! Which requests a route is for.

use std::fmt;
use std::sync::Arc;

/// The longest regular expression that is compiled, in octets.
pub const MAX_REGEX_OCTETS: usize = 1024;
/// The most memory a compiled regular expression may take, in octets.
const MAX_REGEX_PROGRAM: usize = 256 * 1024;

/// Parts of a million: how much of the traffic something is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fraction(u32);

impl Fraction {
    /// Nothing.
    pub const NEVER: Self = Self(0);
    /// Everything.
    pub const ALWAYS: Self = Self(1_000_000);

    /// So many parts of a million; more than a million is everything.
    #[must_use]
    pub const fn per_million(parts: u32) -> Self {
        if parts > 1_000_000 {
            Self::ALWAYS
        } else {
            Self(parts)
        }
    }

    /// So many parts of a hundred.
    #[must_use]
    pub const fn percent(percent: u32) -> Self {
        Self::per_million(percent.saturating_mul(10_000))
    }

    /// Its parts of a million.
    #[must_use]
    pub const fn parts(self) -> u32 {
        self.0
    }

    /// Whether this random number falls within it.
    #[must_use]
    pub const fn holds(self, random: u64) -> bool {
        // The high half of the product: even without a division, and as even as the numbers are.
        ((random as u128 * 1_000_000) >> 64) < self.0 as u128
    }
}

impl Default for Fraction {
    fn default() -> Self {
        Self::ALWAYS
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", f64::from(self.0) / 10_000.0)
    }
}

/// A regular expression that a whole text has to match. Matching takes time linear in the text.
#[derive(Clone)]
pub struct Regex {
    compiled: regex::Regex,
    text: Arc<str>,
}

impl Regex {
    /// Compiles it.
    ///
    /// # Errors
    /// When it is longer than [`MAX_REGEX_OCTETS`], not a regular expression (look-around and
    /// back-references are none here), or too large when compiled.
    pub fn new(text: &str) -> Result<Self, RegexFault> {
        if text.len() > MAX_REGEX_OCTETS {
            let length = text.len();
            return Err(RegexFault(format!(
                "has {length} octets, at most {MAX_REGEX_OCTETS} are compiled"
            )));
        }
        // The group keeps the anchors outside of an alternation; a flag or an unbalanced
        // parenthesis must not get out of it.
        let parses = |text: &str| {
            regex::RegexBuilder::new(text)
                .size_limit(MAX_REGEX_PROGRAM)
                .dfa_size_limit(MAX_REGEX_PROGRAM)
                .build()
                .map_err(|error| RegexFault(one_line(&error)))
        };
        parses(text)?;
        Ok(Self {
            compiled: parses(&format!(r"\A(?:{text})\z"))?,
            text: text.into(),
        })
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether all of `text` matches.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        self.compiled.is_match(text)
    }
}

fn one_line(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(most) => {
            format!("takes more than {most} octets when compiled")
        }
        other => {
            // The last line says what is wrong, those before it draw where.
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default().trim();
            format!(
                "is no regular expression: {}",
                last.trim_start_matches("error: ")
            )
        }
    }
}

impl PartialEq for Regex {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Regex {}

impl fmt::Debug for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Regex({:?})", self.text)
    }
}

/// What is wrong with a regular expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegexFault(String);

impl fmt::Display for RegexFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RegexFault {}

/// What a text is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StringPattern {
    /// The whole text.
    Exact(Arc<str>),
    /// How it begins.
    Prefix(Arc<str>),
    /// How it ends.
    Suffix(Arc<str>),
    /// A part of it.
    Contains(Arc<str>),
    /// All of it, by a regular expression.
    Regex(Regex),
}

/// A condition on a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StringMatch {
    /// What it is compared with.
    pub pattern: StringPattern,
    /// `A` is `a`, in ASCII. Means nothing to a regular expression.
    pub ignore_case: bool,
}

impl StringMatch {
    /// A condition that heeds the case.
    #[must_use]
    pub const fn new(pattern: StringPattern) -> Self {
        Self {
            pattern,
            ignore_case: false,
        }
    }

    /// Whether it holds for `text`.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        let same = |part: &[u8], pattern: &str| {
            if self.ignore_case {
                part.eq_ignore_ascii_case(pattern.as_bytes())
            } else {
                part == pattern.as_bytes()
            }
        };
        let octets = text.as_bytes();
        match &self.pattern {
            StringPattern::Exact(pattern) => same(octets, pattern),
            StringPattern::Prefix(pattern) => octets
                .get(..pattern.len())
                .is_some_and(|part| same(part, pattern)),
            StringPattern::Suffix(pattern) => octets
                .len()
                .checked_sub(pattern.len())
                .is_some_and(|at| same(&octets[at..], pattern)),
            StringPattern::Contains(pattern) if self.ignore_case => {
                pattern.is_empty()
                    || octets
                        .windows(pattern.len())
                        .any(|part| same(part, pattern))
            }
            StringPattern::Contains(pattern) => text.contains(&**pattern),
            StringPattern::Regex(regex) => regex.matches(text),
        }
    }
}

/// A condition on the path, which is a slash and the operation's name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathMatch {
    /// How it begins; the empty prefix and `/` are every path.
    Prefix {
        /// The beginning.
        prefix: Arc<str>,
        /// `A` is `a`, in ASCII.
        ignore_case: bool,
    },
    /// The path itself or one below it: `/a` is for `/a` and `/a/b`, not for `/ab`.
    SegmentPrefix {
        /// The beginning; does not end with a slash.
        prefix: Arc<str>,
        /// `A` is `a`, in ASCII.
        ignore_case: bool,
    },
    /// The whole path.
    Exact {
        /// The path.
        path: Arc<str>,
        /// `A` is `a`, in ASCII.
        ignore_case: bool,
    },
    /// The whole path, by a regular expression.
    Regex(Regex),
}

impl PathMatch {
    /// Every path.
    #[must_use]
    pub fn any() -> Self {
        Self::Prefix {
            prefix: "".into(),
            ignore_case: false,
        }
    }
}

impl Default for PathMatch {
    fn default() -> Self {
        Self::any()
    }
}

/// What is asked of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderCondition {
    /// Its value, several joined by commas.
    Value(StringMatch),
    /// Its value is a whole number from `start` to below `end`.
    Range {
        /// The first number that matches.
        start: i64,
        /// The first that no longer does.
        end: i64,
    },
    /// It is there (`true`) or it is not (`false`).
    Present(bool),
}

/// A condition on a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderMatch {
    /// Its name, in lower case.
    pub name: Arc<str>,
    /// What is asked of it.
    pub condition: HeaderCondition,
    /// The condition must *not* hold.
    pub invert: bool,
    /// A header that is absent counts as empty; otherwise a condition on its value does not hold,
    /// whether inverted or not.
    pub missing_as_empty: bool,
}

/// Which requests a route is for: all of it must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteMatch {
    /// The path.
    pub path: PathMatch,
    /// The headers.
    pub headers: Vec<HeaderMatch>,
    /// How many of the requests for which the rest holds; `None`: all.
    pub fraction: Option<Fraction>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regex_has_to_match_the_whole_text() {
        let regex = Regex::new("a|b").unwrap();
        assert!(regex.matches("a") && regex.matches("b"));
        assert!(!regex.matches("ab") && !regex.matches("xb"));
    }

    #[test]
    fn a_bad_regex_says_what_is_wrong() {
        for (text, says) in [
            ("(", "unclosed group"),
            ("a)|(?:b", "unopened group"),
            (r"(a)\1", "backreferences"),
            (r"\w{1000}{1000}", "when compiled"),
        ] {
            let fault = Regex::new(text).unwrap_err().to_string();
            assert!(fault.contains(says), "{text}: {fault}");
        }
        assert!(Regex::new(&"a".repeat(MAX_REGEX_OCTETS + 1)).is_err());
    }

    #[test]
    fn strings() {
        let case = |pattern, ignore_case| StringMatch {
            pattern,
            ignore_case,
        };
        for (pattern, yes, no) in [
            (StringPattern::Exact("imsi".into()), "imsi", "imsi-"),
            (StringPattern::Prefix("imsi".into()), "imsi-1", "ims"),
            (StringPattern::Suffix("-a".into()), "imsi-a", "a"),
            (StringPattern::Contains("si-".into()), "imsi-1", "imsi"),
        ] {
            let upper = yes.to_uppercase();
            let exact = case(pattern.clone(), false);
            assert!(exact.matches(yes) && !exact.matches(no));
            assert_eq!(exact.matches(&upper), upper == yes);
            let loose = case(pattern, true);
            assert!(loose.matches(yes) && loose.matches(&upper) && !loose.matches(no));
        }
        // A pattern's length need not fall on a boundary of characters.
        assert!(!case(StringPattern::Prefix("a".into()), false).matches("ä"));
        assert!(!case(StringPattern::Suffix("a".into()), true).matches("ä"));
    }

    #[test]
    fn fractions_hold_for_their_share_of_the_numbers() {
        let share = |fraction: Fraction| {
            let step = u64::MAX / 1000;
            (0..1000).filter(|at| fraction.holds(at * step)).count()
        };
        assert_eq!(share(Fraction::NEVER), 0);
        assert_eq!(share(Fraction::ALWAYS), 1000);
        assert!(Fraction::ALWAYS.holds(u64::MAX));
        assert!((249..=251).contains(&share(Fraction::percent(25))));
        assert_eq!(Fraction::percent(1000), Fraction::ALWAYS);
    }
}
