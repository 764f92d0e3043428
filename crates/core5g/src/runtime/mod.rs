//! How an NF process starts, finds its peers, calls them, and ends.
//!
//! ```text
//!   serve ─▶ listen ─▶ register at the NRF ─▶ "ready" ─▶ until told to end ─▶ deregister, drain
//!                │
//!   Runtime: event loops ── spawn(loop, task)
//!            sbi(loop) ──▶ mesh ──▶ a service by name      (`--peer`, else discovered at the NRF)
//!                     └──▶ client ▶ one instance by address (Location and callback URIs)
//! ```
//!
//! An NF names services, never addresses; `--transport` says what carries its calls, and no NF code
//! sees it. A server takes every transport on its one port.

mod advertised;
mod both;
mod contain;
mod directory;
mod discovery;
mod exchange;
mod gate;
mod grants;
mod guard;
mod hosted;
mod load;
mod notices;
mod options;
mod profile;
mod registration;
mod report;
mod sbi;

pub(crate) use both::both;
pub(crate) use contain::contain;
pub(crate) use exchange::{SbiAnswer, SbiFailure, SbiRequest, path_of};
pub(crate) use hosted::{Gauge, STATUS};
pub(crate) use options::Flow;
pub(crate) use options::{NfOptions, random_instance, secret_in};
pub(crate) use profile::Profile;
pub(crate) use sbi::Sbi;

use crate::sbi::HttpDate;
use crate::trace::Trace;
use advertised::Advertised;
use anyhow::{Context as _, bail};
use corewire::health::{Health, Serving};
use corewire::mesh::config::Transport;
use corewire::overload::Shedding;
use corewire::{Address, LoopHandle, OnFault, Server, ServerOptions, Service, parse_address};
use corewire_observe::outln;
use directory::Directory;
use grants::Grants;
use guard::Guard;
use hosted::Hosted;
use notices::Notices;
use profile::Share;
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use std::future::Future;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How long calls in flight get when the process is told to end.
const DRAIN: Duration = Duration::from_secs(2);
/// How long a start waits for those that it calls: NFs that start together find each other.
const PEERS_PATIENCE: Duration = Duration::from_secs(3);
/// Between two looks at whether all are found.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// How long a start waits for the NRF before it says that it goes on without.
const REGISTRATION_PATIENCE: Duration = Duration::from_secs(3);

/// What an NF's code holds of its process. Clones share it.
#[derive(Clone)]
pub(crate) struct Runtime(Arc<Inner>);

struct Inner {
    loops: Vec<LoopHandle>,
    directory: Directory,
    grants: Grants,
    notices: Arc<Notices>,
    profile: Profile,
    instance: String,
    /// `User-Agent` of every request.
    agent: String,
    api_root: String,
    advertised: Advertised,
    flow: Flow,
    gauges: hosted::Gauges,
    trace: Option<Arc<Trace>>,
    health: Health,
    endings: Mutex<Vec<Ending>>,
}

/// Something that is done when the process ends; says whether it went well.
type Ending = Box<dyn FnOnce() -> bool + Send>;

impl Runtime {
    /// The way to peers, by this loop (modulo their number).
    pub(crate) fn sbi(&self, loop_index: usize) -> Sbi {
        Sbi::new(self.clone(), loop_index % self.0.loops.len())
    }

    /// Event loops, one thread each.
    pub(crate) fn loops(&self) -> &[LoopHandle] {
        &self.0.loops
    }

    /// Lets a task run on this loop, whoever waits for it.
    pub(crate) fn spawn(&self, loop_index: usize, task: impl Future<Output = ()> + Send + 'static) {
        self.0.loops[loop_index % self.0.loops.len()].spawn(task);
    }

    /// Completes after `duration`, on the first loop's clock.
    pub(crate) async fn sleep(&self, duration: Duration) {
        self.0.loops[0].sleep_until(Instant::now() + duration).await;
    }

    /// This NF's instance id, a UUID.
    pub(crate) fn instance(&self) -> &str {
        &self.0.instance
    }

    /// Where others reach this instance: `http://host:port`, or `https`.
    pub(crate) fn api_root(&self) -> &str {
        &self.0.api_root
    }

    /// The address by which others reach this instance; a name is looked up.
    ///
    /// # Errors
    /// When the name is not known.
    pub(crate) fn socket_address(&self) -> anyhow::Result<SocketAddr> {
        self.0.advertised.socket_address()
    }

    /// Which operations drive the procedures.
    pub(crate) fn flow(&self) -> Flow {
        self.0.flow
    }

    /// A number that `corewire core status` shows under this name.
    pub(crate) fn gauge(&self, name: &'static str) -> Gauge {
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
    fn end(&self) -> bool {
        let endings = std::mem::take(&mut *self.endings());
        let mut well = true;
        for ending in endings {
            // Each is done, whatever became of the one before.
            well &= ending();
        }
        well
    }

    /// Where hops are written down, when they are.
    pub(crate) fn trace(&self) -> Option<&Arc<Trace>> {
        self.0.trace.as_ref()
    }

    fn directory(&self) -> &Directory {
        &self.0.directory
    }

    fn grants(&self) -> &Grants {
        &self.0.grants
    }

    fn notices(&self) -> &Notices {
        &self.0.notices
    }

    /// `User-Agent` of its requests (TS 29.500, 5.2.2.2): the NF type, then the instance.
    fn agent(&self) -> &str {
        &self.0.agent
    }

    /// What this NF said of itself at its start.
    fn profile(&self) -> &Profile {
        &self.0.profile
    }
}

/// The time of day, for documents that name it.
pub(crate) fn wall_clock() -> HttpDate {
    HttpDate::of(SystemTime::now())
}

/// Runs an NF until it is told to end. `make` builds its service when the loops run; requests that
/// come before wait.
///
/// # Errors
/// When an option is wrong, an address cannot be bound, or `make` fails.
pub(crate) fn serve<S: Service>(
    options: &NfOptions,
    profile: Profile,
    make: impl FnOnce(&Runtime) -> anyhow::Result<S>,
) -> anyhow::Result<ExitCode> {
    let place = profile.nf_type().to_lowercase();
    report::told(options.json, &place, run(options, profile, make))
}

fn run<S: Service>(
    options: &NfOptions,
    mut profile: Profile,
    make: impl FnOnce(&Runtime) -> anyhow::Result<S>,
) -> anyhow::Result<ExitCode> {
    let place = profile.nf_type().to_lowercase();
    let listen = options
        .listen
        .iter()
        .map(|text| parse_address(text))
        .collect::<Result<Vec<_>, _>>()?;
    let mut server_options = ServerOptions::default();
    server_options.loops = options.threads;
    options.limits.apply(&mut server_options);
    server_options.tls = options.tls.server()?;
    let scheme = match &server_options.tls {
        Some(_) if options.transport == Transport::Shm => {
            bail!("--transport shm has no TLS: what is shared never leaves the machine")
        }
        Some(_) => "https",
        None => "http",
    };
    server_options.on_fault = Some(OnFault::new(|peer, why| {
        tracing::warn!(name: "peer-fault", "{}: {why}", peer.address);
    }));
    // Registered before the server starts, so that no signal is missed.
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    // A file that may grow no longer is a write that fails, and not the end.
    signal_hook::flag::register(SIGXFSZ, Arc::default())?;
    let instance = match &options.instance {
        Some(instance) => instance.clone(),
        None => match options.tls.instance()? {
            Some(instance) => instance,
            None => random_instance().context("no instance id could be drawn")?,
        },
    };
    corewire_observe::log::set_instance(&instance);
    let trace = options.trace.as_deref().map(Trace::create).transpose()?;
    let trace = trace.map(Arc::new);
    let gauges = hosted::Gauges::default();
    let key = random_instance().context("no key for callbacks could be drawn")?;
    let notices = Arc::new(Notices::of(key, profile.consumed().iter().copied()));
    let hosted = Arc::new(Hosted::new(
        &place,
        &instance,
        gauges.clone(),
        trace.clone(),
        Arc::clone(&notices),
    ));
    let health = Health::new();
    health.set("", Serving::Serving);
    // Health in front: an instance with much to do is not ill.
    let shedding = Shedding::new(Arc::clone(&hosted), options.overload.limits());
    let around = health.around(shedding);
    let server = Server::start(&listen, Arc::new(around), server_options)?;
    let addresses: Vec<String> = server.addresses().iter().map(ToString::to_string).collect();
    let own = server.addresses().iter().find_map(|address| match address {
        Address::Tcp(address) => Some(*address),
        _ => None,
    });
    let own = own.context("one --listen must be HOST:PORT: others call it there")?;
    let advertised = Advertised::of(options, own)?;
    let loops: Vec<LoopHandle> = server.loops().cloned().collect();
    // Who asks for tokens, and who gives them: the same NRF. Without one nobody gives any.
    let authority = options.nrf.clone().filter(|_| options.oauth2);
    let secret = options.secret()?;
    let runtime = Runtime(Arc::new(Inner {
        directory: Directory::new(options, profile.consumed(), &loops, options.tls.client()?)?,
        grants: Grants::new(authority.clone(), profile.nf_type(), secret),
        notices,
        profile: profile.clone(),
        loops,
        agent: format!("{}-{instance}", profile.nf_type()),
        instance,
        api_root: format!("{scheme}://{advertised}"),
        advertised: advertised.clone(),
        flow: options.flow,
        gauges,
        trace: trace.clone(),
        health: health.clone(),
        endings: Mutex::default(),
    }));
    let guard = authority.map(|nrf| Guard::new(&runtime, &nrf, profile.clone()));
    let service = make(&runtime)?;
    if let Some(guard) = &guard {
        guard.start();
        let task = runtime.clone();
        runtime.spawn(0, async move { task.grants().keep(&task.sbi(0)).await });
    }
    hosted.host(service, guard);
    let share = Share {
        priority: options.priority,
        capacity: options.capacity,
    };
    profile.complete(runtime.instance(), scheme, &advertised, share);
    let registered = match &options.nrf {
        Some(nrf) => {
            // First: the NRF gives tokens to who is registered.
            let registered = registration::start(&runtime, nrf, profile.clone());
            discovery::start(&runtime, nrf, &profile);
            Some(registered)
        }
        None => None,
    };
    if let Some(registered) = &registered
        && !registered.wait(REGISTRATION_PATIENCE)
    {
        tracing::warn!(
            name: "nrf-silent",
            "the NRF does not answer yet; serving without it, and asking again"
        );
    }
    if options.nrf.is_some() {
        let missing = found_by(&runtime, Instant::now() + PEERS_PATIENCE);
        if !missing.is_empty() {
            tracing::warn!(
                name: "services-missing",
                "no instance offers {} yet; serving without",
                missing.join(", ")
            );
        }
    }
    if options.json {
        report::ready(&addresses, &place, runtime.instance());
        if !options.stay {
            report::end_with_stdin(&runtime);
        }
    } else {
        for address in &addresses {
            // Standard output is for the person who started it; without one the NF serves on.
            let _unread = outln!("{place}: listening at {address}");
        }
    }
    signals.forever().next();
    health.drain();
    if let Some(nrf) = &options.nrf {
        discovery::end(&runtime, nrf);
    }
    if let Some(registered) = registered {
        registered.end(Duration::from_millis(500));
    }
    server.drain(DRAIN)?;
    if let Some(trace) = trace {
        trace.flush();
    }
    Ok(match runtime.end() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Waits until every service that this NF calls is found and calls to it have access tokens; gives
/// those that are not by then.
fn found_by(runtime: &Runtime, until: Instant) -> Vec<String> {
    loop {
        let missing = runtime
            .directory()
            .missing(|service| runtime.grants().is_ready_for(service));
        if missing.is_empty() || Instant::now() >= until {
            return missing;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}
