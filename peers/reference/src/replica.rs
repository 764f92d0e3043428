//! A replica of either kind: listens at free ports, says so, serves until it is told to end.

use std::future::Future;
use std::net::Ipv4Addr;

use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// Serves at so many ports in one thread.
pub(crate) async fn serve<F>(ports: u32, serve: impl Fn(TcpListener) -> F) -> anyhow::Result<()>
where
    F: Future<Output = ()> + 'static,
{
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut addresses = Vec::new();
    for _ in 0..ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        addresses.push(listener.local_addr()?.to_string());
        tokio::task::spawn_local(serve(listener));
    }
    let ready = json!({
        "event": "ready",
        "protocol": 1,
        "address": addresses[0],
        "addresses": addresses,
        "pid": std::process::id(),
        "versions": crate::versions(),
    });
    println!("{ready}");
    let mut scratch = [0; 64];
    let mut input = tokio::io::stdin();
    loop {
        tokio::select! {
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
            read = input.read(&mut scratch) => if matches!(read, Ok(0) | Err(_)) {
                // The thread that reads standard input must not be waited for.
                return Ok(());
            },
        }
    }
}
