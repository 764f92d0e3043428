//! The seam between protocols and drivers: one connection, sans-IO, in terms of messages.
//!
//! A driver (event loop, blocking caller, simulator) owns a socket, a clock and a [`Core`]. It
//! calls five verbs and knows no protocol:
//!
//! | verb | when |
//! |---|---|
//! | [`handle_event`](Core::handle_event) | octets came, or the connection closed |
//! | [`handle_timeout`](Core::handle_timeout) | the time that `poll_timeout` gave has come |
//! | [`poll_transmit`](Core::poll_transmit) | after any other call, until it adds nothing |
//! | [`poll_timeout`](Core::poll_timeout) | after any other call |
//! | [`poll`](Core::poll) | after `handle_event` and `handle_timeout`, until `None` |
//!
//! The rest are commands: what the application wants.

use crate::Outbox;
use bytes::{Bytes, BytesMut};
use corewire_message::{
    Body, CallError, CallKind, Code, Event, Headers, Operation, Request, Response,
};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// One call on one connection. Both ends know it by the same number, which is not reused while
/// the connection lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(u32);

impl CallId {
    /// The call with this number.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// What comes in from the connection.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "both drivers and cores live in this workspace"
)]
pub enum Input<'a> {
    /// Octets, in order. The core takes whole frames from the front and leaves the rest.
    Octets(&'a mut BytesMut),
    /// The peer closed its side or the connection is lost; nothing more comes or goes.
    Closed,
}

/// What a core tells its driver, in terms of messages.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "both drivers and cores live in this workspace"
)]
pub enum Output {
    /// Server: a whole unary request.
    Request {
        /// To be answered under this number with [`Core::respond`].
        call: CallId,
        /// The request; its deadline is on this side's clock.
        request: Request,
    },
    /// Server: a stream was opened; its messages follow.
    Opened {
        /// Its number.
        call: CallId,
        /// Operation, headers, deadline, priority; the body is empty.
        request: Request,
    },
    /// One message of a stream, either side. Its credit comes back with [`Core::consumed`].
    Message {
        /// Its stream.
        call: CallId,
        /// The message.
        message: Body,
    },
    /// Server: the caller ended its side of a stream; no message follows.
    Finished {
        /// Its stream.
        call: CallId,
    },
    /// Client: the answer of a unary call, or the end of a stream (headers are the trailers).
    Response {
        /// The call, which has ended.
        call: CallId,
        /// Its answer, whatever its status.
        response: Response,
    },
    /// Client: a call ended without an answer.
    Failed {
        /// The call, which has ended.
        call: CallId,
        /// Why, and whether it may have executed.
        error: CallError,
    },
    /// Server: the caller gave up, its deadline passed, or the connection is lost. The call has
    /// ended; an answer would go nowhere.
    Cancelled {
        /// The call, which has ended.
        call: CallId,
        /// `Cancelled`, `DeadlineExceeded` or `Unavailable`.
        code: Code,
    },
    /// Server: a message that wants no answer.
    Event(Event),
    /// A stream that was full ([`Core::room`] was 0) has room again.
    Writable {
        /// The stream.
        call: CallId,
    },
    /// The peer takes no more calls on this connection; those in flight go on.
    Draining,
}

/// Why a connection ends: the peer broke the protocol. Nothing more is read; what
/// `poll_transmit` still gives (the reason, for the peer) is sent, then the connection is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What was broken, named so that it can be searched for, for example `frame too long`.
    pub what: &'static str,
    /// Where: octets from the start of the connection, when known.
    pub offset: u64,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the peer broke the protocol: {} (octet {})",
            self.what, self.offset
        )
    }
}

impl std::error::Error for Fault {}

/// Tells the shape of an operation's calls: HTTP/2 does not carry it. `None`: not known here.
pub type KindOf = Arc<dyn Fn(&Operation) -> Option<CallKind> + Send + Sync>;

/// One connection's protocol: octets and time in, octets and messages out.
///
/// No method blocks, reads a clock or draws random numbers. Nothing the peer sends may panic,
/// allocate without a named limit or loop without progress.
pub trait Core {
    /// Octets came, or the connection closed.
    ///
    /// # Errors
    /// When the peer broke the protocol. Outputs gathered before stay; calls in flight fail with
    /// the `Closed` input that the driver gives next.
    fn handle_event(&mut self, now: Instant, input: Input<'_>) -> Result<(), Fault>;

    /// Whether octets that were given are left because enough was done for one turn: the driver gives
    /// them again, with or without more behind them, once it has seen to others. Until then it reads
    /// nothing for this connection.
    fn has_more(&self) -> bool {
        false
    }

    /// The time that [`poll_timeout`](Self::poll_timeout) gave has come (being early does no harm).
    fn handle_timeout(&mut self, now: Instant);

    /// Adds what is to be sent, up to the outbox's budget; says whether it added anything.
    fn poll_transmit(&mut self, now: Instant, outbox: &mut Outbox) -> bool;

    /// When `handle_timeout` is to be called next.
    fn poll_timeout(&self) -> Option<Instant>;

    /// The next thing to tell the application.
    fn poll(&mut self) -> Option<Output>;

    /// Client: sends a unary request.
    ///
    /// # Errors
    /// The request was not sent: too many in flight, draining, or it cannot be carried.
    fn call(&mut self, now: Instant, request: Request) -> Result<CallId, CallError>;

    /// Client: opens a stream; a body that is not empty is its first message.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    fn open(&mut self, now: Instant, request: Request) -> Result<CallId, CallError>;

    /// Client: sends an event.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    fn send_event(&mut self, now: Instant, event: Event) -> Result<(), CallError>;

    /// How many octets a stream may send before its peer's credit is used up; `None` when the
    /// call has ended. A message may be sent when this is not 0, whatever its length: the rest
    /// waits here, and `room` stays 0 until it is gone.
    fn room(&self, call: CallId) -> Option<usize>;

    /// Sends one message of a stream, either side.
    ///
    /// # Errors
    /// The call has ended, or the message cannot be carried.
    fn send(&mut self, call: CallId, message: Body) -> Result<(), CallError>;

    /// Client: ends its side of a stream.
    fn finish(&mut self, call: CallId);

    /// Server: answers a unary call, or ends a stream (headers become the trailers; a body, if
    /// any, is its last message). Ignored when the call has ended.
    fn respond(&mut self, call: CallId, response: Response);

    /// Gives a call up, either side. Nothing more is told of it.
    fn cancel(&mut self, call: CallId, code: Code);

    /// The application took this many octets of stream messages: the peer may send as many more.
    /// Several messages may be told at once; an empty one is told too, as 0.
    fn consumed(&mut self, call: CallId, octets: usize);

    /// Takes no more calls; those in flight go on. Once [`in_flight`](Self::in_flight) is 0 and
    /// nothing is left to transmit the driver closes.
    fn drain(&mut self);

    /// Calls that have not ended.
    fn in_flight(&self) -> usize;

    /// All octets waiting here, whether the peer gave credit for them or not. A driver hands no
    /// more requests on while they are many: their answers would only wait here too.
    fn queued(&self) -> usize {
        self.backlog()
    }

    /// Server: says headers of a stream before its first message, where the protocol has a place for
    /// them and nothing was sent yet; otherwise nothing is said.
    fn send_headers(&mut self, call: CallId, headers: &Headers) {
        let _ = (call, headers);
    }

    /// Octets waiting here that could be sent now. A driver stops reading from a peer that does
    /// not read. What waits for the peer's credit is not counted, since credit comes by reading;
    /// but an event that waits for it counts as one octet, so that a blocking sender reads on until
    /// it has gone.
    fn backlog(&self) -> usize;

    /// How many octets of the current frame have not come yet, when known: a driver may make room
    /// for as many and read them in one go.
    fn wants(&self) -> usize {
        0
    }

    /// Whether the two ends have nothing more to say to each other: the driver closes the connection
    /// once all is sent.
    fn is_over(&self) -> bool {
        false
    }

    /// Why the connection ends, once it does. Beside what `handle_event` returns this is set when
    /// a timeout found the peer dead; the driver looks after `handle_timeout`, sends what
    /// `poll_transmit` still gives and closes.
    fn fault(&self) -> Option<&Fault> {
        None
    }

    /// Whether calls can go out: `false` while the two ends still agree on how (TLS). A client may
    /// call all the same, its calls wait; a server's protocol is not known before.
    fn is_established(&self) -> bool {
        true
    }

    /// The certificate that the peer proved to have the key of, as DER.
    fn peer_certificate(&self) -> Option<Bytes> {
        None
    }

    /// The protocol's name: `native`, `grpc`, `rest`; a server's `http2` is both of the latter.
    fn protocol(&self) -> &'static str;
}
