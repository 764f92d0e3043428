//! Problem documents (TS 29.571, 5.2.4.1; causes of TS 29.500, table 5.2.7.2-1 and of the services).

use super::media;
use corewire::{Body, Headers, Response, Status};
use corewire_transport::mapping::status;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// The header that says the HTTP status of an answer.
pub(super) const HTTP_STATUS: &str = "corewire-http-status";

/// Why a request is not done, for its caller's program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Problem(Box<Document>);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    #[serde(default)]
    status: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<Cow<'static, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detail: Option<Cow<'static, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<Cow<'static, str>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    invalid_params: Vec<InvalidParam>,
    /// What else stands in the head of the answer.
    #[serde(skip)]
    headers: Vec<(&'static str, String)>,
}

/// A part of a request that is wrong (TS 29.571, 5.2.4.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InvalidParam {
    /// A query parameter, a header, or a JSON pointer into the body.
    pub param: String,
    /// What is wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'static, str>>,
}

impl Problem {
    /// An answer with this HTTP status and cause.
    pub fn new(status: u16, cause: &'static str) -> Self {
        Self(Box::new(Document {
            status,
            cause: Some(Cow::Borrowed(cause)),
            ..Document::default()
        }))
    }

    /// 400: something that must be there is not.
    pub fn mandatory_missing(param: &str) -> Self {
        Self::new(400, "MANDATORY_IE_MISSING").invalid(param, "it is mandatory")
    }

    /// 400: something that must be there cannot be so.
    pub fn mandatory_incorrect(param: &str, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(400, "MANDATORY_IE_INCORRECT").invalid(param, reason)
    }

    /// 415: the body is of another type than is taken here.
    pub(crate) fn unsupported_media_type(found: &str, wanted: &'static str) -> Self {
        let found: String = found.chars().take(100).collect();
        Self::new(415, "UNSUPPORTED_MEDIA_TYPE").detail(format!("{found:?} is not {wanted}"))
    }

    /// 500: this network function cannot do what it should.
    pub fn failure(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(500, "SYSTEM_FAILURE").detail(detail)
    }

    /// With a sentence for people.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<Cow<'static, str>>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    /// With one more part that is wrong.
    #[must_use]
    pub fn invalid(mut self, param: &str, reason: impl Into<Cow<'static, str>>) -> Self {
        self.0.invalid_params.push(InvalidParam {
            param: param.chars().take(200).collect(),
            reason: Some(reason.into()),
        });
        self
    }

    /// With a header of the answer.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.headers.push((name, value.into()));
        self
    }

    /// The HTTP status.
    #[cfg(any(test, feature = "testing"))]
    pub fn status(&self) -> u16 {
        self.0.status
    }

    /// The cause, by its name in the specification.
    pub fn cause(&self) -> &str {
        self.0.cause.as_deref().unwrap_or_default()
    }

    /// Reads the document of an answer with this status.
    #[cfg(any(test, feature = "testing"))]
    pub fn read(status: u16, body: &[u8]) -> Option<Self> {
        if body.len() > corewire_transport::mapping::problem::LONGEST {
            return None;
        }
        let mut problem: Self = serde_json::from_slice(body).ok()?;
        problem.0.status = status;
        Some(problem)
    }

    /// The answer that says it.
    pub fn into_response(self) -> Response {
        let code = status::code_of_http_status(self.0.status);
        let sentence = self.0.detail.clone().or_else(|| self.0.cause.clone());
        let mut headers = Headers::new();
        append(&mut headers, "content-type", media::PROBLEM);
        if status::http_status(code) != self.0.status {
            append(&mut headers, HTTP_STATUS, &self.0.status.to_string());
        }
        for (name, value) in &self.0.headers {
            append(&mut headers, name, value);
        }
        // Strings and numbers: writing them to memory does not fail.
        let json = serde_json::to_vec(&self).unwrap_or_default();
        Response {
            status: Status::new(code, sentence.unwrap_or_default()),
            headers,
            body: Body::from(json),
        }
    }
}

/// Adds a header whose name is ours and whose value holds no line break; one that does is left out.
pub(super) fn append(headers: &mut Headers, name: &str, value: &str) {
    let _only_with_line_breaks = headers.append(name, value);
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0.status, self.cause())?;
        if let Some(detail) = &self.0.detail {
            write!(f, ": {detail}")?;
        }
        for wrong in &self.0.invalid_params {
            let reason = wrong.reason.as_deref().unwrap_or("is wrong");
            write!(f, "; {}: {reason}", wrong.param)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_a_document_with_the_status_of_its_code_or_its_own() {
        let response = Problem::new(404, "USER_NOT_FOUND").into_response();
        assert_eq!(response.status.code(), corewire::Code::NotFound);
        assert_eq!(response.headers.get(HTTP_STATUS), None);
        assert_eq!(
            response.headers.get_str("content-type"),
            Some(media::PROBLEM)
        );
        let body = response.body.into_bytes();
        assert_eq!(&body[..], br#"{"status":404,"cause":"USER_NOT_FOUND"}"#);

        let response = Problem::mandatory_missing("/supi").into_response();
        let body = response.body.into_bytes();
        let read = Problem::read(400, &body).unwrap();
        assert_eq!(read.cause(), "MANDATORY_IE_MISSING");
        assert_eq!(read.0.invalid_params[0].param, "/supi");

        let response = Problem::new(412, "PRECONDITION_FAILED").into_response();
        assert_eq!(response.headers.get_str(HTTP_STATUS), Some("412"));
    }
}
