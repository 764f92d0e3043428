//! The command line of `lab run mesh`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::args::{CommonArgs, PeersArgs, Profile};
use crate::neighbour::Neighbour;
use crate::units::{self, Rate};

pub(crate) const EXAMPLES: &str = "\
Examples:
  corewire lab run mesh --profile smoke
        does everything work? about a minute
  corewire lab run mesh
        every path at four rates and at saturation, with a report
  corewire lab run mesh --path inline-rest,envoy-2-rest --rate 1500
        the paper's comparison alone: inline against two sidecars
  corewire lab run mesh --path direct-rest --path inline-rest --rate max
        what the mesh's stages cost when both cores are full
  corewire lab run mesh --path inline-rest,envoy-2-rest --rate 1500 --hops 1,2,4,8
        a request that crosses several microservices
  corewire lab run mesh --path envoy-2-grpc,inline-grpc --rate 1500 --replicas 1,10,30,60
        latency by number of connections
  corewire lab run mesh --path direct-rest,inline-rest,envoy-2-rest --rate 1500 --mtls on
        the same with mutual TLS";

#[derive(Debug, Args)]
pub(crate) struct MeshArgs {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    /// Paths from gateway to replicas, as `corewire lab list` shows them, with commas or repeated
    /// [default: all that can be run]
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        conflicts_with = "resume"
    )]
    pub(crate) path: Vec<String>,
    /// Requests a second of all gateways together, or max: closed loop, as fast as answers come
    #[arg(long, value_name = "RATE|max", allow_negative_numbers = true, value_delimiter = ',',
          conflicts_with = "resume", value_parser = units::rate)]
    pub(crate) rate: Vec<Rate>,
    /// SMF-PDU-Session replicas
    #[arg(long, value_name = "N", value_delimiter = ',', conflicts_with = "resume",
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) replicas: Vec<u32>,
    /// A process for each replica, or one process with a port for each [default: processes at a
    /// rate, ports at saturation]
    #[arg(long, value_enum, conflicts_with = "resume")]
    pub(crate) replica_mode: Option<ReplicaMode>,
    /// A server-side Envoy for each replica, as in pods, instead of one with a listener for each
    #[arg(long, conflicts_with = "resume")]
    pub(crate) envoy_per_replica: bool,
    /// Microservices that a request crosses, one after another; the last one has the replicas
    #[arg(long, value_name = "N", value_delimiter = ',', conflicts_with = "resume",
          value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) hops: Vec<u32>,
    /// Gateways, which share the rate
    #[arg(long, value_name = "N", value_delimiter = ',', conflicts_with = "resume",
          value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) gateways: Vec<u32>,
    /// Mutual TLS between gateway and replicas and to the control plane, with certificates of the
    /// lab's own; between sidecars where there are some, as in Istio
    #[arg(long, value_enum, default_value_t = Mtls::Off, conflicts_with = "resume")]
    pub(crate) mtls: Mtls,
    /// What is measured [default: load where cells are named, else all that the profile has]
    #[arg(long, value_enum, value_delimiter = ',', conflicts_with = "resume")]
    pub(crate) measure: Vec<Measure>,
    /// Requests in flight of each gateway at saturation
    #[arg(long, value_name = "N", default_value_t = 60, conflicts_with = "resume",
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) in_flight: u32,
    /// The Envoy program [default: that of the variable COREWIRE_ENVOY, else where scripts/setup
    /// puts it, target/envoy, else in PATH]
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) envoy: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) peers: PeersArgs,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Measure {
    /// Requests and answers
    Load,
    /// From the change of a route to the first request that obeys it, of the last of two gateways
    PolicyUpdate,
    /// From one refusal of a configuration to the next, when it is sent again at once
    Refusals,
}

/// What a replica is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ReplicaMode {
    /// A process each
    Process,
    /// A port each of one process
    Port,
}

impl ReplicaMode {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Port => "port",
        }
    }
}

/// Whether connections are mutually authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mtls {
    On,
    Off,
}

/// Of `lab run http2`: paths of the mesh scenario, with a choice of their own.
#[derive(Debug, Args)]
pub(crate) struct Http2Args {
    /// Repetitions of each cell, the subjects taking turns
    #[arg(long, visible_alias = "repetitions", value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Where the results go [default: out/mesh-<time>]; if it stops, go on with `lab run mesh --resume`
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Core of the server process; the client gets the others [default: the last]
    #[arg(long, value_name = "CPU")]
    pub(crate) server_cpu: Option<usize>,
    #[command(flatten)]
    pub(crate) peers: PeersArgs,
}

impl From<Http2Args> for MeshArgs {
    fn from(args: Http2Args) -> Self {
        Self {
            common: CommonArgs {
                profile: Profile::Quick,
                repeat: Some(args.repeat),
                out: args.out,
                resume: None,
                patience: 15,
                server_cpu: args.server_cpu,
                neighbour: vec![Neighbour::None],
                any_state: false,
            },
            path: super::path::OF_HTTP2.map(str::to_owned).to_vec(),
            rate: vec![Rate::PerSecond(1_500), Rate::Max],
            replicas: vec![30],
            // All of them, so that a connection is all that a replica costs.
            replica_mode: Some(ReplicaMode::Port),
            envoy_per_replica: false,
            hops: vec![1],
            gateways: vec![1],
            mtls: Mtls::Off,
            measure: Vec::new(),
            in_flight: 60,
            envoy: None,
            peers: args.peers,
        }
    }
}
