//! Calls a target through the mesh and shows what the mesh knows of it then.
//!
//! ```sh
//! # Targets from a file (crates/mesh/src/file.rs):
//! cargo run -p corewire-mesh --example through_the_mesh -- smf-pdu-session --file targets.json
//! # Targets from a control plane:
//! GRPC_XDS_BOOTSTRAP=bootstrap.json \
//!     cargo run -p corewire-mesh --example through_the_mesh -- xds:///smf-pdu-session
//! ```
//!
//! `--calls N` makes so many (10), `--operation SERVICE/METHOD` another operation, `--supi IMSI` adds a
//! header to hash by.

use corewire_mesh::{Mesh, MeshOptions, file};
use corewire_message::{Caller, Headers, Operation, Request};
use corewire_transport::EventLoop;
use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

const USAGE: &str = "through_the_mesh TARGET [--file FILE] [--calls N] [--operation SERVICE/METHOD] \
                     [--supi IMSI]";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let target = arguments.next().ok_or(USAGE)?;
    let (mut path, mut calls, mut supi) = (None, 10, None);
    let mut operation = Operation::from_static("nsmf-pdusession/v1/sm-contexts");
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or(USAGE)?;
        match &*option {
            "--file" => path = Some(value),
            "--calls" => calls = value.parse()?,
            "--operation" => operation = Operation::parse(&value)?,
            "--supi" => supi = Some(value),
            _ => return Err(USAGE.into()),
        }
    }

    let mut event_loop = EventLoop::new()?;
    let options = MeshOptions::from_env()?.with_loop(event_loop.handle());
    let mesh = match path {
        Some(path) => Mesh::fixed(file::from_json(&std::fs::read_to_string(path)?)?, options)?,
        None => Mesh::from_env(options)?,
    };
    let channel = mesh.channel(&target);
    event_loop.block_on(channel.ready(Duration::from_secs(5)))??;

    let mut headers = Headers::new();
    if let Some(supi) = supi {
        headers.append("supi", supi)?;
    }
    let mut ends: BTreeMap<String, u32> = BTreeMap::new();
    for _ in 0..calls {
        let request = Request::new(operation.clone()).with_headers(headers.clone());
        let end = match event_loop.block_on(channel.call(request))? {
            Ok(response) => format!("answered with {} octets", response.body.len()),
            Err(error) => error.to_string(),
        };
        *ends.entry(end).or_default() += 1;
    }
    for (end, count) in ends {
        println!("{count} × {end}");
    }
    print!("{}", mesh.state().to_text());
    Ok(())
}
