//! The channel of callers that await, and the driver of their calls.

use super::attempts::{CallAttempts, Finish, PlanHolder, Progress, Step, loop_ended};
use super::chance::{ThreadRandom, after, clock};
use super::cluster::Slot;
use super::connection::EndpointConnection;
use super::env::{Env, Side};
use super::message::{Message, Reply};
use super::mirror;
use super::permit::local;
use super::replay::{OneWay, Streaming, Unary};
use super::shared::Shared;
use super::stream;
use super::target::TargetState;
use corewire_message::{CallError, CallStream, Caller, ErrorKind, Event, Request, Response};
use corewire_transport::Client;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// A channel to a target through the mesh. Clones share it.
#[derive(Clone)]
pub struct MeshChannel {
    shared: Arc<Shared>,
    target: Arc<TargetState>,
    /// Which loop drives its connections.
    index: usize,
}

impl MeshChannel {
    pub(super) fn new(shared: &Arc<Shared>, target: &str, loop_index: usize) -> Self {
        let index = loop_index % shared.env.loop_count();
        Self {
            target: shared.target(target, Some(index), clock(), &mut ThreadRandom),
            shared: Arc::clone(shared),
            index,
        }
    }

    /// The target's name.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target.name
    }

    /// The same channel by another of the mesh's loops.
    #[must_use]
    pub fn on(&self, loop_index: usize) -> Self {
        Self::new(&self.shared, &self.target.name, loop_index)
    }

    const fn side(&self) -> Side {
        Side::Loop(self.index)
    }

    fn start<'p, M: Message>(
        &'p self,
        plan: &'p mut PlanHolder,
        message: M,
    ) -> CallAttempts<'p, M> {
        CallAttempts::new(&self.shared.env, &self.target, self.side(), plan, message)
    }

    /// Does what the call's machine says until it finishes; `send` is one attempt.
    async fn drive<'p, M, T, F>(
        &self,
        call: &mut CallAttempts<'p, M>,
        send: impl Fn(&'p Client, M::Sent) -> F,
    ) -> Result<T, CallError>
    where
        M: Message,
        T: Reply,
        F: Future<Output = Result<T, CallError>>,
    {
        let env = &self.shared.env;
        let mut last = None;
        let mut progress = Progress::Ready;
        loop {
            let seen = env.waiters.generation();
            let now = clock();
            let step = call.next(now, progress, &mut ThreadRandom);
            progress = Progress::Ready;
            match step {
                Step::Send(endpoint) => {
                    let Some(client) = endpoint.client(self.index) else {
                        return Err(local(ErrorKind::NotSent, "there is no such loop".into()));
                    };
                    let result = send(client, call.message(now)).await;
                    progress = Progress::Ended(T::outcome(&result));
                    last = Some(result);
                }
                Step::Delay(until) => env.timer(self.index).sleep_until(until).await,
                Step::AwaitConfig(until) | Step::AwaitConnection(until) => {
                    wait(env, self.index, seen, until).await;
                }
                Step::Mirror(cluster) => {
                    mirror::send(&self.shared, self.side(), cluster, call.unsent());
                }
                Step::Finish(Finish::Answer(answer)) => return T::of_answer(answer),
                Step::Finish(Finish::Failed(error)) => return Err(error),
                Step::Finish(Finish::LastAttempt) => {
                    return last.unwrap_or_else(|| Err(CallError::deadline_exceeded(false)));
                }
            }
        }
    }

    /// Completes when a request could be sent at once: every cluster that the target leads to has
    /// a connected endpoint.
    ///
    /// # Errors
    /// When that is not so within `timeout`; the error says what is missing.
    ///
    /// # Cancel safety
    /// Safe: it only waits.
    pub async fn ready(&self, timeout: Duration) -> Result<(), CallError> {
        let env = &self.shared.env;
        let until = after(clock(), timeout);
        loop {
            let seen = env.waiters.generation();
            let Err(why) = self.missing() else {
                return Ok(());
            };
            if clock() >= until {
                let why = format!(
                    "target {} is not ready in {timeout:?}: {why}",
                    self.target()
                );
                return Err(local(ErrorKind::NotSent, why));
            }
            wait(env, self.index, seen, until).await;
            if env.has_ended(self.side()) {
                return Err(loop_ended());
            }
        }
    }

    /// What is missing for requests to be sent.
    fn missing(&self) -> Result<(), String> {
        let plan = self.target.plan.load();
        if plan.clusters.is_empty() {
            return Err(plan.describe());
        }
        for cluster in &plan.clusters {
            let ready = |slot: &Slot| {
                let connection = slot.endpoint.connection(self.index);
                connection.is_some_and(EndpointConnection::is_ready)
            };
            if !cluster.slots.iter().any(ready) {
                return Err(cluster.why_no_endpoint(self.side()));
            }
        }
        Ok(())
    }
}

impl Caller for MeshChannel {
    async fn call(&self, request: Request) -> Result<Response, CallError> {
        let mut plan = None;
        let mut call = self.start(&mut plan, Unary::new(request));
        self.drive(&mut call, Client::call).await
    }

    async fn send(&self, event: Event) -> Result<(), CallError> {
        let mut plan = None;
        let mut call = self.start(&mut plan, OneWay(event));
        self.drive(&mut call, Client::send).await
    }

    async fn open(&self, request: Request) -> Result<CallStream, CallError> {
        let mut plan = None;
        let mut call = self.start(&mut plan, Streaming::new(request));
        let opened = self.drive(&mut call, Client::open).await?;
        Ok(match call.into_stream() {
            Some(hold) => stream::recorded(opened, hold, &self.shared),
            None => opened,
        })
    }
}

impl fmt::Debug for MeshChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MeshChannel({})", self.target.name)
    }
}

/// Waits until something changed since `seen` was read, at most until then. Ends early when the loop
/// that keeps the time ends.
async fn wait(env: &Env, index: usize, seen: u64, until: Instant) {
    let mut passed = pin!(env.timer(index).sleep_until(until));
    let mut happened = pin!(env.waiters.happened(seen));
    poll_fn(|cx| match happened.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => passed.as_mut().poll(cx),
    })
    .await;
}
