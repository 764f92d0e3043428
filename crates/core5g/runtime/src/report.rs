//! What a program that watches is told: JSON events, one a line, as `peers/README.md` has them.

use super::Runtime;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::process::ExitCode;

fn event(event: &Value) {
    let mut out = std::io::stdout().lock();
    // Whoever watched has gone: the end of standard input will say so.
    let _gone = writeln!(out, "{event}").and_then(|()| out.flush());
}

/// It listens at these addresses.
pub(super) fn ready(addresses: &[String], nf: &str, instance: &str) {
    event(&json!({
        "event": "ready",
        "protocol": 1,
        "address": addresses.first(),
        "addresses": addresses,
        "pid": std::process::id(),
        "versions": {"corewire-nf": env!("CARGO_PKG_VERSION")},
        "nf": nf,
        "instance": instance,
    }));
}

/// Ends the process when whoever started it closes its standard input, or is gone.
pub(super) fn end_with_stdin(runtime: &Runtime) {
    let runtime = runtime.clone();
    std::thread::spawn(move || {
        let mut scratch = [0; 256];
        while matches!(std::io::stdin().read(&mut scratch), Ok(octets) if octets > 0) {}
        std::process::exit(i32::from(!runtime.end()));
    });
}

/// Tells an error as an event too, where a program watches.
pub(super) fn told(
    json: bool,
    place: &str,
    result: anyhow::Result<ExitCode>,
) -> anyhow::Result<ExitCode> {
    match result {
        Err(error) if json => {
            event(&json!({"event": "error", "what": format!("{error:#}"), "where": place}));
            Ok(ExitCode::FAILURE)
        }
        other => other,
    }
}
