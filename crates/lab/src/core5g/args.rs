//! The command line of the scenario.

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::args::CommonArgs;

pub(crate) const EXAMPLES: &str = "\
Examples:
  corewire lab run core --profile smoke
        does everything work? under a minute
  corewire lab run core
        every transport at 1, 2, 5 and 10 UEs, with one event loop an NF and with one a UE, in both
        flows; 100 to 10,000 UEs; discovery: less than eight minutes
  corewire lab run core --transport grpc,rest --ues 100,1000 --threads 1
        far beyond ten UEs
  corewire lab run core --flow source3 --transport rest
        driven by the operations of the REST-based core of 2019";

/// What the scenario can be told.
#[derive(Debug, Args)]
pub(crate) struct Core5gArgs {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    /// How NFs call each other, with commas or repeated: rest, grpc, native, shm [default: all]
    #[arg(long, value_enum, value_delimiter = ',', conflicts_with = "resume")]
    pub(crate) transport: Vec<Transport>,
    /// UEs of a round; at most 100 of them are in the middle of their steps at a time
    /// [default: 1,2,5,10,100,1000,10000; smoke: 1,10]
    #[arg(long, value_name = "N", value_delimiter = ',', conflicts_with = "resume",
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) ues: Vec<u32>,
    /// Event loops in each NF: one, or as many as UEs (at most 64) [default: both]
    #[arg(long, value_enum, value_delimiter = ',', conflicts_with = "resume")]
    pub(crate) threads: Vec<Threads>,
    /// Which operations drive the procedures [default: both]
    #[arg(long, value_enum, value_delimiter = ',', conflicts_with = "resume")]
    pub(crate) flow: Vec<Flow>,
}

/// How NFs call each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Transport {
    /// HTTP/2, resources as they are.
    Rest,
    /// gRPC.
    Grpc,
    /// Corewire's own protocol.
    Native,
    /// The same in shared memory.
    Shm,
}

impl Transport {
    pub(super) const ALL: [Self; 4] = [Self::Rest, Self::Grpc, Self::Native, Self::Shm];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Rest => "rest",
            Self::Grpc => "grpc",
            Self::Native => "native",
            Self::Shm => "shm",
        }
    }
}

/// Event loops in each NF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Threads {
    /// One
    #[value(name = "1")]
    One,
    /// One a UE
    Ues,
}

impl Threads {
    pub(super) const ALL: [Self; 2] = [Self::One, Self::Ues];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::Ues => "ues",
        }
    }
}

/// Which operations drive the procedures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Flow {
    /// Those of 3GPP
    #[value(name = "3gpp")]
    ThreeGpp,
    /// Those of the REST-based core of 2019
    #[value(name = "source3")]
    Source3,
}

impl Flow {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::ThreeGpp => "3gpp",
            Self::Source3 => "source3",
        }
    }
}
