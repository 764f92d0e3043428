//! Matching a request's headers.

use super::RequestHead;
use super::path::with_path;
use crate::config::{HeaderCondition, HeaderMatch};
use corewire_message::Headers;
use corewire_wire::mapping::method::{Method, QUERY};

/// Whether the condition holds. Does not allocate unless the header has several values, or the
/// condition is on `:path` and there is a query.
#[must_use]
pub fn matches(condition: &HeaderMatch, request: &RequestHead<'_>) -> bool {
    with_field(request, &condition.name, |value| holds(condition, value))
}

/// Gives the value of a header or of one of HTTP/2's pseudo-header fields: the method and the authority
/// are the call's own, the path has its query with it.
pub fn with_field<T>(
    request: &RequestHead<'_>,
    name: &str,
    f: impl FnOnce(Option<&[u8]>) -> T,
) -> T {
    if !name.starts_with(':') && name != "host" {
        return with_value(request.headers, name, f);
    }
    match name {
        ":method" => f(Some(Method::of(request.headers).name().as_bytes())),
        ":authority" | "host" => f(Some(request.authority.as_bytes())),
        ":path" => with_path(request.operation, |path| match request.headers.get(QUERY) {
            None => f(Some(path.as_bytes())),
            Some(query) => f(Some(&[path.as_bytes(), b"?", query].concat())),
        }),
        _ => f(None),
    }
}

/// Gives a header's value; several are joined by commas.
pub fn with_value<T>(headers: &Headers, name: &str, f: impl FnOnce(Option<&[u8]>) -> T) -> T {
    let mut values = headers
        .iter()
        .filter(|(found, _)| *found == name)
        .map(|(_, value)| value);
    let first = values.next();
    match (first, values.next()) {
        (Some(first), Some(second)) => {
            let mut joined = first.to_vec();
            for value in std::iter::once(second).chain(values) {
                joined.push(b',');
                joined.extend_from_slice(value);
            }
            f(Some(&joined))
        }
        (first, _) => f(first),
    }
}

fn holds(condition: &HeaderMatch, value: Option<&[u8]>) -> bool {
    if let HeaderCondition::Present(present) = condition.condition {
        return (value.is_some() == present) != condition.invert;
    }
    let value = match value {
        Some(value) => value,
        None if condition.missing_as_empty => b"",
        None => return false,
    };
    // What is no text fits no condition on texts.
    let fits = std::str::from_utf8(value).is_ok_and(|text| match &condition.condition {
        HeaderCondition::Value(pattern) => pattern.matches(text),
        HeaderCondition::Range { start, end } => text
            .trim()
            .parse::<i64>()
            .is_ok_and(|number| (*start..*end).contains(&number)),
        HeaderCondition::Present(present) => *present,
    });
    fits != condition.invert
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Regex, StringMatch, StringPattern};

    use corewire_message::Operation;

    const CREATE: Operation = Operation::from_static("nsmf/create");

    fn headers(entries: &[(&str, &[u8])]) -> Headers {
        let mut headers = Headers::new();
        for (name, value) in entries {
            headers.append(name, value).unwrap();
        }
        headers
    }

    fn matches(condition: &HeaderMatch, operation: &Operation, headers: &Headers) -> bool {
        let request = RequestHead {
            operation,
            headers,
            authority: "smf.example",
        };
        super::matches(condition, &request)
    }

    fn on(name: &str, condition: HeaderCondition) -> HeaderMatch {
        HeaderMatch {
            name: name.into(),
            condition,
            invert: false,
            missing_as_empty: false,
        }
    }

    fn text(pattern: StringPattern) -> HeaderCondition {
        HeaderCondition::Value(StringMatch::new(pattern))
    }

    #[test]
    fn every_form_of_a_value() {
        let exact = |value: &str| text(StringPattern::Exact(value.into()));
        let regex = |expression| text(StringPattern::Regex(Regex::new(expression).unwrap()));
        let range = |start, end| HeaderCondition::Range { start, end };
        for (value, condition, fits) in [
            ("canary", exact("canary"), true),
            ("Canary", exact("canary"), false),
            (
                "canary-2",
                text(StringPattern::Prefix("canary".into())),
                true,
            ),
            (
                "my-canary",
                text(StringPattern::Suffix("canary".into())),
                true,
            ),
            (
                "a canary sings",
                text(StringPattern::Contains("canary".into())),
                true,
            ),
            ("imsi-00101", regex("imsi-[0-9]+"), true),
            ("xximsi-00101", regex("imsi-[0-9]+"), false),
            ("10", range(10, 20), true),
            ("20", range(10, 20), false),
            ("-1", range(-5, 0), true),
            ("ten", range(0, 99), false),
            ("x", HeaderCondition::Present(true), true),
            ("x", HeaderCondition::Present(false), false),
        ] {
            let mut condition = on("x-kind", condition);
            let headers = headers(&[("other", b"canary"), ("x-kind", value.as_bytes())]);
            assert_eq!(
                matches(&condition, &CREATE, &headers),
                fits,
                "{condition:?} {value}"
            );
            condition.invert = true;
            assert_eq!(
                matches(&condition, &CREATE, &headers),
                !fits,
                "{condition:?} {value}"
            );
        }
    }

    #[test]
    fn a_missing_header_fits_nothing_unless_it_counts_as_empty() {
        let none = Headers::new();
        let mut condition = on("x", text(StringPattern::Exact("".into())));
        for invert in [false, true] {
            condition.invert = invert;
            assert!(!matches(&condition, &CREATE, &none), "inverted: {invert}");
        }
        condition.missing_as_empty = true;
        assert!(
            !matches(&condition, &CREATE, &none),
            "empty is the empty text, inverted"
        );
        condition.invert = false;
        assert!(matches(&condition, &CREATE, &none));

        let mut absent = on("x", HeaderCondition::Present(false));
        assert!(matches(&absent, &CREATE, &none));
        absent.invert = true;
        assert!(!matches(&absent, &CREATE, &none));
    }

    #[test]
    fn several_values_count_as_one_and_octets_that_are_no_text_fit_nothing() {
        let condition = on("x", text(StringPattern::Exact("a,b,c".into())));
        let several = headers(&[("x", b"a"), ("y", b"-"), ("x", b"b"), ("x", b"c")]);
        assert!(matches(&condition, &CREATE, &several));
        let octets = headers(&[("x", &[0xff, 0xfe])]);
        let any = on("x", text(StringPattern::Prefix("".into())));
        assert!(!matches(&any, &CREATE, &octets));
    }

    #[test]
    fn method_authority_and_path_are_the_calls_own() {
        let exact = |name, value: &str| on(name, text(StringPattern::Exact(value.into())));
        let plain = Headers::new();
        for (method, own) in [("GET", true), ("POST", false)] {
            let get = headers(&[("corewire-method", b"GET")]);
            let condition = exact(":method", method);
            assert_eq!(matches(&condition, &CREATE, &get), own, "{method}");
            assert_eq!(matches(&condition, &CREATE, &plain), !own, "{method}");
        }
        for name in [":authority", "host"] {
            assert!(matches(&exact(name, "smf.example"), &CREATE, &plain));
            assert!(!matches(&exact(name, "amf.example"), &CREATE, &plain));
        }
        let asked = headers(&[("corewire-query", b"a=1")]);
        assert!(matches(&exact(":path", "/nsmf/create"), &CREATE, &plain));
        assert!(matches(
            &exact(":path", "/nsmf/create?a=1"),
            &CREATE,
            &asked
        ));
        assert!(!matches(&exact(":path", "/nsmf/create"), &CREATE, &asked));
        assert!(!matches(&exact(":other", ""), &CREATE, &plain));
    }
}
