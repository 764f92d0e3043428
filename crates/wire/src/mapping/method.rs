//! HTTP methods: what a request wants done with a resource, for services whose operations are
//! resources (the service-based interfaces of 3GPP are).
//!
//! Within a message it is the header [`METHOD`]; a request without it is a `POST`.

use corewire_message::{CallKind, Headers, Operation};

/// The header that carries the method of a request, where it is not `POST`.
pub const METHOD: &str = "corewire-method";

/// The header that carries the query of a request, without its question mark.
pub const QUERY: &str = "corewire-query";

/// The methods that reach an operation, as the header `allow` lists them.
pub const ALLOWED: &str = "POST, GET, PUT, PATCH, DELETE";

/// A method that reaches an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the others of HTTP carry no message"
)]
pub enum Method {
    /// Does what the resource does.
    Post,
    /// Reads it.
    Get,
    /// Makes or replaces it.
    Put,
    /// Changes parts of it.
    Patch,
    /// Ends it.
    Delete,
}

impl Method {
    /// The method of this name; names are case-sensitive (RFC 9110, 9.1).
    #[must_use]
    pub const fn read(name: &[u8]) -> Option<Self> {
        match name {
            b"POST" => Some(Self::Post),
            b"GET" => Some(Self::Get),
            b"PUT" => Some(Self::Put),
            b"PATCH" => Some(Self::Patch),
            b"DELETE" => Some(Self::Delete),
            _ => None,
        }
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Post => "POST",
            Self::Get => "GET",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Whether doing it several times is as good as doing it once (RFC 9110, 9.2.2).
    #[must_use]
    pub const fn is_idempotent(self) -> bool {
        matches!(self, Self::Get | Self::Put | Self::Delete)
    }

    /// The method of a message with these headers.
    #[must_use]
    pub fn of(headers: &Headers) -> Self {
        headers
            .get(METHOD)
            .and_then(Self::read)
            .unwrap_or(Self::Post)
    }

    /// Whether a stranger's request with this method reaches the operation. One whose name begins as
    /// `package.Service` is a procedure, which `PUT` and its like would only run by mistake.
    #[must_use]
    pub fn reaches(self, operation: &Operation, kind: CallKind) -> bool {
        if matches!(self, Self::Post | Self::Get) {
            return true;
        }
        let first = operation.as_str().split('/').next().unwrap_or_default();
        kind == CallKind::Unary && !first.contains('.')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways_and_nothing_else_is_one() {
        for name in ALLOWED.split(", ") {
            assert_eq!(Method::read(name.as_bytes()).unwrap().name(), name);
        }
        for name in ["", "get", "HEAD", "OPTIONS", "POST "] {
            assert_eq!(Method::read(name.as_bytes()), None, "{name:?}");
        }
    }

    /// RFC 9110, 9.2.2.
    #[test]
    fn what_may_be_done_twice() {
        for (method, is) in [
            (Method::Post, false),
            (Method::Get, true),
            (Method::Put, true),
            (Method::Patch, false),
            (Method::Delete, true),
        ] {
            assert_eq!(method.is_idempotent(), is, "{method:?}");
        }
    }

    #[test]
    fn a_message_without_a_method_is_a_post() {
        let mut headers = Headers::new();
        assert_eq!(Method::of(&headers), Method::Post);
        headers.append(METHOD, "PATCH").unwrap();
        assert_eq!(Method::of(&headers), Method::Patch);
    }

    #[test]
    fn procedures_are_asked_resources_are_changed() {
        let procedure = Operation::from_static("corewire.registry.v1.Registry/Leave");
        let resource = Operation::from_static("nudm-sdm/v2/nai-a@b.c/am-data");
        for method in [Method::Put, Method::Patch, Method::Delete] {
            assert!(!method.reaches(&procedure, CallKind::Unary));
            assert!(method.reaches(&resource, CallKind::Unary));
            assert!(!method.reaches(&resource, CallKind::Stream));
        }
        assert!(Method::Get.reaches(&procedure, CallKind::Unary));
    }
}
