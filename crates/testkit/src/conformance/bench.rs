//! What a promise is tested on.

use super::gate::Gate;
use super::operations as op;
use super::service::{Probe, text};
use super::watchdog::watched;
use crate::clock::{BoxFuture, Clock};
use corewire_message::{CallError, Caller, Channel, Operation, Request, Response, blocking};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The longest message that either end takes on a bench, unless a client is made with another
/// limit.
pub const MAX_MESSAGE: usize = 2 << 20;

/// How long something that should happen at once may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server with the suite's service on one transport, and clients of it.
///
/// Both ends allow messages of [`MAX_MESSAGE`]; dropping it stops everything.
pub trait Fixture: 'static {
    /// Whether header names without `-bin` carry any octets but CR, LF and NUL.
    fn carries_any_octets(&self) -> bool;
    /// The name of the protocol that is spoken.
    fn protocol(&self) -> &'static str;
    /// Tells the time to both ends.
    fn clock(&self) -> Arc<dyn Clock>;
    /// The service, seen from the side.
    fn probe(&self) -> Arc<Probe>;
    /// A client with a connection of its own that sends messages up to so many octets.
    fn connect(&self, max_message: usize) -> Channel;
    /// A client of a service that does not listen.
    fn connect_to_nowhere(&self) -> Channel;
    /// The same for threads, where a thread can drive the transport.
    fn connect_thread(&self) -> Option<blocking::Channel> {
        None
    }
    /// Runs a task beside the test.
    fn spawn(&self, task: BoxFuture<()>);
    /// Runs a test to its end.
    fn run(&self, test: Pin<Box<dyn Future<Output = ()> + '_>>);
    /// Cuts every connection and takes none any more.
    fn stop_server(&self);
    /// Serves again where it did before it was stopped.
    fn start_server(&self);
    /// Begins to drain the server; returns while it drains.
    fn drain_server(&self);
    /// Ends the event loop that drives the clients, where there is one.
    fn end_client_loop(&self) {}
}

/// A fixture with one client, and what tests need again and again.
pub struct Bench {
    fixture: Box<dyn Fixture>,
    /// The client under test.
    pub client: Channel,
    /// The service, seen from the side.
    pub probe: Arc<Probe>,
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Bench {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bench").finish_non_exhaustive()
    }
}

/// Tests one promise on a new fixture, at most [`super::LONGEST_TEST`] long.
pub fn hold<F: Fixture>(
    fixture: impl FnOnce() -> F + Send + 'static,
    promise: impl AsyncFn(&Bench) + Send + 'static,
) {
    watched(move || {
        let fixture = fixture();
        let bench = Bench {
            client: fixture.connect(MAX_MESSAGE),
            probe: fixture.probe(),
            clock: fixture.clock(),
            fixture: Box::new(fixture),
        };
        bench.fixture.run(Box::pin(promise(&bench)));
    });
}

impl Bench {
    /// What it stands on.
    #[must_use]
    pub fn fixture(&self) -> &dyn Fixture {
        &*self.fixture
    }

    /// The time by the bench's clock.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Waits.
    pub async fn sleep(&self, duration: Duration) {
        self.clock.sleep(duration).await;
    }

    /// Calls with a body.
    ///
    /// # Errors
    /// As [`Caller::call`].
    pub async fn call(
        &self,
        operation: Operation,
        body: impl Into<corewire_message::Body>,
    ) -> Result<Response, CallError> {
        self.client
            .call(Request::new(operation).with_body(body))
            .await
    }

    /// Calls an operation that answers with text.
    pub async fn ask(&self, request: Request) -> String {
        text(&self.client.call(request).await.expect("an answer").body)
    }

    /// A request with a deadline so far ahead.
    #[must_use]
    pub fn within(&self, duration: Duration, operation: Operation) -> Request {
        Request::new(operation).with_deadline(self.now() + duration)
    }

    /// Begins a call that goes on beside the test.
    #[must_use]
    pub fn start(&self, request: Request) -> Started {
        let client = self.client.clone();
        self.beside(async move { client.call(request).await })
    }

    /// Begins something that goes on beside the test.
    pub fn beside<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Started<T> {
        let started = Started::default();
        let end = Started(Arc::clone(&started.0));
        self.fixture.spawn(Box::pin(async move {
            let result = task.await;
            *end.0.1.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            end.0.0.open();
        }));
        started
    }

    /// Waits until something is so.
    ///
    /// # Panics
    /// When it is not so in 20 s.
    pub async fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let give_up = self.now() + PATIENCE;
        while !is_so() {
            assert!(self.now() < give_up, "not so in {PATIENCE:?}: {what}");
            self.sleep(Duration::from_millis(1)).await;
        }
    }

    /// Waits until so many calls of waiting operations have begun.
    pub async fn until_started(&self, calls: u64) {
        let what = format!("{calls} calls have begun");
        self.until(&what, || self.probe.started() >= calls).await;
    }

    /// Asserts that the connection still works.
    pub async fn works(&self) {
        let body = "still here".to_owned();
        let answer = self.call(op::ECHO, body).await;
        assert_eq!(text(&answer.expect("the client works").body), "still here");
    }
}

/// Something that goes on beside the test; by default, a call.
#[derive(Debug)]
pub struct Started<T = Result<Response, CallError>>(Arc<(Gate, Mutex<Option<T>>)>);

impl<T> Default for Started<T> {
    fn default() -> Self {
        Self(Arc::new((Gate::default(), Mutex::new(None))))
    }
}

impl<T> Started<T> {
    /// Whether it has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let end = self.0.1.lock().unwrap_or_else(PoisonError::into_inner);
        end.is_some()
    }

    /// Waits for its end.
    pub async fn end(self) -> T {
        self.0.0.passed().await;
        let mut end = self.0.1.lock().unwrap_or_else(PoisonError::into_inner);
        end.take().expect("it was taken once")
    }
}
