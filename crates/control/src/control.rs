//! A running control plane: the server, and the thread that makes what it serves.
#![expect(
    clippy::disallowed_methods,
    reason = "a driver: its threads wait, and tell the hub the time"
)]

use crate::catalog::Catalog;
use crate::config::{Config, ControlTls, Faults, MAX_CONFIG_OCTETS, TlsFiles};
use crate::hub::Hub;
use crate::log::Log;
use crate::registry::{Instance, Refusal, Registry, RegistryAnswer};
use crate::rights::Secret;
use crate::service::ControlService;
use crate::store::{Kept, Store};
use crate::watch::{FileWatch, LOOK_EVERY};
use corewire_transport::tls::{Files, ServerTls, TlsFault};
use corewire_transport::{Address, LimitArgs, Server, ServerOptions, parse_address};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::HashMap;
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Where a control plane listens when nobody says.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:18000";

/// What a control plane is started with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ControlOptions {
    /// The configuration file; it is read again when it changes.
    pub config: PathBuf,
    /// Where to listen; empty: as the file says.
    pub listen: Vec<String>,
    /// The folder for what must outlive a restart; `None`: as the file says.
    pub state: Option<PathBuf>,
    /// Event loops, one thread each. Default 1: its work is little and bursty.
    pub loops: usize,
    /// What is taken from peers at most. Default: that of
    /// [`ServerOptions`](corewire_transport::ServerOptions).
    pub limits: Option<LimitArgs>,
    /// Where lines about refusals and reloads go. Default: standard error.
    pub log: Log,
}

impl ControlOptions {
    /// The defaults, with this configuration file.
    pub fn new(config: impl Into<PathBuf>) -> Self {
        Self {
            config: config.into(),
            listen: Vec::new(),
            state: None,
            loops: 1,
            limits: None,
            log: Log::to_stderr(),
        }
    }
}

/// Why a control plane does not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartFault {
    /// The configuration file cannot be read.
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The configuration file is wrong.
    Config {
        /// The file.
        file: PathBuf,
        /// All that is wrong.
        faults: Faults,
    },
    /// The state of before cannot be used.
    State(String),
    /// A certificate, key or authority cannot be used.
    Tls(TlsFault),
    /// An address cannot be listened at, or a thread not started.
    Io(io::Error),
}

impl fmt::Display for StartFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { file, .. } => {
                write!(f, "{} cannot be read", file.display())
            }
            Self::Config { file, faults } => {
                let count = faults.iter().len();
                let fault = if count == 1 { "fault" } else { "faults" };
                write!(f, "{} has {count} {fault}:", file.display())?;
                for fault in faults.iter() {
                    write!(f, "\n  {fault}")?;
                }
                Ok(())
            }
            Self::State(reason) => f.write_str(reason),
            Self::Tls(_) => f.write_str("the control plane cannot speak TLS"),
            Self::Io(_) => f.write_str("the control plane cannot start"),
        }
    }
}

impl std::error::Error for StartFault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable { error, .. } | Self::Io(error) => Some(error),
            Self::Tls(fault) => Some(fault),
            Self::Config { .. } | Self::State(_) => None,
        }
    }
}

/// Reads and checks a configuration file.
///
/// # Errors
/// When it cannot be read, or what is wrong with it, all of it.
pub fn read_config(file: &Path) -> Result<Config, StartFault> {
    parse(file, &read_text(file)?)
}

fn parse(file: &Path, text: &str) -> Result<Config, StartFault> {
    Config::parse(text).map_err(|faults| StartFault::Config {
        file: file.to_owned(),
        faults,
    })
}

fn read_text(file: &Path) -> Result<String, StartFault> {
    let unreadable = |error| StartFault::Unreadable {
        file: file.to_owned(),
        error,
    };
    let mut text = String::new();
    // One octet more than may be, so that longer ones are noticed without being read.
    let most = MAX_CONFIG_OCTETS as u64 + 1;
    let opened = std::fs::File::open(file).map_err(unreadable)?;
    opened
        .take(most)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    Ok(text)
}

/// A running control plane: a server of its own around a [`Plane`]. Dropping it ends it.
#[derive(Debug)]
pub struct Control {
    server: Option<Server>,
    addresses: Vec<Address>,
    plane: Plane,
}

/// A control plane without a server: who has one hosts its [service](Plane::service). Dropping it
/// ends it.
#[derive(Debug)]
pub struct Plane {
    service: ControlService,
    handle: ReloadHandle,
    /// As it was when it started.
    config: Arc<Config>,
    file: PathBuf,
    thread: Option<JoinHandle<()>>,
}

/// What a [`Plane`] is started with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PlaneOptions {
    /// The configuration file; it is read again when it changes. `None`: the defaults, and any service
    /// may be registered.
    pub config: Option<PathBuf>,
    /// The folder for what must outlive a restart; `None`: as the file says.
    pub state: Option<PathBuf>,
    /// Where lines about refusals and reloads go. Default: standard error.
    pub log: Log,
}

impl Default for PlaneOptions {
    fn default() -> Self {
        Self {
            config: None,
            state: None,
            log: Log::to_stderr(),
        }
    }
}

/// What is served without a configuration file.
const NO_FILE: &str = "[registry]\nopen = true\n";

/// Tells a control plane to read its file again.
#[derive(Clone)]
pub struct ReloadHandle {
    hub: Arc<Hub>,
    asked: Arc<AtomicBool>,
}

impl ReloadHandle {
    /// Reads the file again, soon.
    pub fn reload(&self) {
        self.asked.store(true, Ordering::Release);
        self.hub.control_wake().wake();
    }
}

impl fmt::Debug for ReloadHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReloadHandle")
    }
}

impl Plane {
    /// Reads the configuration and the state of before, and begins to keep it.
    ///
    /// # Errors
    /// When the file or the state cannot be used.
    pub fn start(options: PlaneOptions) -> Result<Self, StartFault> {
        // Watched before it is read: no change falls in between.
        let watch = options.config.as_deref().map(FileWatch::new);
        let text = match &options.config {
            Some(file) => read_text(file)?,
            None => NO_FILE.to_owned(),
        };
        let file = options.config.unwrap_or_default();
        let config = Arc::new(parse(&file, &text)?);
        let state = options.state.or_else(|| {
            // Written relative to the file it stands in.
            let folder = file.parent().unwrap_or_else(|| Path::new(""));
            config.state.as_ref().map(|state| folder.join(state))
        });
        let (store, kept) = match &state {
            None => (None, Kept::default()),
            Some(folder) => {
                let opened = Store::open(folder);
                let (store, kept) = opened.map_err(|fault| StartFault::State(fault.to_string()))?;
                (Some(store), kept)
            }
        };
        if kept.unreadable > 0 {
            let text = "instances of the state could not be read and are passed over";
            options.log.line(&format!("{} {text}", kept.unreadable));
        }
        let now = Instant::now();
        let mut registry = Registry::new(config.registry.clone(), config.limits.instances);
        registry.restore(now, kept.instances);
        let mut catalog = Catalog::new(kept.generation);
        catalog.set_config(now, Arc::clone(&config), &registry);
        let shown = file.display().to_string();
        let hub = Arc::new(Hub::new(catalog, registry, shown).map_err(StartFault::Io)?);
        read_secret(&hub, &file, &config, &options.log);
        let service = ControlService {
            hub: Arc::clone(&hub),
            log: options.log.clone(),
            identifies: false,
        };
        let asked = Arc::new(AtomicBool::new(false));
        let mut thread = ControlThread {
            watch,
            file: file.clone(),
            serves_something: !text.trim().is_empty(),
            text: Some(text),
            hub: Arc::clone(&hub),
            store,
            log: options.log,
            asked: Arc::clone(&asked),
            served: now,
            waits: false,
            listens: config.listen.clone(),
            tls: config.tls.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("corewire-control".into())
            .spawn(move || thread.run())
            .map_err(StartFault::Io)?;
        Ok(Self {
            service,
            handle: ReloadHandle { hub, asked },
            config,
            file,
            thread: Some(thread),
        })
    }

    /// Registry, status and xDS, to be hosted by a server, which sees to it that only those who may
    /// register, renew and remove instances.
    #[must_use]
    pub fn service(&self) -> ControlService {
        self.service.clone()
    }

    /// The registry, for who is in the same process.
    #[must_use]
    pub fn registry(&self) -> RegistryHandle {
        RegistryHandle {
            hub: Arc::clone(&self.handle.hub),
            own: Arc::default(),
        }
    }
}

impl Drop for Plane {
    fn drop(&mut self) {
        self.handle.hub.close();
        if let Some(thread) = self.thread.take() {
            // Its panic is on its own output.
            let _ = thread.join();
        }
    }
}

/// What a handle registered, by name, with the leases that it got.
type Own = HashMap<Arc<str>, (Instance, String)>;

/// A registry in this process. What is registered through it, or a clone of it, comes back at its next
/// heartbeat when somebody else has registered under the same name.
#[derive(Clone)]
pub struct RegistryHandle {
    hub: Arc<Hub>,
    own: Arc<Mutex<Own>>,
}

impl RegistryHandle {
    /// Registers an instance, or changes it; gives how long it stays without a heartbeat.
    ///
    /// # Errors
    /// What is wrong with it, or that there is no room.
    pub fn register(&self, instance: Instance) -> Result<Duration, Refusal> {
        let granted = self.hub.register(instance.clone())?;
        let lease = (instance.clone(), granted.lease_id);
        self.own().insert(instance.id, lease);
        Ok(Duration::from_millis(granted.ttl_ms))
    }

    /// Says that an instance is there.
    ///
    /// # Errors
    /// When it is not registered (any more).
    pub fn heartbeat(&self, id: &str) -> Result<(), Refusal> {
        let known = self.own().get(id).cloned();
        let Some((instance, lease)) = known else {
            return self.hub.heartbeat(id, "");
        };
        match self.hub.heartbeat(id, &lease) {
            Err(Refusal::NotRegistered) => self.register(instance).map(drop),
            told => told,
        }
    }

    /// Ends a registration.
    ///
    /// # Errors
    /// When there is none.
    pub fn leave(&self, id: &str) -> Result<(), Refusal> {
        self.own().remove(id);
        self.hub.leave(id, "")
    }

    fn own(&self) -> MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for RegistryHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RegistryHandle")
    }
}

impl Control {
    /// Reads the configuration and the state of before, and serves.
    ///
    /// # Errors
    /// When the file or the state cannot be used or an address cannot be listened at.
    pub fn start(options: ControlOptions) -> Result<Self, StartFault> {
        let plane = Plane::start(PlaneOptions {
            config: Some(options.config.clone()),
            state: options.state.clone(),
            log: options.log.clone(),
        })?;
        let listen = addresses(&options, &plane.config.listen)?;
        let mut server_options = ServerOptions::default();
        server_options.loops = options.loops.max(1);
        if let Some(limits) = &options.limits {
            limits.apply(&mut server_options);
        }
        server_options.tls = server_tls(&plane.file, &plane.config)?;
        let service = Arc::new(plane.service().identifying());
        let server = Server::start(&listen, service, server_options).map_err(StartFault::Io)?;
        Ok(Self {
            addresses: server.addresses().to_vec(),
            server: Some(server),
            plane,
        })
    }

    /// Where it listens, each with its port.
    #[must_use]
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// A way to tell it to read its file again, for signal handlers.
    #[must_use]
    pub fn reload_handle(&self) -> ReloadHandle {
        self.plane.handle.clone()
    }

    /// Tells xDS clients to connect again, finishes the calls in flight, and ends; what is left
    /// after `within` is cut.
    ///
    /// # Errors
    /// What the server ended with.
    pub fn drain(mut self, within: Duration) -> io::Result<()> {
        self.plane.handle.hub.close();
        let server = self.server.take();
        server.map_or(Ok(()), |server| server.drain(within))
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.plane.handle.hub.close();
        self.server = None;
    }
}

fn addresses(options: &ControlOptions, of_file: &[String]) -> Result<Vec<Address>, StartFault> {
    let texts: Vec<&str> = match (&options.listen[..], of_file) {
        ([], []) => vec![DEFAULT_LISTEN],
        ([], listen) | (listen, _) => listen.iter().map(String::as_str).collect(),
    };
    let parse = |text: &&str| {
        parse_address(text)
            .map_err(|fault| StartFault::Io(io::Error::new(io::ErrorKind::InvalidInput, fault)))
    };
    texts.iter().map(parse).collect()
}

/// Reads the secret of the registry, whose file is relative to the one it is named in.
fn read_secret(hub: &Hub, file: &Path, config: &Config, log: &Log) {
    let folder = file.parent().unwrap_or_else(|| Path::new(""));
    let secret = config.registry.secret_file.as_ref();
    let secret = secret.map(|secret| folder.join(secret));
    let (secret, fault) = Secret::read(secret.as_deref());
    if let Some(fault) = fault {
        log.line(&fault);
    }
    hub.set_secret(secret);
}

/// TLS of the own port. Files are relative to the one they are written in, and read again when
/// they change.
fn server_tls(file: &Path, config: &Config) -> Result<Option<ServerTls>, StartFault> {
    let Some(tls) = &config.tls else {
        return Ok(None);
    };
    let folder = file.parent().unwrap_or_else(|| Path::new(""));
    let TlsFiles {
        certificate,
        key,
        authorities,
    } = &tls.files;
    let mut files = Files::new().with_identity(folder.join(certificate), folder.join(key));
    if let Some(authorities) = authorities {
        files = files.with_authorities(folder.join(authorities));
    }
    let settings = ServerTls::new(files).map_err(StartFault::Tls)?;
    Ok(Some(if tls.allow_clear_text {
        settings.allowing_clear_text()
    } else {
        settings
    }))
}

/// Makes what is served: takes reloads, changes of the registry and the end of leases.
struct ControlThread {
    hub: Arc<Hub>,
    file: PathBuf,
    /// None where there is no file.
    watch: Option<FileWatch>,
    /// The text that was last read, so that a touch is no reload; `None` when it could not be read.
    text: Option<String>,
    /// What is served comes from a file that was not empty.
    serves_something: bool,
    store: Option<Store>,
    log: Log,
    asked: Arc<AtomicBool>,
    /// When a snapshot was last published.
    served: Instant,
    /// Changes of the registry wait for the next push.
    waits: bool,
    listens: Vec<String>,
    tls: Option<ControlTls>,
}

/// Whether a file is taken that says what it said.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reload {
    /// Something may have changed it.
    IfChanged,
    /// The operator asked for it.
    Always,
}

impl ControlThread {
    fn run(&mut self) {
        let mut look = Instant::now() + LOOK_EVERY;
        while !self.hub.is_closing() {
            let now = Instant::now();
            if now >= look {
                look = now + LOOK_EVERY;
                if self.watch.as_mut().is_some_and(FileWatch::looks_changed) {
                    self.reload(Reload::IfChanged);
                }
            }
            let next = self.turn(now);
            let until = next.map_or(look, |next| next.min(look));
            self.wait(until.saturating_duration_since(Instant::now()));
        }
        // What the last calls changed is kept.
        let mut roll = self.hub.roll();
        roll.collect();
        self.keep(std::mem::take(&mut roll.unkept));
    }

    /// Does what is due; gives the time of the next.
    fn turn(&mut self, now: Instant) -> Option<Instant> {
        let lapses = {
            let mut roll = self.hub.roll();
            roll.registry.handle_timeout(now);
            roll.collect();
            self.waits |= !roll.dirty.is_empty();
            roll.registry.poll_timeout()
        };
        let left = {
            let mut catalog = self.hub.catalog();
            let changed = catalog
                .poll_timeout()
                .is_some_and(|when| when <= now && catalog.handle_timeout(now));
            self.waits |= changed;
            catalog.poll_timeout()
        };
        let push = self.served + self.hub.snapshot().limits.push_interval;
        if self.waits && now >= push {
            self.push(now);
        }
        let push = self.waits.then_some(push);
        let fired = self.hub.fire(now);
        [lapses, left, push, fired].into_iter().flatten().min()
    }

    /// Serves what the registry has become.
    fn push(&mut self, now: Instant) {
        let mut catalog = self.hub.catalog();
        let mut roll = self.hub.roll();
        let dirty = std::mem::take(&mut roll.dirty);
        let unkept = std::mem::take(&mut roll.unkept);
        catalog.refresh(now, &dirty, &roll.registry);
        drop(roll);
        let snapshot = catalog.snapshot();
        drop(catalog);
        self.hub.publish(snapshot);
        self.served = now;
        self.waits = false;
        self.keep(unkept);
    }

    fn keep<C>(&self, changes: C)
    where
        C: IntoIterator<Item = (Arc<str>, Option<Arc<Instance>>)>,
    {
        if let Some(store) = &self.store {
            store.keep(changes, self.hub.snapshot().generation);
            let fault = store.fault();
            let mut report = self.hub.report();
            if let (Some(fault), None) = (&fault, &report.store_fault) {
                self.log
                    .line(&format!("the state cannot be written: {fault}"));
            }
            report.store_fault = fault;
        }
    }

    /// Waits until something happens, at most so long.
    fn wait(&mut self, at_most: Duration) {
        let timeout = Timespec {
            tv_sec: i64::try_from(at_most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(at_most.subsec_nanos()),
        };
        let file = {
            let wake = self.hub.control_wake().as_fd();
            let mut fds = vec![PollFd::from_borrowed_fd(wake, PollFlags::IN)];
            fds.extend(
                self.watch
                    .as_ref()
                    .and_then(FileWatch::as_fd)
                    .map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN)),
            );
            // An interrupted wait is one that was shorter.
            let _ = poll(&mut fds, Some(&timeout));
            fds.get(1).is_some_and(|file| !file.revents().is_empty())
        };
        self.hub.control_wake().clear();
        if file && self.watch.as_mut().is_some_and(FileWatch::happened) {
            self.reload(Reload::IfChanged);
        }
        if self.asked.swap(false, Ordering::AcqRel) && self.watch.is_some() {
            self.reload(Reload::Always);
        }
    }

    /// Reads the file and serves it if it is right; keeps what is served if it is not.
    fn reload(&mut self, reload: Reload) {
        let text = match read_text(&self.file) {
            Ok(text) => text,
            Err(fault) => {
                let reason = std::error::Error::source(&fault)
                    .map_or_else(String::new, |error| format!(": {error}"));
                self.text = None;
                return self.refuse(&[format!("{fault}{reason}")]);
            }
        };
        if reload == Reload::IfChanged && self.text.as_ref() == Some(&text) {
            return;
        }
        self.text = Some(text.clone());
        if text.trim().is_empty() && self.serves_something {
            let fault = "the file is empty: it is not taken for a wish to serve nothing; write a comment if it is one";
            return self.refuse(&[fault.into()]);
        }
        match Config::parse(&text) {
            Ok(config) => {
                self.serves_something = !text.trim().is_empty();
                self.accept(Arc::new(config));
            }
            Err(faults) => {
                let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
                self.refuse(&faults);
            }
        }
    }

    fn accept(&mut self, config: Arc<Config>) {
        let now = Instant::now();
        let mut catalog = self.hub.catalog();
        let mut roll = self.hub.roll();
        let limit = config.limits.instances;
        roll.registry.set_config(config.registry.clone(), limit);
        roll.config = Arc::clone(&config);
        roll.collect();
        roll.dirty.clear();
        let unkept = std::mem::take(&mut roll.unkept);
        catalog.set_config(now, Arc::clone(&config), &roll.registry);
        drop(roll);
        let snapshot = catalog.snapshot();
        drop(catalog);
        read_secret(&self.hub, &self.file, &config, &self.log);
        self.hub.publish(snapshot);
        self.served = now;
        self.waits = false;
        self.keep(unkept);
        let mut report = self.hub.report();
        report.reloads += 1;
        report.faults.clear();
        drop(report);
        self.log.line(&format!("{} is served", self.file.display()));
        if config.listen != self.listens {
            self.log
                .line("listen has changed: it is obeyed at the next start");
            self.listens.clone_from(&config.listen);
        }
        if config.tls != self.tls {
            self.log
                .line("tls has changed: it is obeyed at the next start");
            self.tls.clone_from(&config.tls);
        }
    }

    fn refuse(&self, faults: &[String]) {
        // Known before it is told: who reads of it may ask at once.
        let mut report = self.hub.report();
        report.refused += 1;
        report.faults = faults.to_vec();
        drop(report);
        let count = faults.len();
        let file = self.file.display();
        self.log.line(&format!(
            "{file} is refused, what was served before stays; {count} fault(s):"
        ));
        for fault in faults {
            self.log.line(&format!("  {fault}"));
        }
    }
}
