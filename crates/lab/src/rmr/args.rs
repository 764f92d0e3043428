//! The command line of the scenario.

use std::path::PathBuf;

use clap::Args;

use super::condition::{Exchange, Nagle, Pin, SMALLEST};
use crate::args::{CommonArgs, PeersArgs};
use crate::units::{self, Rate};

pub(crate) const EXAMPLES: &str = "\
Examples:
  corewire lab run rmr --profile smoke
        does everything work? under a minute
  corewire lab run rmr --rmr-lib /usr/local/lib/librmr_si.so
        every transport beside the real library, in about nine minutes
  corewire lab run rmr --transport si95,native --rate 10k,max --size 16,1000
        two transports in four cells, five times each, taking turns
  corewire lab run rmr --transport si95,rmr --nagle on,off --pin none,receiver,both --rate max \\
        --rmr-lib /usr/local/lib
        what Nagle's algorithm and pinning do
  corewire lab run rmr --transport si95 --mtu 1500,9000 --rate max
        between two network namespaces (needs the right to make them)
  corewire lab run rmr --transport si95 --routes 1,10000 --swaps-per-s 0,10 --rate max
        large tables, swapped under load
  corewire lab run rmr --transport rmr-to-si95,si95-to-rmr --rmr-lib DIR
        interworking: the real library on one end, ours on the other";

#[derive(Debug, Args)]
pub(crate) struct RmrArgs {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    /// Transports, with commas or repeated: si95, native, shm, nng (our library), grpc, grpc-hint
    /// (with set_buffer_hint), nng-raw, rmr (a library of yours, see --rmr-lib); A-to-B sends with
    /// A and receives with B [default: all, and both directions between rmr and si95]
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        conflicts_with = "resume"
    )]
    pub(crate) transport: Vec<String>,
    /// Messages a second of all senders together, or as fast as it goes; a list is written with
    /// commas or repeated, here and below [default: 10k,max]
    #[arg(long, value_name = "RATE|max", allow_negative_numbers = true, value_delimiter = ',', conflicts_with = "resume",
          value_parser = units::rate)]
    pub(crate) rate: Vec<Rate>,
    /// Payload of each message, at least 16; k = 1000 [default: 1000]
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, value_delimiter = ',', conflicts_with = "resume",
          value_parser = size)]
    pub(crate) size: Vec<u64>,
    /// Nagle's algorithm on the senders' connections [default: off]
    #[arg(long, value_enum, value_delimiter = ',', conflicts_with = "resume")]
    pub(crate) nagle: Vec<Nagle>,
    /// Which processes are held to cores [default: both]
    #[arg(long, value_enum, value_delimiter = ',', conflicts_with = "resume")]
    pub(crate) pin: Vec<Pin>,
    /// Put senders and receivers into network namespaces of their own, joined by a link with this
    /// MTU; needs root or CAP_SYS_ADMIN and CAP_NET_ADMIN [default: loopback]
    #[arg(long, value_name = "BYTES", value_delimiter = ',', conflicts_with = "resume",
          value_parser = clap::value_parser!(u32).range(576..=65535))]
    pub(crate) mtu: Vec<u32>,
    /// Sending processes at the same time [default: 1]
    #[arg(long, value_name = "N", value_delimiter = ',', conflicts_with = "resume",
          value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) senders: Vec<u32>,
    /// Receiving processes; each message goes to one of them in turn [default: 1]
    #[arg(long, value_name = "N", value_delimiter = ',', conflicts_with = "resume",
          value_parser = clap::value_parser!(u32).range(1..=32))]
    pub(crate) receivers: Vec<u32>,
    /// Entries of the route table; messages use them in turns [default: 1]
    #[arg(long, value_name = "N", value_delimiter = ',', conflicts_with = "resume",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) routes: Vec<u32>,
    /// Tables that a route manager sends to the sender each second, under load [default: 0]
    #[arg(long, value_name = "N", value_delimiter = ',', conflicts_with = "resume",
          value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) swaps_per_s: Vec<u32>,
    /// What an exchange is; latency of call and rts is there and back [default: send]
    #[arg(long, value_enum, value_delimiter = ',', conflicts_with = "resume")]
    pub(crate) exchange: Vec<Exchange>,
    /// An RMR library of yours to measure beside ours: the file, or the directory that holds it.
    /// NAME=PATH gives it another name than rmr; with commas or repeated for several
    #[arg(
        long,
        value_name = "[NAME=]PATH",
        value_delimiter = ',',
        conflicts_with = "resume"
    )]
    pub(crate) rmr_lib: Vec<String>,
    /// Senders use this library, whatever the transport; receivers the transport's
    #[arg(long, value_name = "PATH", conflicts_with = "resume")]
    pub(crate) rmr_sender_lib: Option<PathBuf>,
    /// Receivers use this library, whatever the transport; senders the transport's
    #[arg(long, value_name = "PATH", conflicts_with = "resume")]
    pub(crate) rmr_receiver_lib: Option<PathBuf>,
    /// Our own library [default: that of the variable COREWIRE_RMR_LIB, else the one of this build]
    #[arg(long, value_name = "PATH")]
    pub(crate) own_lib: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) peers: PeersArgs,
}

fn size(text: &str) -> Result<u64, String> {
    match units::bytes(text)? {
        size if size < SMALLEST => Err(format!(
            "at least {} bytes, which the measurement itself needs",
            SMALLEST
        )),
        size => Ok(size),
    }
}
