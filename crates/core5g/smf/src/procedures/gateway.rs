//! The SMF gateway: what AMFs see. It reads nothing but where a request goes.

use crate::context::gateway::{Gateway, Release};
use crate::context::reference::SmContextRef;
use crate::context::services::REPLICA_SERVICE;
use corewire_core5g_runtime::{SbiAnswer, SbiFailure, SbiRequest};
use corewire_core5g_sbi::model::smf::SM_CONTEXTS;
use corewire_core5g_sbi::{Exchange, Problem, Reply, Router};
use std::sync::Arc;
use std::time::Duration;

/// Releases that may wait for a replica.
const MAX_LATER: u64 = 10_000;
/// How long they wait.
const AWAY: Duration = Duration::from_secs(120);
/// Between two tries.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// The resources of the gateway.
pub(crate) fn router(gateway: Arc<Gateway>) -> Router<Gateway> {
    Router::new(gateway).post(SM_CONTEXTS, create).post(
        "/nsmf-pdusession/v1/sm-contexts/{smContextRef}/{operation}",
        on_context,
    )
}

/// A new session: any replica.
async fn create(gateway: Arc<Gateway>, exchange: Exchange) -> Result<Reply, Problem> {
    let request = copy(&exchange, SM_CONTEXTS.to_owned());
    relay(gateway.sbi().call(REPLICA_SERVICE, request).await)
}

/// A session that there is: the replica that made it; when that is gone, one that finds its
/// context in the store.
async fn on_context(gateway: Arc<Gateway>, exchange: Exchange) -> Result<Reply, Problem> {
    let text = exchange.param("smContextRef");
    let reference: SmContextRef = text
        .parse()
        .map_err(|_| Problem::new(404, "CONTEXT_NOT_FOUND"))?;
    let path = format!("{SM_CONTEXTS}/{text}/{}", exchange.param("operation"));
    let request = copy(&exchange, path);
    let sbi = gateway.sbi();
    let maker = reference.root_like(&gateway.api_root);
    match sbi.at(&maker, request.clone()).await {
        Err(failure) if failure.is_not_sent() => {
            let answered = sbi.call(REPLICA_SERVICE, request.clone()).await;
            match answered {
                Err(failure) if failure.is_not_sent() && is_release(&exchange) => {
                    release_later(&gateway, request)
                }
                answered => relay(answered),
            }
        }
        answered => relay(answered),
    }
}

/// No replica is there to release a session, and the AMF, which forgets it now, will not ask again: the
/// request is repeated until a replica takes it.
fn release_later(gateway: &Arc<Gateway>, request: SbiRequest) -> Result<Reply, Problem> {
    if gateway.later.value() >= MAX_LATER {
        return Err(Problem::new(503, "TARGET_NF_NOT_REACHABLE"));
    }
    gateway.later.up();
    let until = gateway.clock.now() + AWAY;
    (gateway.start)(Arc::clone(gateway), 0, Release { request, until });
    Ok(Reply::no_content())
}

/// Asks for a release until a replica answers, or until its time is over, or until `has_ended`.
pub(crate) async fn work_off(gateway: &Gateway, release: Release, has_ended: impl Fn() -> bool) {
    loop {
        let now = gateway.clock.now();
        if now >= release.until || has_ended() {
            break;
        }
        let request = release.request.clone();
        match gateway.sbi().call(REPLICA_SERVICE, request).await {
            Err(failure) if failure.is_not_sent() => {
                let next = gateway.clock.now() + TRY_AGAIN;
                gateway.clock.sleep_until(0, next).await;
            }
            _ => break,
        }
    }
    gateway.later.down();
}

fn is_release(exchange: &Exchange) -> bool {
    exchange.param("operation") == "release"
}

fn copy(exchange: &Exchange, path: String) -> SbiRequest {
    SbiRequest::post(path).octets(exchange.media_type(), exchange.body().clone())
}

/// Answers with what was answered.
fn relay(answered: Result<SbiAnswer, SbiFailure>) -> Result<Reply, Problem> {
    match answered {
        Ok(answer) if answer.body.is_empty() && answer.status == 204 => Ok(Reply::no_content()),
        Ok(answer) => {
            let mut reply =
                Reply::octets(answer.status, answer.content_type(), answer.body.clone());
            if let Some(location) = answer.header("location") {
                reply = reply.header("location", location);
            }
            Ok(reply)
        }
        Err(failure) => match failure.status() {
            Some(status) if !failure.answer().is_empty() => Ok(Reply::octets(
                status,
                failure.content_type(),
                failure.answer().clone(),
            )),
            Some(status) => Ok(Reply::status(status)),
            None => Err(Problem::new(503, "TARGET_NF_NOT_REACHABLE").detail(failure.to_string())),
        },
    }
}
