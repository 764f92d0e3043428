//! A code and what can be said of it.

use crate::Code;
use std::borrow::Cow;
use std::fmt;

/// How a call was answered: a [`Code`] and a sentence for people.
///
/// Structured detail (for example an RFC 9457 problem document) is the response's body, with its
/// media type in the headers: it is a message like any other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    code: Code,
    message: Cow<'static, str>,
}

impl Status {
    /// Done. Does not allocate.
    pub const OK: Self = Self::of(Code::Ok);

    /// A code without a sentence.
    #[must_use]
    pub const fn of(code: Code) -> Self {
        Self {
            code,
            message: Cow::Borrowed(""),
        }
    }

    /// A code and a sentence that says what went wrong and what to do next.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// The code.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.code
    }

    /// The sentence; may be empty.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the code is [`Code::Ok`].
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.code == Code::Ok
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.message.is_empty() {
            write!(f, "{}", self.code)
        } else {
            write!(f, "{}: {}", self.code, self.message)
        }
    }
}
