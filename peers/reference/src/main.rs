//! The mesh experiment's ends in hyper and in tonic: the counterparts of `corewire-mesh-gateway` and
//! `corewire-mesh-replica`, with the same messages, pacing and result line, on one thread of tokio.
//!
//!     corewire-reference replica --kind hyper --ports 30
//!     corewire-reference gateway --kind hyper --target 127.0.0.1:1,127.0.0.1:2 --rate 1500

mod histogram;
mod hyper_ends;
mod load;
mod messages;
mod nghttp2_tools;
mod options;
mod pace;
mod replica;
mod tonic_ends;

use std::process::ExitCode;

use serde_json::json;

use options::{End, Kind, Options};

fn main() -> ExitCode {
    let started = pace::now_ns();
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{}", options::HELP);
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("corewire-reference: {error}");
            return ExitCode::from(2);
        }
    };
    match run(options, started) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let line =
                json!({"event": "error", "what": format!("{error:#}"), "where": "reference"});
            println!("{line}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: Options, started: u64) -> anyhow::Result<()> {
    match (options.end, options.kind) {
        (End::Replica, Kind::Nghttp2) => return nghttp2_tools::replica(),
        (End::Gateway, Kind::Nghttp2) => return nghttp2_tools::gateway(&options),
        (End::Announce, _) => return nghttp2_tools::announce(&options),
        _ => {}
    }
    // One thread at each end, as the peers in C++ and Corewire have.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        match (options.end, options.kind) {
            (End::Replica, Kind::Hyper) => replica::serve(options.ports, hyper_ends::serve).await,
            (End::Replica, _) => replica::serve(options.ports, tonic_ends::serve).await,
            (_, Kind::Hyper) => {
                let caller = hyper_ends::Caller::connect(&options).await?;
                load::run(&options, caller, started).await
            }
            _ => {
                let caller = tonic_ends::Caller::connect(&options).await?;
                load::run(&options, caller, started).await
            }
        }
    })
}

/// Of this program and what it is made of, as its Cargo.lock has them.
fn versions() -> serde_json::Map<String, serde_json::Value> {
    const LOCK: &str = include_str!("../Cargo.lock");
    let mut versions = serde_json::Map::new();
    for name in ["hyper", "tonic", "h2", "tokio"] {
        let entry = format!("name = \"{name}\"\nversion = \"");
        let version = LOCK
            .split_once(&entry)
            .and_then(|(_, rest)| rest.split('"').next());
        if let Some(version) = version {
            versions.insert(name.to_owned(), version.into());
        }
    }
    versions
}
