//! What a client and its thread share: settings, commands, and what the thread has to say.

use super::ads::{AdsOptions, AdsStatus};
use super::bootstrap::Bootstrap;
use super::name::TargetName;
use corewire_transport::tls::Files;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::task::Waker;
use std::time::Duration;

/// Settings of a client.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ClientOptions {
    /// The protocol's settings and limits.
    pub ads: AdsOptions,
    /// How long a bootstrap that is not there is waited for.
    pub bootstrap: BootstrapWait,
}

/// How long a bootstrap that is not there is waited for: whoever writes it, an agent beside us, may
/// start later than we do.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BootstrapWait {
    /// How often it is looked for. Default 100 ms.
    pub interval: Duration,
    /// How many times. Default 600, which is a minute.
    pub attempts: u32,
}

impl Default for BootstrapWait {
    fn default() -> Self {
        Self {
            interval: Duration::from_millis(100),
            attempts: 600,
        }
    }
}

/// The certificate providers of the bootstrap, once it is there.
#[derive(Default)]
pub(super) struct Providers(OnceLock<BTreeMap<String, Files>>);

impl Providers {
    pub(super) fn know(&self, bootstrap: &Bootstrap) {
        // A bootstrap is read once.
        let _ = self.0.set(bootstrap.certificate_providers.clone());
    }

    pub(super) fn files(&self, provider: &str) -> Option<Files> {
        self.0.get()?.get(provider).cloned()
    }
}

/// What the client's thread is asked to do, and how it is woken for it.
#[derive(Default)]
pub(super) struct Inbox(Mutex<Letters>);

#[derive(Default)]
struct Letters {
    commands: VecDeque<Command>,
    waker: Option<Waker>,
}

pub(super) enum Command {
    Watch(TargetName),
    Unwatch(TargetName),
    Resolved {
        host: Arc<str>,
        port: u16,
        result: Result<Vec<std::net::SocketAddr>, String>,
    },
    Status(mpsc::SyncSender<Status>),
    Stop,
}

/// What a client is doing, for people.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Status {
    /// The servers as the bootstrap has them, the most preferred first.
    pub servers: Vec<String>,
    /// What the protocol is doing.
    pub ads: AdsStatus,
    /// What happened lately, the latest last, with how long after the start.
    pub events: Vec<(Duration, String)>,
}

impl Inbox {
    fn letters(&self) -> MutexGuard<'_, Letters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, command: Command) {
        let waker = {
            let mut letters = self.letters();
            letters.commands.push_back(command);
            letters.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The next command; when there is none, `waker` is woken for the next.
    pub(super) fn take(&self, waker: &Waker) -> Option<Command> {
        let mut letters = self.letters();
        let command = letters.commands.pop_front();
        if command.is_none() {
            letters.waker = Some(waker.clone());
        }
        command
    }
}
