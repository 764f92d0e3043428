//! What an NF's code holds of its process.
#![expect(
    clippy::disallowed_methods,
    reason = "a driver: the event loops' clock"
)]

use super::Flow;
use super::advertised::Advertised;
use super::directory::Directory;
use super::gauge::{Gauge, Gauges};
use super::grants::Grants;
use super::notices::Notices;
use super::profile::Profile;
use crate::trace::Trace;
use corewire::LoopHandle;
use corewire::health::Health;
use corewire_core5g_sbi::HttpDate;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// What an NF's code holds of its process. Clones share it.
#[derive(Clone)]
pub struct Runtime(Arc<Inner>);

/// What it is made of.
pub(super) struct Inner {
    pub(super) loops: Vec<LoopHandle>,
    pub(super) directory: Directory,
    pub(super) grants: Grants,
    pub(super) notices: Arc<Notices>,
    pub(super) profile: Profile,
    pub(super) instance: String,
    /// `User-Agent` of every request.
    pub(super) agent: String,
    pub(super) api_root: String,
    pub(super) advertised: Advertised,
    pub(super) flow: Flow,
    pub(super) gauges: Gauges,
    pub(super) trace: Option<Arc<Trace>>,
    pub(super) health: Health,
    pub(super) endings: Mutex<Vec<Ending>>,
}

/// Something that is done when the process ends; says whether it went well.
type Ending = Box<dyn FnOnce() -> bool + Send>;

impl Runtime {
    pub(super) fn of(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// Event loops, one thread each.
    pub fn loops(&self) -> &[LoopHandle] {
        &self.0.loops
    }

    /// Lets a task run on this loop, whoever waits for it.
    pub fn spawn(&self, loop_index: usize, task: impl Future<Output = ()> + Send + 'static) {
        self.0.loops[loop_index % self.0.loops.len()].spawn(task);
    }

    /// Completes after `duration`, on the first loop's clock.
    pub async fn sleep(&self, duration: Duration) {
        self.0.loops[0].sleep_until(Instant::now() + duration).await;
    }

    /// This NF's instance id, a UUID.
    pub fn instance(&self) -> &str {
        &self.0.instance
    }

    /// Where others reach this instance: `http://host:port`, or `https`.
    pub fn api_root(&self) -> &str {
        &self.0.api_root
    }

    /// The address by which others reach this instance; a name is looked up.
    ///
    /// # Errors
    /// When the name is not known.
    pub fn socket_address(&self) -> anyhow::Result<SocketAddr> {
        self.0.advertised.socket_address()
    }

    /// Which operations drive the procedures.
    pub fn flow(&self) -> Flow {
        self.0.flow
    }

    /// A number that `corewire core status` shows under this name.
    pub fn gauge(&self, name: &'static str) -> Gauge {
        self.0.gauges.gauge(name)
    }

    /// What the health service says of this process.
    pub(crate) fn health(&self) -> &Health {
        &self.0.health
    }

    /// Does this when the process ends, once calls in flight have ended. When it does not go well, the
    /// process ends with a failure.
    pub(crate) fn at_end(&self, ending: impl FnOnce() -> bool + Send + 'static) {
        self.endings().push(Box::new(ending));
    }

    fn endings(&self) -> MutexGuard<'_, Vec<Ending>> {
        self.0
            .endings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what is to be done at the end, each once; gives whether all went well.
    pub(super) fn end(&self) -> bool {
        let endings = std::mem::take(&mut *self.endings());
        let mut well = true;
        for ending in endings {
            // Each is done, whatever became of the one before.
            well &= ending();
        }
        well
    }

    /// Where hops are written down, when they are.
    pub fn trace(&self) -> Option<&Arc<Trace>> {
        self.0.trace.as_ref()
    }

    pub(super) fn directory(&self) -> &Directory {
        &self.0.directory
    }

    pub(super) fn grants(&self) -> &Grants {
        &self.0.grants
    }

    pub(super) fn notices(&self) -> &Notices {
        &self.0.notices
    }

    /// `User-Agent` of its requests (TS 29.500, 5.2.2.2): the NF type, then the instance.
    pub(super) fn agent(&self) -> &str {
        &self.0.agent
    }

    /// What this NF said of itself at its start.
    pub(super) fn profile(&self) -> &Profile {
        &self.0.profile
    }
}

/// The time of day, for documents that name it.
pub fn wall_clock() -> HttpDate {
    HttpDate::of(SystemTime::now())
}
