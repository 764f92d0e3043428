//! The SMF gateway: what AMFs see. It reads nothing but where a request goes.

use super::reference::SmContextRef;
use super::{REPLICA_SERVICE, SERVICE, SM_CONTEXTS};
use crate::runtime::{
    Gauge, NfOptions, Profile, Runtime, Sbi, SbiAnswer, SbiFailure, SbiRequest, serve,
};
use crate::sbi::{Exchange, Problem, Reply, Router};
use clap::Args;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Releases that may wait for a replica.
const MAX_LATER: u64 = 10_000;
/// How long they wait.
const AWAY: Duration = Duration::from_secs(120);
/// Between two tries.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// Options of the gateway.
#[derive(Debug, Args)]
pub(super) struct GatewayArgs {
    #[command(flatten)]
    nf: NfOptions,
}

impl GatewayArgs {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let profile = Profile::new("SMF")
            .service(SERVICE, "v1", &["AMF"])
            .consumes(REPLICA_SERVICE)
            .under(SERVICE, REPLICA_SERVICE);
        serve(&self.nf, profile, |runtime| {
            let gateway = Arc::new(Gateway {
                runtime: runtime.clone(),
                turn: AtomicUsize::new(0),
                later: runtime.gauge("releases-waiting"),
            });
            Ok(Router::new(gateway)
                .post(SM_CONTEXTS, Gateway::create)
                .post(
                    "/nsmf-pdusession/v1/sm-contexts/{smContextRef}/{operation}",
                    Gateway::on_context,
                ))
        })
    }
}

struct Gateway {
    runtime: Runtime,
    turn: AtomicUsize,
    /// Releases that wait for a replica.
    later: Gauge,
}

impl Gateway {
    /// A new session: any replica.
    async fn create(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let request = copy(&exchange, SM_CONTEXTS.to_owned());
        relay(self.sbi().call(REPLICA_SERVICE, request).await)
    }

    /// A session that there is: the replica that made it; when nobody is there, one that finds its
    /// context in the store.
    async fn on_context(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let text = exchange.param("smContextRef");
        let reference: SmContextRef = text
            .parse()
            .map_err(|_| Problem::new(404, "CONTEXT_NOT_FOUND"))?;
        let path = format!("{SM_CONTEXTS}/{text}/{}", exchange.param("operation"));
        let request = copy(&exchange, path);
        let maker = self.runtime.root_at(reference.maker());
        match self.sbi().at(&maker, request.clone()).await {
            Err(failure) if failure.is_not_sent() => {
                let answered = self.sbi().call(REPLICA_SERVICE, request.clone()).await;
                match answered {
                    Err(failure) if failure.is_not_sent() && path_is_release(&exchange) => {
                        self.release_later(request)
                    }
                    answered => relay(answered),
                }
            }
            answered => relay(answered),
        }
    }

    /// Nobody is there to release a session, and the AMF, which forgets it now, will not ask again:
    /// it is asked for until somebody does.
    fn release_later(self: Arc<Self>, request: SbiRequest) -> Result<Reply, Problem> {
        if self.later.value() >= MAX_LATER {
            return Err(Problem::new(503, "TARGET_NF_NOT_REACHABLE"));
        }
        self.later.up();
        let task = Arc::clone(&self);
        self.runtime.spawn(0, async move {
            let until = Instant::now() + AWAY;
            while Instant::now() < until && !task.runtime.loops()[0].has_ended() {
                match task.sbi().call(REPLICA_SERVICE, request.clone()).await {
                    Err(failure) if failure.is_not_sent() => task.runtime.sleep(TRY_AGAIN).await,
                    _ => break,
                }
            }
            task.later.down();
        });
        Ok(Reply::no_content())
    }

    fn sbi(&self) -> Sbi {
        self.runtime.sbi(self.turn.fetch_add(1, Ordering::Relaxed))
    }
}

fn path_is_release(exchange: &Exchange) -> bool {
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
