//! Why a call did not end well, and whether it may be tried again.

use crate::{Body, Code, Response, Status};
use std::borrow::Cow;
use std::error::Error;
use std::fmt;

/// A call that did not end well: either it was answered with a failure, or it was not answered.
///
/// What a caller does next hangs on [`may_have_executed`](Self::may_have_executed): if `false`, the
/// service never saw the message and any call may be tried again elsewhere; if `true`, only one
/// whose repetition does no harm.
pub struct CallError(Box<Inner>);

struct Inner {
    fate: Fate,
    context: Cow<'static, str>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// An answer is there exactly when the kind says so.
enum Fate {
    /// Never with status OK.
    Answered(Response),
    Unanswered {
        kind: ErrorKind,
        origin: Origin,
        may_have_executed: bool,
    },
}

/// What happened to a call that did not end well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// It was answered with a failure: see [`CallError::response`].
    Answered,
    /// It never left: no connection, or the connection was lost before it was written.
    NotSent,
    /// It left and nothing came back: the connection was lost. Its fate is not known.
    FateUnknown,
    /// The deadline passed first.
    DeadlineExceeded,
    /// Some limit (in flight, memory, rate) is reached, here or there; it was not executed.
    Overloaded,
    /// The peer says that it did not and will not execute it (draining, shutting down).
    Refused,
    /// The caller gave it up.
    Cancelled,
    /// The message cannot be sent by this transport (too large, a header it cannot carry).
    Unsendable,
    /// The peer broke the protocol.
    Protocol,
}

/// Who found the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "there is no fourth party to a call"
)]
pub enum Origin {
    /// This process.
    Local,
    /// The peer said so.
    Peer,
    /// The connection between the two.
    Transport,
}

impl CallError {
    /// A call that was not answered. With [`ErrorKind::Answered`] it counts as answered with
    /// [`Code::Unknown`].
    ///
    /// `context` says what was going on and what to do next; it is for people. The constructors below say
    /// what most callers mean.
    pub fn new(
        kind: ErrorKind,
        origin: Origin,
        may_have_executed: bool,
        context: impl Into<Cow<'static, str>>,
    ) -> Self {
        let context = context.into();
        if kind == ErrorKind::Answered {
            return Self::answered(Response::failed(Status::new(Code::Unknown, context)));
        }
        let fate = Fate::Unanswered {
            kind,
            origin,
            may_have_executed,
        };
        Self::of_fate(fate, context)
    }

    /// A call that was answered with a failure. An answer that says OK is none: it becomes
    /// [`Code::Unknown`]; [`Response::into_result`] tells the two apart.
    #[must_use]
    pub fn answered(mut response: Response) -> Self {
        if response.status.is_ok() {
            response.status = Status::new(Code::Unknown, "an answer of OK was taken for a failure");
        }
        Self::of_fate(Fate::Answered(response), Cow::Borrowed(""))
    }

    fn of_fate(fate: Fate, context: Cow<'static, str>) -> Self {
        Self(Box::new(Inner {
            fate,
            context,
            source: None,
        }))
    }

    /// [`ErrorKind::NotSent`]: any call may be tried again.
    pub fn not_sent(origin: Origin, context: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::NotSent, origin, false, context)
    }

    /// [`ErrorKind::Refused`], by the peer: any call may be tried again elsewhere.
    pub fn refused(context: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Refused, Origin::Peer, false, context)
    }

    /// [`ErrorKind::Overloaded`], before the call was executed.
    pub fn overloaded(origin: Origin, context: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Overloaded, origin, false, context)
    }

    /// [`ErrorKind::Unsendable`]: the same message fails again.
    pub fn unsendable(context: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Unsendable, Origin::Local, false, context)
    }

    /// [`ErrorKind::FateUnknown`]: the connection was lost after the call was sent.
    pub fn fate_unknown(context: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::FateUnknown, Origin::Transport, true, context)
    }

    /// [`ErrorKind::Cancelled`], after the call was sent.
    pub fn cancelled(origin: Origin, context: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Cancelled, origin, true, context)
    }

    /// [`ErrorKind::Protocol`], by the peer, after the call was sent.
    pub fn protocol(context: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Protocol, Origin::Peer, true, context)
    }

    /// The deadline passed.
    #[must_use]
    pub fn deadline_exceeded(may_have_executed: bool) -> Self {
        Self::new(
            ErrorKind::DeadlineExceeded,
            Origin::Local,
            may_have_executed,
            "the deadline passed before an answer came",
        )
    }

    /// The same with its cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// What happened.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self.0.fate {
            Fate::Answered(_) => ErrorKind::Answered,
            Fate::Unanswered { kind, .. } => kind,
        }
    }

    /// Who found the fault.
    #[must_use]
    pub fn origin(&self) -> Origin {
        match self.0.fate {
            Fate::Answered(_) => Origin::Peer,
            Fate::Unanswered { origin, .. } => origin,
        }
    }

    /// Whether the service may have executed the message.
    #[must_use]
    pub fn may_have_executed(&self) -> bool {
        match self.0.fate {
            Fate::Answered(_) => true,
            Fate::Unanswered {
                may_have_executed, ..
            } => may_have_executed,
        }
    }

    /// The code that describes it best; an answered call's own.
    #[must_use]
    pub fn code(&self) -> Code {
        let kind = match &self.0.fate {
            Fate::Answered(response) => return response.status.code(),
            Fate::Unanswered { kind, .. } => kind,
        };
        match kind {
            ErrorKind::DeadlineExceeded => Code::DeadlineExceeded,
            ErrorKind::Cancelled => Code::Cancelled,
            ErrorKind::Overloaded => Code::ResourceExhausted,
            ErrorKind::Unsendable => Code::InvalidArgument,
            ErrorKind::Protocol => Code::Internal,
            ErrorKind::Answered => Code::Unknown,
            ErrorKind::NotSent | ErrorKind::FateUnknown | ErrorKind::Refused => Code::Unavailable,
        }
    }

    /// The status that describes it best, for handing on to one's own caller.
    #[must_use]
    pub fn to_status(&self) -> Status {
        match &self.0.fate {
            Fate::Answered(response) => response.status.clone(),
            Fate::Unanswered { .. } => Status::new(self.code(), self.to_string()),
        }
    }

    /// The answer, if there was one; it says a failure.
    #[must_use]
    pub fn response(&self) -> Option<&Response> {
        match &self.0.fate {
            Fate::Answered(response) => Some(response),
            Fate::Unanswered { .. } => None,
        }
    }

    /// The answer, if there was one, otherwise the error again.
    ///
    /// # Errors
    /// When the call was not answered.
    pub fn into_response(mut self) -> Result<Response, Self> {
        match &mut self.0.fate {
            // The error ends here: what it is left with is never seen.
            Fate::Answered(response) => Ok(std::mem::replace(response, Response::ok(Body::new()))),
            Fate::Unanswered { .. } => Err(self),
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(response) = self.response() {
            return write!(f, "answered with {}", response.status);
        }
        f.write_str(&self.0.context)?;
        f.write_str(if self.may_have_executed() {
            " (it may have been executed)"
        } else {
            " (it was not executed)"
        })
    }
}

impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallError")
            .field("kind", &self.kind())
            .field("origin", &self.origin())
            .field("may_have_executed", &self.may_have_executed())
            .field("context", &self.0.context)
            .field("response", &self.response())
            .field("source", &self.0.source)
            .finish()
    }
}

impl Error for CallError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answered_error_keeps_its_answer() {
        let response = Response::failed(Status::new(Code::NotFound, "no such GUTI"));
        let error = response.clone().into_result().unwrap_err();
        assert_eq!(error.code(), Code::NotFound);
        assert!(error.may_have_executed());
        assert_eq!(error.to_string(), "answered with NOT_FOUND: no such GUTI");
        assert_eq!(error.into_response().unwrap(), response);
    }

    #[test]
    fn an_error_is_answered_exactly_when_it_has_a_response_that_says_a_failure() {
        let mistaken = CallError::answered(Response::ok(Body::new()));
        let without = CallError::new(ErrorKind::Answered, Origin::Local, false, "no answer");
        for error in [mistaken, without] {
            assert_eq!(
                (error.kind(), error.origin()),
                (ErrorKind::Answered, Origin::Peer)
            );
            assert_eq!(error.code(), Code::Unknown);
            let response = error.into_response().unwrap();
            assert!(!response.status.is_ok() && response.into_result().is_err());
        }
        for kind in [ErrorKind::NotSent, ErrorKind::Refused, ErrorKind::Protocol] {
            let error = CallError::new(kind, Origin::Local, false, "").with_source("cause");
            assert!(error.response().is_none());
            let error = error.into_response().unwrap_err();
            assert_eq!(error.kind(), kind);
            assert!(error.source().is_some(), "nothing is lost");
        }
    }

    #[test]
    fn an_unanswered_error_has_no_response_and_prints_its_own_level_only() {
        let error = CallError::new(
            ErrorKind::NotSent,
            Origin::Transport,
            false,
            "no connection",
        )
        .with_source("refused");
        assert_eq!(error.code(), Code::Unavailable);
        assert_eq!(error.to_string(), "no connection (it was not executed)");
        assert_eq!(error.source().unwrap().to_string(), "refused");
        assert!(error.into_response().is_err());
    }
}
