//! `corewire nf smf`.

use super::gateway::GatewayArgs;
use super::pdu_session::PduSessionArgs;
use clap::{Args, Subcommand};
use std::process::ExitCode;

/// An SMF: its gateway, or a replica that holds PDU sessions
#[derive(Debug, Args)]
pub struct SmfArgs {
    #[command(subcommand)]
    half: Half,
}

#[derive(Debug, Subcommand)]
enum Half {
    /// What AMFs see as the SMF: hands each request to the replica that holds the session
    Gateway(Box<GatewayArgs>),
    /// A replica that holds PDU sessions
    PduSession(Box<PduSessionArgs>),
}

impl SmfArgs {
    /// Serves until it is told to end.
    ///
    /// # Errors
    /// When it cannot listen.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self.half {
            Half::Gateway(args) => args.run(),
            Half::PduSession(args) => args.run(),
        }
    }
}
