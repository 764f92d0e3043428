//! `corewire core`: which of its commands it is.

use super::args::{DownArgs, RepairArgs, StatusArgs, SubscriberCommand, UpArgs};
use super::secrets::Secrets;
use super::state::Core;
use super::{down, repair, status, up};
use anyhow::Context as _;
use clap::{Args, Subcommand};
use corewire::ClientOptions;
use std::process::ExitCode;

/// Run the 5G core: every network function a process of its own
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  corewire core up                                 REST between the NFs, N2 over TCP framing
  corewire core up --transport grpc --threads 2    the same core over gRPC, two event loops an NF
  corewire ran attach --ues 10                     ten UEs register and open a session
  corewire core status
  corewire core down")]
pub struct CoreArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start it
    Up(Box<UpArgs>),
    /// Say how each NF is doing: pid, address, CPU, memory, UEs
    Status(StatusArgs),
    /// Start again what does not run any more, at its former address
    #[command(visible_alias = "mend")]
    Repair(RepairArgs),
    /// End it
    Down(DownArgs),
    /// Add, list or remove subscribers while it runs
    Subscriber(SubscriberCommand),
}

impl CoreArgs {
    /// Does what was asked.
    ///
    /// # Errors
    /// With what went wrong and what to do next.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Up(args) => up::run(&args),
            Command::Status(args) => status::run(&args),
            Command::Repair(args) => repair::run(&args),
            Command::Down(args) => down::run(&args),
            Command::Subscriber(command) => subscriber(&command),
        }
    }
}

/// Subscribers of the UDM that is named, or that runs in the folder.
fn subscriber(command: &SubscriberCommand) -> anyhow::Result<ExitCode> {
    let folder = command.folder.path()?;
    let authorization = Secrets::operator(&folder, "UDM", "corewire-subscribers")?;
    let core = Core::read(&folder)?;
    let mut options = ClientOptions::default();
    options.tls = match &core {
        Some(core) => core.tls.client()?,
        None => None,
    };
    command.args.run(authorization.as_deref(), &options, || {
        let udm = core.and_then(|core| core.nfs.into_iter().find(|nf| nf.name == "udm"));
        let udm = udm.context("no core runs here: start one, or name its UDM with --udm")?;
        Ok(udm.address)
    })
}
