//! One message on its way out.

use corewire_message::{Body, Headers, Operation, Status};
use std::time::Instant;

/// A message that waits to be sent, or of which fragments wait.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) head: Head,
    pub(super) headers: Headers,
    pub(super) body: Body,
    /// Octets of the body that were sent.
    pub(super) sent: usize,
    /// Whether its first frame was sent.
    pub(super) begun: bool,
}

/// What kind of message, with what only that kind has.
#[derive(Debug)]
pub(super) enum Head {
    Request {
        operation: Operation,
        deadline: Option<Instant>,
        stream: bool,
    },
    Event {
        operation: Operation,
    },
    Message,
    Finish,
    Response {
        status: Status,
    },
}

impl Outgoing {
    pub(super) const fn new(head: Head, headers: Headers, body: Body) -> Self {
        Self {
            head,
            headers,
            body,
            sent: 0,
            begun: false,
        }
    }

    pub(super) const fn message(body: Body) -> Self {
        Self::new(Head::Message, Headers::new(), body)
    }

    pub(super) const fn finish() -> Self {
        Self::new(Head::Finish, Headers::new(), Body::new())
    }

    pub(super) const fn is_message(&self) -> bool {
        matches!(self.head, Head::Message)
    }

    /// What it holds: what is left to send, and itself, so that empty messages are bounded too.
    pub(super) fn weight(&self) -> usize {
        size_of::<Self>() + self.headers.as_block().len() + self.body.len() - self.sent
    }
}
