//! `corewire nf smf`.

use super::context::commands::Commands;
use super::context::gateway::Gateway;
use super::context::pool::{DnnPool, Part, Pools};
use super::context::replica::Replica;
use super::context::sessions::Sessions;
use super::driver;
use super::procedures::{gateway, nsmf};
use crate::context::services::{REPLICA_SERVICE, SERVICE};
use anyhow::Context as _;
use clap::{Args, Subcommand};
use corewire_core5g_nas::SessionOptions;
use corewire_core5g_runtime::event_loops::Loops;
use corewire_core5g_runtime::{NfOptions, Profile, Runtime, serve};
use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};

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

/// Options of the gateway.
#[derive(Debug, Args)]
struct GatewayArgs {
    #[command(flatten)]
    nf: NfOptions,
}

impl GatewayArgs {
    fn run(self) -> anyhow::Result<ExitCode> {
        let profile = Profile::new("SMF")
            .service(SERVICE, "v1", &["AMF"])
            .consumes(REPLICA_SERVICE)
            .under(SERVICE, REPLICA_SERVICE);
        serve(&self.nf, profile, |runtime| {
            let loops = Arc::new(Loops(runtime.clone()));
            Ok(gateway::router(Arc::new(Gateway {
                api_root: runtime.api_root().to_owned(),
                event_loops: runtime.loops().len(),
                clock: Arc::clone(&loops) as _,
                peers: loops,
                start: driver::release_starter(runtime),
                turn: AtomicUsize::new(0),
                later: runtime.gauge("releases-waiting"),
            })))
        })
    }
}

/// Options of a replica.
#[derive(Debug, Args)]
struct PduSessionArgs {
    #[command(flatten)]
    nf: NfOptions,
    /// A DNN and the addresses of its UEs; repeat for more
    #[arg(long, default_value = "internet=10.45.0.0/16", value_name = "DNN=POOL")]
    dnn: Vec<DnnPool>,
    /// A DNS server that UEs are told when they ask; repeat for more
    #[arg(long, value_name = "IPV4")]
    dns: Vec<Ipv4Addr>,
    /// The longest IPv4 packet of a session that UEs are told when they ask, bytes: that of the network
    /// less 100 for GTP-U (TS 23.060, 9.3)
    #[arg(long, default_value_t = 1400, value_name = "BYTES",
          value_parser = clap::value_parser!(u16).range(576..))]
    mtu: u16,
    /// Which share of the addresses is this replica's
    #[arg(long, default_value = "0/1", value_name = "NUMBER/OF")]
    part: Part,
}

impl PduSessionArgs {
    fn run(self) -> anyhow::Result<ExitCode> {
        let profile = Profile::new("SMF")
            // AMF and UDM call its callbacks.
            .service(REPLICA_SERVICE, "v1", &["SMF", "UDM", "AMF"])
            .under(SERVICE, REPLICA_SERVICE)
            .consumes("namf-comm")
            .consumes("nudm-sdm")
            .consumes("nudm-uecm")
            .consumes("nudsf-dr")
            .consumes(corewire_core5g_upf::SERVICE);
        serve(&self.nf, profile, |runtime| {
            let replica = Arc::new(self.replica(runtime)?);
            driver::start_tasks(runtime, &replica);
            Ok(nsmf::router(replica))
        })
    }

    fn replica(&self, runtime: &Runtime) -> anyhow::Result<Replica> {
        let mut number = [0; 8];
        getrandom::fill(&mut number).context("no number for references could be drawn")?;
        let loops = Arc::new(Loops(runtime.clone()));
        Ok(Replica {
            own: driver::own(runtime)?,
            clock: Arc::clone(&loops) as _,
            peers: loops,
            start: driver::starter(runtime),
            sessions: Sessions::default(),
            commands: Commands::default(),
            pools: Mutex::new(Pools::new(self.part, &self.dnn)),
            options: SessionOptions {
                dns_servers: self.dns.clone(),
                link_mtu: Some(self.mtu),
            },
            next: AtomicU64::new(u64::from_le_bytes(number)),
            turn: AtomicUsize::new(0),
            recovered: AtomicBool::new(false),
            held: runtime.gauge("sessions"),
        })
    }
}
