//! What procedures need of the world, as traits: time, and other network functions.
//!
//! ```text
//!   amf::procedures, smf::procedures ──▶ Clock, Peers ◀── event_loops: the mesh and its clock
//!                                                     ◀── transcripts: a virtual clock and a script
//! ```
//!
//! A network function whose procedures are written against these reads no clock, opens no socket and
//! starts no task below its driver.

use crate::selection::Wanted;
use crate::{SbiAnswer, SbiFailure, SbiRequest};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

/// A wait for something outside of the procedures.
pub type Wait<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Time, and numbers that time makes unique.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Instant;

    /// Completes at `deadline`, on this event loop.
    ///
    /// # Cancel safety
    /// Safe: it only waits.
    fn sleep_until(&self, event_loop: usize, deadline: Instant) -> Wait<'_, ()>;

    /// A number that this process and an earlier one on this host have not given before.
    fn unique_number(&self) -> u64;
}

/// The other network functions.
pub trait Peers: Send + Sync {
    /// Sends a request, and completes with its answer and the root of the instance that gave it,
    /// where only that instance has what the answer names.
    ///
    /// # Cancel safety
    /// Dropping the future gives the call up; it may have been executed.
    fn call<'a>(
        &'a self,
        event_loop: usize,
        target: Target<'a>,
        request: SbiRequest,
    ) -> Wait<'a, Result<(SbiAnswer, Option<String>), SbiFailure>>;
}

/// Which instance of a network function is called.
#[derive(Clone, Copy)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a player of transcripts must know each"
)]
pub enum Target<'a> {
    /// Any instance of this service.
    Service(&'a str),
    /// One that serves this slice and data network.
    Serving(&'a str, Wanted<'a>),
    /// The instance at the beginning of this URI.
    At(&'a str),
}

/// The way to other network functions from one event loop.
#[derive(Clone)]
pub struct Sbi {
    /// What carries requests.
    pub peers: Arc<dyn Peers>,
    /// The event loop that asks.
    pub event_loop: usize,
}

impl Sbi {
    /// Calls any instance of `service`.
    ///
    /// # Errors
    /// When it was answered with a failure or not answered.
    pub async fn call(&self, service: &str, request: SbiRequest) -> Result<SbiAnswer, SbiFailure> {
        let target = Target::Service(service);
        let answered = self.peers.call(self.event_loop, target, request).await;
        answered.map(|(answer, _)| answer)
    }

    /// Calls the instance that a URI begins with.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn at(&self, uri: &str, request: SbiRequest) -> Result<SbiAnswer, SbiFailure> {
        let target = Target::At(uri);
        let answered = self.peers.call(self.event_loop, target, request).await;
        answered.map(|(answer, _)| answer)
    }

    /// Calls an instance that serves what is wanted. Gives its root too, where only some serve it.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn call_serving(
        &self,
        service: &str,
        wanted: Wanted<'_>,
        request: SbiRequest,
    ) -> Result<(SbiAnswer, Option<String>), SbiFailure> {
        let target = Target::Serving(service, wanted);
        self.peers.call(self.event_loop, target, request).await
    }
}
