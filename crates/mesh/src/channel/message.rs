//! What a call must know of the message that it carries and of its reply.

use crate::policy::outcome::Outcome;
use corewire_message::{CallError, Code, Headers, Operation, Priority, Request, Response};
use std::time::Instant;

/// The shape of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One answer.
    Unary,
    /// No answer.
    Event,
    /// A stream; the call ends when it is open.
    Stream,
}

/// What routes and limits look at.
pub(crate) struct CallHead<'a> {
    pub(crate) operation: &'a Operation,
    pub(crate) headers: &'a Headers,
    pub(crate) priority: Priority,
    pub(crate) deadline: Option<Instant>,
}

/// A message that attempts send.
pub(crate) trait Message {
    /// What one attempt sends.
    type Sent;
    const KIND: Kind;

    /// What routes and limits look at; asked for before the first attempt only.
    fn head(&self) -> CallHead<'_>;

    /// The message for the next attempt, to be answered by `deadline`.
    fn next(&mut self, deadline: Instant) -> Self::Sent;

    /// A copy for a mirror, to be answered by `deadline` at the latest; asked for before the first
    /// attempt only.
    fn mirrored(&self, deadline: Instant) -> Option<Request> {
        let _ = deadline;
        None
    }
}

/// What a call gives its caller.
pub(crate) trait Reply: Sized {
    /// How an attempt with this result ended.
    fn outcome(result: &Result<Self, CallError>) -> Outcome {
        result
            .as_ref()
            .map_or_else(Outcome::of_error, |_| Outcome::answered(Code::Ok))
    }

    /// The result of a call that a policy answers.
    fn of_answer(answer: Result<Response, CallError>) -> Result<Self, CallError>;
}

impl Reply for Response {
    fn outcome(result: &Result<Self, CallError>) -> Outcome {
        Outcome::of(result)
    }

    fn of_answer(answer: Result<Response, CallError>) -> Result<Self, CallError> {
        answer
    }
}

impl Reply for () {
    fn of_answer(answer: Result<Response, CallError>) -> Result<Self, CallError> {
        answer.map(drop)
    }
}
