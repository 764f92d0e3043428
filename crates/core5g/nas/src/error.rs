//! Why octets are not a NAS message that can be acted on.

use std::fmt;

use super::MmCause;

/// What is wrong with received octets, or with a message that is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NasError {
    kind: NasErrorKind,
    field: Option<String>,
}

/// The classes that a receiver treats differently (TS 24.501 clause 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NasErrorKind {
    /// The octets end inside the header, or belong to another protocol: to be ignored.
    NotNas,
    /// The message type does not exist, or is none that is served here.
    MessageType,
    /// A mandatory element is missing or wrong.
    Mandatory,
    /// An element that this message must have in this place is missing or wrong.
    Conditional,
    /// A message under a security header where a plain one stands, or the reverse.
    Protection,
    /// The MAC is wrong, or the message was received before: to be discarded.
    Integrity,
    /// Every NAS COUNT of the direction was used: a new security context is needed.
    CountExhausted,
    /// The message cannot be written: a value is too long for its element.
    Encode,
}

impl NasError {
    /// A message that had to be protected and was not: to be discarded.
    #[must_use]
    pub const fn unprotected() -> Self {
        Self::new(NasErrorKind::Integrity)
    }

    pub(super) const fn new(kind: NasErrorKind) -> Self {
        Self { kind, field: None }
    }

    pub(super) fn of(kind: NasErrorKind, field: impl Into<String>) -> Self {
        Self {
            kind,
            field: Some(field.into()),
        }
    }

    /// The class.
    #[must_use]
    pub const fn kind(&self) -> NasErrorKind {
        self.kind
    }

    /// The element, or what else is known.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }

    /// What the receiver says in 5GMM STATUS or a reject; none when the message is to be ignored.
    #[must_use]
    pub const fn mm_cause(&self) -> Option<MmCause> {
        match self.kind {
            NasErrorKind::MessageType => Some(MmCause::MESSAGE_TYPE_UNKNOWN),
            NasErrorKind::Mandatory => Some(MmCause::INVALID_MANDATORY),
            NasErrorKind::Conditional => Some(MmCause::CONDITIONAL_ELEMENT),
            NasErrorKind::NotNas
            | NasErrorKind::Protection
            | NasErrorKind::Integrity
            | NasErrorKind::CountExhausted
            | NasErrorKind::Encode => None,
        }
    }
}

impl fmt::Display for NasError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            NasErrorKind::NotNas => "no NAS message",
            NasErrorKind::MessageType => "a message type that is not served",
            NasErrorKind::Mandatory => "a mandatory element is missing or wrong",
            NasErrorKind::Conditional => "a conditional element is missing or wrong",
            NasErrorKind::Protection => "the message is not protected as it must be",
            NasErrorKind::Integrity => "the MAC is wrong or the message is a replay",
            NasErrorKind::CountExhausted => "every NAS COUNT of the direction was used",
            NasErrorKind::Encode => "a value does not fit its element",
        })?;
        match &self.field {
            Some(field) => write!(f, ": {field}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for NasError {}
