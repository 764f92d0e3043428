//! The one program: `corewire`. It holds no logic; each subcommand is a crate of its own, added
//! here by a line.

mod mesh;
mod nf;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use rustix::process::{Resource, getrlimit, setrlimit};

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

fn main() -> ExitCode {
    allow_many_connections();
    run(Cli::parse()).unwrap_or_else(|error| {
        // One line: what, where, what next. The cause chain, not a backtrace.
        eprintln!("corewire: {error:#}");
        ExitCode::FAILURE
    })
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
    match cli.command {
        Command::Lab(args) => corewire_lab::run(args),
        Command::Control(args) => corewire_control::run(args),
        Command::Mesh(args) => mesh::run(args),
        Command::Core(args) => args.run(),
        Command::Ran(args) => args.run(),
        Command::Nf(args) => nf::run(args),
    }
}
