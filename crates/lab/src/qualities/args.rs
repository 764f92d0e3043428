//! The command line of `lab run qualities`.

use clap::Args;

use crate::args::{CommonArgs, PeersArgs};

pub(crate) const EXAMPLES: &str = "\
Examples:
  corewire lab run qualities
        tables 5.1 to 5.4: what each framework can do, tried one by one; about two minutes";

#[derive(Debug, Args)]
pub(crate) struct QualitiesArgs {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    #[command(flatten)]
    pub(crate) peers: PeersArgs,
}
