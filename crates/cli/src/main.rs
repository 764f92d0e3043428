//! The one program: `corewire`. It holds no logic; each subcommand is a crate of its own, added
//! here by a line.

#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]

mod mesh;
mod nf;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Parser, Subcommand};
use corewire_observe::{log, terminal};
use rustix::process::{Resource, getrlimit, setrlimit};

// A panic in one call or one UE's procedure ends that one only (docs/trust.md).
const _: () = assert!(cfg!(panic = "unwind"), "the programs contain panics");

/// Message transfer for a cloud-native mobile core: measure it, run it, look inside.
#[derive(Debug, Parser)]
#[command(
    name = "corewire",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
#[command(after_help = "\
Examples:
  corewire lab list                          what can be measured here
  corewire lab run guti --profile smoke      does everything work? under a minute
  corewire lab run guti                      every adapter, six minutes, with a report
  corewire lab run mesh                      the inline mesh beside Envoy sidecars, a quarter of an hour
  corewire lab run rmr                       message routing over every transport, three minutes
  corewire nf guti                           the GUTI service: native, gRPC and REST on one port
  corewire core up                           a 5G core: every network function a process
  corewire ran attach --ues 10               ten UEs register there and establish sessions
  corewire control --config FILE             the control plane: registry and xDS server
  corewire mesh bridge TARGET                REST, gRPC and native callers to a target of the mesh")]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    log: LogArgs,
}

/// What the process says on standard error while it runs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Log")]
struct LogArgs {
    /// What is logged on standard error: off, error, warn, info, debug, trace, or levels by module
    /// (warn,corewire_core5g_amf=debug) [default: COREWIRE_LOG, else info]
    #[arg(long = "log", global = true, value_name = "LEVELS")]
    levels: Option<log::Targets>,
    /// Lines of one kind that are logged in a second; of the rest only the number
    #[arg(
        long = "log-lines",
        global = true,
        value_name = "N",
        default_value_t = 20
    )]
    lines_per_second: u32,
}

impl LogArgs {
    fn options(self) -> anyhow::Result<log::Options> {
        let mut options = log::Options::default();
        options.lines_per_second = self.lines_per_second;
        if let Some(levels) = self.levels {
            options.levels = levels;
        } else if let Some(text) = std::env::var_os("COREWIRE_LOG") {
            let text = text.to_string_lossy();
            options.levels = text
                .parse()
                .with_context(|| format!("COREWIRE_LOG={text}"))?;
        }
        Ok(options)
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure message transfers on this machine and report on them
    Lab(corewire_lab::LabArgs),
    /// Run the control plane: registry of network functions, xDS server
    Control(corewire_control::ControlArgs),
    /// Run the inline mesh as a process: a gateway between protocols
    Mesh(mesh::MeshArgs),
    /// Run the 5G core: every network function a process of its own
    Core(corewire_core5g::CoreArgs),
    /// Simulate gNBs and UEs: attach them to a core and check everything that they get
    Ran(corewire_core5g::RanArgs),
    /// Run a network function
    Nf(nf::NfArgs),
}

impl Command {
    /// The name of the process in its log.
    fn name(&self) -> &'static str {
        match self {
            Self::Lab(_) => "lab",
            Self::Control(_) => "control",
            Self::Mesh(_) => "bridge",
            Self::Core(_) => "core",
            Self::Ran(_) => "ran",
            Self::Nf(args) => args.name(),
        }
    }
}

fn main() -> ExitCode {
    allow_many_connections();
    let status = run(Cli::parse()).unwrap_or_else(|error| {
        // One line: what, where, what next. The cause chain, not a backtrace.
        terminal::exit_code("corewire", error.as_ref(), &format!("{error:#}"))
    });
    log::finish();
    status
}

/// Each connection is a descriptor, and the usual limit of 1024 is for programs that use `select`,
/// which none of ours does: they get what the administrator allows.
fn allow_many_connections() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it is refused, the limit stays as it was.
    let _as_before = setrlimit(Resource::Nofile, limit);
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    log::start(cli.command.name(), cli.log.options()?)?;
    match cli.command {
        Command::Lab(args) => corewire_lab::run(args),
        Command::Control(args) => corewire_control::run(args),
        Command::Mesh(args) => mesh::run(args),
        Command::Core(args) => args.run(),
        Command::Ran(args) => args.run(),
        Command::Nf(args) => nf::run(args),
    }
}
