//! Fault injection: requests that are held back or answered with a failure, to try callers out.

use crate::config::{
    FaultAbort, FaultAbortKind, FaultDelay, FaultDelayKind, FaultPolicy, Fraction,
};
use crate::policy::outcome::Answer;
use crate::policy::random::Random;
use crate::policy::route::{RequestHead, header};
use corewire_message::{Code, Headers};
use std::time::Duration;

const DELAY: &str = "x-envoy-fault-delay-request";
const DELAY_PERCENT: &str = "x-envoy-fault-delay-request-percentage";
const ABORT: &str = "x-envoy-fault-abort-request";
const ABORT_GRPC: &str = "x-envoy-fault-abort-grpc-request";
const ABORT_PERCENT: &str = "x-envoy-fault-abort-request-percentage";

/// The longest that a header can hold a request back: it comes from a caller.
pub const LONGEST_DELAY: Duration = Duration::from_secs(60 * 60);

/// What is done to one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "there are two kinds of faults")]
pub struct Faults {
    /// It is held back so long.
    pub delay: Option<Duration>,
    /// It is answered with this, then.
    pub abort: Option<Answer>,
}

impl Faults {
    /// Whether nothing is done to it.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.delay.is_none() && self.abort.is_none()
    }
}

/// The faults of a request, while so many are held back or answered so.
pub fn faults(
    policy: &FaultPolicy,
    request: &RequestHead<'_>,
    active: u32,
    random: &mut impl Random,
) -> Faults {
    let concerned = policy
        .headers
        .iter()
        .all(|condition| header::matches(condition, request));
    let headers = request.headers;
    if !concerned || policy.max_active.is_some_and(|most| active >= most) {
        return Faults::default();
    }
    Faults {
        delay: policy
            .delay
            .as_ref()
            .and_then(|it| delay(it, headers, random)),
        abort: policy
            .abort
            .as_ref()
            .and_then(|it| abort(it, headers, random)),
    }
}

fn delay(delay: &FaultDelay, headers: &Headers, random: &mut impl Random) -> Option<Duration> {
    let (wait, fraction) = match delay.kind {
        FaultDelayKind::Fixed(wait) => (wait, delay.fraction),
        FaultDelayKind::Header => {
            let millis = number(headers, DELAY)?;
            let wait = Duration::from_millis(millis).min(LONGEST_DELAY);
            (wait, lowered(delay.fraction, headers, DELAY_PERCENT))
        }
        #[expect(
            unreachable_patterns,
            reason = "for kinds to come: none is known by guessing"
        )]
        _ => return None,
    };
    fraction.holds(random.next()).then_some(wait)
}

fn abort(abort: &FaultAbort, headers: &Headers, random: &mut impl Random) -> Option<Answer> {
    let (answer, fraction) = match abort.kind {
        FaultAbortKind::Http(status) => (Answer::of_status(status), abort.fraction),
        FaultAbortKind::Grpc(code) => (Answer::of_code(code), abort.fraction),
        FaultAbortKind::Header => {
            let of_status = |status| {
                let status = u16::try_from(status).ok();
                status
                    .filter(|it| (200..=599).contains(it))
                    .map(Answer::of_status)
            };
            let of_number = |code| {
                let number = u32::try_from(code).ok();
                number.map(|it| Answer::of_code(Code::from_number(it)))
            };
            let answer = match number(headers, ABORT) {
                Some(status) => of_status(status),
                None => number(headers, ABORT_GRPC).and_then(of_number),
            };
            (answer?, lowered(abort.fraction, headers, ABORT_PERCENT))
        }
        #[expect(
            unreachable_patterns,
            reason = "for kinds to come: none is known by guessing"
        )]
        _ => return None,
    };
    let fails = !answer.is_success() && fraction.holds(random.next());
    fails.then_some(answer)
}

/// A caller can lower the fraction, not raise it.
fn lowered(fraction: Fraction, headers: &Headers, name: &str) -> Fraction {
    match number(headers, name) {
        Some(percent) => fraction.min(Fraction::percent(u32::try_from(percent).unwrap_or(100))),
        None => fraction,
    }
}

fn number(headers: &Headers, name: &str) -> Option<u64> {
    headers.get_str(name)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{HeaderCondition, HeaderMatch};
    use crate::policy::random::SplitMix;

    use corewire_message::Operation;

    static CREATE: Operation = Operation::from_static("nsmf/create");

    fn headers(entries: &[(&str, &str)]) -> Headers {
        let mut headers = Headers::new();
        for (name, value) in entries {
            headers.append(name, value).unwrap();
        }
        headers
    }

    fn policy(
        delay: Option<FaultDelayKind>,
        abort: Option<FaultAbortKind>,
        percent: u32,
    ) -> FaultPolicy {
        let fraction = Fraction::percent(percent);
        FaultPolicy {
            delay: delay.map(|kind| FaultDelay { kind, fraction }),
            abort: abort.map(|kind| FaultAbort { kind, fraction }),
            ..FaultPolicy::default()
        }
    }

    fn head(headers: &Headers) -> RequestHead<'_> {
        RequestHead {
            operation: &CREATE,
            headers,
            authority: "smf",
        }
    }

    fn of(policy: &FaultPolicy, entries: &[(&str, &str)]) -> Faults {
        faults(policy, &head(&headers(entries)), 0, &mut SplitMix::new(1))
    }

    #[test]
    fn faults_are_made_as_often_as_asked() {
        let second = Duration::from_secs(1);
        let policy = policy(
            Some(FaultDelayKind::Fixed(second)),
            Some(FaultAbortKind::Http(503)),
            20,
        );
        let mut random = SplitMix::new(3);
        let made: Vec<_> = (0..10_000)
            .map(|_| faults(&policy, &head(&Headers::new()), 0, &mut random))
            .collect();
        let delayed = made.iter().filter(|it| it.delay == Some(second)).count();
        let aborted = made
            .iter()
            .filter(|it| it.abort == Some(Answer::of_code(Code::Unavailable)))
            .count();
        assert!(
            delayed.abs_diff(2000) < 200 && aborted.abs_diff(2000) < 200,
            "{delayed} {aborted}"
        );
    }

    #[test]
    fn headers_ask_for_faults_where_the_policy_lets_them() {
        let by_header = policy(
            Some(FaultDelayKind::Header),
            Some(FaultAbortKind::Header),
            100,
        );
        assert!(of(&by_header, &[]).is_none());
        assert!(!of(&by_header, &[(DELAY, "250")]).is_none());
        assert!(!of(&by_header, &[(ABORT, "404")]).is_none());
        assert_eq!(
            of(&by_header, &[(DELAY, "250")]).delay,
            Some(Duration::from_millis(250))
        );
        assert_eq!(
            of(&by_header, &[(ABORT, "404")]).abort,
            Some(Answer::of_code(Code::NotFound))
        );
        assert_eq!(
            of(&by_header, &[(ABORT_GRPC, "8")]).abort,
            Some(Answer::of_code(Code::ResourceExhausted))
        );
        assert_eq!(
            of(&by_header, &[(ABORT, "200")]).abort,
            None,
            "success is no fault"
        );
        assert!(of(&by_header, &[(DELAY, "soon"), (ABORT, "x")]).is_none());
        assert_eq!(
            of(&by_header, &[(DELAY, "999999999999")]).delay,
            Some(Duration::from_secs(60 * 60)),
            "an hour is the most that a header can ask for"
        );
        assert!(of(&by_header, &[(DELAY, "1"), (DELAY_PERCENT, "0")]).is_none());
        let never = policy(Some(FaultDelayKind::Header), None, 0);
        assert!(
            of(&never, &[(DELAY, "1"), (DELAY_PERCENT, "100")]).is_none(),
            "not raised"
        );
        let fixed = policy(None, Some(FaultAbortKind::Grpc(Code::Aborted)), 100);
        assert_eq!(
            of(&fixed, &[(ABORT, "404")]).abort,
            Some(Answer::of_code(Code::Aborted))
        );
    }

    #[test]
    fn only_requests_that_are_meant_and_only_so_many_at_a_time() {
        let mut policy = policy(None, Some(FaultAbortKind::Http(500)), 100);
        policy.headers.push(HeaderMatch {
            name: "x-test".into(),
            condition: HeaderCondition::Present(true),
            invert: false,
            missing_as_empty: false,
        });
        policy.max_active = Some(3);
        assert!(of(&policy, &[]).is_none());
        let marked = headers(&[("x-test", "1")]);
        let mut random = SplitMix::new(1);
        let mut at = |active| faults(&policy, &head(&marked), active, &mut random);
        assert_eq!(at(2).abort, Some(Answer::of_code(Code::Internal)));
        assert!(at(3).is_none());
    }
}
