//! How a try ended, in the words that retries and outlier detection use.

use corewire_message::{Body, CallError, Code, ErrorKind, Headers, Origin, Response, Status};
use corewire_wire::mapping::status::{
    HTTP_STATUS, code_of_http_status, http_status, http_status_of,
};
use std::borrow::Cow;

/// What came back: the gRPC code and the HTTP status, one of which stands for the other where a
/// protocol says one alone. Policies see answers in this form only, whatever protocol they came by
/// and whether a caller holds them as a response or as an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    code: Code,
    status: u16,
}

impl Answer {
    /// An answer with this code that says no HTTP status of its own.
    #[must_use]
    pub const fn of_code(code: Code) -> Self {
        let status = http_status(code);
        Self { code, status }
    }

    /// An answer with this HTTP status that says no code of its own.
    #[must_use]
    pub const fn of_status(status: u16) -> Self {
        let code = code_of_http_status(status);
        Self { code, status }
    }

    /// What a response says.
    #[must_use]
    pub fn of(response: &Response) -> Self {
        let code = response.status.code();
        Self {
            code,
            status: match code {
                // Which success it was changes nothing: the header is not looked for.
                Code::Ok => 200,
                _ => http_status_of(response),
            },
        }
    }

    /// The gRPC code.
    #[must_use]
    pub const fn code(self) -> Code {
        self.code
    }

    /// The HTTP status; of an answer that says none, the one that stands for its code.
    #[must_use]
    pub const fn status(self) -> u16 {
        self.status
    }

    /// Whether it says a success.
    #[must_use]
    pub const fn is_success(self) -> bool {
        matches!(self.code, Code::Ok)
    }

    /// What a caller gets that is answered so: a response, or an error with it.
    ///
    /// # Errors
    /// When it says a failure.
    pub fn into_result(
        self,
        message: impl Into<Cow<'static, str>>,
        body: Body,
    ) -> Result<Response, CallError> {
        let mut headers = Headers::new();
        if self.status != http_status(self.code) {
            // Three digits are a value that any header can have.
            let _ = headers.append(HTTP_STATUS, self.status.to_string());
        }
        let status = Status::new(self.code, message);
        let response = Response {
            status,
            headers,
            body,
        };
        response.into_result()
    }
}

/// How a try ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "each is treated in its own way")]
pub enum Outcome {
    /// It was answered, well or not.
    Answered(Answer),
    /// It never left: no connection.
    NotSent,
    /// The peer said that it did not and will not execute it.
    Refused,
    /// A limit was reached at this end; another endpoint may have room.
    FullHere,
    /// The peer said that it has too much to do; it did not execute it.
    Overloaded,
    /// The connection was lost before an answer came.
    Lost,
    /// No answer came in time.
    TimedOut,
    /// Nobody's fault but the request's own: given up, or it cannot be sent.
    Own,
    /// The peer broke the protocol.
    Broken,
}

impl Outcome {
    /// Answered with this code and no HTTP status of its own.
    #[must_use]
    pub const fn answered(code: Code) -> Self {
        Self::Answered(Answer::of_code(code))
    }

    /// Whether it was answered well.
    #[must_use]
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Answered(answer) if answer.is_success())
    }

    /// How a try with this result ended.
    #[must_use]
    pub fn of(result: &Result<Response, CallError>) -> Self {
        match result {
            Ok(response) => Self::Answered(Answer::of(response)),
            Err(error) => Self::of_error(error),
        }
    }

    /// How a try with this error ended.
    #[must_use]
    pub fn of_error(error: &CallError) -> Self {
        match error.kind() {
            ErrorKind::Answered => Self::Answered(
                error
                    .response()
                    .map_or_else(|| Answer::of_code(error.code()), Answer::of),
            ),
            ErrorKind::NotSent => Self::NotSent,
            ErrorKind::FateUnknown => Self::Lost,
            ErrorKind::DeadlineExceeded => Self::TimedOut,
            ErrorKind::Refused if !error.may_have_executed() => Self::Refused,
            ErrorKind::Refused => Self::Lost,
            ErrorKind::Overloaded if error.origin() == Origin::Peer => Self::Overloaded,
            ErrorKind::Overloaded => Self::FullHere,
            ErrorKind::Protocol => Self::Broken,
            _ => Self::Own,
        }
    }

    /// Whether it is certain that nothing was executed, and that another endpoint may do better.
    #[must_use]
    pub const fn is_safe_elsewhere(self) -> bool {
        matches!(self, Self::NotSent | Self::Refused | Self::FullHere)
    }

    /// Whether the request may have had an effect. One that is answered with a failure may have had
    /// some: only what was refused, shed or never sent certainly had none.
    #[must_use]
    pub const fn may_have_executed(self) -> bool {
        match self {
            Self::Answered(_) | Self::Lost | Self::TimedOut | Self::Broken | Self::Own => true,
            Self::NotSent | Self::Refused | Self::FullHere | Self::Overloaded => false,
        }
    }

    /// The HTTP status of what came back, if anything did.
    #[must_use]
    pub const fn http_status(self) -> Option<u16> {
        match self {
            Self::Answered(answer) => Some(answer.status),
            _ => None,
        }
    }

    /// Whether the endpoint, or the way to it, failed: `None` when it says nothing about them.
    #[must_use]
    pub const fn verdict(self) -> Option<Verdict> {
        match self {
            Self::Answered(answer) => Some(match answer.status {
                502..=504 => Verdict::Gateway,
                500.. => Verdict::ServerError,
                _ => Verdict::Success,
            }),
            Self::NotSent | Self::Lost | Self::TimedOut => Some(Verdict::LocalOrigin),
            Self::Broken => Some(Verdict::ServerError),
            Self::Refused | Self::FullHere | Self::Overloaded | Self::Own => None,
        }
    }
}

/// What a try's end says about its endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "what outlier detection tells apart"
)]
pub enum Verdict {
    /// It is well.
    Success,
    /// It answered with a fault of its own.
    ServerError,
    /// It answered that it cannot now, or not in time.
    Gateway,
    /// It could not be connected to, was lost, or did not answer in time.
    LocalOrigin,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_has_its_word() {
        let error = |kind, origin, executed| CallError::new(kind, origin, executed, "");
        for (error, outcome, verdict) in [
            (
                error(ErrorKind::NotSent, Origin::Transport, false),
                Outcome::NotSent,
                Some(Verdict::LocalOrigin),
            ),
            (
                error(ErrorKind::FateUnknown, Origin::Transport, true),
                Outcome::Lost,
                Some(Verdict::LocalOrigin),
            ),
            (
                error(ErrorKind::DeadlineExceeded, Origin::Local, true),
                Outcome::TimedOut,
                Some(Verdict::LocalOrigin),
            ),
            (
                error(ErrorKind::Refused, Origin::Peer, false),
                Outcome::Refused,
                None,
            ),
            (
                error(ErrorKind::Refused, Origin::Peer, true),
                Outcome::Lost,
                Some(Verdict::LocalOrigin),
            ),
            (
                error(ErrorKind::Overloaded, Origin::Peer, false),
                Outcome::Overloaded,
                None,
            ),
            (
                error(ErrorKind::Overloaded, Origin::Local, false),
                Outcome::FullHere,
                None,
            ),
            (
                error(ErrorKind::Cancelled, Origin::Local, true),
                Outcome::Own,
                None,
            ),
            (
                error(ErrorKind::Unsendable, Origin::Local, false),
                Outcome::Own,
                None,
            ),
            (
                error(ErrorKind::Protocol, Origin::Peer, true),
                Outcome::Broken,
                Some(Verdict::ServerError),
            ),
        ] {
            assert_eq!(Outcome::of_error(&error), outcome);
            assert_eq!(outcome.verdict(), verdict);
            let safe = matches!(
                outcome,
                Outcome::NotSent | Outcome::Refused | Outcome::FullHere
            );
            assert_eq!(outcome.is_safe_elsewhere(), safe);
        }
    }

    #[test]
    fn only_an_answer_of_ok_is_a_success_and_only_what_was_turned_away_was_surely_not_executed() {
        for code in Code::ALL {
            let answered = Outcome::answered(code);
            assert_eq!(answered.is_success(), code == Code::Ok, "{code}");
            assert!(answered.may_have_executed());
        }
        for (outcome, executed) in [
            (Outcome::Lost, true),
            (Outcome::TimedOut, true),
            (Outcome::Broken, true),
            (Outcome::Own, true),
            (Outcome::NotSent, false),
            (Outcome::Refused, false),
            (Outcome::FullHere, false),
            (Outcome::Overloaded, false),
        ] {
            assert!(!outcome.is_success());
            assert_eq!(outcome.may_have_executed(), executed, "{outcome:?}");
        }
    }

    #[test]
    fn answers_that_name_their_http_status_are_judged_by_it() {
        for (status, verdict) in [
            (405, Verdict::Success),
            (408, Verdict::Success),
            (410, Verdict::Success),
            (500, Verdict::ServerError),
            (501, Verdict::ServerError),
            (502, Verdict::Gateway),
            (504, Verdict::Gateway),
            (505, Verdict::ServerError),
            (507, Verdict::ServerError),
        ] {
            let code = code_of_http_status(status);
            let mut response = Response::failed(Status::of(code));
            response
                .headers
                .append(
                    corewire_wire::mapping::status::HTTP_STATUS,
                    status.to_string(),
                )
                .unwrap();
            let outcome = Outcome::of(&response.into_result());
            assert_eq!(outcome, Outcome::Answered(Answer { code, status }));
            assert_eq!(outcome.verdict(), Some(verdict), "{status}");
        }
    }

    #[test]
    fn an_answer_is_the_same_as_a_response_and_as_an_error_and_says_code_and_status() {
        let answers = Code::ALL.into_iter().map(Answer::of_code);
        for answer in answers.chain((200..=599).map(Answer::of_status)) {
            let result = answer.into_result("why", Body::new());
            assert_eq!(result.is_ok(), answer.is_success());
            let outcome = Outcome::of(&result);
            let response = result.or_else(CallError::into_response).unwrap();
            assert_eq!(Outcome::of(&Ok(response)), outcome);
            assert_eq!(outcome.is_success(), answer.is_success());
            if !answer.is_success() {
                assert_eq!(outcome, Outcome::Answered(answer));
                assert_eq!(outcome.http_status(), Some(answer.status()));
            }
        }
    }

    #[test]
    fn answers_are_judged_by_their_http_status() {
        for (code, verdict) in [
            (Code::Ok, Verdict::Success),
            (Code::NotFound, Verdict::Success),
            (Code::ResourceExhausted, Verdict::Success),
            (Code::Internal, Verdict::ServerError),
            (Code::Unavailable, Verdict::Gateway),
            (Code::DeadlineExceeded, Verdict::Gateway),
        ] {
            let response = Response::failed(Status::of(code));
            let outcome = Outcome::of(&response.into_result());
            assert_eq!(outcome.verdict(), Some(verdict), "{code}");
        }
        assert_eq!(
            Outcome::answered(Code::Unavailable).http_status(),
            Some(503)
        );
        assert_eq!(Outcome::Lost.http_status(), None);
    }
}
