//! Matching a request's path: an operation with a slash before it.

use corewire_message::Operation;
use regex::Regex;
use std::fmt;

/// The longest expression that is taken, and how large it may become when it is compiled: it comes
/// from a control plane, which may be wrong.
pub const MAX_REGEX_OCTETS: usize = 4096;
const MAX_COMPILED_OCTETS: usize = 1 << 20;

/// The longest path: an operation's name and its slash.
const MAX_PATH: usize = 1025;

/// An expression that must match the whole of a text. It takes linear time whatever the text.
#[derive(Clone, Debug)]
pub struct WholeRegex(Regex);

impl WholeRegex {
    /// Compiles an expression in RE2's syntax.
    ///
    /// # Errors
    /// When it is no expression, or too large.
    pub fn new(expression: &str) -> Result<Self, RegexFault> {
        if expression.len() > MAX_REGEX_OCTETS {
            let why = format!("the expression is longer than {MAX_REGEX_OCTETS} octets");
            return Err(RegexFault(why));
        }
        regex::RegexBuilder::new(&format!("^(?:{expression})$"))
            .size_limit(MAX_COMPILED_OCTETS)
            .build()
            .map(Self)
            .map_err(|error| RegexFault(error.to_string()))
    }

    /// Whether all of `text` fits.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// Why an expression is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegexFault(String);

impl fmt::Display for RegexFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RegexFault {}

/// What a path must look like. Paths are written with their first slash.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PathMatch {
    /// It begins like this.
    Prefix {
        /// Without the first slash; empty fits all.
        path: Box<str>,
        /// Whether letters' case counts.
        case_sensitive: bool,
    },
    /// It is this.
    Exact {
        /// Without the first slash.
        path: Box<str>,
        /// Whether letters' case counts.
        case_sensitive: bool,
    },
    /// All of it fits this expression.
    Regex(WholeRegex),
    /// None: a pattern that does not begin with a slash.
    Nothing,
}

impl PathMatch {
    /// Paths that begin with `path`.
    #[must_use]
    pub fn prefix(path: &str, case_sensitive: bool) -> Self {
        match path.strip_prefix('/') {
            Some(path) => Self::Prefix {
                path: path.into(),
                case_sensitive,
            },
            None if path.is_empty() => Self::Prefix {
                path: "".into(),
                case_sensitive,
            },
            None => Self::Nothing,
        }
    }

    /// The path `path` only.
    #[must_use]
    pub fn exact(path: &str, case_sensitive: bool) -> Self {
        match path.strip_prefix('/') {
            Some(path) => Self::Exact {
                path: path.into(),
                case_sensitive,
            },
            None => Self::Nothing,
        }
    }

    /// Whether this operation's path fits. Does not allocate.
    #[must_use]
    pub fn matches(&self, operation: &Operation) -> bool {
        let name = operation.as_str();
        match self {
            Self::Prefix {
                path,
                case_sensitive: true,
            } => name.starts_with(&**path),
            Self::Prefix { path, .. } => name
                .get(..path.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(path)),
            Self::Exact {
                path,
                case_sensitive: true,
            } => *name == **path,
            Self::Exact { path, .. } => name.eq_ignore_ascii_case(path),
            Self::Regex(regex) => with_path(operation, |path| regex.matches(path)),
            Self::Nothing => false,
        }
    }
}

/// Gives an operation's path, its name with a slash before it.
pub fn with_path<T>(operation: &Operation, f: impl FnOnce(&str) -> T) -> T {
    let name = operation.as_str().as_bytes();
    let mut path = [0; MAX_PATH];
    path[0] = b'/';
    // An operation is never longer (`Operation::parse`).
    let length = name.len().min(MAX_PATH - 1);
    path[1..=length].copy_from_slice(&name[..length]);
    // An operation is ASCII.
    f(std::str::from_utf8(&path[..=length]).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regex(expression: &str) -> PathMatch {
        PathMatch::Regex(WholeRegex::new(expression).unwrap())
    }

    #[test]
    fn paths_fit_as_they_say() {
        let operation = Operation::parse("nsmf-pdusession/v1/sm-contexts/create").unwrap();
        for (what, matcher, fits) in [
            ("empty prefix", PathMatch::prefix("", true), true),
            ("root", PathMatch::prefix("/", true), true),
            (
                "service",
                PathMatch::prefix("/nsmf-pdusession/", true),
                true,
            ),
            ("part of a word", PathMatch::prefix("/nsmf-pdu", true), true),
            ("other case", PathMatch::prefix("/NSMF-", true), false),
            ("any case", PathMatch::prefix("/NSMF-", false), true),
            ("no slash", PathMatch::prefix("nsmf", true), false),
            (
                "longer than the path",
                PathMatch::prefix(&format!("/{}", "n".repeat(99)), false),
                false,
            ),
            (
                "exact",
                PathMatch::exact("/nsmf-pdusession/v1/sm-contexts/create", true),
                true,
            ),
            (
                "exact, any case",
                PathMatch::exact("/nsmf-pdusession/V1/sm-contexts/create", false),
                true,
            ),
            (
                "exact, a part",
                PathMatch::exact("/nsmf-pdusession/v1", true),
                false,
            ),
            (
                "exact, no slash",
                PathMatch::exact("nsmf-pdusession/v1/sm-contexts/create", true),
                false,
            ),
            ("regex", regex("/nsmf-pdusession/v[12]/.*"), true),
            ("regex of a part", regex("nsmf-pdusession"), false),
            (
                "alternatives do not escape the anchors",
                regex("/a|nsmf.*"),
                false,
            ),
        ] {
            assert_eq!(matcher.matches(&operation), fits, "{what}");
        }
    }

    #[test]
    fn bad_expressions_are_refused_with_the_reason() {
        assert!(
            WholeRegex::new("(")
                .unwrap_err()
                .to_string()
                .contains("unclosed")
        );
        assert!(WholeRegex::new(&"a".repeat(MAX_REGEX_OCTETS + 1)).is_err());
        assert!(
            WholeRegex::new("((a{100}){100}){100}").is_err(),
            "too large when compiled"
        );
    }

    #[test]
    fn an_expression_that_backtracks_elsewhere_is_quick_here() {
        let regex = WholeRegex::new("(a*)*b").unwrap();
        let began = std::time::Instant::now();
        assert!(!regex.matches(&"a".repeat(20_000)));
        assert!(began.elapsed() < std::time::Duration::from_secs(5));
    }

    #[test]
    fn the_longest_operation_has_a_path() {
        let name = format!("a/{}", "b".repeat(1022));
        let operation = Operation::parse(&name).unwrap();
        assert!(with_path(&operation, |path| path == format!("/{name}")));
    }
}
