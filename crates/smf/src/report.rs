//! What a program that watches is told: JSON events, one a line, as `peers/README.md` has them.

use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::process::ExitCode;

/// Prints one event.
pub(crate) fn event(event: &Value) {
    let mut out = std::io::stdout().lock();
    // Whoever watched has gone: the end of standard input will say so.
    let _ = writeln!(out, "{event}").and_then(|()| out.flush());
}

/// It listens at these addresses.
pub(crate) fn ready(addresses: &[String]) {
    event(&json!({
        "event": "ready",
        "protocol": 1,
        "address": addresses.first(),
        "addresses": addresses,
        "pid": std::process::id(),
        "versions": versions(),
    }));
}

/// Of this program.
pub(crate) fn versions() -> Value {
    json!({"corewire-nf": env!("CARGO_PKG_VERSION")})
}

/// Ends the process when whoever started it closes its standard input, or is gone.
pub(crate) fn end_with_stdin() {
    std::thread::spawn(|| {
        let mut scratch = [0; 256];
        while matches!(std::io::stdin().read(&mut scratch), Ok(octets) if octets > 0) {}
        std::process::exit(0);
    });
}

/// Tells an error as an event too, where a program watches.
pub(crate) fn told(
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
