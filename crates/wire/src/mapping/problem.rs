//! Problem documents: how a failed REST answer says why.
//!
//! RFC 9457, with the attributes of TS 29.571, 5.2.4.1: `status`, `title`, `detail` and `cause`
//! (an upper-case name that programs read).

use corewire_message::{Code, Status};
use serde::{Deserialize, Serialize};

/// The media type of a problem document.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// The longest document that is read, octets.
pub const LONGEST: usize = 64 << 10;

/// What this implementation writes and reads of a problem document; other members are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::exhaustive_structs, reason = "the members are the standard's")]
pub struct Problem {
    /// The HTTP status of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What kind of problem, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What went wrong this time, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What kind of problem, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

impl Problem {
    /// The problem document for a failed answer with this HTTP status: its cause is the code's
    /// name, or 3GPP's own where TS 29.500, table 5.2.7.2-1 has one.
    #[must_use]
    pub fn of(status: &Status, http_status: u16) -> Self {
        Self {
            status: Some(http_status),
            title: None,
            detail: (!status.message().is_empty()).then(|| status.message().to_owned()),
            cause: Some(cause(status.code()).to_owned()),
        }
    }

    /// The document as JSON.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        // Strings and a number: writing them to memory does not fail.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// A document from JSON; `None` when it is none or longer than [`LONGEST`].
    #[must_use]
    pub fn from_json(json: &[u8]) -> Option<Self> {
        // Read as a structure, an array would pass as well: its members in order.
        let is_object = json.trim_ascii_start().starts_with(b"{");
        if json.len() > LONGEST || !is_object {
            return None;
        }
        serde_json::from_slice(json).ok()
    }

    /// What the document says to people, best member first.
    #[must_use]
    pub fn message(self) -> Option<String> {
        self.detail.or(self.title).or(self.cause)
    }

    /// The code that the document's cause names.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        let named = self.cause.as_deref()?;
        Code::ALL.into_iter().find(|code| cause(*code) == named)
    }
}

/// The cause that stands for a code: TS 29.500, table 5.2.7.2-1, where it has a general one, else
/// the code's own name.
#[must_use]
pub const fn cause(code: Code) -> &'static str {
    match code {
        Code::InvalidArgument => "INVALID_MSG_FORMAT",
        Code::ResourceExhausted => "NF_CONGESTION_RISK",
        Code::Internal => "SYSTEM_FAILURE",
        Code::Unavailable => "NF_CONGESTION",
        Code::DeadlineExceeded => "TIMED_OUT_REQUEST",
        other => other.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::status::http_status;

    #[test]
    fn every_code_survives_its_own_document() {
        for code in Code::ALL {
            let status = Status::new(code, "line 1\n\"quoted\" ü");
            let json = Problem::of(&status, http_status(code)).to_json();
            let read = Problem::from_json(&json).unwrap();
            assert_eq!(read.status, Some(http_status(code)));
            assert_eq!(read.code(), Some(code));
            assert_eq!(read.message().as_deref(), Some(status.message()));
        }
    }

    #[test]
    fn a_document_without_a_sentence_has_none() {
        let json = Problem::of(&Status::of(Code::NotFound), 404).to_json();
        assert_eq!(json, br#"{"status":404,"cause":"NOT_FOUND"}"#);
    }

    #[test]
    fn a_strangers_document_is_read_and_what_is_none_is_refused() {
        let read = Problem::from_json(
            br#"{"type":"about:blank","title":"Not Found","status":404,"invalidParams":[{"param":"x"}]}"#,
        )
        .unwrap();
        assert_eq!(read.code(), None);
        assert_eq!(read.message().as_deref(), Some("Not Found"));
        for bad in [
            "",
            "{",
            "[]",
            "\"text\"",
            r#"{"status":"x"}"#,
            r#"{"detail":1}"#,
        ] {
            assert_eq!(Problem::from_json(bad.as_bytes()), None, "{bad:?}");
        }
        for (length, is_read) in [(65_536, true), (65_537, false)] {
            let detail = "a".repeat(length - r#"{"detail":""}"#.len());
            let long = format!(r#"{{"detail":"{detail}"}}"#);
            assert_eq!(Problem::from_json(long.as_bytes()).is_some(), is_read);
        }
    }
}
