//! What a message asks for.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The longest operation name, in octets.
pub(crate) const MAX_OPERATION_OCTETS: usize = 1024;

/// What a message asks for: a service and a method of it, written `service/method`.
///
/// The service may contain slashes (a resource path), the method may not. A resource at the root is a
/// method alone (`healthz`): its service is empty. Names given at compile
/// time cost nothing to copy; others share one allocation.
#[derive(Clone)]
pub struct Operation(Name);

#[derive(Clone)]
enum Name {
    Static(&'static str),
    Shared(Arc<str>),
}

impl Operation {
    /// The operation with this name, checked when the program is compiled.
    ///
    /// # Panics
    /// In constant evaluation, when `name` is not `service/method` in visible ASCII.
    #[must_use]
    pub const fn from_static(name: &'static str) -> Self {
        assert!(
            is_valid(name.as_bytes()),
            "an operation is written service/method"
        );
        Self(Name::Static(name))
    }

    /// The operation with this name.
    ///
    /// # Errors
    /// When `name` is not `service/method` in visible ASCII, or longer than 1024 octets.
    pub fn parse(name: &str) -> Result<Self, OperationFault> {
        if is_valid(name.as_bytes()) {
            Ok(Self(Name::Shared(Arc::from(name))))
        } else {
            Err(OperationFault)
        }
    }

    /// The whole name, `service/method`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Name::Static(name) => name,
            Name::Shared(name) => name,
        }
    }

    /// The part before the last slash.
    #[must_use]
    pub fn service(&self) -> &str {
        self.as_str()
            .rsplit_once('/')
            .map_or("", |(service, _)| service)
    }

    /// The part after the last slash; all of it where there is none.
    #[must_use]
    pub fn method(&self) -> &str {
        let name = self.as_str();
        name.rsplit_once('/').map_or(name, |(_, method)| method)
    }

    /// Whether both are the same name in the same memory: a quick first look for caches.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq(self.as_str(), other.as_str())
    }
}

const fn is_valid(name: &[u8]) -> bool {
    if name.len() > MAX_OPERATION_OCTETS {
        return false;
    }
    let mut slash = None;
    let mut at = 0;
    while at < name.len() {
        match name[at] {
            b'/' => slash = Some(at),
            b'!'..=b'~' => {}
            _ => return false,
        }
        at += 1;
    }
    match slash {
        Some(at) => at > 0 && at + 1 < name.len(),
        None => !name.is_empty(),
    }
}

impl PartialEq for Operation {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || self.as_str() == other.as_str()
    }
}

impl Eq for Operation {}

impl Hash for Operation {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Operation({})", self.as_str())
    }
}

/// A name that is not an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationFault;

impl fmt::Display for OperationFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an operation is written service/method, in at most 1024 visible ASCII octets")
    }
}

impl std::error::Error for OperationFault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_split_at_the_last_slash() {
        let operation = Operation::parse("nsmf-pdusession/v1/sm-contexts/create").unwrap();
        assert_eq!(operation.service(), "nsmf-pdusession/v1/sm-contexts");
        assert_eq!(operation.method(), "create");
    }

    #[test]
    fn a_resource_at_the_root_is_a_method_alone() {
        let operation = Operation::parse("healthz").unwrap();
        assert_eq!((operation.service(), operation.method()), ("", "healthz"));
    }

    #[test]
    fn bad_names_are_refused() {
        for name in ["", "/", "a/", "/b", "a b", "a b/c", "a/b\n", "ä/b"] {
            assert_eq!(Operation::parse(name), Err(OperationFault), "{name:?}");
        }
        assert!(Operation::parse(&format!("a/{}", "b".repeat(1022))).is_ok());
        assert!(Operation::parse(&format!("a/{}", "b".repeat(1023))).is_err());
    }

    #[test]
    fn static_and_shared_names_are_equal() {
        const NAME: Operation = Operation::from_static("a/b");
        assert_eq!(NAME, Operation::parse("a/b").unwrap());
    }
}
