//! Asks a control plane for targets and prints what it says, as it changes.
//!
//! ```text
//! GRPC_XDS_BOOTSTRAP=bootstrap.json cargo run -p corewire-mesh --example xds_watch -- smf-pdu-session
//! ```
#![allow(
    clippy::disallowed_methods,
    reason = "a program of its own: it reads its clock"
)]

use corewire_mesh::config::{Resolution, Snapshot};
use corewire_mesh::xds::{Client, ClientOptions};
use std::error::Error;
use std::sync::mpsc;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let targets: Vec<String> = std::env::args().skip(1).collect();
    if targets.is_empty() {
        return Err("usage: xds_watch TARGET...: names as in xds:///NAME".into());
    }
    let client = Client::from_env(ClientOptions::default())?;
    let (sender, receiver) = mpsc::channel();
    let _subscription = client.source().on_change(move |snapshot| {
        let _gone = sender.send(snapshot.clone());
    });
    let began = Instant::now();
    let _watches = targets
        .iter()
        .map(|target| client.watch(target))
        .collect::<Result<Vec<_>, _>>()?;
    // Ends when nothing has changed for a while.
    while let Ok(snapshot) = receiver.recv_timeout(Duration::from_secs(10)) {
        print(&snapshot, began.elapsed());
    }
    if let Some(status) = client.status() {
        println!("{:?}", status.ads.counters);
        for (after, event) in status.events.iter().rev().take(8).rev() {
            println!("{after:9.3?} {event}");
        }
    }
    Ok(())
}

fn print(snapshot: &Snapshot, after: Duration) {
    println!("{after:9.3?} version {}", snapshot.version);
    for (name, target) in &snapshot.targets {
        match target {
            Resolution::Ready(target) => {
                let hosts = target.routes.virtual_hosts.len();
                println!("  {name}: {hosts} virtual hosts");
            }
            other => println!("  {name}: {other:?}"),
        }
    }
    for (name, entry) in &snapshot.clusters {
        match entry.endpoints.ready() {
            Some(endpoints) => println!("  {name}: {} endpoints", endpoints.len()),
            None => println!("  {name}: {:?}", entry.endpoints),
        }
    }
    for notice in &*snapshot.notices {
        println!("  notice: {notice}");
    }
    for fault in &*snapshot.refused {
        println!("  refused: {fault}");
    }
}
