//! The client for programs: a thread of its own asks the control plane, everybody else reads.
#![expect(clippy::disallowed_methods, reason = "a thread waits with a timeout")]

use super::bootstrap::BootstrapSource;
use super::driver;
use super::mailbox::{ClientOptions, Command, Inbox, Providers, Status};
use super::name::{TargetName, TargetNameFault};
use crate::Discovery;
use crate::config::{Resolution, Snapshot, SnapshotSource, Target};
use corewire_transport::EventLoop;
use corewire_transport::tls::Files;
use std::any::Any;
use std::fmt;
use std::io;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// How long [`Client::status`] waits for the thread that knows.
const STATUS_TIMEOUT: Duration = Duration::from_secs(1);

/// A client of a control plane. Clones share it; when the last of them and of its watches is gone,
/// its thread ends.
#[derive(Clone)]
pub struct Client(Arc<Handle>);

struct Handle {
    inbox: Arc<Inbox>,
    source: SnapshotSource,
    providers: Arc<Providers>,
}

impl Client {
    /// Starts a client on a thread of its own. It asks for nothing until something is watched.
    ///
    /// # Errors
    /// When the bootstrap is there and wrong, or the thread cannot be started. One that is not there
    /// yet is no error: it is waited for.
    pub fn start(source: BootstrapSource, options: ClientOptions) -> io::Result<Self> {
        let invalid = |fault| io::Error::new(io::ErrorKind::InvalidInput, fault);
        let bootstrap = match source.read() {
            Ok(bootstrap) => Some(bootstrap),
            Err(fault) if fault.is_absent => None,
            Err(fault) => return Err(invalid(fault)),
        };
        let inbox = Arc::new(Inbox::default());
        let published = SnapshotSource::default();
        let providers = Arc::new(Providers::default());
        let setup = driver::Setup {
            providers: Arc::clone(&providers),
            source,
            bootstrap,
            options,
            inbox: Arc::clone(&inbox),
            published: published.clone(),
        };
        let (ready, started) = mpsc::sync_channel(1);
        // The loop belongs to its thread; whether it could be made is told back.
        let run = move || match EventLoop::new() {
            Ok(event_loop) => {
                // The starter may have gone.
                let _ = ready.send(Ok(()));
                driver::run(event_loop, setup);
            }
            Err(error) => {
                let _ = ready.send(Err(error));
            }
        };
        let thread = thread::Builder::new().name("corewire-xds".into());
        thread.spawn(run)?;
        let lost = |_| io::Error::other("the client's thread ended at once");
        started.recv().map_err(lost)??;
        Ok(Self(Arc::new(Handle {
            inbox,
            source: published,
            providers,
        })))
    }

    /// Starts a client as `GRPC_XDS_BOOTSTRAP` or `GRPC_XDS_BOOTSTRAP_CONFIG` say.
    ///
    /// # Errors
    /// When neither is set, and as [`start`](Self::start).
    pub fn from_env(options: ClientOptions) -> io::Result<Self> {
        let source = BootstrapSource::from_env().ok_or_else(|| {
            let text = "neither GRPC_XDS_BOOTSTRAP (a path) nor GRPC_XDS_BOOTSTRAP_CONFIG (JSON) is \
                        set: one of them says where the control plane is";
            io::Error::new(io::ErrorKind::NotFound, text)
        })?;
        Self::start(source, options)
    }

    /// Asks for a target, by its name or as `xds:///NAME`, until the watch is dropped. Several
    /// watches of one target cost what one does.
    ///
    /// # Errors
    /// When that is no target's name.
    pub fn watch(&self, target: &str) -> Result<Watch, TargetNameFault> {
        let name = TargetName::parse(target)?;
        self.0.inbox.push(Command::Watch(name.clone()));
        Ok(Watch {
            client: self.clone(),
            key: name.key().into(),
            name,
        })
    }

    /// Where the current snapshot is had from.
    #[must_use]
    pub fn source(&self) -> &SnapshotSource {
        &self.0.source
    }

    /// What the client is doing; `None` when its thread does not answer.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.0.inbox.push(Command::Status(sender));
        receiver.recv_timeout(STATUS_TIMEOUT).ok()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.inbox.push(Command::Stop);
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client({:?})", self.0.source)
    }
}

/// A target that is asked for until this is dropped.
#[derive(Debug)]
#[must_use = "dropping the watch ends it"]
pub struct Watch {
    client: Client,
    name: TargetName,
    key: Arc<str>,
}

impl Watch {
    /// The target's name in snapshots.
    #[must_use]
    pub const fn key(&self) -> &Arc<str> {
        &self.key
    }

    /// Where the current snapshot is had from.
    #[must_use]
    pub fn source(&self) -> &SnapshotSource {
        self.client.source()
    }

    /// What is known of the target now.
    #[must_use]
    pub fn state(&self) -> Resolution<Arc<Target>> {
        self.state_in(&self.source().load())
    }

    fn state_in(&self, snapshot: &Snapshot) -> Resolution<Arc<Target>> {
        let known = snapshot.target(&self.key);
        known.cloned().unwrap_or(Resolution::Pending)
    }

    /// Completes when the target is known, or known to be missing; never gives
    /// [`Resolution::Pending`].
    ///
    /// # Cancel safety
    /// Safe: nothing is lost.
    pub async fn resolved(&self) -> Resolution<Arc<Target>> {
        let mut snapshot = self.source().load_full();
        loop {
            let state = self.state_in(&snapshot);
            if !state.is_pending() {
                return state;
            }
            snapshot = self.source().changed(snapshot.version).await;
        }
    }

    /// The same for a thread, which waits at most so long; [`Resolution::Pending`] when that was not
    /// enough.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> Resolution<Arc<Target>> {
        let deadline = Instant::now().checked_add(timeout);
        let (sender, receiver) = mpsc::sync_channel(1);
        let _subscription = self.source().on_change(move |_| {
            // One message is enough to look again.
            let _ = sender.try_send(());
        });
        loop {
            let state = self.state();
            let left = deadline.map_or(Duration::MAX, |at| {
                at.saturating_duration_since(Instant::now())
            });
            if !state.is_pending() || receiver.recv_timeout(left).is_err() {
                return state;
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let inbox = &self.client.0.inbox;
        inbox.push(Command::Unwatch(self.name.clone()));
    }
}

impl Discovery for Client {
    fn source(&self) -> &SnapshotSource {
        Self::source(self)
    }

    fn watch(&self, target: &str) -> Result<Box<dyn Any + Send + Sync>, String> {
        match Self::watch(self, target) {
            Ok(watch) => Ok(Box::new(watch)),
            Err(fault) => Err(fault.to_string()),
        }
    }

    fn certificate_files(&self, provider: &str) -> Option<Files> {
        self.0.providers.files(provider)
    }
}
