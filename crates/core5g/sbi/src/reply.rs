//! What a handler answers when it does what was asked.

use super::media;
use super::problem::{HTTP_STATUS, Problem, append};
use corewire::{Body, Headers, Response, Status};
use corewire_transport::mapping::status;
use serde::Serialize;
use serde_json::{Map, Value};

/// An answer: HTTP status, headers, body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    status: u16,
    headers: Headers,
    body: Body,
}

impl Reply {
    /// This status without a body.
    pub const fn status(status: u16) -> Self {
        Self {
            status,
            headers: Headers::new(),
            body: Body::new(),
        }
    }

    /// 204.
    pub const fn no_content() -> Self {
        Self::status(204)
    }

    /// 200 with this value.
    pub fn ok(value: &impl Serialize) -> Self {
        Self::json(200, value)
    }

    /// 201 with this value, which is now at `location`.
    pub fn created(location: &str, value: &impl Serialize) -> Self {
        Self::json(201, value).header("location", location)
    }

    /// A status with this value.
    pub fn json(status: u16, value: &impl Serialize) -> Self {
        // Our models hold nothing that JSON cannot (maps have text for keys).
        let octets = serde_json::to_vec(value).unwrap_or_default();
        Self::octets(status, media::JSON, octets)
    }

    /// A status with this body.
    pub fn octets(status: u16, media_type: &str, body: impl Into<Body>) -> Self {
        let reply = Self {
            body: body.into(),
            ..Self::status(status)
        };
        reply.header("content-type", media_type)
    }

    /// With one more header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        append(&mut self.headers, name, value);
        self
    }

    /// With one more member in its document.
    ///
    /// # Errors
    /// When its body is no JSON object.
    pub fn with_member(self, name: &str, value: &impl Serialize) -> Result<Self, Problem> {
        let body = self.body.clone().into_bytes();
        let fault = |error: serde_json::Error| Problem::failure(error.to_string());
        let mut document: Map<String, Value> = serde_json::from_slice(&body).map_err(fault)?;
        let value = serde_json::to_value(value).map_err(fault)?;
        document.insert(name.to_owned(), value);
        Ok(Self {
            body: serde_json::to_vec(&document).map_err(fault)?.into(),
            ..self
        })
    }

    /// The message that says it.
    pub fn into_response(mut self) -> Response {
        let code = status::code_of_http_status(self.status);
        if status::http_status(code) != self.status {
            append(&mut self.headers, HTTP_STATUS, &self.status.to_string());
        }
        Response {
            status: Status::of(code),
            headers: self.headers,
            body: self.body,
        }
    }
}

/// What becomes of a handler's result.
pub(super) fn response(result: Result<Reply, Problem>) -> Response {
    result.map_or_else(Problem::into_response, Reply::into_response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_said_where_the_code_does_not() {
        let made = Reply::created("/a/1", &[1]).into_response();
        assert!(made.status.is_ok());
        assert_eq!(made.headers.get_str(HTTP_STATUS), Some("201"));
        assert_eq!(made.headers.get_str("location"), Some("/a/1"));
        assert_eq!(&made.body.into_bytes()[..], b"[1]");
        let plain = Reply::ok(&1).into_response();
        assert_eq!(plain.headers.get(HTTP_STATUS), None);
        let same = Reply::status(304).into_response();
        assert!(!same.status.is_ok() && same.body.is_empty());
    }
}
