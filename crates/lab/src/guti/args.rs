//! The command lines of `lab run guti` and `lab run floor`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::OwnPeer;
use crate::args::{Between, CommonArgs, PeersArgs, Profile, Sharing, Tls};
use crate::neighbour::Neighbour;
use crate::record::Mode;
use crate::units::{self, Rate};

pub(crate) const EXAMPLES: &str = "\
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
