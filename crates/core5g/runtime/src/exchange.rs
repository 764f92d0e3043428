//! What goes to another NF and what comes back, as data: a request, an answer, a failure.
#![expect(
    clippy::disallowed_methods,
    reason = "a driver: a request gets its deadline"
)]

use corewire::{Body, Bytes, CallError, ErrorKind, Headers, Operation, Request, Response};
use corewire_transport::mapping::status;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::error::Error;
use std::fmt;
use std::time::{Duration, Instant};

const METHOD: &str = "corewire-method";
const QUERY: &str = "corewire-query";
const HTTP_STATUS: &str = "corewire-http-status";
const CONTENT_TYPE: &str = "content-type";
const USER_AGENT: &str = "user-agent";
const JSON: &str = "application/json";

/// How long a call may take when nobody says otherwise: less than the UE's and the gNB's own timers.
const TIMEOUT: Duration = Duration::from_secs(4);

/// The path of an absolute URI; a path as it is.
pub fn path_of(uri: &str) -> &str {
    match uri.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => uri,
    }
}

/// A request to a resource.
#[derive(Clone)]
pub struct SbiRequest {
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    content_type: Option<String>,
    body: Bytes,
    timeout: Duration,
}

impl SbiRequest {
    fn new(method: &'static str, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            headers: Vec::new(),
            content_type: None,
            body: Bytes::new(),
            timeout: TIMEOUT,
        }
    }

    /// `GET`, with the query behind a `?`.
    pub fn get(path: impl Into<String>) -> Self {
        Self::new("GET", path)
    }

    /// `POST`.
    pub fn post(path: impl Into<String>) -> Self {
        Self::new("POST", path)
    }

    /// `PUT`.
    pub fn put(path: impl Into<String>) -> Self {
        Self::new("PUT", path)
    }

    /// `PATCH`.
    pub fn patch(path: impl Into<String>) -> Self {
        Self::new("PATCH", path)
    }

    /// `DELETE`.
    pub fn delete(path: impl Into<String>) -> Self {
        Self::new("DELETE", path)
    }

    /// With this document.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn json(self, document: &impl Serialize) -> Result<Self, SbiFailure> {
        let text = serde_json::to_vec(document)
            .map_err(|error| SbiFailure::local(format!("a document that is no JSON: {error}")))?;
        Ok(self.octets(JSON, text))
    }

    /// With this body.
    pub fn octets(mut self, content_type: impl Into<String>, body: impl Into<Bytes>) -> Self {
        self.content_type = Some(content_type.into());
        self.body = body.into();
        self
    }

    /// With one more header.
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// With another deadline, from now.
    pub const fn within(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Method, path with query, media type and body, for tests.
    #[cfg(any(test, feature = "testing"))]
    pub fn parts(&self) -> (&str, &str, &str, &Bytes) {
        let content_type = self.content_type.as_deref().unwrap_or_default();
        (self.method, &self.path, content_type, &self.body)
    }

    /// `agent` is the `User-Agent` that every request has (TS 29.500, 5.2.2.2).
    pub(super) fn into_message(self, agent: &str) -> Result<Request, SbiFailure> {
        let (path, query) = match self.path.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (self.path.as_str(), None),
        };
        let operation = Operation::parse(path.trim_start_matches('/'))
            .map_err(|fault| SbiFailure::local(format!("{path}: {fault}")))?;
        let mut headers = Headers::new();
        let mut append = |name: &str, value: &str| {
            headers
                .append(name, value)
                .map_err(|fault| SbiFailure::local(format!("header {name}: {fault}")))
        };
        if self.method != "POST" {
            append(METHOD, self.method)?;
        }
        if let Some(query) = query {
            append(QUERY, query)?;
        }
        if let Some(content_type) = &self.content_type {
            append(CONTENT_TYPE, content_type)?;
        }
        append(USER_AGENT, agent)?;
        for (name, value) in &self.headers {
            append(name, value)?;
        }
        Ok(Request::new(operation)
            .with_headers(headers)
            .with_body(Body::from(self.body))
            .with_deadline(Instant::now() + self.timeout))
    }
}

/// Which resource, and how much of what: a body or a header may hold a secret of network functions, a
/// subscriber's name or keys, and a query somebody's identity.
impl fmt::Debug for SbiRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.split('?').next().unwrap_or_default();
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| *name).collect();
        f.debug_struct("SbiRequest")
            .field("method", &self.method)
            .field("resource", &path.split('/').nth(1).unwrap_or_default())
            .field("headers", &headers)
            .field("octets", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// An answer of the class "done".
#[derive(Clone)]
pub struct SbiAnswer {
    /// The HTTP status.
    pub status: u16,
    /// Its headers.
    pub headers: Headers,
    /// Its body.
    pub body: Bytes,
}

/// How much of what, as of a request: tokens and keys are answers.
impl fmt::Debug for SbiAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SbiAnswer")
            .field("status", &self.status)
            .field("octets", &self.body.len())
            .finish_non_exhaustive()
    }
}

impl SbiAnswer {
    pub(super) fn of(result: Result<Response, CallError>) -> Result<Self, SbiFailure> {
        let response = result.map_err(SbiFailure::of)?;
        if !response.status.is_ok() {
            return Err(SbiFailure::of(CallError::answered(response)));
        }
        let said = http_status(&response);
        Ok(Self {
            status: said.unwrap_or(if response.body.is_empty() { 204 } else { 200 }),
            headers: response.headers,
            body: response.body.into_bytes(),
        })
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get_str(name)
    }

    /// The media type, empty when there is none.
    pub fn content_type(&self) -> &str {
        self.header(CONTENT_TYPE).unwrap_or_default()
    }

    /// The document.
    ///
    /// # Errors
    /// When the body is not such a document.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, SbiFailure> {
        serde_json::from_slice(&self.body).map_err(|error| {
            SbiFailure::local(format!("an answer that is not as expected: {error}"))
        })
    }
}

fn http_status(response: &Response) -> Option<u16> {
    response.headers.get_str(HTTP_STATUS)?.parse().ok()
}

/// A call that did not end well.
pub struct SbiFailure {
    status: Option<u16>,
    cause: Option<String>,
    content_type: String,
    answer: Bytes,
    source: Box<dyn Error + Send + Sync>,
}

impl SbiFailure {
    fn of(error: CallError) -> Self {
        let (mut status, mut cause, mut answer) = (None, None, Bytes::new());
        let mut content_type = String::new();
        if let Some(response) = error.response() {
            let said = response.headers.get_str(CONTENT_TYPE);
            said.unwrap_or_default().clone_into(&mut content_type);
            answer = response.body.clone().into_bytes();
            let problem: Option<Problem> = serde_json::from_slice(&answer).ok();
            let (told, why) =
                problem.map_or((None, None), |problem| (problem.status, problem.cause));
            status = http_status(response)
                .or(told)
                .or_else(|| Some(status::http_status(response.status.code())));
            cause = why;
        }
        Self {
            status,
            cause,
            content_type,
            answer,
            source: Box::new(error),
        }
    }

    /// A fault of this side.
    pub fn local(why: impl Into<String>) -> Self {
        Self {
            status: None,
            cause: None,
            content_type: String::new(),
            answer: Bytes::new(),
            source: why.into().into(),
        }
    }

    /// An answer with this status and cause.
    #[cfg(any(test, feature = "testing"))]
    pub fn answered(status: u16, cause: &str) -> Self {
        Self {
            status: Some(status),
            cause: Some(cause.to_owned()),
            ..Self::local("answered")
        }
    }

    /// A request that nobody took.
    #[cfg(any(test, feature = "testing"))]
    pub fn not_sent() -> Self {
        let (kind, origin) = (ErrorKind::NotSent, corewire::Origin::Local);
        Self::of(CallError::new(kind, origin, false, "nobody is there"))
    }

    /// With this body in the answer.
    #[cfg(any(test, feature = "testing"))]
    pub fn with_answer(self, content_type: &str, answer: impl Into<Bytes>) -> Self {
        Self {
            content_type: content_type.to_owned(),
            answer: answer.into(),
            ..self
        }
    }

    /// The HTTP status of the answer; `None` when there was none.
    pub const fn status(&self) -> Option<u16> {
        self.status
    }

    /// The problem document's cause (TS 29.500, 5.2.7).
    pub fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }

    /// The media type of the answer's body.
    pub fn content_type(&self) -> &str {
        &self.content_type
    }

    /// The answer's body; empty when there was none.
    pub const fn answer(&self) -> &Bytes {
        &self.answer
    }

    /// Whether nobody was there to take it.
    pub fn is_not_sent(&self) -> bool {
        let error = self.source.downcast_ref::<CallError>();
        error.is_some_and(|error| {
            matches!(
                error.kind(),
                ErrorKind::NotSent | ErrorKind::Refused | ErrorKind::FateUnknown
            )
        })
    }
}

/// As it is said: what was answered may name somebody.
impl fmt::Debug for SbiFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SbiFailure({self})")
    }
}

impl fmt::Display for SbiFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.status, &self.cause) {
            (Some(status), Some(cause)) => write!(f, "answered with {status} {cause}"),
            (Some(status), None) => write!(f, "answered with {status}"),
            (None, _) => write!(f, "{}", self.source),
        }
    }
}

impl Error for SbiFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.source()
    }
}

/// As much of TS 29.571's ProblemDetails as a consumer acts on.
#[derive(serde::Deserialize)]
struct Problem {
    status: Option<u16>,
    cause: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewire::{Code, Status};

    #[test]
    fn a_request_is_an_operation_with_headers() {
        let request = SbiRequest::get("/nnrf-disc/v1/nf-instances?target-nf-type=UDM")
            .into_message("UDM-1")
            .expect("it can be sent");
        assert_eq!(request.operation.as_str(), "nnrf-disc/v1/nf-instances");
        assert_eq!(request.headers.get_str(METHOD), Some("GET"));
        assert_eq!(request.headers.get_str(QUERY), Some("target-nf-type=UDM"));
        assert_eq!(request.headers.get_str(USER_AGENT), Some("UDM-1"));
        assert!(SbiRequest::get("/a b/c").into_message("UDM-1").is_err());
    }

    #[test]
    fn what_a_request_holds_is_not_shown() {
        let request = SbiRequest::post("/oauth2/token?supi=imsi-001010000000001")
            .header("authorization", "Bearer 0123456789abcdef")
            .octets("text/plain", "client_secret=0123456789abcdef");
        let shown = format!("{request:?}");
        for secret in ["0123456789abcdef", "imsi"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert!(shown.contains("oauth2") && shown.contains("authorization"));
        let named = SbiRequest::get("/nudm-sdm/v2/imsi-001010000000001/am-data");
        let shown = format!("{named:?}");
        assert!(!shown.contains("imsi") && shown.contains("nudm-sdm"));
        let answer = SbiAnswer {
            status: 200,
            headers: Headers::new(),
            body: Bytes::from_static(b"0123456789abcdef"),
        };
        let shown = format!("{answer:?}");
        assert!(!shown.contains("0123456789abcdef") && shown.contains("16"));
    }

    #[test]
    fn a_failure_says_status_and_cause() {
        let body = br#"{"status":404,"cause":"USER_NOT_FOUND"}"#;
        let mut response = Response::failed(Status::of(Code::NotFound));
        response.body = Body::from_static(body);
        let failure = SbiAnswer::of(Err(CallError::answered(response))).expect_err("it failed");
        assert_eq!(failure.status(), Some(404));
        assert_eq!(failure.cause(), Some("USER_NOT_FOUND"));
        assert!(!failure.is_not_sent());
    }

    #[test]
    fn paths_are_taken_out_of_uris() {
        assert_eq!(path_of("http://127.0.0.1:80/a/b"), "/a/b");
        assert_eq!(path_of("http://127.0.0.1:80"), "/");
        assert_eq!(path_of("/a/b"), "/a/b");
    }
}
