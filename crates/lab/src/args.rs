//! The command line of the lab.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::guti::OwnPeer;
use crate::mesh::{self, MeshArgs, Mtls, ReplicaMode};
use crate::neighbour::Neighbour;
use crate::record::Mode;
use crate::units::{self, Rate};

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
    #[command(after_help = GUTI_EXAMPLES)]
    Guti(Box<GutiArgs>),
    /// What bare sockets and bare shared memory can do, beside ours and the fastest of the others: the
    /// floor under the GUTI evaluation, a part of its report
    Floor(FloorArgs),
    /// The inline mesh beside the sidecar it replaces: one SMF gateway, many SMF-PDU-Session
    /// replicas, and every path between them
    #[command(after_help = mesh::EXAMPLES)]
    Mesh(Box<MeshArgs>),
    /// HTTP/2 and gRPC by themselves, on the mesh's workload without a mesh: ours beside nghttp2 in
    /// C++, hyper, tonic, gRPC C++, and h2load with nghttpd; a part of the mesh's report
    Http2(Http2Args),
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

const GUTI_EXAMPLES: &str = "\
Examples:
  corewire lab run guti --profile smoke
        does everything work? under a minute
  corewire lab run guti
        every adapter, the tables and figures of the thesis, thinned to six minutes
  corewire lab run guti --adapter CW-S,THRIFT-NB --clients 1,8 --payload 0
        two adapters in two cells, repeated five times, taking turns
  corewire lab run guti --adapter TCP-AS --adapter TCP-AS+malloc --payload 100k
        what raised malloc thresholds gain an adapter
  corewire lab run guti --rate 100,1k,max --payload 0
        two rates, and as fast as it goes
  corewire lab run guti --adapter CW-S,GRPC-S --tls off,mutual --clients 1 --payload 0,10k
        what mutual TLS costs each of them
  corewire lab run guti --profile cells --out out/cells
        every cell of the thesis's tables 5.5 to 5.7, planned for 38 minutes; if it stops, --resume
  corewire lab run guti --adapter GRPC-S,GRPC-S-to-CW-GRPC,CW-GRPC-to-GRPC-S,CW-GRPC --payload 0 --clients 1
        a stock gRPC client with our server, ours with a stock server, both ours
  corewire lab run guti --adapter CW-S,TCP-AS --peer MINE=./my-peer --clients 1,16
        a peer of your own beside them; peers/README.md says what it must speak
  corewire lab run floor
        what bare sockets could do at best, beside ours
  corewire lab run guti --profile full --out out/thesis
        the thesis's own matrix: about a day; if it stops, go on with
  corewire lab run guti --resume out/thesis";

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

#[derive(Debug, Args)]
pub(crate) struct GutiArgs {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    /// Adapters, as `corewire lab list` shows them, with commas or repeated; NAME+malloc runs NAME with raised malloc
    /// thresholds, CW-S+poll without ever sleeping, CW-S+sleep sleeping at once, NAME+shared with one
    /// connection for all clients; A-to-B is the client of A with the server of B, where both speak
    /// gRPC [default: all that are built]
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        conflicts_with = "resume"
    )]
    pub(crate) adapter: Vec<String>,
    /// How long it may take, in place of the profile's own time: windows get shorter or longer for it,
    /// those of fixed length stay
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with = "resume",
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) minutes: Option<u32>,
    /// A peer of your own, run beside the adapters: a program that speaks the harness protocol of
    /// peers/README.md, as server and as client; may be repeated
    #[arg(long, value_name = "NAME=PROGRAM", conflicts_with = "resume")]
    pub(crate) peer: Vec<OwnPeer>,
    /// Clients at the same time; a list is written with commas or repeated, here and below
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_delimiter = ',', conflicts_with = "resume",
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) clients: Vec<u32>,
    /// Payload of request and answer; k = 1000
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, value_delimiter = ',', conflicts_with = "resume",
          value_parser = units::bytes)]
    pub(crate) payload: Vec<u64>,
    /// Requests as fast as answers come, or at a rate [default: both in the profile's own grid;
    /// else rate if --rate is given, no-rate if not]
    #[arg(long, value_enum, value_delimiter = ',', conflicts_with = "resume")]
    pub(crate) mode: Vec<ModeArg>,
    /// Requests a second of all clients together; max means no-rate
    #[arg(long, value_name = "RATE|max", allow_negative_numbers = true, value_delimiter = ',', conflicts_with = "resume",
          value_parser = units::rate)]
    pub(crate) rate: Vec<Rate>,
    /// A connection for each client, or one for all
    #[arg(long, value_enum, default_value_t = Sharing::Own, conflicts_with = "resume")]
    pub(crate) connections: Sharing,
    /// What lies between client and server
    #[arg(long, value_enum, default_value_t = Between::Loopback, conflicts_with_all = ["resume", "listen"])]
    pub(crate) network: Between,
    /// Client, server and all neighbours on one core: --server-cpu, else the last
    #[arg(long, conflicts_with = "resume")]
    pub(crate) one_core: bool,
    /// Secure the connections: server (it shows a certificate) or mutual (both do), each measured as an
    /// adapter of its own (CW-S+tls, CW-S+mtls) that takes turns with the others; the report shows
    /// what TLS costs where off is among them. Certificates are the lab's own
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "off",
        conflicts_with = "resume"
    )]
    pub(crate) tls: Vec<Tls>,
    /// Where the server listens; port 0 takes a free one
    #[arg(
        long,
        value_name = "HOST:PORT",
        default_value = "127.0.0.1:0",
        conflicts_with = "resume"
    )]
    pub(crate) listen: String,
    #[command(flatten)]
    pub(crate) peers: PeersArgs,
}

/// Of `lab run floor`: the same programs as guti's, with a choice of their own.
#[derive(Debug, Args)]
pub(crate) struct FloorArgs {
    /// Repetitions of each cell, the subjects taking turns
    #[arg(long, visible_alias = "repetitions", value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Where the results go [default: out/guti-<time>]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Core of the server process; the client gets the others [default: the last]
    #[arg(long, value_name = "CPU")]
    pub(crate) server_cpu: Option<usize>,
    #[command(flatten)]
    pub(crate) peers: PeersArgs,
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
            path: mesh::OF_HTTP2.map(str::to_owned).to_vec(),
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

impl From<FloorArgs> for GutiArgs {
    fn from(args: FloorArgs) -> Self {
        Self {
            common: CommonArgs {
                profile: Profile::Floor,
                repeat: Some(args.repeat),
                out: args.out,
                resume: None,
                patience: 15,
                server_cpu: args.server_cpu,
                neighbour: vec![Neighbour::None],
                any_state: false,
            },
            adapter: Vec::new(),
            minutes: None,
            peer: Vec::new(),
            clients: Vec::new(),
            network: Between::Loopback,
            one_core: false,
            payload: Vec::new(),
            mode: Vec::new(),
            rate: Vec::new(),
            connections: Sharing::Own,
            tls: vec![Tls::Off],
            listen: "127.0.0.1:0".to_owned(),
            peers: args.peers,
        }
    }
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

/// [`Mode`] on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// The next request goes when the last is answered
    NoRate,
    /// Requests go at fixed times
    Rate,
}

impl From<ModeArg> for Mode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::NoRate => Self::NoRate,
            ModeArg::Rate => Self::Rate,
        }
    }
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

/// Whose the connections are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Sharing {
    /// One a client
    Own,
    /// One for all clients
    Shared,
}
