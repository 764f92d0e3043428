//! `corewire control`: runs a control plane, checks its file, tells what it does.

mod status;

use crate::control::{Control, ControlOptions, DEFAULT_LISTEN, read_config};
use anyhow::Context;
use clap::{Args, Subcommand};
use corewire_observe::outln;
use corewire_transport::LimitArgs;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// What to do with a control plane.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    after_help = "\
A control plane tells its clients where the instances of a service are and how to call them: our own
mesh client and gRPC (xds:///NAME) in-process, Envoy as a sidecar. Instances register at the same
port, over any transport. The file says the rest; deploy/control/control.toml explains it line by
line, docs/control-plane.md at length.

Examples:
  corewire control --config deploy/control/control.toml
  corewire control check deploy/control/control.toml     all faults, with line and column
  corewire control status                                who is registered, who has which version

The file is read again when it changes, and on SIGHUP. One with a fault is refused whole, all faults
are told, and what was served before stays.

With a gRPC client:
  GRPC_XDS_BOOTSTRAP_CONFIG='{\"xds_servers\":[{\"server_uri\":\"127.0.0.1:18000\",
    \"channel_creds\":[{\"type\":\"insecure\"}],\"server_features\":[\"xds_v3\"]}],\"node\":{\"id\":\"nf-1\"}}'
An instance registers with
  curl --http2-prior-knowledge http://127.0.0.1:18000/corewire.registry.v1.Registry/Register \\
    -H 'content-type: application/json' \\
    -d '{\"service\":\"smf-pdu-session\",\"instance_id\":\"i-1\",\"address\":\"127.0.0.1:9001\"}'
and stays as long as it sends {\"instance_id\":\"i-1\"} to …/Heartbeat before its lease ends."
)]
pub struct ControlArgs {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: ServeArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check a configuration file: prints every fault, with line, column and what to do
    Check(CheckArgs),
    /// Ask a running control plane for its services and clients
    Status(status::StatusArgs),
}

#[derive(Debug, Args)]
struct ServeArgs {
    /// The configuration file
    #[arg(long, value_name = "FILE", required = true)]
    config: Option<PathBuf>,
    /// Where to listen: HOST:PORT (port 0: any free one) or unix:PATH; repeat for more [default: as
    /// the file says, else 127.0.0.1:18000]
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<String>,
    /// The folder for what must outlive a restart [default: as the file says, else none]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Write the addresses to this file, one a line, when it listens
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
    /// Event loops, one thread each
    #[arg(long, default_value_t = 1, value_name = "N")]
    loops: usize,
    /// Seconds that calls in flight get to finish when the process is told to end
    #[arg(long, default_value_t = 2, value_name = "SECONDS")]
    drain: u64,
    #[command(flatten)]
    limits: LimitArgs,
}

#[derive(Debug, Args)]
struct CheckArgs {
    /// The configuration file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// When the control plane does not start, or the one that is asked does not answer.
pub fn run(args: ControlArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        Some(Command::Check(args)) => check(&args.file),
        Some(Command::Status(args)) => status::run(&args),
        None => serve(args.serve),
    }
}

fn check(file: &Path) -> anyhow::Result<ExitCode> {
    match read_config(file) {
        Ok(config) => {
            let routes: usize = config.routes.values().map(|routes| routes.len()).sum();
            outln!(
                "{} is right: {} services, {routes} routes, {} sidecars",
                file.display(),
                config.services.len(),
                config.sidecars.len()
            )?;
            Ok(ExitCode::SUCCESS)
        }
        Err(fault) => Err(fault.into()),
    }
}

fn serve(args: ServeArgs) -> anyhow::Result<ExitCode> {
    let config = args.config.context("--config FILE is missing")?;
    let mut options = ControlOptions::new(config);
    options.listen = args.listen;
    options.state = args.state;
    options.loops = args.loops;
    options.limits = Some(args.limits);
    // Registered before it starts, so that no signal is missed.
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let control = Control::start(options)?;
    let mut ready = String::new();
    for address in control.addresses() {
        // Standard output is for the person who started it; without one it serves on.
        let _ = outln!("control: listening at {address} (xDS, registry; native, grpc, rest)");
        ready.push_str(&format!("{address}\n"));
    }
    if let Some(file) = &args.ready_file {
        write_ready(file, &ready)?;
    }
    let reload = control.reload_handle();
    for signal in signals.forever() {
        if signal != SIGHUP {
            break;
        }
        reload.reload();
    }
    tracing::info!(name: "draining", "draining, at most {} s", args.drain);
    control.drain(Duration::from_secs(args.drain))?;
    Ok(ExitCode::SUCCESS)
}

/// Whole or not at all: who waits for the file reads it as soon as it is there.
fn write_ready(file: &Path, text: &str) -> anyhow::Result<()> {
    let mut unfinished = file.as_os_str().to_owned();
    unfinished.push(".tmp");
    std::fs::write(&unfinished, text)
        .and_then(|()| std::fs::rename(&unfinished, file))
        .with_context(|| format!("the ready file {} cannot be written", file.display()))
}

/// Where `status` asks when nobody says.
const ASKED: &str = DEFAULT_LISTEN;
