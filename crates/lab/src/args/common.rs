//! What the scenarios' command lines have in common.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::neighbour::Neighbour;

/// What every scenario takes.
#[derive(Debug, Args)]
pub(crate) struct CommonArgs {
    /// How much to measure
    #[arg(long, value_enum, default_value_t = Profile::Quick)]
    pub(crate) profile: Profile,
    /// Repetitions of each cell, the adapters taking turns [default: as the profile says]
    #[arg(long, visible_alias = "repetitions", value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: Option<u32>,
    /// Where the results go [default: out/<scenario>-<time>]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Go on with a result that was stopped, with its own options
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "profile", "repeat"])]
    pub(crate) resume: Option<PathBuf>,
    /// Seconds to wait for a process that says nothing beyond what is planned, before it is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 15,
          value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) patience: u64,
    /// Core of the server process; the client gets the others [default: the last]
    #[arg(long, value_name = "CPU")]
    pub(crate) server_cpu: Option<usize>,
    /// Other work on the same cores: each cell is run once beside each of these; with commas or repeated
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "none",
        conflicts_with = "resume"
    )]
    pub(crate) neighbour: Vec<Neighbour>,
    /// Keep to the plan's order and run each once, also where the machine has several states
    #[arg(long)]
    pub(crate) any_state: bool,
}

/// Where the programs under test are.
#[derive(Debug, Args)]
pub(crate) struct PeersArgs {
    /// Directory of corewire-peer-server and corewire-peer-client [default: that of the variable
    /// COREWIRE_PEERS, else beside this program, else peers/build]
    #[arg(long, value_name = "DIR")]
    pub(crate) peers_dir: Option<PathBuf>,
}

/// How much to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Profile {
    /// About a minute: does everything work?
    Smoke,
    /// Minutes: tables and figures, thinned
    Quick,
    /// Hours to a day: the whole matrix of the paper that the scenario re-makes
    Full,
    /// guti only: every cell of tables 5.5 to 5.7, planned for 38 minutes
    Cells,
    /// guti only, what `lab run floor` takes: bare sockets and memory beside ours
    #[value(hide = true)]
    Floor,
}

/// What lies between client and server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Between {
    /// The loopback interface
    #[default]
    Loopback,
    /// Two network namespaces joined by a link with an MTU of 1500, which is what two pods of a node have
    /// (needs the right to make them)
    Veth,
}

/// How connections are secured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tls {
    /// Clear text
    Off,
    /// The server shows a certificate
    Server,
    /// Both ends show one
    Mutual,
}

/// Whose the connections are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Sharing {
    /// One a client
    Own,
    /// One for all clients
    Shared,
}
