//! What a peer can break.

use std::fmt;

/// A rule of the protocol that the peer broke. Its text is what logs, errors and the reason in CLOSE
/// say, so that it can be searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Violation {
    Preface,
    HelloFirst,
    HelloAgain,
    HelloTooLong,
    HelloTruncated,
    UnknownSetting,
    SettingRange,
    NoCommonVersion,
    SettledUnasked,
    UnknownFrame,
    UnknownFlag,
    WrongDirection,
    DrainAgain,
    FrameTooLong,
    FrameTruncated,
    FrameLength,
    MessageTooLong,
    HeaderBlockTooLong,
    HeaderBlock,
    Text,
    CallNumber,
    CallNumberInUse,
    CallUnknown,
    OperationUndefined,
    OperationOrder,
    TooManyOperations,
    OperationName,
    Priority,
    NotAStream,
    StreamBody,
    AfterFinish,
    WithinMessage,
    AnswerTooEarly,
    FragmentUnexpected,
    FragmentTooShort,
    FragmentPastEnd,
    FragmentMissing,
    ConnectionCredit,
    StreamCredit,
    CreditOverflow,
    TooManyPings,
    ControlBacklog,
    Silent,
    ClosedByPeer,
}

impl Violation {
    /// Its text.
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Preface => "the first octets are not the native protocol's",
            Self::HelloFirst => "the first frame is not HELLO",
            Self::HelloAgain => "a second HELLO",
            Self::HelloTooLong => "HELLO is too long",
            Self::HelloTruncated => "HELLO ends inside a field",
            Self::UnknownSetting => "HELLO holds a setting that is unknown and not ignorable",
            Self::SettingRange => "HELLO holds a setting that is out of range",
            Self::NoCommonVersion => "no common protocol version",
            Self::SettledUnasked => "HELLO is acknowledged by an end that must not",
            Self::UnknownFrame => "a frame type that is unknown and not ignorable",
            Self::UnknownFlag => "a flag that is unknown for its frame type",
            Self::WrongDirection => "a frame that this end does not send",
            Self::DrainAgain => "a second DRAIN",
            Self::FrameTooLong => "frame too long",
            Self::FrameTruncated => "a frame ends inside a field",
            Self::FrameLength => "a frame of fixed length has another length",
            Self::MessageTooLong => "message too long",
            Self::HeaderBlockTooLong => "header block too long",
            Self::HeaderBlock => "a header block that is not one",
            Self::Text => "a status text that is too long or not UTF-8",
            Self::CallNumber => "a call number that this end may not use",
            Self::CallNumberInUse => "a call number that is in use",
            Self::CallUnknown => "a frame for a call that was never made",
            Self::OperationUndefined => "an operation number that was not defined",
            Self::OperationOrder => "an operation number defined out of order",
            Self::TooManyOperations => "too many operations",
            Self::OperationName => "an operation name that is not one",
            Self::Priority => "a priority above 31",
            Self::NotAStream => "a stream frame for a unary call",
            Self::StreamBody => "a stream request with a body",
            Self::AfterFinish => "a message after the end of its side",
            Self::WithinMessage => "a frame inside a message in fragments",
            Self::AnswerTooEarly => "an answer before the whole request",
            Self::FragmentUnexpected => "a fragment of nothing",
            Self::FragmentTooShort => "fragment too short",
            Self::FragmentPastEnd => "fragments longer than their message",
            Self::FragmentMissing => "fragments shorter than their message",
            Self::ConnectionCredit => "connection credit overrun",
            Self::StreamCredit => "stream credit overrun",
            Self::CreditOverflow => "credit overflow",
            Self::TooManyPings => "too many pings",
            Self::ControlBacklog => "too many control frames wait for a peer that does not read",
            Self::Silent => "keep-alive timeout",
            Self::ClosedByPeer => "the peer closed the connection because of a fault",
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
