//! Health checks: the keeper asks endpoints, on a loop, over the connections that calls use.

use super::chance::{ThreadRandom, after, clock};
use super::endpoint::Endpoint;
use super::shared::Shared;
use super::unit::Unit;
use crate::config::{HealthCheck, Transport};
use crate::policy::protect::health_check::Answer;
use corewire_message::health::{CHECK, Serving, question};
use corewire_message::{CallError, Caller, Code, ErrorKind, Request, Response};
use std::sync::Arc;
use std::time::Instant;

/// Asks the endpoints whose time has come; gives when the next is due.
pub(super) fn check(unit: &Unit, shared: &Shared, now: Instant) -> Option<Instant> {
    let check = unit.config.health_check.as_ref()?;
    // Threads drive connections of their own: they are asked for on the first loop.
    let wanted = shared.wanted_loops().next();
    let index = wanted.unwrap_or(0);
    let mut due = None;
    for endpoint in unit.endpoints() {
        // While it is being connected, its connection says how it is.
        let connected = endpoint.line(index).is_some_and(|line| line.is_ready());
        if wanted.is_none() || connected {
            let mut checked = endpoint.checked();
            if checked.begin(check, now, &mut ThreadRandom) {
                drop(checked);
                ask(endpoint, index, check, shared);
                checked = endpoint.checked();
            }
            due = due.into_iter().chain(checked.due()).min();
        }
    }
    due
}

fn ask(endpoint: &Arc<Endpoint>, index: usize, check: &Arc<HealthCheck>, shared: &Shared) {
    let (endpoint, check) = (Arc::clone(endpoint), Arc::clone(check));
    let signal = Arc::clone(&shared.signal);
    shared.timer(index).spawn(async move {
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

/// What an answer says of who gave it.
fn answer_of(
    result: Result<Response, CallError>,
    check: &HealthCheck,
    transport: Transport,
) -> Answer {
    let response = match result {
        Ok(response) => response,
        // Its connection says how it is, and others' limits say nothing about it.
        Err(error) if matches!(error.kind(), ErrorKind::NotSent) => return Answer::NotAsked,
        Err(_) => return Answer::Failed,
    };
    match response.status.code() {
        Code::Ok => match Serving::from_message(&response.body.into_bytes()) {
            Some(Serving::Serving) => Answer::Serving,
            Some(Serving::NotServing | Serving::ServiceUnknown) => Answer::NotServing,
            Some(Serving::Unknown) | None => Answer::Failed,
        },
        Code::Unimplemented => Answer::Unknown,
        // What a foreign function answers to a path that it does not have.
        Code::NotFound if check.service.is_empty() || transport == Transport::Rest => {
            Answer::Unknown
        }
        _ => Answer::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewire_message::{Body, Status};

    #[test]
    fn answers_are_told_from_those_who_know_no_such_question() {
        let of = |code: Code, body: Body, service: &str, transport| {
            let response = match code {
                Code::Ok => Response::ok(body),
                code => Response::failed(Status::of(code)),
            };
            let check = HealthCheck {
                service: service.into(),
                ..HealthCheck::default()
            };
            answer_of(Ok(response), &check, transport)
        };
        let (grpc, rest) = (Transport::Grpc, Transport::Rest);
        let serving = Serving::Serving.to_message();
        assert_eq!(of(Code::Ok, serving, "", grpc), Answer::Serving);
        let not = Serving::NotServing.to_message();
        assert_eq!(of(Code::Ok, not, "a", rest), Answer::NotServing);
        let none = Body::new;
        assert_eq!(of(Code::Unimplemented, none(), "", grpc), Answer::Unknown);
        assert_eq!(of(Code::NotFound, none(), "", rest), Answer::Unknown);
        assert_eq!(of(Code::NotFound, none(), "a", rest), Answer::Unknown);
        assert_eq!(of(Code::NotFound, none(), "a", grpc), Answer::Failed);
        assert_eq!(of(Code::Unavailable, none(), "", grpc), Answer::Failed);
        let rubbish = Body::from_static(b"\xff\xff");
        assert_eq!(of(Code::Ok, rubbish, "", rest), Answer::Failed);
    }
}
