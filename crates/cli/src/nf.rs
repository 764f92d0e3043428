//! `corewire nf`: network functions as processes.

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use corewire::{Address, Protocol, Server, ServerOptions, parse_address};
use corewire_guti::service::GutiService;
use corewire_guti::{Allocator, Guami};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Which network function to run.
#[derive(Debug, Args)]
pub(crate) struct NfArgs {
    #[command(subcommand)]
    function: Function,
}

#[derive(Debug, Subcommand)]
enum Function {
    /// The GUTI service: allocates 5G-GUTIs, the evaluation's network function
    #[command(after_help = "\
Every protocol is spoken on the same port. With the server at 127.0.0.1:7000:

  curl --http2-prior-knowledge -X POST http://127.0.0.1:7000/guti.v1.GutiService/Allocate
  grpcurl -plaintext -proto peers/idl/guti.proto 127.0.0.1:7000 guti.v1.GutiService/Allocate")]
    Guti(GutiArgs),
    /// An SMF gateway: sends SM-Context-Create requests at a rate and measures them
    #[command(after_help = "\
With two replicas, `corewire nf smf-pdu-session --listen 127.0.0.1:7101 --listen 127.0.0.1:7102`:

  corewire nf smf-gateway --target 127.0.0.1:7101,127.0.0.1:7102 --rate 1500
  COREWIRE_TRANSPORT=native corewire nf smf-gateway --target 127.0.0.1:7101 --rate max")]
    SmfGateway(corewire_smf::GatewayArgs),
    /// SMF-PDU-Session replicas: answer SM-Context-Create over every protocol
    SmfPduSession(corewire_smf::PduSessionArgs),
}

#[derive(Debug, Args)]
struct GutiArgs {
    /// Where to listen: HOST:PORT (port 0: any free one) or unix:PATH; repeat for more
    #[arg(long, default_value = "127.0.0.1:7000", value_name = "ADDRESS")]
    listen: Vec<String>,
    /// Event loops, one thread each [default: one for each core this process may run on]
    #[arg(long, value_name = "N")]
    loops: Option<usize>,
    /// What to speak: native, grpc, rest [default: all, on the same port]
    #[arg(long, value_name = "PROTOCOL", value_delimiter = ',')]
    protocol: Vec<String>,
    /// Seconds that calls in flight get to finish when the process is told to end
    #[arg(long, default_value_t = 10, value_name = "SECONDS")]
    drain: u64,
}

pub(crate) fn run(args: NfArgs) -> anyhow::Result<ExitCode> {
    match args.function {
        Function::Guti(args) => guti(args),
        Function::SmfGateway(args) => args.run(),
        Function::SmfPduSession(args) => args.run(),
    }
}

fn guti(args: GutiArgs) -> anyhow::Result<ExitCode> {
    let listen: Vec<Address> = args
        .listen
        .iter()
        .map(|text| parse_address(text))
        .collect::<Result<_, _>>()?;
    let mut options = ServerOptions::default();
    if let Some(loops) = args.loops {
        if loops == 0 {
            bail!("--loops 0 would serve nobody: give 1 or more");
        }
        options.loops = loops;
    }
    if !args.protocol.is_empty() {
        options.protocols = args
            .protocol
            .iter()
            .map(|name| name.parse())
            .collect::<Result<Vec<Protocol>, _>>()?;
    }
    let allocator = Allocator::new(Guami::default()).context("the TMSI key could not be drawn")?;
    let protocols: Vec<_> = options
        .protocols
        .iter()
        .map(|protocol| protocol.name())
        .collect();
    // Registered before the server starts, so that no signal is missed.
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    let server = Server::start(&listen, Arc::new(GutiService::new(allocator)), options)?;
    for address in server.addresses() {
        println!("guti: listening at {address} ({})", protocols.join(", "));
    }
    signals.forever().next();
    eprintln!("guti: draining, at most {} s", args.drain);
    server.drain(Duration::from_secs(args.drain))?;
    Ok(ExitCode::SUCCESS)
}
