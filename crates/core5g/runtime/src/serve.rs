//! Runs an NF from its options to its end.
#![expect(
    clippy::disallowed_methods,
    reason = "a driver: a start waits with a deadline"
)]

use super::advertised::Advertised;
use super::directory::Directory;
use super::gauge::Gauges;
use super::grants::Grants;
use super::guard::Guard;
use super::hosted::Hosted;
use super::notices::Notices;
use super::profile::{Profile, Share};
use super::runtime::{Inner, Runtime};
use super::{NfOptions, discovery, random_instance, registration, report};
use crate::trace::Trace;
use anyhow::{Context as _, bail};
use corewire::health::{Health, Serving};
use corewire::mesh::config::Transport;
use corewire::overload::Shedding;
use corewire::{Address, LoopHandle, OnFault, Server, ServerOptions, Service, parse_address};
use corewire_observe::outln;
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long calls in flight get when the process is told to end.
const DRAIN: Duration = Duration::from_secs(2);
/// How long a start waits for those that it calls: NFs that start together find each other.
const PEERS_PATIENCE: Duration = Duration::from_secs(3);
/// Between two looks at whether all are found.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// How long a start waits for the NRF before it says that it goes on without.
const REGISTRATION_PATIENCE: Duration = Duration::from_secs(3);

/// Runs an NF until it is told to end. `make` builds its service when the loops run; requests that
/// come before wait.
///
/// # Errors
/// When an option is wrong, an address cannot be bound, or `make` fails.
pub fn serve<S: Service>(
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
    let gauges = Gauges::default();
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
    // The NRF is where others find this NF: they reach it by the same network.
    let peers = options.peer.iter().flat_map(|peer| &peer.addresses);
    let targets = options.nrf.iter().chain(peers);
    let advertised = Advertised::of(options.advertise.as_ref(), targets, own)?;
    let loops: Vec<LoopHandle> = server.loops().cloned().collect();
    // Who asks for tokens, and who gives them: the same NRF. Without one nobody gives any.
    let authority = options.nrf.clone().filter(|_| options.oauth2);
    let secret = options.secret()?;
    let runtime = Runtime::of(Inner {
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
    });
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
    Ok(if runtime.end() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
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
