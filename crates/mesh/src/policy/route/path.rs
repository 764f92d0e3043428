//! Matching a request's path: a slash and the operation's name.

use crate::config::PathMatch;
use corewire_message::Operation;

/// The longest path: an operation's name and its slash.
const MAX_PATH: usize = 1025;

/// Whether this operation's path fits. Does not allocate.
#[must_use]
pub fn matches(path: &PathMatch, operation: &Operation) -> bool {
    let name = operation.as_str();
    match path {
        PathMatch::Prefix {
            prefix,
            ignore_case,
        } => behind_slash(prefix).is_some_and(|prefix| begins(name, prefix, *ignore_case)),
        PathMatch::SegmentPrefix {
            prefix,
            ignore_case,
        } => behind_slash(prefix).is_some_and(|prefix| {
            begins(name, prefix, *ignore_case)
                && matches!(name.as_bytes().get(prefix.len()), None | Some(b'/'))
        }),
        PathMatch::Exact { path, ignore_case } => path
            .strip_prefix('/')
            .is_some_and(|path| path.len() == name.len() && begins(name, path, *ignore_case)),
        PathMatch::Regex(regex) => with_path(operation, |path| regex.matches(path)),
    }
}

/// A prefix without its slash; the empty one fits every path.
fn behind_slash(prefix: &str) -> Option<&str> {
    if prefix.is_empty() {
        return Some(prefix);
    }
    prefix.strip_prefix('/')
}

fn begins(name: &str, prefix: &str, ignore_case: bool) -> bool {
    name.as_bytes().get(..prefix.len()).is_some_and(|start| {
        if ignore_case {
            start.eq_ignore_ascii_case(prefix.as_bytes())
        } else {
            start == prefix.as_bytes()
        }
    })
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
    use crate::config::Regex;

    fn prefix(text: &str, ignore_case: bool) -> PathMatch {
        PathMatch::Prefix {
            prefix: text.into(),
            ignore_case,
        }
    }

    fn segment(text: &str) -> PathMatch {
        PathMatch::SegmentPrefix {
            prefix: text.into(),
            ignore_case: false,
        }
    }

    fn exact(text: &str, ignore_case: bool) -> PathMatch {
        PathMatch::Exact {
            path: text.into(),
            ignore_case,
        }
    }

    fn regex(text: &str) -> PathMatch {
        PathMatch::Regex(Regex::new(text).unwrap())
    }

    #[test]
    fn paths_fit_as_they_say() {
        let operation = Operation::parse("nsmf-pdusession/v1/sm-contexts/create").unwrap();
        let longer = format!("/{}", "n".repeat(99));
        for (what, path, fits) in [
            ("any", PathMatch::any(), true),
            ("root", prefix("/", false), true),
            ("service", prefix("/nsmf-pdusession/", false), true),
            ("part of a word", prefix("/nsmf-pdu", false), true),
            ("other case", prefix("/NSMF-", false), false),
            ("any case", prefix("/NSMF-", true), true),
            ("no slash", prefix("nsmf", false), false),
            ("longer than the path", prefix(&longer, true), false),
            ("segment", segment("/nsmf-pdusession/v1"), true),
            (
                "whole path as segment",
                segment("/nsmf-pdusession/v1/sm-contexts/create"),
                true,
            ),
            ("part of a segment", segment("/nsmf-pdu"), false),
            (
                "exact",
                exact("/nsmf-pdusession/v1/sm-contexts/create", false),
                true,
            ),
            (
                "exact, any case",
                exact("/nsmf-pdusession/V1/sm-contexts/create", true),
                true,
            ),
            (
                "exact, other case",
                exact("/nsmf-pdusession/V1/sm-contexts/create", false),
                false,
            ),
            ("exact, a part", exact("/nsmf-pdusession/v1", false), false),
            (
                "exact, no slash",
                exact("nsmf-pdusession/v1/sm-contexts/create", false),
                false,
            ),
            ("regex", regex("/nsmf-pdusession/v[12]/.*"), true),
            ("regex of a part", regex("/nsmf-pdusession"), false),
            (
                "alternatives do not escape the anchors",
                regex("/a|nsmf.*"),
                false,
            ),
        ] {
            assert_eq!(matches(&path, &operation), fits, "{what}");
        }
    }

    #[test]
    fn an_expression_that_backtracks_elsewhere_is_quick_here() {
        let operation = Operation::parse(&format!("a/{}", "a".repeat(1000))).unwrap();
        let began = std::time::Instant::now();
        assert!(!matches(&regex("/a/(a*)*b"), &operation));
        assert!(began.elapsed() < std::time::Duration::from_secs(5));
    }

    #[test]
    fn the_longest_operation_has_a_path() {
        let name = format!("a/{}", "b".repeat(1022));
        let operation = Operation::parse(&name).unwrap();
        assert!(with_path(&operation, |path| path == format!("/{name}")));
    }
}
