//! `corewire core up`.
#![expect(
    clippy::disallowed_methods,
    reason = "a program: says how long it took"
)]

use super::args::UpArgs;
use super::certificates::{Certificates, MADE, OPERATOR};
use super::config::Config;
use super::plan::{Plan, Program};
use super::process::{Starting, end_all};
use super::secrets::Secrets;
use super::state::{Core, Nf, only_own_files};
use anyhow::{Context as _, bail};
use corewire::mesh::config::Transport;
use corewire_core5g_runtime::tls::TlsArgs;
use corewire_observe::terminal::OutputError;
use corewire_observe::{errln, outln};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How long the processes may take until all are ready.
const PATIENCE: Duration = Duration::from_secs(15);

pub(super) fn run(args: &UpArgs) -> anyhow::Result<ExitCode> {
    let config = settings(args)?;
    let folder = args.folder.path()?;
    only_own_files();
    if let Some(core) = Core::read(&folder)?
        && core.nfs.iter().any(Nf::is_alive)
    {
        bail!(
            "a core runs already ({}): corewire core down, or another --state",
            folder.display()
        );
    }
    // Keys, logs and subscribers are nobody else's.
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .with_context(|| format!("{}", folder.display()))?;
    let subscribers = subscribers(&config, &folder)?;
    let secrets = if config.oauth2 {
        Some(Secrets::of(&folder)?)
    } else {
        None
    };
    let plan = Plan {
        config: &config,
        flow: args.flow.name(),
        trace: args.trace,
        folder: &folder,
        subscribers: &subscribers,
        secrets: secrets.as_ref(),
    };
    let certificates = match &config.tls {
        None => None,
        Some(made) if made == Path::new(MADE) => {
            let names = plan.names();
            let all = names.iter().map(String::as_str).chain([OPERATOR]);
            Some(Certificates::made(&folder, all)?)
        }
        Some(given) => Some(Certificates::given(given)?),
    };
    let core = Core {
        transport: config.transport.clone(),
        flow: args.flow.name().to_owned(),
        threads: config.threads,
        n2: config.n2.clone(),
        n2_address: config.n2_listen.clone(),
        tls: match &certificates {
            Some(certificates) => certificates.of(OPERATOR)?,
            None => TlsArgs::default(),
        },
        nfs: start(&plan, certificates.as_ref(), &folder)?,
        ending: false,
    };
    if let Err(error) = core.write(&folder) {
        end_all(&core.nfs, Duration::from_secs(1));
        return Err(error);
    }
    let told = if args.json {
        outln!("{}", serde_json::to_string(&core)?)
    } else {
        print(&core, &config, &folder, &subscribers)
    };
    // The core runs, whether anybody reads where or not.
    if let Err(error) = told {
        errln!(
            "core: {error}; the core runs all the same: corewire core status --state {0}, corewire core down --state {0}",
            folder.display()
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// The file's settings, with those of the command line in their place.
fn settings(args: &UpArgs) -> anyhow::Result<Config> {
    let mut config = match &args.config {
        Some(path) => Config::read(path)?,
        None => Config::default(),
    };
    let set = |into: &mut String, from: &Option<String>| {
        if let Some(value) = from {
            value.clone_into(into);
        }
    };
    set(&mut config.transport, &args.transport);
    set(&mut config.n2, &args.n2);
    set(&mut config.n2_listen, &args.n2_listen);
    set(&mut config.listen, &args.listen);
    if args.advertise.is_some() {
        config.advertise.clone_from(&args.advertise);
    }
    if args.nrf_listen.is_some() {
        config.nrf_listen.clone_from(&args.nrf_listen);
    }
    if !args.allow_nf.is_empty() {
        config.allow_nf.clone_from(&args.allow_nf);
    }
    if !config.allow_nf.is_empty() && !config.oauth2 {
        bail!("--allow-nf without oauth2: every peer may register already");
    }
    if args.tls.is_some() {
        config.tls.clone_from(&args.tls);
    }
    if let Some(oauth2) = args.oauth2 {
        config.oauth2 = oauth2;
    }
    if let Some(threads) = args.threads {
        config.threads = threads;
    }
    if args.subscribers.is_some() {
        config.subscribers.clone_from(&args.subscribers);
    }
    let transport = config.transport.parse::<Transport>()?;
    if transport == Transport::Shm && config.tls.is_some() {
        bail!("shm has no TLS: what is shared never leaves the machine; leave one of them out");
    }
    Ok(config)
}

/// Starts every process; when one does not come up, none is left.
fn start(
    plan: &Plan<'_>,
    certificates: Option<&Certificates>,
    folder: &Path,
) -> anyhow::Result<Vec<Nf>> {
    let until = Instant::now() + PATIENCE;
    let told = |mut program: Program| -> anyhow::Result<Program> {
        if let Some(certificates) = certificates {
            let own = certificates.of(&program.name)?;
            program.arguments.extend(own.arguments());
        }
        Ok(program)
    };
    // Whoever has no certificate is found before anybody runs.
    let nrf = told(plan.nrf())?;
    let others = |nrf: &str| -> anyhow::Result<Vec<Program>> {
        plan.others(nrf).into_iter().map(told).collect()
    };
    others("")?;
    let nrf = Starting::new(&nrf, folder)?.ready(until)?;
    let programs = match others(&nrf.address) {
        Ok(programs) => programs,
        Err(error) => {
            end_all(&[nrf], Duration::from_secs(1));
            return Err(error);
        }
    };
    let mut ready = vec![nrf];
    let mut starting = Vec::new();
    let mut fault = None;
    for program in &programs {
        match Starting::new(program, folder) {
            Ok(process) => starting.push(process),
            Err(error) => {
                fault = Some(error);
                break;
            }
        }
    }
    for process in starting {
        if fault.is_some() {
            process.abandon();
            continue;
        }
        match process.ready(until) {
            Ok(nf) => ready.push(nf),
            Err(error) => fault = Some(error),
        }
    }
    match fault {
        None => Ok(ready),
        Some(error) => {
            end_all(&ready, Duration::from_secs(1));
            Err(error)
        }
    }
}

/// The subscribers' file; without one, a file of test subscribers is written.
fn subscribers(config: &Config, folder: &Path) -> anyhow::Result<PathBuf> {
    if let Some(path) = &config.subscribers {
        if !path.exists() {
            bail!("{}: no such file of subscribers", path.display());
        }
        return fs::canonicalize(path).with_context(|| format!("{}", path.display()));
    }
    let path = folder.join("subscribers.toml");
    fs::write(&path, super::test_subscribers(&config.plmn))
        .with_context(|| format!("{}", path.display()))?;
    Ok(path)
}

fn print(
    core: &Core,
    config: &Config,
    folder: &Path,
    subscribers: &Path,
) -> Result<(), OutputError> {
    for nf in &core.nfs {
        outln!("{:<18} {:<21} pid {}", nf.name, nf.address, nf.pid)?;
    }
    outln!(
        "{:<18} {:<21} N2 over {}",
        "gNBs connect to",
        core.n2_address,
        core.n2
    )?;
    let secured = match core.tls.certificate {
        Some(_) => " with mutual TLS",
        None => "",
    };
    outln!(
        "NFs call each other over {}{secured}, flow {}; state and logs in {}",
        core.transport,
        core.flow,
        folder.display()
    )?;
    outln!("{}", other_nfs(config))?;
    let n2 = &core.n2;
    outln!("\nnext:")?;
    outln!(
        "  corewire ran attach --ues 1 --amf {} --n2 {n2} --subscribers {}",
        core.n2_address,
        subscribers.display()
    )?;
    outln!("  corewire core status --state {}", folder.display())?;
    outln!("  corewire core down --state {}", folder.display())
}

/// Which network functions beside those of this core may register at its NRF, and how to let more.
fn other_nfs(config: &Config) -> String {
    if !config.oauth2 {
        return "warning: every peer that reaches the NRF may register there (oauth2 = false)"
            .into();
    }
    if config.allow_nf.is_empty() {
        return "NFs that are not of this core may not register at the NRF: --allow-nf TYPE:FILE lets in \
                those that show the secret of FILE"
            .into();
    }
    let allowed = config.allow_nf.iter().map(|one| match one.split_once(':') {
        Some((nf_type, "loopback")) => {
            format!("warning: every process of this host may register at the NRF as {nf_type}")
        }
        Some((nf_type, file)) => {
            format!("NFs that show the secret of {file} may register at the NRF as {nf_type}")
        }
        None => one.clone(),
    });
    allowed.collect::<Vec<_>>().join("\n")
}
