//! Retry: whether a request that did not end well is tried again, and when.
//!
//! What certainly was not executed goes elsewhere at once, policy or not: no connection, a peer
//! that drains. Beyond that the route's policy decides which failures lead to another try. A message
//! that may have been executed is repeated only when its operation is idempotent: by its method (RFC
//! 9110, 9.2.2, as TS 29.500 has it for service-based interfaces), or because the route or the process
//! declares it.

use super::backoff;
use crate::config::{RetryOn, RetryPolicy};
use crate::policy::outcome::{Answer, Outcome};
use crate::policy::random::Random;
use crate::policy::route::RequestHead;
use corewire_message::Code;
use corewire_wire::mapping::method::Method;
use corewire_wire::mapping::status::http_status;
use std::time::{Duration, Instant};

/// How often a request that was certainly not executed goes elsewhere without a policy's word.
pub const MOST_ELSEWHERE: u32 = 3;

/// What a process says of repeating a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no fourth answer")]
pub enum Repeat {
    /// Its method decides, unless the route declares its operations repeatable.
    #[default]
    ByMethod,
    /// It may be repeated.
    Always,
    /// It must not be, whatever the route says.
    Never,
}

/// Whether a request may be repeated although it may have been executed.
#[must_use]
pub fn may_repeat(said: Repeat, policy: &RetryPolicy, request: &RequestHead<'_>) -> bool {
    match said {
        Repeat::Always => true,
        Repeat::Never => false,
        Repeat::ByMethod => policy.repeatable || Method::of(request.headers).is_idempotent(),
    }
}

/// How far a request has come with its tries.
#[derive(Clone, Debug)]
pub struct Tries<'a> {
    policy: Option<&'a RetryPolicy>,
    /// Tries after the first that the policy allowed.
    repeated: u32,
    /// Tries after the first that needed no policy.
    elsewhere: u32,
}

/// What happens after a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no fourth thing to do")]
pub enum Next {
    /// That is the end.
    End,
    /// Another endpoint, at once; counts for no budget.
    Elsewhere,
    /// Again after this wait, if the budget allows it.
    Again(Duration),
}

impl<'a> Tries<'a> {
    /// A request's first try.
    #[must_use]
    pub const fn new(policy: Option<&'a RetryPolicy>) -> Self {
        Self {
            policy,
            repeated: 0,
            elsewhere: 0,
        }
    }

    /// The policy that holds.
    #[must_use]
    pub const fn policy(&self) -> Option<&'a RetryPolicy> {
        self.policy
    }

    /// Tries so far beyond the first.
    #[must_use]
    pub const fn beyond_the_first(&self) -> u32 {
        self.repeated + self.elsewhere
    }

    /// What happens after a try with this end. `may_repeat` says whether the caller allows it to
    /// repeat a message that may have been executed.
    pub fn ended(
        &mut self,
        outcome: Outcome,
        may_repeat: bool,
        now: Instant,
        deadline: Instant,
        random: &mut impl Random,
    ) -> Next {
        if now >= deadline {
            return Next::End;
        }
        if outcome.is_safe_elsewhere() && self.elsewhere < MOST_ELSEWHERE {
            self.elsewhere += 1;
            return Next::Elsewhere;
        }
        let Some(policy) = self.policy else {
            return Next::End;
        };
        if self.repeated >= policy.num_retries || !names(policy, outcome) {
            return Next::End;
        }
        if outcome.may_have_executed() && !may_repeat {
            return Next::End;
        }
        self.repeated += 1;
        let wait = backoff::wait(&policy.backoff, self.repeated, random);
        // A try that could not end in time is not begun.
        match now.checked_add(wait) {
            Some(at) if at < deadline => Next::Again(wait),
            _ => Next::End,
        }
    }
}

/// Whether a policy names this end.
fn names(policy: &RetryPolicy, outcome: Outcome) -> bool {
    let on = match outcome {
        Outcome::Answered(answer) => of_answer(answer),
        Outcome::NotSent => {
            RetryOn::CONNECT_FAILURE
                | RetryOn::RESET_BEFORE_REQUEST
                | RetryOn::RESET
                | RetryOn::SERVER_ERROR
                | RetryOn::GATEWAY_ERROR
                | RetryOn::UNAVAILABLE
        }
        Outcome::Refused => {
            RetryOn::REFUSED_STREAM
                | RetryOn::RESET
                | RetryOn::SERVER_ERROR
                | RetryOn::GATEWAY_ERROR
                | RetryOn::UNAVAILABLE
        }
        Outcome::Lost => {
            RetryOn::RESET | RetryOn::SERVER_ERROR | RetryOn::GATEWAY_ERROR | RetryOn::UNAVAILABLE
        }
        Outcome::TimedOut => {
            RetryOn::RESET
                | RetryOn::SERVER_ERROR
                | RetryOn::GATEWAY_ERROR
                | RetryOn::DEADLINE_EXCEEDED
        }
        Outcome::Broken => RetryOn::RESET | RetryOn::SERVER_ERROR | RetryOn::INTERNAL,
        Outcome::Overloaded | Outcome::FullHere => RetryOn::RESOURCE_EXHAUSTED,
        Outcome::Own => RetryOn::NONE,
    };
    let by_status = || {
        let status = outcome.http_status();
        policy.on.intersects(RetryOn::RETRIABLE_STATUS_CODES)
            && status.is_some_and(|status| policy.statuses.contains(&status))
    };
    policy.on.intersects(on) || by_status()
}

/// The conditions that an answer meets: HTTP's by its status, gRPC's by its code.
///
/// gRPC's hold where the status means the code. A status of another kind that is only the nearest to a
/// code (408, 413) meets none of them: the server is well, the request was not.
fn of_answer(answer: Answer) -> RetryOn {
    let (code, status) = (answer.code(), answer.status());
    let by_status = match status {
        409 => RetryOn::RETRIABLE_4XX,
        502..=504 => RetryOn::SERVER_ERROR | RetryOn::GATEWAY_ERROR,
        500..=599 => RetryOn::SERVER_ERROR,
        _ => RetryOn::NONE,
    };
    let own = http_status(code);
    if status != own && !(status >= 500 && own >= 500) {
        return by_status;
    }
    by_status
        | match code {
            Code::Cancelled => RetryOn::CANCELLED,
            Code::DeadlineExceeded => RetryOn::DEADLINE_EXCEEDED,
            Code::Internal => RetryOn::INTERNAL,
            Code::ResourceExhausted => RetryOn::RESOURCE_EXHAUSTED,
            Code::Unavailable => RetryOn::UNAVAILABLE,
            _ => RetryOn::NONE,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::random::SplitMix;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn policy(on: RetryOn, num_retries: u32) -> RetryPolicy {
        RetryPolicy {
            on,
            num_retries,
            ..RetryPolicy::default()
        }
    }

    fn ended(tries: &mut Tries<'_>, outcome: Outcome, may_repeat: bool) -> Next {
        let now = Instant::now();
        tries.ended(
            outcome,
            may_repeat,
            now,
            now + SECOND,
            &mut SplitMix::new(1),
        )
    }

    #[test]
    fn what_was_not_executed_goes_elsewhere_without_a_policy_but_not_for_ever() {
        for outcome in [Outcome::NotSent, Outcome::Refused, Outcome::FullHere] {
            let mut tries = Tries::new(None);
            for _ in 0..MOST_ELSEWHERE {
                assert_eq!(ended(&mut tries, outcome, false), Next::Elsewhere);
            }
            assert_eq!(ended(&mut tries, outcome, false), Next::End);
            assert_eq!(tries.beyond_the_first(), MOST_ELSEWHERE);
        }
    }

    #[test]
    fn without_a_policy_nothing_else_is_repeated() {
        for outcome in [
            Outcome::Lost,
            Outcome::TimedOut,
            Outcome::answered(Code::Unavailable),
            Outcome::answered(Code::Ok),
            Outcome::Overloaded,
        ] {
            assert_eq!(
                ended(&mut Tries::new(None), outcome, true),
                Next::End,
                "{outcome:?}"
            );
        }
    }

    #[test]
    fn each_condition_is_for_its_ends() {
        use Code::*;
        let answered = |codes: &[Code]| {
            codes
                .iter()
                .map(|it| Outcome::answered(*it))
                .collect::<Vec<_>>()
        };
        for (on, ends) in [
            (
                RetryOn::SERVER_ERROR,
                [
                    answered(&[
                        Internal,
                        Unknown,
                        DataLoss,
                        Unimplemented,
                        Unavailable,
                        DeadlineExceeded,
                    ]),
                    vec![Outcome::Lost, Outcome::TimedOut, Outcome::Broken],
                ]
                .concat(),
            ),
            (
                RetryOn::GATEWAY_ERROR,
                [
                    answered(&[Unavailable, DeadlineExceeded]),
                    vec![Outcome::Lost, Outcome::TimedOut],
                ]
                .concat(),
            ),
            (
                RetryOn::RESET,
                vec![Outcome::Lost, Outcome::TimedOut, Outcome::Broken],
            ),
            (RetryOn::RETRIABLE_4XX, answered(&[AlreadyExists, Aborted])),
            (RetryOn::CANCELLED, answered(&[Cancelled])),
            (
                RetryOn::DEADLINE_EXCEEDED,
                [answered(&[DeadlineExceeded]), vec![Outcome::TimedOut]].concat(),
            ),
            (
                RetryOn::INTERNAL,
                [answered(&[Internal]), vec![Outcome::Broken]].concat(),
            ),
            (
                RetryOn::RESOURCE_EXHAUSTED,
                [answered(&[ResourceExhausted]), vec![Outcome::Overloaded]].concat(),
            ),
            (
                RetryOn::UNAVAILABLE,
                [answered(&[Unavailable]), vec![Outcome::Lost]].concat(),
            ),
            (RetryOn::CONNECT_FAILURE, vec![]),
            (RetryOn::REFUSED_STREAM, vec![]),
            (RetryOn::NONE, vec![]),
        ] {
            let policy = policy(on, 1);
            let others = [
                Outcome::Lost,
                Outcome::TimedOut,
                Outcome::Broken,
                Outcome::Overloaded,
                Outcome::Own,
            ];
            let all = Code::ALL
                .iter()
                .map(|code| Outcome::answered(*code))
                .chain(others);
            for outcome in all {
                let next = ended(&mut Tries::new(Some(&policy)), outcome, true);
                let expected = ends.contains(&outcome);
                assert_eq!(
                    matches!(next, Next::Again(_)),
                    expected,
                    "{on:?} {outcome:?}: {next:?}"
                );
            }
        }
    }

    #[test]
    fn statuses_can_be_listed() {
        let mut policy = policy(RetryOn::RETRIABLE_STATUS_CODES, 1);
        policy.statuses = vec![429, 404];
        let next = |code| {
            ended(
                &mut Tries::new(Some(&policy)),
                Outcome::answered(code),
                true,
            )
        };
        assert!(matches!(next(Code::ResourceExhausted), Next::Again(_)));
        assert!(matches!(next(Code::NotFound), Next::Again(_)));
        assert_eq!(next(Code::Internal), Next::End);
    }

    #[test]
    fn statuses_that_no_code_stands_for_are_seen_as_they_are() {
        let mut listed = policy(RetryOn::RETRIABLE_STATUS_CODES, 1);
        let all = policy(
            RetryOn::SERVER_ERROR
                | RetryOn::GATEWAY_ERROR
                | RetryOn::RETRIABLE_4XX
                | RetryOn::DEADLINE_EXCEEDED
                | RetryOn::RESOURCE_EXHAUSTED
                | RetryOn::UNAVAILABLE
                | RetryOn::INTERNAL
                | RetryOn::CANCELLED,
            1,
        );
        for (status, repeated) in [
            (405, false),
            (408, false),
            (410, false),
            (413, false),
            (425, false),
            (409, true),
            (429, true),
            (502, true),
            (505, true),
            (599, true),
        ] {
            let outcome = Outcome::Answered(Answer::of_status(status));
            let next = ended(&mut Tries::new(Some(&all)), outcome, true);
            assert_eq!(matches!(next, Next::Again(_)), repeated, "{status}");
            listed.statuses = vec![status];
            let next = ended(&mut Tries::new(Some(&listed)), outcome, true);
            assert!(matches!(next, Next::Again(_)), "{status} is listed");
        }
    }

    #[test]
    fn a_server_error_of_another_number_still_meets_the_condition_of_its_code() {
        let policy = policy(RetryOn::UNAVAILABLE, 1);
        let next = |status| {
            let outcome = Outcome::Answered(Answer::of_status(status));
            ended(&mut Tries::new(Some(&policy)), outcome, true)
        };
        assert!(matches!(next(502), Next::Again(_)), "503 is the usual one");
        assert_eq!(next(500), Next::End);
    }

    #[test]
    fn a_caller_can_forbid_to_repeat_what_may_have_been_executed() {
        let policy = policy(RetryOn::SERVER_ERROR, 3);
        for outcome in [Outcome::Lost, Outcome::TimedOut, Outcome::Broken] {
            let mut tries = Tries::new(Some(&policy));
            assert_eq!(ended(&mut tries, outcome, false), Next::End, "{outcome:?}");
        }
        // Who answers with a failure has executed some of it.
        for code in [Code::Unavailable, Code::Internal] {
            let answered = Outcome::answered(code);
            let mut tries = Tries::new(Some(&policy));
            assert_eq!(ended(&mut tries, answered, false), Next::End, "{code:?}");
        }
    }

    #[test]
    fn the_method_decides_unless_somebody_declares_more() {
        use corewire_message::{Headers, Operation};
        let operation = Operation::from_static("nsmf/sm-contexts");
        let may = |said, repeatable, method: Option<&str>| {
            let mut headers = Headers::new();
            if let Some(method) = method {
                headers.append("corewire-method", method).unwrap();
            }
            let request = RequestHead {
                operation: &operation,
                headers: &headers,
                authority: "smf",
            };
            let mut policy = policy(RetryOn::UNAVAILABLE, 1);
            policy.repeatable = repeatable;
            may_repeat(said, &policy, &request)
        };
        for (method, idempotent) in [
            (None, false),
            (Some("POST"), false),
            (Some("PATCH"), false),
            (Some("GET"), true),
            (Some("PUT"), true),
            (Some("DELETE"), true),
        ] {
            assert_eq!(
                may(Repeat::ByMethod, false, method),
                idempotent,
                "{method:?}"
            );
            assert!(may(Repeat::ByMethod, true, method));
            assert!(may(Repeat::Always, false, method));
            assert!(!may(Repeat::Never, true, method));
        }
    }

    #[test]
    fn tries_are_counted_and_none_begins_that_could_not_end_in_time() {
        let policy = policy(RetryOn::UNAVAILABLE, 2);
        let unavailable = Outcome::answered(Code::Unavailable);
        let mut tries = Tries::new(Some(&policy));
        assert!(matches!(
            ended(&mut tries, unavailable, true),
            Next::Again(_)
        ));
        assert!(matches!(
            ended(&mut tries, unavailable, true),
            Next::Again(_)
        ));
        assert_eq!(ended(&mut tries, unavailable, true), Next::End);

        let now = Instant::now();
        let mut random = SplitMix::new(9);
        for outcome in [unavailable, Outcome::NotSent] {
            let mut tries = Tries::new(Some(&policy));
            assert_eq!(tries.ended(outcome, true, now, now, &mut random), Next::End);
        }
    }

    #[test]
    fn a_wait_that_lasts_to_the_deadline_is_not_begun() {
        struct Half;
        impl Random for Half {
            fn next(&mut self) -> u64 {
                1 << 63
            }
        }
        let mut policy = policy(RetryOn::UNAVAILABLE, 1);
        policy.backoff.base = 2 * SECOND;
        policy.backoff.max = 2 * SECOND;
        let now = Instant::now();
        let next = |deadline| {
            let outcome = Outcome::answered(Code::Unavailable);
            Tries::new(Some(&policy)).ended(outcome, true, now, deadline, &mut Half)
        };
        let later = SECOND + Duration::from_nanos(1);
        assert_eq!(next(now + later), Next::Again(SECOND));
        assert_eq!(next(now + SECOND), Next::End);
    }

    proptest! {
        #[test]
        fn a_request_is_never_tried_more_often_than_its_limits_say(
            ends in prop::collection::vec(0_u8..8, 0..50), num_retries in 0_u32..10, seed: u64,
        ) {
            let policy = policy(RetryOn::SERVER_ERROR | RetryOn::RESET, num_retries);
            let mut tries = Tries::new(Some(&policy));
            let now = Instant::now();
            let mut random = SplitMix::new(seed);
            for end in ends {
                let outcome = [Outcome::NotSent, Outcome::Refused, Outcome::Lost, Outcome::TimedOut,
                    Outcome::Own, Outcome::Broken, Outcome::answered(Code::Internal),
                    Outcome::answered(Code::NotFound)][usize::from(end)];
                if tries.ended(outcome, true, now, now + SECOND, &mut random) == Next::End { break; }
            }
            prop_assert!(tries.repeated <= num_retries && tries.elsewhere <= MOST_ELSEWHERE);
        }
    }
}
