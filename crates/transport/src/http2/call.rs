//! What is known of one call.

use super::body::Gathered;
use super::config::Flavour;
use super::head::Media;
use corewire_message::{CallKind, Code, Headers, Operation, Priority};
use corewire_wire::DeadlineId;
use corewire_wire::grpc::Deframer;
use std::cell::Cell;
use std::time::Instant;

/// What is done with body octets that come.
#[derive(Debug, Default)]
pub(super) enum Receiving {
    /// They are dropped: the call has been answered, or the answer is of no interest.
    #[default]
    Nothing,
    /// They are gathered until the end.
    Whole(Gathered),
    /// They are messages.
    Messages(Deframer),
}

/// What is known of one call. Either end uses its own part of it.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) flavour: Flavour,
    pub(super) kind: CallKind,
    pub(super) is_event: bool,
    pub(super) receiving: Receiving,
    /// The peer's side has ended.
    pub(super) received_all: bool,
    /// The body's length as the peer announced it.
    pub(super) content_length: Option<usize>,
    /// Octets that came and whose credit was not given back yet.
    pub(super) unreturned: usize,
    /// Octets of headers that the connection's account holds for it.
    pub(super) held_headers: usize,
    /// Octets of bodies that it holds: of a unary body, and of messages that were too long for the window.
    pub(super) held_body: usize,
    /// Octets of messages that the application has and did not consume yet.
    pub(super) outstanding: usize,
    /// Octets of those whose credit was given back early: they were too long for the window.
    pub(super) early: usize,
    /// The same of the message being received.
    pub(super) early_partial: usize,
    pub(super) deadline: Option<Instant>,
    pub(super) timer: Option<DeadlineId>,
    /// The application was told that it has no room.
    pub(super) blocked: Cell<bool>,
    /// Its side of the body is finished.
    pub(super) sent_all: bool,

    /// Server: until the request is handed over.
    pub(super) operation: Option<Operation>,
    pub(super) priority: Priority,
    /// Server: octets that came behind the answer.
    pub(super) dropped: usize,
    /// Server: the answer is asked for without its body.
    pub(super) is_head: bool,
    /// Server: the application knows it. Client: always.
    pub(super) delivered: bool,
    /// Server: the header section of the answer is on its way.
    pub(super) head_sent: bool,
    /// Server: the answer is complete, or the call was given up.
    pub(super) answered: bool,

    /// The request's at a server, the answer's at a client.
    pub(super) headers: Headers,
    /// Client: how it was answered.
    pub(super) http_status: Option<u16>,
    pub(super) media: Media,
    pub(super) is_generated_problem: bool,
    pub(super) code: Option<Code>,
    pub(super) message: Option<String>,
}

impl Default for Call {
    fn default() -> Self {
        Self {
            flavour: Flavour::Rest,
            kind: CallKind::Unary,
            is_event: false,
            receiving: Receiving::Nothing,
            received_all: false,
            content_length: None,
            unreturned: 0,
            held_headers: 0,
            held_body: 0,
            outstanding: 0,
            early: 0,
            early_partial: 0,
            deadline: None,
            timer: None,
            blocked: Cell::new(false),
            sent_all: false,
            operation: None,
            priority: Priority::NORMAL,
            dropped: 0,
            is_head: false,
            delivered: false,
            head_sent: false,
            answered: false,
            headers: Headers::new(),
            http_status: None,
            media: Media::None,
            is_generated_problem: false,
            code: None,
            message: None,
        }
    }
}
