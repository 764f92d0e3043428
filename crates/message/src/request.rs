//! Requests, responses and events.

use crate::{Body, CallError, Headers, Operation, Priority, Status};
use std::time::Instant;

/// A message that wants an answer.
#[derive(Clone, Debug)]
pub struct Request {
    /// What is asked for.
    pub operation: Operation,
    /// Short named values.
    pub headers: Headers,
    /// The message itself.
    pub body: Body,
    /// When the caller stops waiting; `None` means the channel's default.
    pub deadline: Option<Instant>,
    /// How urgent it is.
    pub priority: Priority,
}

impl Request {
    /// A request with no headers, an empty body, no deadline and normal priority.
    #[must_use]
    pub const fn new(operation: Operation) -> Self {
        Self {
            operation,
            headers: Headers::new(),
            body: Body::new(),
            deadline: None,
            priority: Priority::NORMAL,
        }
    }

    /// The same with this body.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Body>) -> Self {
        self.body = body.into();
        self
    }

    /// The same with these headers.
    #[must_use]
    pub fn with_headers(mut self, headers: Headers) -> Self {
        self.headers = headers;
        self
    }

    /// The same with a deadline.
    #[must_use]
    pub const fn with_deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// The same with this priority.
    #[must_use]
    pub const fn with_priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// How it ended.
    pub status: Status,
    /// Short named values.
    pub headers: Headers,
    /// The message itself; with a failure, its detail.
    pub body: Body,
}

impl Response {
    /// The answer "done" with this body.
    pub fn ok(body: impl Into<Body>) -> Self {
        Self {
            status: Status::OK,
            headers: Headers::new(),
            body: body.into(),
        }
    }

    /// The answer "failed".
    #[must_use]
    pub const fn failed(status: Status) -> Self {
        Self {
            status,
            headers: Headers::new(),
            body: Body::new(),
        }
    }

    /// The same with these headers.
    #[must_use]
    pub fn with_headers(mut self, headers: Headers) -> Self {
        self.headers = headers;
        self
    }

    /// Itself when it says "done", otherwise an error that holds it.
    ///
    /// # Errors
    /// When the status is not OK; [`CallError::into_response`] gives the response back.
    pub fn into_result(self) -> Result<Self, CallError> {
        if self.status.is_ok() {
            Ok(self)
        } else {
            Err(CallError::answered(self))
        }
    }
}

/// A message that wants no answer. It is delivered at most once, in order with other events of the
/// same connection and priority; a sender that must know uses a [`Request`].
#[derive(Clone, Debug)]
pub struct Event {
    /// What it is about.
    pub operation: Operation,
    /// Short named values.
    pub headers: Headers,
    /// The message itself.
    pub body: Body,
    /// How urgent it is.
    pub priority: Priority,
}

impl Event {
    /// An event with no headers and normal priority.
    pub fn new(operation: Operation, body: impl Into<Body>) -> Self {
        Self {
            operation,
            headers: Headers::new(),
            body: body.into(),
            priority: Priority::NORMAL,
        }
    }
}
