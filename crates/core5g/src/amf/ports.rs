//! What an AMF's procedures need of the world, as traits: time, other network functions, gNBs.
//!
//! ```text
//!   procedures ──▶ Clock, Peers, Association ◀── driver: event loops, HTTP/2, SCTP
//!                                            ◀── transcripts: a virtual clock and a script
//! ```
//!
//! Nothing below the driver reads a clock, opens a socket or starts a task.

use crate::runtime::{SbiAnswer, SbiFailure, SbiRequest};
use crate::selection::Wanted;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

/// A wait for something outside of the procedures.
pub(in crate::amf) type Wait<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Time, and numbers that time makes unique.
pub(in crate::amf) trait Clock: Send + Sync {
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
pub(in crate::amf) trait Peers: Send + Sync {
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
pub(in crate::amf) enum Target<'a> {
    /// Any instance of this service.
    Service(&'a str),
    /// One that serves this slice and data network.
    Serving(&'a str, Wanted<'a>),
    /// The instance at the beginning of this URI.
    At(&'a str),
}

/// The way to other network functions from one event loop.
#[derive(Clone)]
pub(in crate::amf) struct Sbi {
    pub(in crate::amf) peers: Arc<dyn Peers>,
    pub(in crate::amf) event_loop: usize,
}

impl Sbi {
    /// Calls any instance of `service`.
    ///
    /// # Errors
    /// When it was answered with a failure or not answered.
    pub(in crate::amf) async fn call(
        &self,
        service: &str,
        request: SbiRequest,
    ) -> Result<SbiAnswer, SbiFailure> {
        let target = Target::Service(service);
        let answered = self.peers.call(self.event_loop, target, request).await;
        answered.map(|(answer, _)| answer)
    }

    /// Calls the instance that a URI begins with.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub(in crate::amf) async fn at(
        &self,
        uri: &str,
        request: SbiRequest,
    ) -> Result<SbiAnswer, SbiFailure> {
        let target = Target::At(uri);
        let answered = self.peers.call(self.event_loop, target, request).await;
        answered.map(|(answer, _)| answer)
    }

    /// Calls an instance that serves what is wanted. Gives its root too, where only some serve it.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub(in crate::amf) async fn call_serving(
        &self,
        service: &str,
        wanted: Wanted<'_>,
        request: SbiRequest,
    ) -> Result<(SbiAnswer, Option<String>), SbiFailure> {
        let target = Target::Serving(service, wanted);
        self.peers.call(self.event_loop, target, request).await
    }
}

/// An association with a gNB, as far as sending goes.
pub(in crate::amf) trait Association: Send + Sync {
    /// Sends a message, of this name, on a stream. One that cannot be sent is dropped and logged.
    fn send(&self, stream: u16, name: &'static str, octets: &[u8]);

    /// Outbound streams; none once the association has ended.
    fn streams(&self) -> u16;

    /// Ends the association at once.
    fn abort(&self);
}
