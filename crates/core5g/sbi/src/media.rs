//! Media types of the service interfaces (TS 29.500, 5.4; RFC 7231, 3.1.1.1).

/// JSON.
pub const JSON: &str = "application/json";
/// A problem document.
pub(crate) const PROBLEM: &str = "application/problem+json";
/// Changes as a list of operations (RFC 6902).
pub const JSON_PATCH: &str = "application/json-patch+json";
/// Changes as the members that become different (RFC 7386).
pub const MERGE_PATCH: &str = "application/merge-patch+json";
/// JSON with links (TS 29.501, 4.7).
pub const HAL: &str = "application/3gppHal+json";
/// The form of OAuth 2.0 (RFC 6749, 4.4.2).
pub const FORM: &str = "application/x-www-form-urlencoded";
/// A JSON part and what it refers to.
pub(crate) const MULTIPART_RELATED: &str = "multipart/related";

/// The type without its parameters.
pub(crate) fn essence(value: &str) -> &str {
    value.split(';').next().unwrap_or_default().trim()
}

/// Whether a type, whatever its parameters, is this one; types are not case-sensitive.
pub fn is(value: &str, wanted: &str) -> bool {
    essence(value).eq_ignore_ascii_case(wanted)
}

/// A parameter of the type, unquoted.
pub(crate) fn parameter<'a>(value: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = &value[value.find(';')? + 1..];
    loop {
        let (found, after) = rest.split_once('=')?;
        let found = found.trim();
        let after = after.trim_start();
        let (text, next) = match after.strip_prefix('"') {
            Some(quoted) => {
                let (text, next) = quoted.split_once('"')?;
                (text, next.split_once(';').map(|(_, next)| next))
            }
            None => match after.split_once(';') {
                Some((text, next)) => (text.trim_end(), Some(next)),
                None => (after.trim_end(), None),
            },
        };
        if found.eq_ignore_ascii_case(name) {
            return Some(text);
        }
        rest = next?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_quoted_or_not() {
        let value = "multipart/related; type=\"application/json\"; boundary=a-b ; start=\"<x;y>\"";
        assert!(is(value, "Multipart/Related"));
        assert_eq!(parameter(value, "type"), Some("application/json"));
        assert_eq!(parameter(value, "Boundary"), Some("a-b"));
        assert_eq!(parameter(value, "start"), Some("<x;y>"));
        assert_eq!(parameter(value, "charset"), None);
        for odd in ["", ";", "a;=", "a;b", "a;b=\"", "a;b=\"c"] {
            assert_eq!(parameter(odd, "boundary"), None, "{odd:?}");
        }
    }
}
