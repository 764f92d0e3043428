//! What the suite's service can be asked for.

use corewire_message::Operation;

/// A resource: says by which method and query it was asked for, and answers with the HTTP status of
/// header `x-http-status` and the code of `x-code`.
pub const RESOURCE: Operation = Operation::from_static("conformance/v1/resources/one");

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident = $method:literal;)*) => {$(
        $(#[$doc])*
        pub const $name: Operation =
            Operation::from_static(concat!("corewire.conformance.v1.Suite/", $method));
    )*};
}

operations! {
    /// Gives the body back.
    ECHO = "Echo";
    /// Gives back the headers whose name starts with `x-`.
    ECHO_HEADERS = "EchoHeaders";
    /// Fails with the code of header `x-code`, the message of `x-message`, and the request's body.
    FAIL = "Fail";
    /// Waits until the test opens the gate, then gives the body back.
    WAIT = "Wait";
    /// Says how often it was executed.
    COUNT = "Count";
    /// Gives as many octets as the body, a number, says.
    LARGE = "Large";
    /// Says how many microseconds are left until the deadline, or `none`.
    DEADLINE = "Deadline";
    /// Says the priority.
    PRIORITY = "Priority";
    /// Says what protocol the caller speaks.
    PROTOCOL = "Protocol";
    /// Panics.
    PANIC = "Panic";
    /// Takes events.
    SINK = "Sink";
    /// An operation that nobody knows.
    UNKNOWN = "Nothing";

    /// Stream: gives each message back as it comes; the trailer `x-count` says how many.
    STREAM_ECHO = "StreamEcho";
    /// Stream: adds the numbers that come and answers with their sum.
    STREAM_SUM = "StreamSum";
    /// Stream: the first message is a number; gives as many messages, counting from 0.
    STREAM_COUNT = "StreamCount";
    /// Stream: gives `one` and `two`, then fails with the headers of [`FAIL`].
    STREAM_FAIL = "StreamFail";
    /// Stream: reads nothing until the gate is open, then everything; answers with the octets.
    STREAM_LAZY = "StreamLazy";
    /// Stream: writes messages of 16,000 octets for as long as it can.
    STREAM_FLOOD = "StreamFlood";
    /// Stream: answers `enough` after the first message, without reading on.
    STREAM_EARLY = "StreamEarly";
    /// Stream: gives the call up with `Aborted` after the first message.
    STREAM_CANCEL = "StreamCancel";
}
