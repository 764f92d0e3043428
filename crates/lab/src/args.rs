//! The command line of the lab.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(crate) use common::{Between, CommonArgs, PeersArgs, Profile, Sharing, Tls};

mod common;

/// Measure message transfers on this machine and report on them.
#[derive(Debug, Args)]
pub struct LabArgs {
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Run a scenario; each run becomes a line of results.jsonl, and a report is made at the end
    Run(RunArgs),
    /// Show scenarios, profiles, and adapters: which are built, and what to install for the others
    List(ListArgs),
    /// Make the report of a result directory again
    Report {
        /// What `--out` of `lab run` named
        dir: PathBuf,
    },
    /// Compare two results cell by cell, and say where a difference is not one
    #[command(after_help = "\
Examples:
  corewire lab compare out/before out/after     ratio after/before per adapter and cell")]
    Compare {
        /// The result to compare with
        before: PathBuf,
        /// The result to judge
        after: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) peers: PeersArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(subcommand)]
    pub(crate) scenario: ScenarioArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ScenarioArgs {
    /// GUTI allocation through every adapter: chapters 4 and 5 of "Evaluating RPC for Cloud-Native
    /// 5G Mobile Network Applications"
    #[command(after_help = crate::guti::EXAMPLES)]
    Guti(Box<crate::guti::GutiArgs>),
    /// What bare sockets and bare shared memory can do, beside ours and the fastest of the others: the
    /// floor under the GUTI evaluation, a part of its report
    Floor(crate::guti::FloorArgs),
    /// The inline mesh beside the sidecar it replaces: one SMF gateway, many SMF-PDU-Session
    /// replicas, and every path between them
    #[command(after_help = crate::mesh::EXAMPLES)]
    Mesh(Box<crate::mesh::MeshArgs>),
    /// HTTP/2 and gRPC by themselves, on the mesh's workload without a mesh: ours beside nghttp2 in
    /// C++, hyper, tonic, gRPC C++, and h2load with nghttpd; a part of the mesh's report
    Http2(crate::mesh::Http2Args),
    /// A 5G core over every transport: time per UE for registration, session and detach
    #[command(after_help = crate::core5g::EXAMPLES)]
    Core(Box<crate::core5g::Core5gArgs>),
    /// Message routing over every transport: the tables and figures of "Suitability of gRPC for
    /// RMR Communications"
    #[command(after_help = crate::rmr::EXAMPLES)]
    Rmr(Box<crate::rmr::RmrArgs>),
    /// What gRPC, Thrift, plain TCP and Corewire can do beside moving messages: tables 5.1 to 5.4 of
    /// the thesis, each cell tried
    #[command(after_help = crate::qualities::EXAMPLES)]
    Qualities(Box<crate::qualities::QualitiesArgs>),
}
