//! The consumer's side of a service interface: one call, the same over every transport.
//!
//! A method other than POST, a query and a status other than 200 travel in headers that belong to the
//! transport (`docs/http2.md`); over REST they are what they look like.
#![expect(
    clippy::disallowed_methods,
    reason = "a driver: calls are repeated until a deadline"
)]

use super::Runtime;
use super::directory::Known;
use super::exchange::{SbiAnswer, SbiFailure, SbiRequest};
use super::grants::Nrf;
use crate::selection::Wanted;
use crate::trace::{self, Kind, Moment};
use corewire::{CallError, Caller, Client, Code, ErrorKind, Operation, Request, Response};
use std::time::{Duration, Instant};

/// How long a call waits for an instance that takes it: as long as one that was killed needs to be
/// there again.
const RESTART: Duration = Duration::from_secs(2);

/// Between two looks whether there is one.
const AGAIN: Duration = Duration::from_millis(50);

/// Between two looks whether a service can be called.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// The way to other NFs by one event loop. Clones are cheap.
#[derive(Clone)]
pub struct Sbi {
    runtime: Runtime,
    loop_index: usize,
}

impl Runtime {
    /// The way to peers, by this loop (modulo their number).
    pub fn sbi(&self, loop_index: usize) -> Sbi {
        Sbi::new(self.clone(), loop_index % self.loops().len())
    }
}

impl Sbi {
    pub(super) const fn new(runtime: Runtime, loop_index: usize) -> Self {
        Self {
            runtime,
            loop_index,
        }
    }

    /// Calls an instance of `service`, whichever the mesh chooses. While there is none that takes
    /// the call, it waits for one to come back, a little.
    ///
    /// # Errors
    /// When it was answered with a failure or not answered.
    ///
    /// # Cancel safety
    /// Dropping the future gives the call up; it may have been executed.
    pub async fn call(&self, service: &str, request: SbiRequest) -> Result<SbiAnswer, SbiFailure> {
        let directory = self.runtime.directory();
        let Some(channel) = directory.channel(service, self.loop_index) else {
            return Err(SbiFailure::local(format!(
                "{service} is not among what this NF calls"
            )));
        };
        let mut message = request.into_message(self.runtime.agent())?;
        let grants = self.runtime.grants();
        let mut shown = grants.show(self, service, &mut message).await;
        let hop = self.begin(&mut message)?;
        let give_up = Instant::now() + RESTART;
        let answered = loop {
            match channel.call(message.clone()).await {
                Err(error) if nobody_took_it(&error) && Instant::now() < give_up => {
                    self.runtime.sleep(AGAIN).await;
                    // No token is granted for a service that no instance offers.
                    if !shown {
                        shown = grants.show(self, service, &mut message).await;
                    }
                }
                answered if shown && is_unauthorized(&answered) => {
                    grants.refused(service, &mut message);
                    grants.show(self, service, &mut message).await;
                    // Once: who refuses a new one refuses us.
                    shown = false;
                }
                answered => break answered,
            }
        };
        self.end(hop, &message.operation);
        SbiAnswer::of(answered)
    }

    /// Calls one instance: `root` is the beginning of a URI that it gave, `http://host:port`.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    ///
    /// # Cancel safety
    /// As [`call`](Self::call).
    pub async fn at(&self, root: &str, request: SbiRequest) -> Result<SbiAnswer, SbiFailure> {
        let client = self.client_of(root)?;
        let mut message = request.into_message(self.runtime.agent())?;
        let grants = self.runtime.grants();
        let operation = message.operation.clone();
        let service = self.runtime.profile().asked_at(operation.as_str());
        let shown = grants.show(self, service, &mut message).await;
        let hop = self.begin(&mut message)?;
        let answered = if shown {
            match client.call(message.clone()).await {
                answered if is_unauthorized(&answered) => {
                    grants.refused(service, &mut message);
                    grants.show(self, service, &mut message).await;
                    client.call(message).await
                }
                answered => answered,
            }
        } else {
            client.call(message).await
        };
        self.end(hop, &operation);
        SbiAnswer::of(answered)
    }

    /// Calls an instance of `service` that serves what is wanted, by priority, capacity and load; the
    /// next one where an instance cannot be reached. Gives the root of the instance too, where only
    /// some serve it: what the answer names is there.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    ///
    /// # Cancel safety
    /// As [`call`](Self::call).
    pub async fn call_serving(
        &self,
        service: &str,
        wanted: Wanted<'_>,
        request: SbiRequest,
    ) -> Result<(SbiAnswer, Option<String>), SbiFailure> {
        let Some(roots) = self.runtime.directory().select(service, wanted) else {
            return Ok((self.call(service, request).await?, None));
        };
        let mut last = SbiFailure::local(format!("no instance of {service} serves the request"));
        for root in roots {
            match self.at(&root, request.clone()).await {
                Ok(answer) => return Ok((answer, Some(root))),
                Err(failure) if failure.is_not_sent() => last = failure,
                Err(failure) => return Err(failure),
            }
        }
        Err(last)
    }

    /// Calls the NRF, which asks nobody for a token: it gives them.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    ///
    /// # Cancel safety
    /// As [`call`](Self::call).
    pub(super) async fn at_nrf(
        &self,
        nrf: &str,
        request: SbiRequest,
    ) -> Result<SbiAnswer, SbiFailure> {
        let client = self.client_of(nrf)?;
        SbiAnswer::of(
            client
                .call(request.into_message(self.runtime.agent())?)
                .await,
        )
    }

    fn client_of(&self, root: &str) -> Result<Client, SbiFailure> {
        let authority = root
            .split_once("://")
            .map_or(root, |(_, rest)| rest)
            .split('/')
            .next()
            .unwrap_or_default();
        let Some(client) = self.runtime.directory().direct(authority, self.loop_index) else {
            return Err(SbiFailure::local(format!("{root:?} is no address")));
        };
        Ok(client)
    }

    /// Numbers a call, where hops are written down.
    fn begin(&self, message: &mut Request) -> Result<Option<(u64, Moment)>, SbiFailure> {
        let Some(trace) = self.runtime.trace() else {
            return Ok(None);
        };
        let number = trace.number();
        let text = number.to_string();
        let added = message.headers.append(trace::NUMBER, &text);
        added.map_err(|fault| SbiFailure::local(fault.to_string()))?;
        Ok(Some((number, Moment::now())))
    }

    fn end(&self, hop: Option<(u64, Moment)>, operation: &Operation) {
        if let (Some(trace), Some((number, began))) = (self.runtime.trace(), hop) {
            trace.ended(Kind::Call, number, began, operation.as_str());
        }
    }
}

impl Nrf for Sbi {
    fn now(&self) -> Instant {
        Instant::now()
    }

    async fn sleep(&self, duration: Duration) {
        self.runtime.sleep(duration).await;
    }

    fn has_ended(&self) -> bool {
        self.runtime.loops()[self.loop_index].has_ended()
    }

    fn instance(&self) -> &str {
        self.runtime.instance()
    }

    async fn until_offered(&self, service: &str, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let directory = self.runtime.directory();
        loop {
            let is_registered = self.runtime.notices().registrations() > 0;
            let known = directory.known(service);
            if is_registered && known != Some(Known::NotYet) || Instant::now() >= until {
                return known != Some(Known::Nowhere);
            }
            self.runtime.sleep(LOOK_AGAIN).await;
        }
    }

    async fn ask(&self, root: &str, request: SbiRequest) -> Result<SbiAnswer, SbiFailure> {
        self.at_nrf(root, request).await
    }
}

/// Whether it was refused because of its token, before anything was done.
fn is_unauthorized(answered: &Result<Response, CallError>) -> bool {
    let response = match answered {
        Ok(response) => Some(response),
        Err(error) => error.response(),
    };
    response.is_some_and(|response| response.status.code() == Code::Unauthenticated)
}

/// Whether a call may be made again at once, because no peer had anything of it.
fn nobody_took_it(error: &CallError) -> bool {
    !error.may_have_executed() && matches!(error.kind(), ErrorKind::NotSent | ErrorKind::Refused)
}
