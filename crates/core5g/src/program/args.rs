//! Arguments of what `corewire core` can be told.

use super::certificates::MADE;
use super::state::Folder;
use clap::Args;
use corewire_core5g_runtime::Flow;
use corewire_core5g_subscribers::SubscriberArgs;
use std::path::PathBuf;

#[derive(Clone, Debug, Args)]
pub(super) struct SubscriberCommand {
    #[command(flatten)]
    pub(super) folder: Folder,
    #[command(flatten)]
    pub(super) args: SubscriberArgs,
}

#[derive(Clone, Debug, Args)]
pub(super) struct UpArgs {
    /// How NFs call each other: rest, grpc, native or shm [default: the file's, else rest]
    #[arg(long, value_name = "NAME")]
    pub(super) transport: Option<String>,
    /// The network: PLMN, slices, DNNs, how many of what (docs/core5g.md)
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Event loops in each NF [default: the file's, else 1]
    #[arg(long, value_name = "N")]
    pub(super) threads: Option<usize>,
    /// Which operations drive the procedures
    #[arg(long, value_enum, default_value_t = Flow::ThreeGpp, value_name = "FLOW")]
    pub(super) flow: Flow,
    /// Write begin and end of every hop to NAME.trace in the core's folder, one file an NF; complete
    /// when the core has ended
    #[arg(long)]
    pub(super) trace: bool,
    /// What carries N2: sctp (the kernel's or usrsctp), udp (SCTP in UDP), tcp (framing for tests)
    /// [default: the file's, else tcp]
    #[arg(long, value_name = "NAME")]
    pub(super) n2: Option<String>,
    /// Where the AMF listens for gNBs [default: the file's, else 127.0.0.1:38412]
    #[arg(long, value_name = "HOST:PORT")]
    pub(super) n2_listen: Option<String>,
    /// Where the NRF listens, for network functions that are not of this core [default: the file's, else
    /// a free port of --listen]
    #[arg(long, value_name = "HOST:PORT")]
    pub(super) nrf_listen: Option<String>,
    /// The address that every NF listens at, each at a free port: 0.0.0.0 or [::] in a container
    /// [default: the file's, else 127.0.0.1]
    #[arg(long, value_name = "HOST")]
    pub(super) listen: Option<String>,
    /// The address or FQDN by which others reach the NFs [default: the file's, else --listen; where that
    /// is 0.0.0.0 or [::], the address of this host on the way to the NRF]
    #[arg(long, value_name = "HOST")]
    pub(super) advertise: Option<String>,
    /// Network functions that are not of this core and may register as this type (or ANY): those that show
    /// the secret of FILE, or all of this host. Repeat for more [default: the file's, else none]
    #[arg(long, value_name = "TYPE:FILE|TYPE:loopback")]
    pub(super) allow_nf: Vec<String>,
    /// Who may attach (docs/core5g.md) [default: the file's, else 100,000 test subscribers]
    #[arg(long, value_name = "FILE")]
    pub(super) subscribers: Option<PathBuf>,
    /// NFs ask each other for access tokens of the NRF (TS 33.501, 13.4.1) [default: the file's, else
    /// true]
    #[arg(long, value_name = "true|false")]
    pub(super) oauth2: Option<bool>,
    /// NFs call each other by mutual TLS, the NRF too: with the certificates of this folder
    /// (authority.pem; NAME.pem and NAME.key, or nf.pem and nf.key for all), or with new ones in the
    /// state folder [default: the file's, else clear text]
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, default_missing_value = MADE)]
    pub(super) tls: Option<PathBuf>,
    #[command(flatten)]
    pub(super) folder: Folder,
    /// Print what runs where as JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    pub(super) folder: Folder,
    /// Print it as JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(super) struct RepairArgs {
    #[command(flatten)]
    pub(super) folder: Folder,
    /// Go on until the core is ended
    #[arg(long)]
    pub(super) watch: bool,
}

#[derive(Clone, Debug, Args)]
pub(super) struct DownArgs {
    #[command(flatten)]
    pub(super) folder: Folder,
}
