//! `corewire nf`: network functions as processes.

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use corewire::health::{Health, Serving};
use corewire::tls::{Files, ServerTls};
use corewire::{Address, LimitArgs, OnFault, Protocol, Server, ServerOptions, parse_address};
use corewire_guti::service::GutiService;
use corewire_guti::{Allocator, Guami};
use corewire_observe::outln;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::path::PathBuf;
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
  grpcurl -plaintext -proto peers/idl/guti.proto 127.0.0.1:7000 guti.v1.GutiService/Allocate
  curl --http2-prior-knowledge http://127.0.0.1:7000/grpc.health.v1.Health/Check

With --tls-certificate server.pem --tls-key server.key --tls-authorities clients.pem:

  curl --cacert authority.pem --cert client.pem --key client.key -X POST \\
       https://localhost:7000/guti.v1.GutiService/Allocate")]
    Guti(GutiArgs),
    /// An SMF gateway: sends SM-Context-Create requests at a rate and measures them
    #[command(after_help = "\
With two replicas, `corewire nf smf-pdu-session --listen 127.0.0.1:7101 --listen 127.0.0.1:7102`:

  corewire nf smf-gateway --target 127.0.0.1:7101,127.0.0.1:7102 --rate 1500
  COREWIRE_TRANSPORT=native corewire nf smf-gateway --target 127.0.0.1:7101 --rate max")]
    SmfGateway(corewire_smf::GatewayArgs),
    /// SMF-PDU-Session replicas: answer SM-Context-Create over every protocol
    SmfPduSession(corewire_smf::PduSessionArgs),
    Amf(Box<corewire_core5g::AmfArgs>),
    Smf(corewire_core5g::SmfArgs),
    Ausf(corewire_core5g::AusfArgs),
    Nrf(corewire_core5g::NrfArgs),
    Udm(corewire_core5g::UdmArgs),
    Udsf(corewire_core5g::UdsfArgs),
    Upf(corewire_core5g::UpfArgs),
}

impl NfArgs {
    /// The name of the process in its log.
    pub(crate) fn name(&self) -> &'static str {
        match &self.function {
            Function::Guti(_) => "guti",
            Function::SmfGateway(_) => "smf-gateway",
            Function::SmfPduSession(_) => "smf-pdu-session",
            Function::Amf(_) => "amf",
            Function::Smf(_) => "smf",
            Function::Ausf(_) => "ausf",
            Function::Nrf(_) => "nrf",
            Function::Udm(_) => "udm",
            Function::Udsf(_) => "udsf",
            Function::Upf(_) => "upf",
        }
    }
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
    /// Seconds before that in which calls are still taken while the health service says NOT_SERVING,
    /// for callers that ask it now and then
    #[arg(long, default_value_t = 0, value_name = "SECONDS")]
    notice: u64,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    tls: TlsArgs,
}

/// TLS on the server's side. Files are read again when they change.
#[derive(Debug, Args)]
#[command(next_help_heading = "TLS")]
struct TlsArgs {
    /// This server's certificate and those between it and a root, PEM [default: clear text]
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// The certificate's private key, PEM
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// Clients must present a certificate that one of these authorities issued (mutual TLS), PEM
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_authorities: Option<PathBuf>,
    /// Serve clear text on the same port too, for the time in which clients change over
    #[arg(long, requires = "tls_certificate")]
    tls_or_clear_text: bool,
}

impl TlsArgs {
    fn settings(&self) -> anyhow::Result<Option<ServerTls>> {
        let (Some(certificate), Some(key)) = (&self.tls_certificate, &self.tls_key) else {
            return Ok(None);
        };
        let mut files = Files::new().with_identity(certificate, key);
        if let Some(authorities) = &self.tls_authorities {
            files = files.with_authorities(authorities);
        }
        let tls = ServerTls::new(files)?;
        Ok(Some(if self.tls_or_clear_text {
            tls.allowing_clear_text()
        } else {
            tls
        }))
    }
}

pub(crate) fn run(args: NfArgs) -> anyhow::Result<ExitCode> {
    match args.function {
        Function::Guti(args) => guti(args),
        Function::SmfGateway(args) => args.run(),
        Function::SmfPduSession(args) => args.run(),
        Function::Amf(args) => args.run(),
        Function::Smf(args) => args.run(),
        Function::Upf(args) => args.run(),
        Function::Ausf(args) => args.run(),
        Function::Nrf(args) => args.run(),
        Function::Udm(args) => args.run(),
        Function::Udsf(args) => args.run(),
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
    args.limits.apply(&mut options);
    options.tls = args.tls.settings()?;
    options.on_fault = Some(OnFault::new(|peer, why| {
        tracing::warn!(name: "peer-fault", "{}: {why}", peer.address);
    }));
    let secured = match &options.tls {
        Some(_) if args.tls.tls_authorities.is_some() => "; mutual TLS",
        Some(_) => "; TLS",
        None => "",
    };
    let allocator = Allocator::new(Guami::default()).context("the TMSI key could not be drawn")?;
    let protocols: Vec<_> = options
        .protocols
        .iter()
        .map(|protocol| protocol.name())
        .collect();
    // Registered before the server starts, so that no signal is missed.
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    let health = Health::new();
    health.set(corewire_guti::service::ALLOCATE.service(), Serving::Serving);
    let service = health.around(GutiService::new(allocator));
    let server = Server::start(&listen, Arc::new(service), options)?;
    for address in server.addresses() {
        // Standard output is for the person who started it; without one it serves on.
        let _unread = outln!(
            "guti: listening at {address} ({}{secured})",
            protocols.join(", ")
        );
    }
    signals.forever().next();
    // Said before calls are refused, so that callers can go elsewhere first.
    health.drain();
    if args.notice > 0 {
        tracing::info!(name: "draining", "not serving; draining in {} s", args.notice);
        std::thread::sleep(Duration::from_secs(args.notice));
    }
    tracing::info!(name: "draining", "draining, at most {} s", args.drain);
    server.drain(Duration::from_secs(args.drain))?;
    Ok(ExitCode::SUCCESS)
}
