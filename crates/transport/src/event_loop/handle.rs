//! The way to a running loop that programs hold.

use super::client::Client;
use super::inbox::{Command, Shared};
use super::timers::Sleep;
use super::watcher::ConnectionWatcher;
use crate::{ClientOptions, Endpoint};
use corewire_driver::{after, clock};
use std::future::Future;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// A way to a running loop, from any thread. Clones are cheap.
#[derive(Clone, Debug)]
pub struct LoopHandle(pub(crate) Arc<Shared>);

impl LoopHandle {
    /// A client of the service at `endpoint`, driven by this loop. Connects at the first call.
    #[must_use]
    pub fn connect(&self, endpoint: Endpoint, options: ClientOptions) -> Client {
        Client::new(Arc::clone(&self.0), endpoint, options, None)
    }

    /// The same, and `watcher` is told how its connection stands: for callers that choose between
    /// several clients.
    #[must_use]
    pub fn connect_watched(
        &self,
        endpoint: Endpoint,
        options: ClientOptions,
        watcher: Arc<dyn ConnectionWatcher>,
    ) -> Client {
        Client::new(Arc::clone(&self.0), endpoint, options, Some(watcher))
    }

    /// Whether the loop has ended: nothing will be done any more.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.0.is_closed()
    }

    /// Completes at `deadline`, within microseconds of it when the loop is not busy. Completes early
    /// when the loop ends, at once when it has ended: whoever sleeps between attempts looks at what
    /// the next attempt says.
    ///
    /// # Cancel safety
    /// Safe: it only waits.
    pub async fn sleep_until(&self, deadline: Instant) {
        // Made at the first poll; the loop keeps it only as long as this future does.
        let mut asked: Option<Arc<Sleep>> = None;
        std::future::poll_fn(|cx| {
            if let Some(sleep) = &asked {
                return sleep.poll(cx);
            }
            if clock() >= deadline {
                return Poll::Ready(());
            }
            let sleep = asked.insert(Arc::default());
            // The waker first: the loop may be on another thread.
            let pending = sleep.poll(cx);
            let until = deadline;
            let sleep = Arc::downgrade(sleep);
            match self.0.push(Command::Sleep { until, sleep }) {
                Ok(()) => pending,
                Err(_) => Poll::Ready(()),
            }
        })
        .await;
    }

    /// Lets the loop take no new connections and calls, finish those in flight and the events that have
    /// begun, and end; what is still in progress after `within` is cut. Clients driven by this loop
    /// may call until the last call that came in has ended: it may need them.
    pub fn drain(&self, within: Duration) {
        let _ended_already = self.0.push(Command::Drain {
            until: after(clock(), within),
        });
    }

    /// Ends the loop after its current turn; calls in flight fail.
    pub fn stop(&self) {
        let _ended_already = self.0.push(Command::Stop);
    }

    /// Lets `task` run on this loop, whoever waits for it. It must not block, and is dropped when the
    /// loop ends; when that has happened already it is dropped at once. A drain does not wait for it.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let _ended_already = self.0.push(Command::Spawn {
            task: Box::pin(task),
        });
    }
}
