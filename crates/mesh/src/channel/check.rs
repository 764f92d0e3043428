//! Health checks: the reconciler asks endpoints, on a loop, over the connections that calls use.

use super::chance::{after, clock};
use super::cluster::ClusterRuntime;
use super::endpoint::Endpoint;
use super::env::Env;
use crate::config::{HealthCheck, Transport};
use crate::policy::outcome::Outcome;
use crate::policy::protect::health_check::Answer;
use crate::policy::random::Random;
use corewire_message::health::{CHECK, Serving, question};
use corewire_message::{CallError, Caller, Code, Request, Response};
use std::sync::Arc;
use std::time::Instant;

/// Asks the endpoints whose time has come; gives when the next is due.
pub(super) fn check(
    cluster: &ClusterRuntime,
    env: &Env,
    now: Instant,
    random: &mut impl Random,
) -> Option<Instant> {
    let check = cluster.config.health_check.as_ref()?;
    // Threads drive connections of their own: they are asked for on the first loop.
    let wanted = env.wanted_loops().next();
    let index = wanted.unwrap_or(0);
    let mut due = None;
    for endpoint in cluster.endpoints() {
        // While it is being connected, its connection says how it is.
        let connected = endpoint.connection(index).is_some_and(|it| it.is_ready());
        if wanted.is_none() || connected {
            let mut checked = endpoint.checked();
            if checked.begin(check, now, random) {
                drop(checked);
                ask(endpoint, index, check, env);
                checked = endpoint.checked();
            }
            due = due.into_iter().chain(checked.due()).min();
        }
    }
    due
}

fn ask(endpoint: &Arc<Endpoint>, index: usize, check: &Arc<HealthCheck>, env: &Env) {
    let (endpoint, check) = (Arc::clone(endpoint), Arc::clone(check));
    let signal = Arc::clone(&env.signal);
    env.timer(index).spawn(async move {
        let answer = match endpoint.client(index) {
            None => Answer::NotAsked,
            Some(client) => {
                let timeout = check.timeout.min(check.interval);
                let request = Request::new(CHECK)
                    .with_body(question(&check.service))
                    .with_deadline(after(clock(), timeout));
                let result = client.call(request).await;
                answer_of(result, &check, endpoint.transport)
            }
        };
        if endpoint.checked().answered(&check, answer) {
            signal.raise();
        }
    });
}

/// What an answer says about the endpoint that gave it.
fn answer_of(
    result: Result<Response, CallError>,
    check: &HealthCheck,
    transport: Transport,
) -> Answer {
    let is_rest = transport == Transport::Rest;
    let (code, status) = match Outcome::of(&result) {
        Outcome::Answered(answer) => (answer.code(), answer.status()),
        // The state of its connection is known otherwise.
        Outcome::NotSent => return Answer::NotAsked,
        _ => return Answer::Failed,
    };
    match code {
        Code::Ok => match result.ok().and_then(serving) {
            Some(Serving::Serving) => Answer::Serving,
            Some(Serving::NotServing | Serving::ServiceUnknown) => Answer::NotServing,
            // A foreign function answers every path with something of its own.
            Some(Serving::Unknown) | None if is_rest => Answer::Unknown,
            Some(Serving::Unknown) | None => Answer::Failed,
        },
        Code::Unimplemented | Code::Unauthenticated | Code::PermissionDenied => Answer::Unknown,
        Code::NotFound if check.service.is_empty() || is_rest => Answer::Unknown,
        // 4xx: it is there, and does not know such questions. Not when it has too much to do.
        _ if is_rest && !matches!(status, 408 | 429 | 500..) => Answer::Unknown,
        _ => Answer::Failed,
    }
}

fn serving(response: Response) -> Option<Serving> {
    Serving::from_message(&response.body.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewire_message::{Body, Status};
    use corewire_wire::mapping::status::{HTTP_STATUS, code_of_http_status};

    /// Judges an answer in both of the shapes that a caller may hand it on in.
    fn of(response: Response, service: &str, transport: Transport) -> Answer {
        let check = HealthCheck {
            service: service.into(),
            ..HealthCheck::default()
        };
        let as_result = answer_of(response.clone().into_result(), &check, transport);
        assert_eq!(answer_of(Ok(response), &check, transport), as_result);
        as_result
    }

    #[test]
    fn reads_serving_and_not_serving() {
        let (grpc, rest) = (Transport::Grpc, Transport::Rest);
        let serving = Response::ok(Serving::Serving.to_message());
        assert_eq!(of(serving, "", grpc), Answer::Serving);
        let not = Response::ok(Serving::NotServing.to_message());
        assert_eq!(of(not, "a", rest), Answer::NotServing);
        let rubbish = || Response::ok(Body::from_static(b"\xff\xff"));
        assert_eq!(of(rubbish(), "", grpc), Answer::Failed);
        assert_eq!(of(rubbish(), "", rest), Answer::Unknown);
        assert_eq!(of(Response::ok(Body::new()), "", rest), Answer::Unknown);
    }

    #[test]
    fn servers_without_a_health_service_are_not_ill() {
        let failed = |code| Response::failed(Status::of(code));
        let (grpc, rest) = (Transport::Grpc, Transport::Rest);
        for code in [Code::Unimplemented, Code::Unauthenticated, Code::NotFound] {
            assert_eq!(of(failed(code), "", grpc), Answer::Unknown, "{code}");
        }
        assert_eq!(of(failed(Code::NotFound), "a", grpc), Answer::Failed);
        assert_eq!(of(failed(Code::Unavailable), "", grpc), Answer::Failed);
        for (status, answer) in [
            (400, Answer::Unknown),
            (401, Answer::Unknown),
            (404, Answer::Unknown),
            (405, Answer::Unknown),
            (415, Answer::Unknown),
            (501, Answer::Unknown),
            (408, Answer::Failed),
            (429, Answer::Failed),
            (500, Answer::Failed),
            (503, Answer::Failed),
        ] {
            let mut response = failed(code_of_http_status(status));
            let named = status.to_string();
            response.headers.append(HTTP_STATUS, named).unwrap();
            assert_eq!(of(response, "a", rest), answer, "{status}");
        }
    }
}
