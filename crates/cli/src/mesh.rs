//! `corewire mesh`: the inline mesh as a process, for those who cannot link it.

use anyhow::Context;
use clap::{Args, Subcommand};
use corewire::mesh::bridge::Bridge;
use corewire::mesh::{Mesh, MeshOptions, file};
use corewire::{CallKind, EventLoop, LimitArgs, Operation, ServerOptions, parse_address};
use corewire_observe::outln;
use corewire_observe::terminal::write_err;
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// What to run of the mesh.
#[derive(Debug, Args)]
pub(crate) struct MeshArgs {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// A gateway: takes requests of every protocol on one port and hands them on through the mesh
    #[command(after_help = "\
A REST caller reaches a gRPC service, with targets from a file:

  echo '{\"targets\": {\"guti\": {\"endpoints\": [\"127.0.0.1:7000\"], \"transport\": \"grpc\"}}}' > targets.json
  corewire mesh bridge guti --file targets.json --listen 127.0.0.1:7500
  curl --http2-prior-knowledge -X POST http://127.0.0.1:7500/guti.v1.GutiService/Allocate

With a control plane instead:

  GRPC_XDS_BOOTSTRAP=bootstrap.json corewire mesh bridge xds:///smf-pdu-session

SIGUSR1 prints what the mesh knows and has counted.")]
    Bridge(BridgeArgs),
}

#[derive(Debug, Args)]
struct BridgeArgs {
    /// Whom requests go to: NAME or xds:///NAME
    target: String,
    /// Where to listen: HOST:PORT (port 0: any free one) or unix:PATH; repeat for more
    #[arg(long, default_value = "127.0.0.1:7500", value_name = "ADDRESS")]
    listen: Vec<String>,
    /// Targets in JSON [default: the control plane that GRPC_XDS_BOOTSTRAP names]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// An operation that is a stream, SERVICE/METHOD: HTTP/2 does not say so; repeat for more
    #[arg(long, value_name = "OPERATION")]
    stream: Vec<String>,
    /// Seconds that calls in flight get to finish when the process is told to end
    #[arg(long, default_value_t = 10, value_name = "SECONDS")]
    drain: u64,
    #[command(flatten)]
    limits: LimitArgs,
}

pub(crate) fn run(args: MeshArgs) -> anyhow::Result<ExitCode> {
    match args.part {
        Part::Bridge(args) => bridge(&args),
    }
}

fn bridge(args: &BridgeArgs) -> anyhow::Result<ExitCode> {
    let streams: Vec<Operation> = args
        .stream
        .iter()
        .map(|name| Operation::parse(name).with_context(|| format!("--stream {name:?}")))
        .collect::<Result<_, _>>()?;
    // Both sides on one loop: a request is handed to no other thread.
    let mut event_loop = EventLoop::new().context("no event loop")?;
    let options = MeshOptions::from_env()
        .context("COREWIRE_TRANSPORT")?
        .with_loop(event_loop.handle());
    let mesh = match &args.file {
        Some(path) => {
            let place = || path.display().to_string();
            let text = std::fs::read_to_string(path).with_context(place)?;
            Mesh::fixed(file::from_json(&text).with_context(place)?, options)?
        }
        None => Mesh::from_env(options).context("no --file and no control plane")?,
    };
    let shape = move |operation: &Operation| {
        let is_stream = streams.contains(operation);
        Some(if is_stream {
            CallKind::Stream
        } else {
            CallKind::Unary
        })
    };
    let service = Arc::new(Bridge::new(mesh.channel(&args.target)).with_shapes(shape));
    let mut server = ServerOptions::default();
    args.limits.apply(&mut server);
    let server = Arc::new(server);
    // Registered before the server starts, so that no signal is missed.
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGUSR1])?;
    for listen in &args.listen {
        let address = parse_address(listen)?;
        let (service, server) = (Arc::clone(&service), Arc::clone(&server));
        let address = event_loop
            .listen(&address, service, server)
            .with_context(|| format!("{address} cannot be listened at"))?;
        // Standard output is for the person who started it; without one it serves on.
        let _unread = outln!("bridge: listening at {address}, to {}", args.target);
    }
    let (handle, drain) = (event_loop.handle(), args.drain);
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if signal == SIGUSR1 {
                write_err(format_args!("{}", mesh.state().to_text()));
                continue;
            }
            tracing::info!(name: "draining", "draining, at most {drain} s");
            handle.drain(Duration::from_secs(drain));
        }
    });
    event_loop.run()?;
    Ok(ExitCode::SUCCESS)
}
